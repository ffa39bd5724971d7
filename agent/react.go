package agent

import (
	"context"
	"crypto/sha256"
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

// maxRounds is how many equal rounds of calls in a row are a loop.
const maxRounds = 3

// react works in turns of a model call and the tool calls that it asks for,
// until an answer comes without any or a limit is hit.
func (r *run) react(ctx context.Context) error {
	within(ctx, startWait, func(ctx context.Context) { r.missing = r.a.manager.WaitStarted(ctx) })
	e := r.expand(ctx)
	r.s.expand(Message{Role: User, Text: e.content(r.t.words(), r.t.Attachment, r.t.Limits.MentionChars), Images: e.images})
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.res.Steps >= r.t.Limits.Steps {
			r.stop("max_steps", fmt.Sprintf("the limit of %d model calls was reached", r.t.Limits.Steps))
			return nil
		}
		if r.spent >= r.t.Limits.Tokens {
			r.stop("max_tokens", fmt.Sprintf("the limit of %d tokens was reached", r.t.Limits.Tokens))
			return nil
		}
		done, err := r.step(ctx)
		if done || err != nil {
			return err
		}
	}
}

// step is one model call and its tool calls. The tools are taken anew, so that
// one that a server adds in a run is offered in the same run
// (github/copilot-cli#3125).
func (r *run) step(ctx context.Context) (done bool, err error) {
	within(ctx, settleWait, r.a.manager.Settle)
	set := r.a.toolset(len(r.t.Folders) > 0)
	r.res.Steps++
	r.emit(Event{Kind: EventStep, Step: r.res.Steps})
	resp, err := r.complete(ctx, set)
	if strings.TrimSpace(resp.Text) != "" {
		r.res.Text = resp.Text
	}
	if err != nil {
		r.partial = resp.Text
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return false, AsProviderError(err)
	}
	if len(resp.ToolCalls) > 0 && resp.FinishReason != "length" && resp.FinishReason != "content_filter" {
		return r.useTools(ctx, set, resp)
	}
	r.answer(resp)
	return true, nil
}

// complete calls the model and counts what it cost.
func (r *run) complete(ctx context.Context, set toolset) (Response, error) {
	messages := append([]Message{{Role: System, Text: r.systemPrompt(set)}}, repair(r.s.messages())...)
	if r.noImages {
		messages = withoutImages(messages)
	}
	resp, err := r.ask(ctx, Request{Messages: messages, Tools: set.specs})
	if err != nil && ctx.Err() == nil && resp.Text == "" && hasImages(messages) && refused(err) {
		// Few providers say beforehand whether they take images; this one may not.
		r.a.log.Info("asking again without images", "run", r.t.RunID, "error", r.a.secrets.Redact(err.Error()))
		r.noImages = true
		resp, err = r.ask(ctx, Request{Messages: withoutImages(messages), Tools: set.specs})
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
		r.spent += used.TotalTokens
		r.res.Usage = r.res.Usage.Add(used)
		sum := r.res.Usage
		r.emit(Event{Kind: EventUsage, Usage: &sum})
	} else if err == nil {
		r.spent += guessTokens(req, resp)
	}
	return resp, err
}

// guessTokens estimates the tokens of a call whose provider does not tell: the
// limit must hold there too.
func guessTokens(req Request, resp Response) int {
	n := len(resp.Text) + len(resp.Reasoning)
	for _, m := range req.Messages {
		n += len(m.Text)
		for _, c := range m.ToolCalls {
			n += len(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		n += len(t.Description) + len(t.Schema)
	}
	return n / 4
}

// answer takes an answer without calls.
func (r *run) answer(resp Response) {
	switch resp.FinishReason {
	case "length":
		r.partial = resp.Text
		r.stop("length", "the answer was cut by the provider's length limit")
	case "content_filter":
		r.partial = resp.Text
		r.stop("content_filter", "the provider's content filter ended the answer")
	default:
		r.res.Status, r.res.StopReason = StatusCompleted, "end_turn"
		if strings.TrimSpace(resp.Text) == "" {
			r.note("", "[an empty answer]")
			return
		}
		r.s.add(Message{Role: Assistant, Text: resp.Text})
	}
}

// stop ends the run at a limit.
func (r *run) stop(reason, note string) {
	r.res.Status, r.res.StopReason = StatusStopped, reason
	r.note(r.partial, "[stopped by agentls: "+note+"]")
}

// useTools runs the calls of an answer beside each other. The history gets
// answer and results in one step. Each call has its result, also when ctx
// ends (charmbracelet/crush#2492).
func (r *run) useTools(ctx context.Context, set toolset, resp Response) (done bool, err error) {
	calls := distinct(resp.ToolCalls)
	r.s.call(resp.Text, validCalls(calls))
	results := make([]callResult, len(calls))
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
	equal := r.rounds.add(calls, results)
	note := ""
	if equal == maxRounds {
		note = fmt.Sprintf("[agentls: the same calls gave the same results %d times in a row. Do something else, or answer with what is known.]", equal)
	}
	r.s.settle(note)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if equal > maxRounds {
		r.stop("loop", "the model repeated the same calls without a new result")
		return true, nil
	}
	return false, nil
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

// rounds notices that a model goes in circles (charmbracelet/crush#2130).
type rounds struct {
	last  [sha256.Size]byte
	equal int
}

// add returns how many rounds in a row had the same calls with the same
// results, this one included.
func (l *rounds) add(calls []ToolCall, results []callResult) int {
	h := sha256.New()
	for i, c := range calls {
		fmt.Fprintf(h, "%q %q %q\n", c.Name, c.Arguments, results[i].text)
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	if l.equal == 0 || sum != l.last {
		l.last, l.equal = sum, 0
	}
	l.equal++
	return l.equal
}
