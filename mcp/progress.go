package mcp

import (
	"fmt"
	"strconv"
	"sync"
)

// progressRoutes leads notifications/progress to the call that asked for it,
// by its token; what comes after the call's end is dropped.
type progressRoutes struct {
	mu   sync.Mutex
	last int
	open map[string]chan Progress
}

// add opens a route. The channel holds the newest values; older ones give way
// when the call's owner is behind.
func (r *progressRoutes) add() (token string, values <-chan Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[string]chan Progress{}
	}
	r.last++
	token = "p" + strconv.Itoa(r.last)
	c := make(chan Progress, 16)
	r.open[token] = c
	return token, c
}

func (r *progressRoutes) remove(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, token)
}

// deliver takes the fields of a notification; it never blocks.
func (r *progressRoutes) deliver(fields map[string]any) {
	number := func(name string) float64 { f, _ := fields[name].(float64); return f }
	text, _ := fields["message"].(string)
	p := Progress{Progress: number("progress"), Total: number("total"), Message: clip(text, maxLogText)}
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.open[fmt.Sprint(fields["progressToken"])]
	if !ok {
		return
	}
	for {
		select {
		case c <- p:
			return
		default:
		}
		select {
		case <-c:
		default:
		}
	}
}
