package mcp

import (
	"fmt"
	"strconv"
	"sync"
)

// progressRoutes leads notifications/progress to the request that asked for
// it, by its token; what comes after the request's end is dropped.
type progressRoutes struct {
	mu   sync.Mutex
	last int
	open map[string]*progressRoute
}

// progressRoute is one that is open.
type progressRoute struct {
	values chan Progress
	newest Progress
	begun  bool
}

// add opens a route. The token is unique on its connection. The channel holds
// the newest values; older ones give way when the request's owner is behind.
func (r *progressRoutes) add() (token string, values <-chan Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[string]*progressRoute{}
	}
	r.last++
	token = "p" + strconv.Itoa(r.last)
	route := &progressRoute{values: make(chan Progress, 16)}
	r.open[token] = route
	return token, route.values
}

func (r *progressRoutes) remove(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, token)
}

// deliver takes the fields of a notification; it never blocks. The value must
// grow (basic/utilities/progress): one that does not is dropped, unless it is
// the same with other words.
func (r *progressRoutes) deliver(fields map[string]any) {
	text, _ := fields["message"].(string)
	total, _ := fields["total"].(float64)
	p := Progress{Total: total, Message: clip(text, maxLogText)}
	r.mu.Lock()
	defer r.mu.Unlock()
	route := r.open[fmt.Sprint(fields["progressToken"])]
	if route == nil {
		return
	}
	var ok bool
	if p.Progress, ok = fields["progress"].(float64); !ok {
		p.Progress = route.newest.Progress
	}
	if route.begun && (p.Progress < route.newest.Progress || p == route.newest) {
		return
	}
	route.begun, route.newest = true, p
	for {
		select {
		case route.values <- p:
			return
		default:
		}
		select {
		case <-route.values:
		default:
		}
	}
}
