package mcptest

import (
	"context"
	"encoding/json"
	"strings"
)

// askAndCancel sends the client a request and answers with its answer; a call
// without a method takes back what was sent last.
func (f *fake) askAndCancel(ctx context.Context, a arguments) (any, error) {
	if a.Method == "" {
		f.mu.Lock()
		back := f.back
		f.mu.Unlock()
		f.notify(ctx, "notifications/cancelled", object{"requestId": back, "reason": "as asked"})
		return text("taken back"), nil
	}
	id, answer := f.send(ctx, a.Method, a.Params)
	f.mu.Lock()
	f.back = id
	f.mu.Unlock()
	select {
	case got := <-answer:
		return text(strings.TrimSpace(string(got))), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// need answers with input_required until the call came a.N times with answers,
// then with the fields of MRTR that came last.
func (f *fake) need(a arguments, params json.RawMessage) (any, error) {
	var p struct {
		Responses json.RawMessage `json:"inputResponses,omitempty"`
		State     json.RawMessage `json:"requestState,omitempty"`
	}
	_ = json.Unmarshal(params, &p)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.needed++; p.Responses == nil && p.State == nil {
		f.needed = 1 // a new call
	}
	if f.needed <= max(a.N, 1) {
		return inputRequired(a.Inputs, a.State), nil
	}
	raw, err := json.Marshal(p)
	return text(string(raw)), err
}

func inputRequired(inputs json.RawMessage, state *string) object {
	r := object{"resultType": "input_required"}
	if inputs != nil {
		r["inputRequests"] = inputs
	}
	if state != nil {
		r["requestState"] = *state
	}
	return r
}

// refuse answers every other call with an error; code 0 begins anew.
func (f *fake) refuse(a arguments) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused = !f.refused && a.Code != 0; f.refused {
		return nil, &rpcError{Code: a.Code, Message: a.Text, Data: a.Params}
	}
	return text("not refused"), nil
}
