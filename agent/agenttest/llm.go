package agenttest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"agentls/agent"
)

// Step is one answer of a scripted model. What is set happens in this order:
// Wait, Text and Reasoning (streamed), Block, Panic, Then, Err, else the answer.
type Step struct {
	Wait      <-chan struct{} // holds the answer until it is closed or ctx ends
	Text      []string        // a delta each
	Reasoning []string
	Block     bool // then hang until ctx ends, as a provider that sends no more
	Panic     any
	Then      func()
	Err       error
	Calls     []agent.ToolCall
	// Finish is the finish reason; empty: tool_calls or stop.
	Finish string
	Usage  agent.Usage
}

// Text is a step that answers with one text.
func Text(text string) Step { return Step{Text: []string{text}} }

// Call is a step that asks for calls.
func Call(calls ...agent.ToolCall) Step { return Step{Calls: calls} }

// Script gives the answer to the n-th request, n counting from 1.
type Script func(n int, req agent.Request) Step

// LLM is a language model that follows a script. It fails the test when a
// request is one that a provider would refuse.
type LLM struct {
	// Of is what it says of itself; set before it is used.
	Of agent.Model

	t      testing.TB
	script Script

	mu       sync.Mutex
	requests []agent.Request
	came     chan struct{} // closed and made anew with each request
}

// NewLLM returns a model that gives steps in turn, and the text "done" after
// the last.
func NewLLM(t testing.TB, steps ...Step) *LLM {
	return NewScript(t, func(n int, _ agent.Request) Step {
		if n <= len(steps) {
			return steps[n-1]
		}
		return Text("done")
	})
}

// NewScript returns a model that asks script for each answer.
func NewScript(t testing.TB, script Script) *LLM {
	return &LLM{t: t, script: script, came: make(chan struct{})}
}

// Model implements [agent.Described].
func (l *LLM) Model() agent.Model { return l.Of }

// Complete implements [agent.LLM].
func (l *LLM) Complete(ctx context.Context, req agent.Request, on func(agent.Delta)) (agent.Response, error) {
	if err := Check(req); err != nil {
		l.t.Errorf("a request that providers refuse: %v", err)
	}
	step := l.script(l.record(req), req)
	var resp agent.Response
	if step.Wait != nil {
		select {
		case <-step.Wait:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return resp, context.Cause(ctx)
	}
	for _, s := range step.Reasoning {
		resp.Reasoning += s
		on(agent.Delta{Reasoning: s})
	}
	for _, s := range step.Text {
		resp.Text += s
		on(agent.Delta{Text: s})
	}
	if step.Block {
		<-ctx.Done()
		return resp, context.Cause(ctx)
	}
	if step.Panic != nil {
		panic(step.Panic)
	}
	if step.Then != nil {
		step.Then()
	}
	resp.Usage = step.Usage
	if step.Err != nil {
		return resp, step.Err
	}
	resp.ToolCalls = slices.Clone(step.Calls)
	switch {
	case step.Finish != "":
		resp.FinishReason = step.Finish
	case len(step.Calls) > 0:
		resp.FinishReason = "tool_calls"
	default:
		resp.FinishReason = "stop"
	}
	return resp, nil
}

func (l *LLM) record(req agent.Request) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, req)
	close(l.came)
	l.came = make(chan struct{})
	return len(l.requests)
}

// Requests returns all requests so far.
func (l *LLM) Requests() []agent.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// Last returns the last request; it fails the test when there was none.
func (l *LLM) Last() agent.Request {
	l.t.Helper()
	all := l.Requests()
	if len(all) == 0 {
		l.t.Fatal("the model was not asked")
	}
	return all[len(all)-1]
}

// Await waits until n requests have come; it fails the test after 10 s.
func (l *LLM) Await(n int) {
	l.t.Helper()
	late := time.After(10 * time.Second)
	for {
		l.mu.Lock()
		got, came := len(l.requests), l.came
		l.mu.Unlock()
		if got >= n {
			return
		}
		select {
		case <-came:
		case <-late:
			l.t.Fatalf("%d requests after 10 s, want %d", got, n)
		}
	}
}
