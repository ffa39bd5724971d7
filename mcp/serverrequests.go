package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// maxServerAsks bounds the requests of a server that are under way on one
// connection.
const maxServerAsks = 64

// incoming takes the requests of a connection's server. They are taken past
// mcp-go, which decodes params and so loses the order of their members, ends
// them over HTTP after 30 s, and does not know notifications/cancelled.
type incoming struct {
	conn *connection

	mu      sync.Mutex
	open    map[string]context.CancelCauseFunc // by id
	flooded bool                               // was told
}

// take takes one request as it came. It runs on the read loop and never
// blocks: the request is answered beside whatever else goes on, as a person
// may have to be asked.
func (in *incoming) take(m json.RawMessage) {
	var f struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(m, &f) != nil {
		return
	}
	c := in.conn
	ctx, cancel := context.WithCancelCause(c.ctx)
	if !in.begin(requestKey(f.ID), cancel) {
		cancel(nil)
		return
	}
	came, origin := c.calls.now()
	r := serverRequest{method: f.Method, params: f.Params, quiet: allQuiet(came), origin: origin}
	started := c.spawn(func() {
		defer in.end(requestKey(f.ID))
		defer cancel(nil)
		if len(came) > 0 {
			go func() { // ends with ctx
				for _, call := range came {
					select {
					case <-call.done:
					case <-ctx.Done():
						return
					}
				}
				cancel(errCallsEnded)
			}()
		}
		result, err := c.serve(ctx, r)
		if !errors.Is(context.Cause(ctx), errTakenBack) { // it waits for no answer
			in.answer(f.Method, f.ID, result, err)
		}
	})
	if !started {
		cancel(nil)
		in.end(requestKey(f.ID))
	}
}

// begin notes a request. false: there are too many, or one has its id.
func (in *incoming) begin(key string, cancel context.CancelCauseFunc) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.open == nil {
		in.open = map[string]context.CancelCauseFunc{}
	}
	if in.open[key] != nil || len(in.open) >= maxServerAsks {
		if !in.flooded {
			in.flooded = true
			in.conn.problem("requests of the server are dropped: too many at once, or two with one id")
		}
		return false
	}
	in.open[key] = cancel
	return true
}

func (in *incoming) end(key string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.open, key)
}

// takeBack ends a request that the server cancelled; id is decoded JSON. It
// gets no answer.
func (in *incoming) takeBack(id any) {
	raw, err := json.Marshal(id)
	if err != nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if cancel := in.open[requestKey(raw)]; cancel != nil {
		cancel(errTakenBack)
	}
}

// requestKey is one key for all spellings of an id.
func requestKey(id json.RawMessage) string {
	var v any
	if json.Unmarshal(id, &v) != nil {
		return string(id)
	}
	raw, _ := json.Marshal(v) // was JSON
	return string(raw)
}

// answer sends the answer to a request.
func (in *incoming) answer(method string, id json.RawMessage, result any, err error) {
	c := in.conn
	var raw json.RawMessage
	if err == nil {
		raw, err = json.Marshal(result)
	}
	field := "result"
	if err != nil {
		e, ok := errors.AsType[*rpcError](err)
		if !ok {
			e = &rpcError{Code: codeInternal, Message: c.redact(err.Error())}
		}
		field = "error"
		raw, _ = json.Marshal(map[string]any{"code": e.Code, "message": e.Message}) // strings and numbers always encode
	}
	if err := c.reply(c.ctx, respond(id, field, raw)); err != nil && c.ctx.Err() == nil {
		c.problem("the answer to its " + clip(method, 100) + " could not be sent: " + err.Error())
	}
}
