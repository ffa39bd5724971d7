package main

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"agentls/agent"
	"agentls/mcp"
)

// chatEvent is the notification agentls/runEvent (CONTRACT §5).
type chatEvent struct {
	RunID    string
	Kind     string
	Delta    string
	Mention  *agent.MentionResult
	ToolCall *agent.ToolCallEvent
	Plan     *agent.PlanState
}

// thoughtChars is how much of what a model thinks is shown.
const thoughtChars = 60

// event shows what a run tells.
func (d *dialogue) event(params json.RawMessage) {
	var e chatEvent
	if json.Unmarshal(params, &e) != nil {
		return
	}
	d.mu.Lock()
	var x *chatRun
	if i := slices.IndexFunc(d.runs, func(x *chatRun) bool { return x.id == e.RunID }); i >= 0 {
		x = d.runs[i]
		x.take(e)
	}
	d.mu.Unlock()
	if x == nil {
		return // it was cancelled and answered
	}
	switch {
	case e.Kind == string(agent.EventText) && x.line: // the server's own words
		d.face.answer(printable(inLines(e.Delta)))
	case e.Kind == string(agent.EventText):
		d.face.answer(printable(e.Delta))
	case e.Kind == string(agent.EventMention) && e.Mention != nil:
		d.mention(*e.Mention)
	case e.Kind == string(agent.EventToolCall) && e.ToolCall != nil:
		d.face.answer("") // what was said before it
		if ended(e.ToolCall.State) {
			d.called(*e.ToolCall, x)
		}
	}
	d.face.changed()
}

// take keeps what is shown while it lasts. d.mu is held.
func (x *chatRun) take(e chatEvent) {
	switch e.Kind {
	case "queued":
		x.waits = true
	case "started":
		x.waits, x.began = false, time.Now()
	case string(agent.EventReasoning):
		text := []rune(x.thought + e.Delta)
		x.thought = string(text[max(0, len(text)-thoughtChars):])
	case string(agent.EventText):
		x.thought = ""
	case string(agent.EventPlan):
		if e.Plan != nil {
			x.steps = e.Plan.Steps
		}
	case string(agent.EventToolCall):
		x.thought = ""
		if e.ToolCall != nil {
			x.call(*e.ToolCall)
		}
	}
}

// call keeps a call until it has ended.
func (x *chatRun) call(e agent.ToolCallEvent) {
	i := slices.IndexFunc(x.calls, func(c *chatCall) bool { return c.ID == e.ID })
	switch {
	case ended(e.State) && i >= 0: // called shows it, with what is known of it
	case i < 0:
		x.calls = append(x.calls, &chatCall{e, time.Now()})
	default:
		c := x.calls[i]
		if e.State != c.State && e.State == agent.ToolRunning {
			c.began = time.Now() // the question took the rest
		}
		if len(e.Arguments) == 0 {
			e.Arguments = c.Arguments
		}
		c.ToolCallEvent = e
	}
}

func ended(s agent.ToolCallState) bool { return s != agent.ToolPending && s != agent.ToolRunning }

// called shows a call that has ended, on one line.
func (d *dialogue) called(e agent.ToolCallEvent, x *chatRun) {
	began := time.Now()
	d.mu.Lock()
	x.calls = slices.DeleteFunc(x.calls, func(c *chatCall) bool {
		if c.ID != e.ID {
			return false
		}
		if began = c.began; len(e.Arguments) == 0 {
			e.Arguments = c.Arguments
		}
		return true
	})
	d.mu.Unlock()
	if planned(e) && e.State != agent.ToolCallState(agent.Failed) {
		return
	}
	line := "· " + callLine(e, d.parts.secrets) + " — " + string(e.State)
	if took := time.Since(began); took >= 100*time.Millisecond {
		line += " " + shortTime(took)
	}
	if e.Message != "" {
		line += ": " + oneLine(d.parts.secrets.Redact(e.Message), 300)
	}
	kind := noteDim
	if string(e.State) != string(agent.Completed) {
		kind = noteWarn
	}
	d.face.note(kind, line)
}

// argumentChars is how much of a call's arguments is shown on its line.
const argumentChars = 80

// callLine names a call: whose tool, and with what.
func callLine(e agent.ToolCallEvent, secrets *mcp.Secrets) string {
	name := e.Tool
	if e.Server != "" {
		name = e.Server + "/" + name
	}
	text := oneLine(name, 100)
	if e.Part != "" {
		text = oneLine(e.Part, 40) + ": " + text
	}
	if arguments := strings.TrimSpace(string(e.Arguments)); arguments != "" && arguments != "{}" && arguments != "null" {
		text += " " + oneLine(secrets.Redact(arguments), argumentChars)
	}
	return text
}

// mention shows what became of one.
func (d *dialogue) mention(m agent.MentionResult) {
	kind, line := noteDim, "· @"+m.Server+":"+m.URI+" "+m.Status
	if m.Error != "" {
		kind, line = noteWarn, line+": "+m.Error
	}
	d.face.note(kind, oneLine(d.parts.secrets.Redact(line), 500))
}
