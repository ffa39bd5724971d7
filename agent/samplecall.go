package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"agentls/mcp"
)

// errSampleLong ends an answer whose provider does not heed the request's
// MaxTokens.
var errSampleLong = errors.New("the answer is longer than was asked for")

// read makes of the request what the model reads.
func (s *sampling) read() {
	s.asked, s.prompt = s.messages(true), 0
	for _, m := range s.asked {
		s.prompt += vocabularyOf(s.model().Name).message(m)
	}
}

// cost is what the request takes at most, in tokens.
func (s *sampling) cost() int { return s.prompt + s.t.Request.MaxTokens }

// bound gives how many tokens the answer may have; an error says which limit
// leaves none.
func (s *sampling) bound() (int, error) {
	spent, _ := s.a.samples.lastHour(s.t.Server)
	left := hourTokens(s.t.Limits) - spent
	why := "the tokens that this server may spend of the model within an hour (limits.tokens)"
	if r := s.a.living(s.t.RunID); r != nil && r.tokensLeft() < left {
		left, why = r.tokensLeft(), "the tokens of the run (limits.tokens)"
	}
	if left <= s.prompt {
		return 0, fmt.Errorf("the request has about %d tokens, and of %s there are %d left", s.prompt, why, max(left, 0))
	}
	return min(s.t.Request.MaxTokens, left-s.prompt), nil
}

// complete asks the model, once, without tools. What it may cost is taken from
// the bounds beforehand: others run beside it.
func (s *sampling) complete(ctx context.Context) (res mcp.SampleResult, err error) {
	var used Usage
	tokens := 0
	defer func() {
		if s.taken > 0 {
			s.a.samples.give(s.key(), s.taken-tokens)
		}
	}()
	if err := s.prepare(ctx); err != nil {
		return res, err
	}
	most, err := s.bound()
	if err != nil {
		return res, err
	}
	settle := s.a.samples.spend(s.t.Server, s.prompt+most)
	defer func() {
		settle(tokens)
		if r := s.a.living(s.t.RunID); r != nil {
			r.charge(used, tokens)
		}
	}()
	resp, err := s.answer(ctx, most)
	if err != nil && ctx.Err() == nil && resp.Text == "" && hasImages(s.asked) && refused(err) {
		s.asked = s.messages(false) // this provider takes none
		resp, err = s.answer(ctx, most)
	}
	used = resp.Usage
	used.TotalTokens = max(used.TotalTokens, used.PromptTokens+used.CompletionTokens)
	if tokens = used.TotalTokens; tokens == 0 && (err == nil || resp.Text != "" || resp.Reasoning != "") {
		tokens = s.prompt + vocabularyOf(s.model().Name).answer(resp) // the bounds must hold where nothing is told
	}
	switch {
	case ctx.Err() != nil:
		return res, context.Cause(ctx)
	case errors.Is(err, errSampleLong):
		resp.FinishReason = "length"
	case err != nil:
		return res, AsProviderError(err)
	}
	return s.result(resp, most)
}

// prepare lets the model's provider find out how much fits: some drop the front
// of what is too long without a word, and the server would get an answer to half
// of its request.
func (s *sampling) prepare(ctx context.Context) error {
	if p, ok := s.t.LLM.(Preparing); ok {
		p.Prepare(ctx, s.notice)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m := s.model(); m.ContextWindow > 0 && s.prompt > m.ContextWindow {
		return fmt.Errorf("the request has about %d tokens, and the model %q takes %d in one: ask with less", s.prompt, m.Name, m.ContextWindow)
	}
	return nil
}

// notice tells the person what the provider has to say, in the run that is
// served.
func (s *sampling) notice(d Delta) {
	if r := s.a.living(s.t.RunID); r != nil && d.Notice != "" {
		r.emit(Event{Kind: EventNotice, Delta: d.Notice})
	}
}

// result is what the server gets.
func (s *sampling) result(resp Response, most int) (mcp.SampleResult, error) {
	res := mcp.SampleResult{Text: resp.Text, Model: s.model().Name, StopReason: "endTurn"}
	empty := strings.TrimSpace(resp.Text) == ""
	switch {
	case resp.FinishReason == "length" && empty:
		return res, fmt.Errorf("the model used up %d tokens before it said anything: ask with more maxTokens", most)
	case resp.FinishReason == "content_filter":
		return res, errors.New("the provider's content filter ended the answer")
	case empty:
		return res, errors.New("the model gave an empty answer")
	case resp.FinishReason == "length":
		res.StopReason = "maxTokens"
	}
	return res, nil
}

// answer is one call of the model. It comes back soon after ctx ended.
func (s *sampling) answer(ctx context.Context, most int) (Response, error) {
	type answer struct {
		resp Response
		err  error
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req := Request{Messages: s.asked, MaxTokens: most, Temperature: s.t.Request.Temperature, Stop: s.t.Request.Stop}
	var heard hearing
	enough := s.enough(most, &heard, cancel)
	got, ok, err := await(within, s.a, func(ctx context.Context) answer {
		resp, err := s.t.LLM.Complete(ctx, req, enough)
		return answer{resp, err}
	})
	switch {
	case !ok && ctx.Err() == nil: // it was told to stop, and is slow to
		return Response{Text: heard.said()}, errSampleLong
	case !ok:
		return Response{}, context.Cause(within)
	case err != nil:
		return Response{}, err
	case got.err != nil && ctx.Err() == nil && within.Err() != nil:
		return got.resp, errSampleLong
	}
	return got.resp, got.err
}

// hearing is the text of an answer as far as it has come. Safe for concurrent
// use.
type hearing struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *hearing) hear(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.WriteString(text)
}

func (h *hearing) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// enough ends an answer that goes on: some providers heed no limit. Each counts
// tokens in its own way, so it is held to twice what we count.
func (s *sampling) enough(most int, heard *hearing, cancel context.CancelCauseFunc) func(Delta) {
	v := vocabularyOf(s.model().Name)
	var said strings.Builder
	next := 4 * most // bytes from which it is worth while to count
	return func(d Delta) {
		s.notice(d)
		said.WriteString(d.Reasoning)
		said.WriteString(d.Text)
		heard.hear(d.Text)
		if said.Len() < next {
			return
		}
		next = said.Len() + said.Len()/8
		if v.count(said.String()) > 2*most {
			cancel(errSampleLong)
		}
	}
}

// sampleNote stands before messages that begin with one of the assistant's.
const sampleNote = "[agentls: the messages of an MCP server follow]"

// messages are what the model reads: the server's own, as text and images;
// what no model takes is named in words.
func (s *sampling) messages(images bool) []Message {
	var own []Message
	shown := 0
	for _, m := range s.t.Request.Messages {
		one := Message{Role: User}
		if m.Role == string(Assistant) {
			one.Role = Assistant
		}
		var parts []string
		for _, c := range m.Contents {
			img := image(c)
			switch {
			case img == nil:
				head, text, _ := contentText(c)
				parts = append(parts, head+text)
			case !images || one.Role != User || shown == maxImages:
				parts = append(parts, imageLine(img.MIMEType, decodedLen(img.Data), "not shown"))
			default:
				shown++
				one.Images = append(one.Images, *img)
			}
		}
		one.Text = paragraphs(parts...)
		own = append(own, one)
	}
	own = alternating(sampleNote, own)
	if strings.TrimSpace(s.t.Request.System) != "" {
		own = append([]Message{{Role: System, Text: s.t.Request.System}}, own...)
	}
	return own
}
