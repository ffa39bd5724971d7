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

// react works on the task in the session's own conversation.
func (r *run) react(ctx context.Context) error {
	r.awaitServers(ctx)
	r.begin(ctx)
	e, err := r.own.loop(ctx)
	if err != nil {
		return err
	}
	r.res.Status, r.res.StopReason = StatusCompleted, e.reason
	if e.why != "" {
		r.res.Status, r.res.Note = StatusStopped, e.why+": "+e.advice
	}
	return nil
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
	e := r.expand(ctx, r.task.Prompt)
	texts := r.own.steered(false)
	if more := paragraphs(texts...); more != "" {
		r.task.Prompt = paragraphs(r.task.Prompt, more)
		of := r.expand(ctx, more)
		e = expansion{append(e.blocks, of.blocks...), append(e.images, of.images...)}
	}
	text := e.content(r.task.words(), r.task.Attachment, r.task.Limits.MentionChars)
	r.s.expand(r.task.typed(), len(texts), r.withGiven(user([]string{text}, e.images)))
	r.own.wants = append(r.own.wants, r.task.Prompt)
	for _, m := range r.given {
		r.own.wants = append(r.own.wants, m.Text)
	}
}

// step is one model call and its tool calls. The tools are taken anew, so that
// one that a server adds in a run is offered in the same run
// (github/copilot-cli#3125). It gives how the run ends, nil when it goes on.
func (t *thread) step(ctx context.Context) (*ending, error) {
	within(ctx, settleWait, t.a.manager.Settle)
	t.prepare(ctx)
	set := t.toolset()
	resp, err := t.complete(ctx, set)
	t.answered(resp.Text)
	if err != nil {
		t.partial = resp.Text
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, AsProviderError(err)
	}
	if set.byName[submitPlanName] != nil && len(resp.ToolCalls) == 0 && resp.FinishReason != "length" {
		if args, ok := planInText(resp.Text); ok {
			resp.ToolCalls = []ToolCall{{Name: submitPlanName, Arguments: args}}
		}
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
		return t.useTools(ctx, set, resp)
	}
	return &ending{reason: endTurn, text: resp.Text}, nil
}

// complete calls the model. An answer that broke off is asked for once more,
// on the same history: nothing of it was run, and what ran before has its
// results there (editor-code-assistant/eca#224).
func (t *thread) complete(ctx context.Context, set toolset) (Response, error) {
	resp, err := t.turn(ctx, set)
	if err == nil || ctx.Err() != nil || !brokeOff(err) || t.limit() != nil {
		return resp, err
	}
	t.a.log.Warn("an answer broke off, asking for it again", "run", t.task.RunID, "error", redactText(t.a.secrets, err.Error()))
	if resp.Text != "" {
		t.emit(Event{Kind: EventText, Delta: "\n\n*(the answer broke off and is asked for again)*"})
	}
	again, err := t.turn(ctx, set)
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
func (t *thread) turn(ctx context.Context, set toolset) (Response, error) {
	t.steps++
	t.stepped()
	t.emit(Event{Kind: EventStep, Step: t.steps})
	req, resp, err := t.askFitting(ctx, set)
	if err != nil && ctx.Err() == nil && resp.Text == "" && hasImages(req.Messages) && refused(err) {
		// Few providers say beforehand whether they take images; this one may not.
		t.a.log.Info("asking again without images", "run", t.task.RunID, "error", redactText(t.a.secrets, err.Error()))
		t.noImages = true
		t.emit(Event{Kind: EventNotice, Delta: "The provider refuses a request with images: it is asked again without them."})
		_, resp, err = t.askFitting(ctx, set)
	}
	return resp, err
}

// refused reports whether the provider would refuse the same request again.
func refused(err error) bool {
	pe, ok := errors.AsType[*ProviderError](err)
	return ok && pe.Kind == KindProvider && !pe.Retryable
}

// emitAside tells what a delta says of the call itself.
func (t *thread) emitAside(d Delta) {
	if d.Waits != "" {
		t.emit(Event{Kind: EventWaits, Delta: d.Waits})
	}
	if d.Notice != "" {
		t.emit(Event{Kind: EventNotice, Delta: d.Notice})
	}
}

func (t *thread) ask(ctx context.Context, req Request) (Response, error) {
	t.s.step()
	resp, err := t.task.LLM.Complete(ctx, req, func(d Delta) {
		t.emitAside(d)
		if d.Reasoning != "" {
			t.emit(Event{Kind: EventReasoning, Delta: d.Reasoning})
		}
		if d.Text != "" {
			t.s.stream(d.Text)
			t.emit(Event{Kind: EventText, Delta: d.Text})
		}
	})
	t.pay(req, resp, err)
	if err == nil {
		t.learn(req, resp.Usage.PromptTokens)
	}
	return resp, err
}

// pay charges what an answer cost to the run.
func (t *thread) pay(req Request, resp Response, err error) {
	used := resp.Usage
	used.TotalTokens = max(used.TotalTokens, used.PromptTokens+used.CompletionTokens)
	if used.TotalTokens > 0 {
		t.charge(used, used.TotalTokens)
	} else if err == nil || resp.Text != "" || resp.Reasoning != "" {
		t.charge(used, t.tokens(req)+t.vocabulary().answer(resp)) // the limit must hold where nothing is told
	}
}

// useTools runs the calls of an answer beside each other. The history gets
// answer and results in one step. Each call has its result, also when ctx
// ends (charmbracelet/crush#2492).
func (t *thread) useTools(ctx context.Context, set toolset, resp Response) (*ending, error) {
	calls := distinct(resp.ToolCalls)
	t.s.call(resp.Text, validCalls(calls))
	t.s.written(ctx) // after a crash it is known that they may have run
	results := make([]callResult, len(calls))
	before := t.edits.count()
	sets := alone(set, calls)
	var g errgroup.Group
	g.SetLimit(t.task.Limits.ParallelTools)
	for i, c := range calls {
		g.Go(func() error { // ends with its call, which ends soon after ctx
			results[i] = t.a.call(ctx, t, sets[i], c)
			t.s.result(c.ID, results[i])
			return nil
		})
	}
	_ = g.Wait() // a call's error is in its result
	note, stop := t.circles.add(calls, results, t.edits.count() != before)
	t.s.settle(strings.TrimSpace(note + "\n\n" + t.diagnosed(ctx)))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case stop:
		return &ending{reason: "loop", why: "the model repeated the same calls without a new result", advice: "say what it should do differently, or " + goOn}, nil
	}
	if e := t.stopped(); e != nil {
		return e, nil
	}
	t.give(ctx, t.steered(false))
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
