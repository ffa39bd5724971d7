package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// provider is an OpenAI-compatible endpoint in this process. The last message
// says what it answers: a tool's result is repeated,
//
//	stream 1000 5000        5,000 chunks, 1,000 a second; 0: no end
//	call NAME {"a": 1}      a tool call
//	loop 200                so many calls that read a line of lines.txt each, one after the other
type provider struct {
	url    string
	server *http.Server
	hungUp atomic.Int64

	mu       sync.Mutex
	sent     []time.Time // when each chunk of the last stream was written
	requests []request
}

// request is one that came.
type request struct {
	at    time.Time
	ended time.Time // when the answer was written
	users int       // user messages in it
}

// forget the requests that came.
func (p *provider) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = nil
}

// asked gives the requests that came.
func (p *provider) asked() []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// between are the times from an answer's end to the next request.
func (p *provider) between() (t took) {
	all := p.asked()
	for i := 1; i < len(all); i++ {
		t = append(t, all[i].at.Sub(all[i-1].ended))
	}
	return t
}

// came notes a request and returns what notes its end.
func (p *provider) came(at time.Time, users int) (ended func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := len(p.requests)
	p.requests = append(p.requests, request{at: at, users: users})
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if i < len(p.requests) {
			p.requests[i].ended = time.Now()
		}
	}
}

func newProvider(ctx context.Context) (*provider, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &provider{url: "http://" + l.Addr().String() + "/v1"}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(l) }() // ends by close
	return p, nil
}

func (p *provider) close() { _ = p.server.Close() }

// ServeHTTP implements http.Handler.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	var body struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	last := body.Messages[len(body.Messages)-1]
	text, _ := last.Content.(string)
	users, results, prompt := 0, 0, ""
	for _, m := range body.Messages {
		switch m.Role {
		case "user":
			users, results = users+1, 0
			prompt, _ = m.Content.(string)
		case "tool":
			results++
		}
	}
	defer p.came(start, users)()
	var rate, count int
	switch {
	case strings.HasPrefix(prompt, "loop "):
		loopStep(w, prompt, results)
	case last.Role == "tool":
		delta(w, map[string]any{"content": text})
		finish(w, "stop")
	case strings.HasPrefix(text, "call "):
		name, arguments, _ := strings.Cut(strings.TrimPrefix(text, "call "), " ")
		call(w, name, arguments)
	default:
		if n, _ := fmt.Sscanf(text, "stream %d %d", &rate, &count); n != 2 || rate <= 0 {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		p.stream(r.Context(), w, rate, count)
	}
}

// loopStep calls for the next line, after so many, or ends.
func loopStep(w http.ResponseWriter, prompt string, after int) {
	if n, err := strconv.Atoi(strings.TrimPrefix(prompt, "loop ")); err != nil || after >= n {
		delta(w, map[string]any{"content": "done"})
		finish(w, "stop")
		return
	}
	call(w, "read_file", fmt.Sprintf(`{"path":"lines.txt","range":{"start":%d,"end":%d}}`, after+1, after+1))
}

func call(w http.ResponseWriter, name, arguments string) {
	delta(w, map[string]any{"tool_calls": []any{map[string]any{
		"index": 0, "id": "c1", "type": "function", "function": map[string]string{"name": name, "arguments": arguments},
	}}})
	finish(w, "tool_calls")
}

// stream writes count chunks, each with its number in square brackets.
func (p *provider) stream(ctx context.Context, w http.ResponseWriter, rate, count int) {
	if count > 0 {
		p.mu.Lock()
		p.sent = make([]time.Time, 0, count)
		p.mu.Unlock()
	}
	next := time.Now()
	for i := 0; i < count || count == 0; i++ {
		next = next.Add(time.Second / time.Duration(rate))
		if pause(ctx, time.Until(next)) != nil {
			p.hungUp.Add(1)
			return
		}
		if count > 0 {
			p.mu.Lock()
			p.sent = append(p.sent, time.Now())
			p.mu.Unlock()
		}
		delta(w, map[string]any{"content": fmt.Sprintf("[%d]", i)})
	}
	finish(w, "stop")
}

// sentAt is when a chunk of the last stream was written.
func (p *provider) sentAt(i int) (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i >= len(p.sent) {
		return time.Time{}, false
	}
	return p.sent[i], true
}

func delta(w http.ResponseWriter, v any) {
	data, _ := json.Marshal(v) // made of our own values
	fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", data)
	_ = http.NewResponseController(w).Flush()
}

func finish(w http.ResponseWriter, reason string) {
	fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}\n\ndata: [DONE]\n\n", reason)
}
