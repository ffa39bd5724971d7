package lsp

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

const (
	reportEvery   = 100 * time.Millisecond // at most ten reports a second
	createTimeout = 2 * time.Second        // for the client to know a token of ours
	tailBytes     = 2048                   // of the text, from which the last words are taken
	lastWordsMax  = 80                     // code points of the last words
)

// progress tells a run's progress under one token (CONTRACT §5): begin, at
// most ten reports a second, end on every path; never a percentage. Only the
// run's teller uses it.
type progress struct {
	s      *Server
	title  string
	token  protocol.ProgressToken
	create bool // the token is ours and the client has to be told of it

	made   <-chan bool      // gives once whether the client took our token; nil: nothing is awaited
	due    <-chan time.Time // when the next report goes out; nil: there is none
	open   bool
	last   time.Time // of the last report
	ending func()    // ends the making of the token and waits for it

	queued bool // runs of the session are before it
	step   int
	plan   string // how far it is; empty: none runs
	tool   string // that runs, or is being decided, and for which part of the run
	waits  string // why the provider is asked again, and when
	needs  bool   // a question is open
	tail   []byte // of the text
	cut    bool   // the tail begins inside a word
}

// begin opens the progress, or starts to make its token known; that takes a
// round trip, which the run does not wait for.
func (p *progress) begin(x *run) {
	p.ending = func() {}
	select {
	case <-x.turn:
	default:
		p.queued = true
	}
	switch {
	case p.token == nil:
	case !p.create:
		p.opened(true)
	default:
		made := make(chan bool, 1)
		ctx, cancel := context.WithTimeout(x.ctx, createTimeout)
		var wg sync.WaitGroup
		wg.Go(func() { // ends with ctx
			made <- p.s.call(ctx, "window/workDoneProgress/create", protocol.WorkDoneProgressCreateParams{Token: p.token}, nil) == nil
		})
		p.made = made
		p.ending = func() { cancel(); wg.Wait() }
	}
}

// stop ends the making of the token, if that still goes on.
func (p *progress) stop() { p.ending() }

// settleToken begins the progress of a token that the client has taken, so that
// its end follows; wait: also of one that it did not answer yet.
func (p *progress) settleToken(wait bool) {
	if wait && p.made != nil {
		p.opened(<-p.made)
	}
	select {
	case ok := <-p.made:
		p.opened(ok)
	default:
	}
}

// opened begins the progress when the client knows its token.
func (p *progress) opened(ok bool) {
	p.made = nil
	if !ok {
		return
	}
	p.open = true
	begin := protocol.WorkDoneProgressBegin{Kind: "begin", Title: p.title, Cancellable: new(true)}
	if text := p.message(); text != "" {
		begin.Message = &text
	}
	p.send(begin)
	p.last = time.Now()
}

// note takes an event and plans a report.
func (p *progress) note(e pending) {
	switch e.Kind {
	case eventStarted:
		p.queued = false
	case agent.EventStep:
		if e.Part != "" {
			return
		}
		p.step, p.tool, p.waits = e.Step, "", ""
	case agent.EventPlan:
		p.plan, p.tool = planProgress(e.Plan), ""
	case agent.EventWaits:
		p.waits = string(e.delta)
	case agent.EventReasoning:
		if p.waits == "" {
			return
		}
		p.waits = ""
	case agent.EventText:
		p.waits = ""
		p.say(e.delta)
	case agent.EventToolCall:
		p.tool = ""
		if t := e.ToolCall; t.State == agent.ToolPending || t.State == agent.ToolRunning {
			p.tool = t.Tool
			if t.Server != "" {
				p.tool = t.Server + ": " + t.Tool
			}
			if t.Part != "" {
				p.tool = t.Part + ": " + p.tool
			}
			if t.Message != "" {
				p.tool += " (" + t.Message + ")"
			}
		}
	case eventApproval:
		p.needs = e.approval.State == "open"
	default:
		return
	}
	if p.due == nil {
		p.due = time.After(max(0, reportEvery-time.Since(p.last)))
	}
}

