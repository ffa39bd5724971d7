package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// How long a run waits for MCP servers.
const (
	startWait  = 2 * time.Second        // once, for those that are starting
	settleWait = 500 * time.Millisecond // before each model call, for a list that is being fetched anew
)

// ending is how a run comes to its end by itself.
type ending struct {
	reason string // RunResult's stopReason
	text   string // of the last answer: not in the history yet
	why    string // a limit, in words; empty: the run is completed
	advice string // what a person can do then
}

const goOn = "send “go on” to continue"

// react works in turns of a model call and the tool calls that it asks for,
// until an answer comes without any or a limit is hit.
func (r *run) react(ctx context.Context) error {
	r.awaitServers(ctx)
	r.begin(ctx)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if e := r.limit(); e != nil {
			r.end(*e)
			return nil
		}
		e, err := r.step(ctx)
		if err != nil {
			return err
		}
		if e != nil && !r.goesOn(ctx, *e) {
			r.end(*e)
			return nil
		}
	}
}

// awaitServers waits once for the servers that are starting, and tells the
// person about those that the run begins without.
func (r *run) awaitServers(ctx context.Context) {
	if r.waited {
		return
	}
	r.waited = true
	within(ctx, startWait, func(ctx context.Context) { r.missing = r.a.manager.WaitStarted(ctx) })
	if len(r.missing) > 0 && ctx.Err() == nil {
		r.emit(Event{Kind: EventAway, Delta: r.a.tellable(away(r.missing), 1000)})
	}
}

// away says which servers a run begins without.
func away(missing []string) string {
	const most = 10
	names := cleaned(missing[:min(len(missing), most)])
	if n := len(missing) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return "This prompt begins without MCP servers that are still starting: " + strings.Join(names, ", ")
}

// begin puts what the prompt mentions into its message, and what a person
// added meanwhile, behind the messages of its MCP prompt.
func (r *run) begin(ctx context.Context) {
	e := r.expand(ctx, r.t.Prompt)
	texts := r.steered(false)
	if more := paragraphs(texts...); more != "" {
		r.t.Prompt = paragraphs(r.t.Prompt, more)
		of := r.expand(ctx, more)
		e = expansion{append(e.blocks, of.blocks...), append(e.images, of.images...)}
	}
	text := e.content(r.t.words(), r.t.Attachment, r.t.Limits.MentionChars)
	r.s.expand(r.t.typed(), len(texts), r.withGiven(user([]string{text}, e.images)))
}

// limit tells when no model call is left; nil: there is one.
func (r *run) limit() *ending {
	switch {
	case r.res.Steps >= r.t.Limits.Steps:
		return &ending{reason: "max_steps", why: fmt.Sprintf("the limit of %d model calls (limits.steps) was reached", r.t.Limits.Steps), advice: goOn}
	case r.tokensLeft() <= 0:
		return &ending{reason: "max_tokens", why: fmt.Sprintf("the limit of %d tokens (limits.tokens) was reached", r.t.Limits.Tokens), advice: goOn}
	}
	return nil
}

// goesOn lets a run that came to its end go on with what a person added
// meanwhile.
func (r *run) goesOn(ctx context.Context, e ending) bool {
	texts := r.steered(true)
	if len(texts) == 0 {
		return false
	}
	if e.reason != "loop" { // there the results stand last
		r.s.add(Message{Role: Assistant, Text: e.said()})
		r.said = r.res.Text
	}
	r.give(ctx, texts)
	return true
}

// end ends the run.
func (r *run) end(e ending) {
	r.res.Status, r.res.StopReason = StatusCompleted, e.reason
	if e.why != "" {
		r.res.Status, r.res.Note = StatusStopped, e.why+": "+e.advice
	}
	r.s.add(Message{Role: Assistant, Text: e.said()})
}

// said is the assistant's message of an end.
func (e ending) said() string {
	switch {
	case e.why != "":
		return noted(e.text, "[stopped by agentls: "+e.why+"]")
	case strings.TrimSpace(e.text) == "":
		return "[an empty answer]"
	}
	return e.text
}

// step is one model call and its tool calls. The tools are taken anew, so that
// one that a server adds in a run is offered in the same run
// (github/copilot-cli#3125). It gives how the run ends, nil when it goes on.
func (r *run) step(ctx context.Context) (*ending, error) {
	within(ctx, settleWait, r.a.manager.Settle)
	set := r.toolset()
	resp, err := r.complete(ctx, set)
	if strings.TrimSpace(resp.Text) != "" {
		r.res.Text = paragraphs(r.said, resp.Text)
	}
	if err != nil {
		r.partial = resp.Text
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, AsProviderError(err)
	}
	switch {
	case resp.FinishReason == "length" && len(resp.ToolCalls) > 0: // whose arguments may be cut
		return &ending{
			reason: "length", text: resp.Text, why: "the answer was cut by the provider's length limit in a tool call, which was not run",
			advice: "ask for smaller steps, or raise the provider's limit for an answer",
		}, nil
	case resp.FinishReason == "length":
		return &ending{reason: "length", text: resp.Text, why: "the answer was cut by the provider's length limit", advice: goOn}, nil
	case resp.FinishReason == "content_filter":
		return &ending{reason: "content_filter", text: resp.Text, why: "the provider's content filter ended the answer", advice: "say it in another way"}, nil
	case len(resp.ToolCalls) > 0: // whatever the reason says: some providers say stop
		return r.useTools(ctx, set, resp)
	}
	return &ending{reason: "end_turn", text: resp.Text}, nil
}

