package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

const (
	maxInputRounds = 10 // times that a request is sent again with input
	maxInputs      = 16 // requests of one round
)

// inputRequired is what a server needs before it answers a request (MRTR,
// basic/patterns/mrtr, 2026-07-28).
type inputRequired struct {
	requests []inputRequest  // as they came; none: ask again a little later
	state    json.RawMessage // goes back as it came; nil: none
}

type inputRequest struct {
	key    string
	method string
	params json.RawMessage
}

// mayNeedInput reports whether a server may answer a request so.
func mayNeedInput(method string) bool {
	switch method {
	case string(mcpgo.MethodToolsCall), string(mcpgo.MethodPromptsGet), string(mcpgo.MethodResourcesRead):
		return true
	}
	return false
}

// parseResultType tells a result from what asks for input. Since 2026-07-28 a
// result of an unknown type is invalid; one without a type is complete.
func parseResultType(method string, raw json.RawMessage, modern bool) (*inputRequired, *rpcError) {
	if !bytes.Contains(raw, []byte(`"resultType"`)) { // most of all answers: a long one is not looked through again
		return nil, nil
	}
	var r struct {
		Type     maybe[string]   `json:"resultType"`
		Requests json.RawMessage `json:"inputRequests"`
		State    json.RawMessage `json:"requestState"`
	}
	_ = json.Unmarshal(raw, &r)
	switch r.Type.v {
	case string(mcpgo.ResultTypeInputRequired):
	case "", string(mcpgo.ResultTypeComplete):
		return nil, nil
	default:
		if !modern {
			return nil, nil
		}
		return nil, &rpcError{Code: codeInternal, Message: fmt.Sprintf("the server answered %s with a result of the unknown type %q", method, clip(r.Type.v, 100))}
	}
	need := &inputRequired{}
	if !missing(r.State) {
		need.state = r.State
	}
	var err error
	if !missing(r.Requests) {
		need.requests, err = parseInputRequests(r.Requests)
	}
	switch {
	case !mayNeedInput(method):
		err = errors.New("only tools/call, prompts/get and resources/read may be")
	case err == nil && need.state == nil && len(need.requests) == 0:
		err = errors.New("without saying which")
	}
	if err != nil {
		return nil, &rpcError{Code: codeInternal, Message: fmt.Sprintf("the server answered %s with input_required: %v", method, err)}
	}
	return need, nil
}

// parseInputRequests reads the map of requests in the order of its members.
func parseInputRequests(raw json.RawMessage) ([]inputRequest, error) {
	members, err := objectMembers(raw)
	if err != nil {
		return nil, fmt.Errorf("its inputRequests cannot be read: %w", err)
	}
	if len(members) > maxInputs {
		return nil, fmt.Errorf("it asks for %d inputs at once; at most %d are given", len(members), maxInputs)
	}
	out := make([]inputRequest, 0, len(members))
	for _, m := range members {
		var r struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(m.value, &r); err != nil || r.Method == "" {
			return nil, fmt.Errorf("its input %q names no method", clip(m.name, 100))
		}
		out = append(out, inputRequest{m.name, r.Method, r.Params})
	}
	return out, nil
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// objectMembers gives the members of a JSON object in the order in which they
// stand; of two with one name the last counts.
func objectMembers(raw json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is no object")
	}
	var out []member
	at := map[string]int{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string) // a key is one
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if i, ok := at[name]; ok {
			out[i].value = value
			continue
		}
		at[name] = len(out)
		out = append(out, member{name, value})
	}
	return out, nil
}

// giveInput gets what the server needs, all of it beside each other, so that
// the exchange's request can be sent again with it. What cannot be got ends the
// call.
func (c *connection) giveInput(ctx context.Context, ex *exchange) error {
	need := ex.needs
	if ex.rounds++; ex.rounds > maxInputRounds {
		return fmt.Errorf("the server asked for input %d times without an answer", maxInputRounds)
	}
	ex.needs, ex.fields = nil, map[string]json.RawMessage{}
	if need.state != nil {
		ex.fields["requestState"] = need.state
	}
	if len(need.requests) == 0 { // it has too much to do
		return c.inputPause(ctx, ex.rounds)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make([]any, len(need.requests))
	var wg sync.WaitGroup
	for i, r := range need.requests {
		wg.Go(func() {
			result, err := c.serve(ctx, serverRequest{method: r.method, params: r.params, origin: originOf(ctx), quiet: isQuiet(ctx), waits: true, opened: ex.opened})
			if answers[i] = result; err != nil {
				cancel(fmt.Errorf("the server needs %s, which it did not get: %w", clip(r.method, 100), err))
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	responses := map[string]json.RawMessage{}
	opened := map[string]bool{}
	for i, r := range need.requests {
		raw, err := json.Marshal(answers[i])
		if err != nil {
			return err
		}
		responses[r.key] = raw
		if e, ok := answers[i].(elicitResult); ok && e.opened != "" {
			opened[e.opened] = true
		}
	}
	ex.opened = opened
	raw, err := json.Marshal(responses)
	ex.fields["inputResponses"] = raw
	return err
}

// inputPause waits longer each round.
func (c *connection) inputPause(ctx context.Context, round int) error {
	timer := time.NewTimer(c.retry << min(round-1, 5))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.ctx.Done():
		return c.failure(ctx, errLost)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
