package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A request has a budget: the model's context window without room for the
// answer. What is over it is thinned for the request (see [excerpt]); the history
// itself stays whole.
const (
	answerRoom   = 8192 // tokens, a quarter of a small window at most
	fewestTokens = 1000 // a budget never falls below this
)

// DefaultWindow is assumed of a model of which nothing is known, in tokens.
const DefaultWindow = 128000

// Model is what is known of the model behind an [LLM].
type Model struct {
	Provider      string // a host, or what else tells providers apart
	Name          string
	ContextWindow int    // tokens; 0: unknown
	Advice        string // how it could be larger, a sentence for a person; may be empty
}

// Described is an [LLM] that knows its model.
type Described interface {
	Model() Model
}

func (r *run) model() Model {
	if d, ok := r.task.LLM.(Described); ok {
		return d.Model()
	}
	return Model{}
}

func (r *run) vocabulary() *vocabulary { return vocabularyOf(r.model().Name) }

// gauge is what this process learned of how a model counts.
type gauge struct {
	ratio  float64 // the provider's tokens to one of ours; 0: unknown
	window int     // that the provider told, of its own tokens; 0: it did not
	most   int     // of ours, what may be taken where the window is not as told; 0: nothing was refused
	since  time.Time
}

// forgetAfter is when a refusal counts for less: a provider may have been
// started anew, with a larger window.
const forgetAfter = 10 * time.Minute

// gauges are the gauges by provider and model.
type gauges struct {
	mu  sync.Mutex
	all map[Model]gauge
}

func (g *gauges) of(m Model) gauge {
	m.ContextWindow, m.Advice = 0, ""
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all[m]
}

func (g *gauges) change(m Model, f func(gauge) gauge) {
	m.ContextWindow, m.Advice = 0, ""
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[Model]gauge{}
	}
	g.all[m] = f(g.all[m])
}

// took learns from an answer: a request of counted tokens of ours was told
// tokens of the provider's, 0 where it does not tell.
func (g gauge) took(counted, told int) gauge {
	if told > 0 {
		// A provider that leaves out what it has cached tells too few, and too
		// many tokens are worse than too few.
		now := min(max(float64(told)/float64(counted), 0.8), 4)
		g.ratio = max(now, 0.7*g.ratio+0.3*now)
	}
	switch {
	case g.most == 0:
	case counted > g.most:
		g.most = counted
	case counted > g.most*3/4 && time.Since(g.since) > forgetAfter:
		g.most, g.since = g.most*5/4, time.Now()
	}
	return g
}

// refused learns from a refusal of a request of counted tokens of ours, with
// which the provider told its window or did not.
func (g gauge) refused(counted, window int) gauge {
	if window > 0 && (g.window == 0 || window < g.window) {
		g.window = window
		if g.room(window) < counted {
			return g // that explains it
		}
	}
	g.most, g.since = max(counted*9/10, fewestTokens), time.Now()
	return g
}

// room is how many tokens, as we count, a request can have in a window.
func (g gauge) room(window int) int {
	n := window - min(answerRoom, window/4)
	if g.ratio > 0 {
		n = int(float64(n) / g.ratio)
	}
	return max(n, fewestTokens)
}

// budget is how many tokens, as we count, a request should have.
func (r *run) budget() int {
	n := r.window()
	if g := r.a.gauges.of(r.model()); g.most > 0 {
		n = min(n, g.most)
	}
	return n
}

// window is how many tokens, as we count, a request can have by what is known
// of the model.
func (r *run) window() int {
	m := r.model()
	g := r.a.gauges.of(m)
	return g.room(windowOf(m, g))
}

// windowOf is a model's window as far as it is known, in its own tokens.
func windowOf(m Model, g gauge) int {
	window := cmp.Or(m.ContextWindow, g.window, DefaultWindow)
	if g.window > 0 {
		window = min(window, g.window)
	}
	return window
}

// toolResultBytes is the longest that a result may be: a quarter of the budget
// at most, or a round of calls would not fit into a small window.
func (r *run) toolResultBytes() int {
	return min(r.task.Limits.ToolResultBytes, 3*r.budget()/4) // three bytes a token
}