// complete calls the model. An answer that broke off is asked for once more,
// on the same history: nothing of it was run, and what ran before has its
// results there (editor-code-assistant/eca#224).
func (r *run) complete(ctx context.Context, set toolset) (Response, error) {
	resp, err := r.turn(ctx, set)
	if err == nil || ctx.Err() != nil || !brokeOff(err) || r.limit() != nil {
		return resp, err
	}
	r.a.log.Warn("an answer broke off, asking for it again", "run", r.t.RunID, "error", redactText(r.a.secrets, err.Error()))
	if resp.Text != "" {
		r.emit(Event{Kind: EventText, Delta: "\n\n*(the answer broke off and is asked for again)*"})
	}
	again, err := r.turn(ctx, set)
	if err != nil && strings.TrimSpace(again.Text) == "" {
		again.Text = resp.Text // what was received is kept
	}
	return again, err
}

// brokeOff reports whether an answer that had begun may be asked for again.
func brokeOff(err error) bool {
	pe, ok := errors.AsType[*ProviderError](err)
	return ok && pe.Began && pe.Retryable
}

// turn is one call of the model.
func (r *run) turn(ctx context.Context, set toolset) (Response, error) {
	r.res.Steps++
	r.emit(Event{Kind: EventStep, Step: r.res.Steps})
	req, resp, err := r.askFitting(ctx, set)
	if err != nil && ctx.Err() == nil && resp.Text == "" && hasImages(req.Messages) && refused(err) {
		// Few providers say beforehand whether they take images; this one may not.
		r.a.log.Info("asking again without images", "run", r.t.RunID, "error", redactText(r.a.secrets, err.Error()))
		r.noImages = true
		_, resp, err = r.askFitting(ctx, set)
	}
	return resp, err
}

// refused reports whether the provider would refuse the same request again.
func refused(err error) bool {
	pe, ok := errors.AsType[*ProviderError](err)
	return ok && pe.Kind == KindProvider && !pe.Retryable
}

func (r *run) ask(ctx context.Context, req Request) (Response, error) {
	r.s.step()
	resp, err := r.t.LLM.Complete(ctx, req, func(d Delta) {
		if d.Waits != "" {
			r.emit(Event{Kind: EventWaits, Delta: d.Waits})
		}
		if d.Reasoning != "" {
			r.emit(Event{Kind: EventReasoning, Delta: d.Reasoning})
		}
		if d.Text != "" {
			r.s.stream(d.Text)
			r.emit(Event{Kind: EventText, Delta: d.Text})
		}
	})
	used := resp.Usage
	used.TotalTokens = max(used.TotalTokens, used.PromptTokens+used.CompletionTokens)
	if used.TotalTokens > 0 {
		r.charge(used, used.TotalTokens)
	} else if err == nil || resp.Text != "" || resp.Reasoning != "" {
		r.charge(used, r.tokens(req)+r.vocabulary().answer(resp)) // the limit must hold where nothing is told
	}
	if err == nil {
		r.learn(req, used.PromptTokens)
	}
	return resp, err
}

// useTools runs the calls of an answer beside each other. The history gets
// answer and results in one step. Each call has its result, also when ctx
// ends (charmbracelet/crush#2492).
func (r *run) useTools(ctx context.Context, set toolset, resp Response) (*ending, error) {
	calls := distinct(resp.ToolCalls)
	r.s.call(resp.Text, validCalls(calls))
	r.s.written(ctx) // after a crash it is known that they may have run
	results := make([]callResult, len(calls))
	before := r.changes.count()
	var g errgroup.Group
	g.SetLimit(r.t.Limits.ParallelTools)
	for i, c := range calls {
		g.Go(func() error { // ends with its call, which ends soon after ctx
			results[i] = r.a.call(ctx, r, set, c)
			r.s.result(c.ID, results[i])
			return nil
		})
	}
	_ = g.Wait() // a call's error is in its result
	note, stop := r.circles.add(calls, results, r.changes.count() != before)
	r.s.settle(strings.TrimSpace(note + "\n\n" + r.diagnosed(ctx)))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case stop:
		return &ending{reason: "loop", why: "the model repeated the same calls without a new result", advice: "say what it should do differently, or " + goOn}, nil
	}
	r.give(ctx, r.steered(false))
	return nil, nil
}

// distinct gives each call of an answer an id of its own.
func distinct(calls []ToolCall) []ToolCall {
	out := slices.Clone(calls)
	seen := make(map[string]bool, len(out))
	for i := range out {
		for n := i; out[i].ID == "" || seen[out[i].ID]; n++ {
			out[i].ID = fmt.Sprintf("%.40s_%d", calls[i].ID, n)
		}
		seen[out[i].ID] = true
	}
	return out
}
