package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxValues is how many values completion/complete gives at most.
	maxValues = 100
	// maxValue bounds one of them in bytes; longer ones are dropped.
	maxValue = 1024
	// patience is how long a request may take when a newer one waits.
	patience = 300 * time.Millisecond
)

// ErrSuperseded ends a completion that a newer one took the place of.
var ErrSuperseded = errors.New("a newer completion took its place")

// CompletionRef names what an argument belongs to. Exactly one is set.
type CompletionRef struct {
	Prompt   string // a prompt's name
	Template string // a template's URI, as listed
}

// CompleteArgument returns a server's values for an argument
// (completion/complete): at most 100, best first. others are the values of
// arguments that are given already. It asks only a ready server that announces
// completions; from others there are no values. What was asked before comes
// from the cache. A newer call at the same server ends an older one. more: the
// server has more values, or did not answer before ctx ended.
func (m *Manager) CompleteArgument(ctx context.Context, server string, ref CompletionRef, argument, value string, others map[string]string) (values []string, more bool, err error) {
	s, err := m.find(server)
	if err != nil {
		return nil, false, err
	}
	if (ref.Prompt == "") == (ref.Template == "") {
		return nil, false, errors.New("a completion is of a prompt or of a template")
	}
	return s.completeArgument(argumentQuery{ref, argument, value, others}, m.rounds.Add(1)).wait(ctx)
}

// argumentQuery is what one completion/complete asks.
type argumentQuery struct {
	ref             CompletionRef
	argument, value string
	others          map[string]string
}

// key tells queries apart.
func (q argumentQuery) key() string {
	parts := []string{q.ref.Prompt, q.ref.Template, q.argument, q.value}
	for _, name := range slices.Sorted(maps.Keys(q.others)) {
		parts = append(parts, name, q.others[name])
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return b.String()
}

// argumentKey tells arguments apart, with the values of the others: a server may
// know values only once it is told of which owner, of which language
// (-32602, "missing required arguments").
func (q argumentQuery) argumentKey() string {
	q.value = ""
	return q.key()
}

// completeArgument begins to ask, or finds what is known. It never blocks.
func (s *session) completeArgument(q argumentQuery, round uint64) *completion {
	s.mu.Lock()
	c, status, text := s.conn, s.status, s.err
	s.mu.Unlock()
	known, fresh := s.values.get(q, time.Now())
	switch {
	case fresh:
		return known
	case status != StatusReady:
		if known != nil {
			return known
		}
		return answeredAs(&completion{err: s.notReady(status, text)})
	case !c.caps.completions || s.values.refuses(q):
		return answeredAs(&completion{none: true})
	}
	if known == nil {
		known = s.values.narrowed(q)
	}
	return c.completions.begin(c, s.values, q, known, round)
}

// completion is a query and what comes of it.
type completion struct {
	query argumentQuery
	key   string
	round uint64
	old   *completion // what was answered once; nil: nothing
	none  bool        // the server was not asked: it knows no values

	done   chan struct{} // closed when the rest is set
	values []string
	more   bool
	err    error
}

// answeredAs is a completion that nobody needs to wait for.
func answeredAs(a *completion) *completion {
	a.done = make(chan struct{})
	close(a.done)
	return a
}

// wait returns the values. Those that were answered once are better than none.
func (a *completion) wait(ctx context.Context) (values []string, more bool, err error) {
	select {
	case <-a.done:
	case <-ctx.Done():
	}
	select {
	case <-a.done: // also where ctx has ended: it is there
		values, more, err = a.values, a.more, a.err
	default:
		more, err = true, context.Cause(ctx)
	}
	if err != nil && a.old != nil {
		return slices.Clone(a.old.values), true, nil
	}
	return slices.Clone(values), more, err
}

// complete asks the server.
func (c *connection) complete(ctx context.Context, q argumentQuery) (values []string, more bool, err error) {
	raw, err := c.ask(ctx, "completion/complete", &exchange{}, guarded(func(ctx context.Context) error {
		var req mcpgo.CompleteRequest
		if q.ref.Prompt != "" {
			req.Params.Ref = mcpgo.PromptReference{Type: "ref/prompt", Name: q.ref.Prompt}
		} else {
			req.Params.Ref = mcpgo.ResourceReference{Type: "ref/resource", URI: q.ref.Template}
		}
		req.Params.Argument = mcpgo.CompleteArgument{Name: q.argument, Value: q.value}
		req.Params.Context.Arguments = q.others
		_, err := c.client.Complete(ctx, req)
		return err
	}))
	if err != nil {
		return nil, false, fmt.Errorf("completion of %s: %w", q.argument, err)
	}
	values, more = parseCompletion(raw)
	return values, more, nil
}

// parseCompletion decodes the result of completion/complete. What no line can
// hold is dropped.
func parseCompletion(raw json.RawMessage) (values []string, more bool) {
	var r struct {
		Completion maybe[struct {
			Values maybe[[]json.RawMessage] `json:"values"`
			Total  maybe[float64]           `json:"total"`
			More   maybe[bool]              `json:"hasMore"`
		}] `json:"completion"`
	}
	if json.Unmarshal(raw, &r) != nil {
		return nil, false
	}
	got := r.Completion.v
	seen := map[string]bool{}
	for _, item := range got.Values.v {
		var v string
		if json.Unmarshal(item, &v) != nil || v == "" || len(v) > maxValue || seen[v] || strings.ContainsFunc(v, isControl) {
			continue
		}
		if len(values) == maxValues {
			return values, true
		}
		seen[v] = true
		values = append(values, v)
	}
	return values, got.More.v || got.Total.v > float64(len(got.Values.v))
}