// planProgress says how many steps of a plan have ended, and which run; empty:
// all have ended.
func planProgress(p *agent.PlanState) string {
	text, running := planStands(p), []string{}
	for _, s := range p.Steps {
		if s.Status == agent.StepRunning {
			title := cleanTo(s.Title, titleShown)
			if where, _, _ := strings.Cut(s.Note, ":"); where != "" { // of a team: in review, sent back
				title += " (" + cleanTo(where, titleShown) + ")"
			}
			running = append(running, title)
		}
	}
	if text != "" && len(running) > 0 {
		text += ": " + strings.Join(running, separator)
	}
	return text
}

// planStands says how many steps of a plan have ended; empty: all have.
func planStands(p *agent.PlanState) string {
	ended := 0
	for _, s := range p.Steps {
		if s.Status != agent.StepPending && s.Status != agent.StepRunning {
			ended++
		}
	}
	if ended == len(p.Steps) {
		return ""
	}
	return fmt.Sprintf("plan %d/%d", ended, len(p.Steps))
}

// say adds to the tail of the text. A tail that was cut begins at a new word,
// so that no half of a secret is left over.
func (p *progress) say(delta []byte) {
	p.tail = append(p.tail, delta...)
	if len(p.tail) > 2*tailBytes {
		p.tail = append([]byte(nil), p.tail[len(p.tail)-tailBytes:]...)
		p.cut = true
	}
	if !p.cut {
		return
	}
	if i := bytes.IndexFunc(p.tail, wordEnd); i >= 0 {
		p.tail, p.cut = p.tail[i:], false
	} else {
		p.tail = p.tail[:0]
	}
}

// wordEnd reports a rune that ends what may be a secret.
func wordEnd(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf }

// message is what a report says: step, tool, last words.
func (p *progress) message() string {
	var parts []string
	if p.queued {
		parts = append(parts, "queued")
	}
	switch {
	case p.plan != "":
		parts = append(parts, p.s.tell(p.plan))
	case p.step > 0:
		parts = append(parts, fmt.Sprintf("step %d", p.step))
	}
	if p.needs {
		parts = append(parts, "waits for your answer")
	}
	if p.tool != "" {
		parts = append(parts, p.s.tell(p.tool))
	}
	if p.waits != "" {
		parts = append(parts, p.s.tell(p.waits))
	} else if words := p.words(); words != "" && p.plan == "" {
		parts = append(parts, words)
	}
	return strings.Join(parts, " · ")
}

// words are the last whole words of the text. One that is still being written
// may be the beginning of a secret and is left out.
func (p *progress) words() string {
	text := string(p.tail)
	last := strings.LastIndexFunc(text, wordEnd)
	if last < 0 {
		return ""
	}
	_, n := utf8.DecodeRuneInString(text[last:])
	text = strings.ToValidUTF8(text[:last+n], "")
	runes := []rune(cleanTo(p.s.o.Secrets.Redact(text), 2*tailBytes))
	if len(runes) > lastWordsMax {
		return "…" + string(runes[len(runes)-lastWordsMax:])
	}
	return string(runes)
}

// report sends the planned report.
func (p *progress) report() {
	p.due = nil
	if !p.open {
		return
	}
	p.last = time.Now()
	if text := p.message(); text != "" {
		p.send(protocol.WorkDoneProgressReport{Kind: "report", Message: &text})
	}
}

// end ends the progress with a last message, if it was begun.
func (p *progress) end(message string) {
	if !p.open {
		return
	}
	p.open = false
	p.send(protocol.WorkDoneProgressEnd{Kind: "end", Message: &message})
}

func (p *progress) send(value any) {
	raw, err := protocol.Marshal(value)
	if err != nil {
		p.s.o.Log.Error("progress cannot be encoded", "err", err)
		return
	}
	p.s.notify("$/progress", protocol.ProgressParams{Token: p.token, Value: raw})
}
