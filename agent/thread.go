package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// thread is a conversation within a run: its history, what of that is shown,
// what it is offered, whether it goes in circles. The run's own stands on the
// session; others have a history in memory that ends with the run. All share
// the run's gate, limits in tokens, usage, changes and cancel. Its goroutine
// owns everything but s, edits and what run guards.
type thread struct {
	*run
	s    *session // of the thread; that of the run is run.s
	part part

	steps    int      // model calls
	text     string   // complete answers of this prompt
	said     string   // of them those before the last turn: a person added to them
	partial  string   // of an answer that broke off
	wants    []string // texts that decide which tools it needs
	noImages bool     // the provider refused them
	circles  circles
	room     compactions
	reminded bool // see part.remind
	heard    int  // how much it has got of what a person added, from the run's first word on
	edits    edits

	mu   sync.Mutex
	stop *ending // a call ended the thread
}

// part is what a thread is within its run.
type part struct {
	name   string // "" is the run's own; else "step 2", "reviewer 2": in events, progress, log
	system string // template in prompts/; "": system.md
	// offers says which of all tools it is offered; nil: every one. The others
	// cannot be called.
	offers func(*tool) bool
	whyNot string  // the others cannot be
	own    []*tool // that it alone has
	deeds  *deeds  // takes what it does; nil: nobody wants to know
	// remind gives a word on the answer that would end the thread, once in it: it
	// goes on then. "": it ends.
	remind func(answer string) string
}

// newThread begins a conversation with an empty history. What was allowed for
// the session counts in it too.
func (r *run) newThread(p part) *thread {
	return &thread{run: r, s: newMemorySession(r.s), part: p, heard: r.task.Steer.heard()}
}

// newMemorySession is a history that no file has.
func newMemorySession(of *session) *session {
	return &session{turn: make(chan struct{}, 1), key: of.key, log: of.log, disk: of.disk, allowed: map[allowance]string{}}
}

// say gives the thread a prompt, and works until an answer comes without tool
// calls or a limit is hit. text is the answer. It can be called again: the
// history goes on, and its first prompt is never left out. An error is as that
// of [Agent.Run]; the history is valid then, too.
func (t *thread) say(ctx context.Context, prompt string) (text string, e ending, err error) {
	t.text, t.said, t.reminded, t.circles = "", "", false, circles{}
	t.restart()
	first := t.wants == nil
	t.wants = append(t.wants, prompt)
	parts, images := t.added(ctx, t.steered(false))
	m := user(append([]string{prompt}, parts...), images)
	if first {
		t.s.ask(t.task.RunID, "", prompt, prompt)
		t.s.expand(prompt, 0, []Message{m})
	} else {
		t.s.add(m)
	}
	defer func() {
		if v := recover(); v != nil {
			err = t.panicked(t.part.name, v)
		}
		if text = t.text; err != nil {
			t.broken(err)
		}
	}()
	e, err = t.loop(ctx)
	return t.text, e, err
}

// loop works in turns of a model call and the tool calls that it asks for,
// until an answer comes without any or a limit is hit. The history ends with
// the answer then.
func (t *thread) loop(ctx context.Context) (ending, error) {
	for {
		if ctx.Err() != nil {
			return ending{}, context.Cause(ctx)
		}
		if e := t.limit(); e != nil {
			t.end(*e)
			return *e, nil
		}
		e, err := t.step(ctx)
		if err != nil {
			return ending{}, err
		}
		if e != nil && !t.goesOn(ctx, *e) {
			t.end(*e)
			return *e, nil
		}
	}
}

// ending is how a conversation comes to its end by itself.
type ending struct {
	reason string // RunResult's stopReason
	text   string // of the last answer: not in the history yet
	why    string // a limit, in words; empty: it is completed
	advice string // what a person can do then
}

const endTurn = "end_turn" // the reason of a plain answer

const goOn = "send “go on” to continue"

// limit tells when no model call is left; nil: there is one. The steps are the
// thread's, the tokens those of the run.
func (t *thread) limit() *ending {
	switch {
	case t.steps >= t.task.Limits.Steps:
		return &ending{reason: "max_steps", why: fmt.Sprintf("the limit of %d model calls (limits.steps) was reached", t.task.Limits.Steps), advice: goOn}
	case t.tokensLeft() <= 0:
		return &ending{reason: "max_tokens", why: fmt.Sprintf("the limit of %d tokens (limits.tokens) was reached", t.task.Limits.Tokens), advice: goOn}
	}
	return nil
}

