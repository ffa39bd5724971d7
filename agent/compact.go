package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Before a view leaves rounds or turns out of a conversation, the model is
// asked to summarise them. The summary stands in their place from then on, in
// the session's file too; the history stays whole.

// Bounds of a thread's compactions.
const (
	maxCompactions = 10    // that made room
	maxUnfit       = 2     // that came to nothing
	compactTail    = 20000 // tokens of the newest messages, a quarter of the budget at most, are not summarised
	compactGain    = 10    // a compaction makes room for this part of the budget, or is none
	compactInput   = 40000 // tokens that the model is given of what it summarises, half the budget at most
	summaryBytes   = 8000  // of a summary, an eighth of the budget at most
	fewestLetters  = 40    // of a summary that says something
)

// compactTag marks the conversation that is summarised.
const compactTag = "conversation"

// compactions is what a thread has summarised.
type compactions struct{ made, unfit int }

// makesRoom summarises what the model would not get otherwise. ok reports
// whether it did; where not, the view leaves it out. An error is ctx's cause: then
// nothing was changed (editor-code-assistant/eca#142, eca#471).
func (t *thread) makesRoom(ctx context.Context) (ok bool, err error) {
	if _, is := t.task.LLM.(StandIn); is || t.room.made >= maxCompactions || t.room.unfit >= maxUnfit {
		return false, nil
	}
	c := t.s.condensed()
	sizes := t.s.excerpt.counts.of(t.vocabulary(), c.messages)
	cut := compactCut(c, sizes, t.budget())
	if cut == 0 {
		return false, nil
	}
	t.emit(Event{Kind: EventWaits, Delta: "making room: summarising the earlier conversation"})
	made, err := t.summary(ctx, c, cut)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		t.room.unfit++
		t.a.log.Warn("a conversation was not summarised", "run", t.task.RunID, "error", redactText(t.a.secrets, err.Error()))
		return false, nil
	}
	t.room.made++
	t.s.summarise(made)
	t.a.log.Info("summarised a conversation", "run", t.task.RunID, "messages", made.Upto, "bytes", len(made.Text))
	return true, nil
}

// compactCut is the message before which a conversation is summarised; 0: it
// would not make enough room. What follows begins with an answer or a prompt, and
// holds the last round, or the prompt where there is none.
func compactCut(c condensed, sizes []int, budget int) int {
	last := c.prompt
	for i := len(c.messages) - 1; i > c.prompt; i-- {
		if c.messages[i].Role == Assistant {
			last = i
			break
		}
	}
	at, room := len(c.messages), min(compactTail, budget/4)
	for at > 0 && sizes[at-1] <= room {
		at--
		room -= sizes[at]
	}
	at = min(at, last)
	ends := roundEnds(c.messages)
	for at > 0 && (c.messages[at].Role == ToolRole || ends[at] > 0 && ends[at-1] == ends[at]) {
		at--
	}
	gain := 0
	for i, n := range sizes[:at] {
		switch {
		case i == c.prompt, i < c.first:
		case c.messages[i].Role == ToolRole:
			gain += min(n, shortText/2) // as much as a view shows of it by then
		default:
			gain += min(n, oldText/3)
		}
	}
	if gain < budget/compactGain {
		return 0
	}
	return at
}

// errUnfit is a summary that cannot be used.
var errUnfit = errors.New("the summary cannot be used")

// summary asks the model to summarise the messages before cut. Where the provider
// refuses so many, it is asked once more, with half of them.
func (t *thread) summary(ctx context.Context, c condensed, cut int) (summary, error) {
	budget := t.budget()
	room := min(summaryBytes, 3*budget/8)
	tokens := min(compactInput, budget/2)
	for again := false; ; again = true {
		if t.tokensLeft() < tokens+room/3 {
			return summary{}, fmt.Errorf("%w: limits.tokens leaves too little for it", errUnfit)
		}
		req := t.compactRequest(c.messages[:cut], 3*tokens, room)
		resp, err := t.askAside(ctx, req)
		if tokens /= 2; t.learnRefusal(req, err) && !again && ctx.Err() == nil {
			continue
		}
		if err == nil {
			err = fitSummary(resp)
		}
		if err != nil {
			return summary{}, err
		}
		part, before := t.s.summarised(c.from + cut - c.first)
		return summary{
			Upto: len(part), Text: truncate(strings.TrimSpace(visible(resp.Text)), room),
			Facts: factsOf(part), Asked: asked(part), ID: t.keepsPart(part, before),
		}, nil
	}
}

// keepsPart keeps what a summary stands for and the one before did not, and returns
// its id.
func (t *thread) keepsPart(part []entry, before summary) string {
	text := conversationText(messagesOf(part[before.Upto:]), 0)
	if before.ID != "" {
		text = fmt.Sprintf("[what came before this: read_result with id %q]\n\n", before.ID) + text
	}
	return t.shelf().put(text)
}

// fitSummary says why an answer is no summary; nil: it is one.
func fitSummary(resp Response) error {
	letters := 0
	for _, r := range resp.Text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	switch {
	case len(resp.ToolCalls) > 0:
		return fmt.Errorf("%w: the model asked for calls instead", errUnfit)
	case resp.FinishReason == "content_filter":
		return fmt.Errorf("%w: the provider's content filter ended it", errUnfit)
	case letters < fewestLetters:
		return fmt.Errorf("%w: it says nothing", errUnfit)
	}
	return nil
}

// compactRequest asks for a summary of at most room bytes, of messages that take
// limit bytes.
func (t *thread) compactRequest(part []Message, limit, room int) Request {
	var system strings.Builder
	if err := t.a.system.ExecuteTemplate(&system, "compact.md", room/8); err != nil {
		panic(err) // the template is embedded
	}
	text := block(compactTag, boundedConversation(part, limit))
	if now := t.s.promptText(); now != "" {
		text += "\n\nWhat the agent works on now, for the user:\n" + block(requestTag, truncate(now, askedFirst))
	}
	return Request{
		Messages:  []Message{{Role: System, Text: strings.TrimSpace(system.String())}, {Role: User, Text: text + "\n\nWrite the summary."}},
		MaxTokens: min(answerRoom, t.window()/4),
	}
}

// askAside asks the model for what is no part of the conversation.
func (t *thread) askAside(ctx context.Context, req Request) (Response, error) {
	resp, err := t.task.LLM.Complete(ctx, req, t.emitAside)
	t.pay(req, resp, err)
	return resp, err
}