// request puts a request together that fits into limit tokens, or at least into
// what is known of the window: whether a provider that refused more takes it,
// it alone can tell.
// Before rounds or turns are left out the model is asked to summarise them.
func (t *thread) request(ctx context.Context, set toolset, limit int) (Request, error) {
	f, system := t.fit(set, limit)
	messages, size, crowded := t.s.excerpt.fit(f)
	if crowded {
		ok, err := t.makesRoom(ctx)
		if err != nil {
			return Request{}, err
		}
		if ok {
			f, system = t.fit(set, limit)
		}
		f.crowded = !ok
		f.all = true
		messages, size, _ = t.s.excerpt.fit(f)
	}
	if size > t.window() {
		return Request{}, &ProviderError{Kind: KindContext, Message: t.tooMuch(f, len(set.specs)), Err: errTooLong}
	}
	return Request{Messages: append([]Message{system}, messages...), Tools: set.specs}, nil
}

// fit is what a request of the thread has to fit into limit tokens, and its first
// message.
func (t *thread) fit(set toolset, limit int) (fit, Message) {
	c := t.s.condensed()
	messages := repair(c.messages)
	prompt := max(c.prompt+len(messages)-len(c.messages), 0) // from the prompt on there is nothing to repair
	if t.noImages {
		messages = withoutImages(messages, "not shown: the provider takes no images")
	}
	system := Message{Role: System, Text: t.systemPrompt(set)}
	return fit{
		vocabulary: t.vocabulary(), shelf: t.shelf(), history: messages, prompt: prompt, pinned: c.pinned,
		fixed: toolsTokens(set.specs) + len(system.Text)/3, budget: limit, usual: t.budget(),
	}, system
}

// errTooLong is why a request that cannot be thinned further is not sent.
var errTooLong = errors.New("the request does not fit into the context window")

// tooMuch tells what is too long, and what to do.
func (t *thread) tooMuch(f fit, tools int) string {
	prompt := 0
	for _, m := range f.history[f.prompt:] { // with what was added to it
		if m.Role == User {
			prompt += f.vocabulary.message(m)
		}
	}
	what := "mention less, or let the agent read the parts that it needs"
	if prompt < f.fixed {
		what = "disable MCP servers that are not needed, or use a model with a larger window"
	}
	name := "the model"
	if m := t.model(); m.Name != "" {
		name = fmt.Sprintf("the model %q", m.Name)
	}
	return fmt.Sprintf("The prompt with what it mentions has about %d tokens, and the instructions and %d tools have %d: %s takes %d in a request. %s (%s).",
		prompt, tools, f.fixed, name, t.window(), strings.ToUpper(what[:1])+what[1:], cmp.Or(t.model().Advice, "contextWindow in the provider's settings says how much the model takes"))
}

// prepare lets the model's provider find out how much fits.
func (t *thread) prepare(ctx context.Context) {
	if p, ok := t.task.LLM.(Preparing); ok {
		p.Prepare(ctx, t.emitAside)
	}
}

// askFitting asks with a request that fits. A provider that refuses it for its
// length all the same is asked once more, with much less
// (editor-code-assistant/eca#391: never for ever).
func (t *thread) askFitting(ctx context.Context, set toolset) (req Request, resp Response, err error) {
	if req, err = t.request(ctx, set, t.budget()); err != nil {
		return req, resp, err
	}
	resp, err = t.ask(ctx, req)
	if !t.learnRefusal(req, err) || ctx.Err() != nil || resp.Text != "" {
		return req, resp, err
	}
	size := t.tokens(req)
	less, e := t.request(ctx, set, min(size*6/10, t.budget()))
	if e != nil || t.tokens(less) > size*9/10 {
		return req, resp, err // what the provider says is the best reason
	}
	t.a.log.Info("asking again with less", "run", t.task.RunID, "tokens", size, "now", t.tokens(less))
	resp, err = t.ask(ctx, less)
	t.learnRefusal(less, err)
	return less, resp, err
}

// learn compares our count of a request with the provider's. A small one is
// not worth the counting.
func (t *thread) learn(req Request, told int) {
	n := 0
	for _, m := range req.Messages {
		n += m.atMost()
	}
	if n < t.budget()/2 {
		return
	}
	counted := t.tokens(req)
	t.a.gauges.change(t.model(), func(g gauge) gauge { return g.took(counted, told) })
}

// learnRefusal learns from a refusal of a request for its length, and reports
// whether err is one.
func (t *thread) learnRefusal(req Request, err error) bool {
	pe, ok := errors.AsType[*ProviderError](err)
	if !ok || pe.Kind != KindContext {
		return false
	}
	size := t.tokens(req)
	t.a.gauges.change(t.model(), func(g gauge) gauge { return g.refused(size, pe.Window) })
	return true
}

// tokens returns what a request has, as we count.
func (t *thread) tokens(req Request) int {
	n := toolsTokens(req.Tools)
	for _, size := range t.s.excerpt.sent.of(t.vocabulary(), req.Messages) {
		n += size
	}
	return n
}