// goesOn lets a thread that came to its end go on with what a person added
// meanwhile.
func (t *thread) goesOn(ctx context.Context, e ending) bool {
	if note := t.reminder(e); note != "" {
		t.s.add(Message{Role: Assistant, Text: e.said()}, Message{Role: User, Text: note})
		t.said = t.text
		return true
	}
	if t.stopped() != nil {
		return false // a call ended it; what was added reaches the run's own, or is told as unread
	}
	texts := t.steered(true)
	if len(texts) == 0 {
		return false
	}
	if e.reason != "loop" { // there the results stand last
		t.s.add(Message{Role: Assistant, Text: e.said()})
		t.said = t.text
	}
	t.give(ctx, texts)
	return true
}

// reminder is what a thread is told that came to an end which its part wants to
// be another one.
func (t *thread) reminder(e ending) string {
	if t.part.remind == nil || t.reminded || e.reason != endTurn || t.limit() != nil {
		return ""
	}
	note := t.part.remind(e.text)
	t.reminded = note != ""
	return note
}

// stopBy lets a call end the thread, once all calls of its answer have ended.
// The first one counts. Safe for concurrent use.
func (t *thread) stopBy(e ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop == nil {
		t.stop = &e
	}
}

// restart lets a thread go on that a call had ended.
func (t *thread) restart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop = nil
}

func (t *thread) stopped() *ending {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stop
}

// end ends the history with the answer, or says why there is none.
func (t *thread) end(e ending) { t.s.add(Message{Role: Assistant, Text: e.said()}) }

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

// broken ends the history of a thread that failed or was cancelled: what was
// received is kept, and the roles go on alternating.
func (t *thread) broken(err error) {
	note := "[the run was cancelled here]"
	if pe, ok := errors.AsType[*ProviderError](err); ok {
		note = "[the run failed: " + t.a.tellable(pe.Message, 200) + "]"
	}
	t.s.add(Message{Role: Assistant, Text: noted(cmp.Or(t.partial, t.s.streamed()), note)})
}

// answered takes down the text of an answer, which may be cut.
func (t *thread) answered(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	t.text = paragraphs(strings.TrimRight(t.said, "\n"), text)
	if t.isOwn() {
		t.tellText(t.text)
	}
}

// write puts text of agentls' own into the run's text. The thread is the run's
// own, and waits for a call.
func (t *thread) write(text string) {
	if t.text == "" || strings.HasSuffix(t.text, "\n\n") {
		text = strings.TrimLeft(text, "\n")
	}
	t.said = strings.TrimLeft(t.said+text, "\n")
	t.text = t.said
	t.tellText(strings.TrimRight(t.text, "\n"))
	t.emit(Event{Kind: EventText, Delta: text})
}

// isOwn reports whether it is the run's own conversation.
func (t *thread) isOwn() bool { return t.part.name == "" }

// emit tells an event of the thread. What another than the run's own streams
// is no text of the run.
func (t *thread) emit(e Event) {
	if !t.isOwn() && (e.Kind == EventText || e.Kind == EventReasoning) {
		return
	}
	e.Part = t.part.name
	t.run.emit(e)
}

// emitCall tells of a call of the thread; nothing more after its end.
func (t *thread) emitCall(e ToolCallEvent, last bool) {
	e.Part = t.part.name
	t.run.emitCall(e, last)
}

// offers reports whether the thread may call a tool.
func (t *thread) offers(one *tool) bool {
	return t.part.offers == nil || t.part.offers(one) || one.server == "" && slices.ContainsFunc(t.part.own, func(mine *tool) bool { return mine.name == one.name })
}

// tools returns all tools that there are now, those that the thread alone has
// first.
func (t *thread) tools(files bool) (own, served []*tool) {
	for _, mine := range t.part.own {
		c := *mine // its name is set per request
		own = append(own, &c)
	}
	made, served := t.a.tools(files)
	return append(own, made...), served
}
