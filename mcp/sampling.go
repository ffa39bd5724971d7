package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of what a server may ask the model.
const (
	maxSampling       = 4  // requests of one server at once
	maxSamplesPerCall = 50 // a server may ask in a loop
	maxSampleMessages = 200
	maxSampleBytes    = 4 << 20 // of all of it, images too
	maxSampleStops    = 16
	maxSampleHints    = 10
)

// SampleRequest is what a server wants to ask the model
// (sampling/createMessage). All of it is the server's words.
type SampleRequest struct {
	Messages    []PromptMessage // never empty, each with a content
	System      string          // systemPrompt; may be empty
	MaxTokens   int             // of the answer, above 0
	Temperature *float64        // nil: the model's own
	Stop        []string        // stopSequences
	// Hints name models that the server would like (modelPreferences.hints).
	// They are told and not followed: the user's model answers.
	Hints  []string
	Params json.RawMessage // as they came
}

// ParseSample reads the params of sampling/createMessage, or what a person made
// of them. The error says what is wrong with them (-32602).
func ParseSample(params json.RawMessage) (SampleRequest, error) {
	var p struct {
		Messages    []json.RawMessage `json:"messages"`
		System      maybe[string]     `json:"systemPrompt"`
		MaxTokens   *float64          `json:"maxTokens"`
		Temperature maybe[*float64]   `json:"temperature"`
		Stop        maybe[[]string]   `json:"stopSequences"`
		Preferences maybe[struct {
			Hints maybe[[]struct {
				Name maybe[string] `json:"name"`
			}] `json:"hints"`
		}] `json:"modelPreferences"`
		Tools      json.RawMessage `json:"tools"`
		ToolChoice json.RawMessage `json:"toolChoice"`
		Task       json.RawMessage `json:"task"`
	}
	if len(params) > maxSampleBytes {
		return SampleRequest{}, fmt.Errorf("the request has %d bytes; at most %d are taken", len(params), maxSampleBytes)
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return SampleRequest{}, err
	}
	r := SampleRequest{System: p.System.v, Temperature: p.Temperature.v, Params: params}
	switch {
	case !missing(p.Tools) || !missing(p.ToolChoice):
		return r, errors.New("tools are given, and this client does not declare sampling.tools")
	case !missing(p.Task):
		return r, errors.New("a task is asked for, and this client does not declare tasks")
	case p.MaxTokens == nil || *p.MaxTokens < 1:
		return r, errors.New("maxTokens must be a number above 0")
	case len(p.Messages) == 0:
		return r, errors.New("messages is empty")
	case len(p.Messages) > maxSampleMessages:
		return r, fmt.Errorf("there are %d messages; at most %d are taken", len(p.Messages), maxSampleMessages)
	}
	r.MaxTokens = int(min(*p.MaxTokens, 1<<30))
	for i, raw := range p.Messages {
		m, ok := parsePromptMessage(raw)
		if !ok {
			return r, fmt.Errorf("messages[%d] has no content", i)
		}
		if tool := slices.IndexFunc(m.Contents, func(c Content) bool { return strings.HasPrefix(c.Type, "tool_") }); tool >= 0 {
			return r, fmt.Errorf("messages[%d] has a %s, and this client does not declare sampling.tools", i, clip(m.Contents[tool].Type, 40))
		}
		r.Messages = append(r.Messages, m)
	}
	r.Stop = slices.DeleteFunc(p.Stop.v, func(stop string) bool { return stop == "" })
	r.Stop = r.Stop[:min(len(r.Stop), maxSampleStops)]
	for _, h := range p.Preferences.v.Hints.v {
		if h.Name.v != "" && len(r.Hints) < maxSampleHints {
			r.Hints = append(r.Hints, h.Name.v)
		}
	}
	return r, nil
}

// SampleResult is what the model answered.
type SampleResult struct {
	Text       string
	Model      string // the model's own name; may be empty
	StopReason string // endTurn, stopSequence or maxTokens
}

// Answer is the result of sampling/createMessage.
func (r SampleResult) Answer() RequestAnswer {
	raw, err := json.Marshal(map[string]any{
		"role": "assistant", "content": map[string]string{"type": "text", "text": r.Text}, "model": cmp.Or(r.Model, "unknown"), "stopReason": r.StopReason,
	})
	if err != nil {
		panic(err) // strings always encode
	}
	return RequestAnswer{Accept: true, Content: raw}
}

// codeRejected is the error of a request that a person refused
// (client/sampling, error handling).
const codeRejected = -1

// serveSampling answers sampling/createMessage: a person is asked, then the
// model. A server whose configuration does not allow it hears that there is no
// such method, as the capability is not declared either.
func serveSampling(ctx context.Context, s *session, r serverRequest) (any, error) {
	if !s.cfg.Sampling {
		return nil, &rpcError{Code: codeMethodNotFound, Message: `method not found: sampling/createMessage ("sampling" is not set for this server in the user's configuration)`}
	}
	request, err := ParseSample(r.params)
	if err != nil {
		return nil, r.badParams("%v", err)
	}
	select {
	case s.sampling <- struct{}{}:
		defer func() { <-s.sampling }()
	default:
		return nil, &rpcError{Code: codeInternal, Message: fmt.Sprintf("%d requests of this server for the model are under way already; ask again when they are answered", maxSampling)}
	}
	if !r.conn.calls.sample() {
		return nil, &rpcError{Code: codeInternal, Message: fmt.Sprintf("within one call the model may be asked %d times; it is not asked again before the call has ended", maxSamplesPerCall)}
	}
	a, err := s.askPerson(ctx, r, Request{Kind: RequestSample, Sample: request})
	switch {
	case err != nil:
		return nil, err
	case a.Accept:
		return a.Content, nil
	case a.Problem != "":
		return nil, &rpcError{Code: codeInternal, Message: clip(s.secrets.Redact(a.Problem), 1000)}
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, &rpcError{Code: codeRejected, Message: "User rejected sampling request"}
}
