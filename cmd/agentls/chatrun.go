package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentls/agent"
	"agentls/lsp/lspclient"
)

// chatRun is a run that was asked for and is not answered yet.
type chatRun struct {
	id      string
	request json.RawMessage // its id, to cancel it by
	began   time.Time
	line    bool // it asks no model: nothing can be added to it
	waits   bool // for the run before it
	calls   []*chatCall
	thought string // the end of what the model thinks, until it says something
	steps   []agent.PlanStep
}

// chatCall is a tool call of a run that has not ended.
type chatCall struct {
	agent.ToolCallEvent
	began time.Time
}

// requestCancelled is LSP's code of a request that was cancelled.
const requestCancelled = -32800

func asServerError(err error) (*lspclient.Error, bool) { return errors.AsType[*lspclient.Error](err) }

// ask sends a prompt, or a line that begins with '/'. The server sees it in the
// order of the lines.
func (d *dialogue) ask(prompt string) {
	d.mu.Lock()
	d.some = true
	slash, isSlash := agent.ParseSlash(prompt)
	x := &chatRun{id: newSession(), began: time.Now(), line: isSlash && slash.Server == "" && !startsRun(slash.Name)}
	params := lspclient.Command("agentls.ask", map[string]string{"prompt": prompt, "session": d.id, "runId": x.id})
	request, wait := d.client.Request("workspace/executeCommand", params)
	x.request = request
	d.runs = append(d.runs, x)
	d.mu.Unlock()
	d.face.changed()
	d.beside(func(ctx context.Context) {
		var result agent.Result
		err := wait(ctx, &result)
		d.end(x, result, err)
		if isHelp(prompt) && err == nil {
			d.ownHelp()
		}
	})
}

// startsRun reports whether a command begins a run of a mode.
func startsRun(name string) bool {
	c, ok := agent.SlashCommandNamed(name)
	return ok && c.Mode != ""
}

// steered is the run that what is typed now is given to; nil: there is none.
func (d *dialogue) steered() *chatRun {
	for _, x := range slices.Backward(d.live()) {
		if !x.line {
			return x
		}
	}
	return nil
}

// end shows how a run ended.
func (d *dialogue) end(x *chatRun, result agent.Result, err error) {
	code := exitOK
	d.face.answer("")
	switch e, refused := asServerError(err); {
	case refused && e.Code == requestCancelled:
		code = exitCancelled
		d.face.note(noteWarn, "cancelled")
	case err != nil:
		code = exitFailed
		d.fail(err)
	case result.Status != agent.StatusCompleted:
		code = exitFailed
		d.face.note(noteWarn, "stopped: "+oneLine(cmp.Or(result.Note, result.StopReason), 300))
	}
	if about := resultLine(result, time.Since(x.began)); about != "" && !d.script {
		d.face.note(noteDim, about)
	}
	d.mu.Lock()
	d.runs = slices.DeleteFunc(d.runs, func(other *chatRun) bool { return other == x })
	if d.worst != exitFailed {
		d.worst = code
	}
	d.mu.Unlock()
	d.face.changed()
}

// resultLine tells what a run took and changed; "": it asked no model.
func resultLine(r agent.Result, took time.Duration) string {
	if r.Steps == 0 {
		return ""
	}
	parts := []string{plural(r.Steps, "step"), shortTime(took)}
	if r.Usage.TotalTokens > 0 {
		parts = append(parts, fmt.Sprintf("%s in, %s out", thousands(r.Usage.PromptTokens), plural(r.Usage.CompletionTokens, "token")))
	}
	if n := len(r.Changed); n > 0 {
		parts = append(parts, plural(n, "file")+" changed (/undo)")
	}
	return strings.Join(parts, " · ")
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return thousands(n) + " " + what
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func shortTime(t time.Duration) string {
	switch {
	case t < time.Minute && t == t.Truncate(time.Second):
		return fmt.Sprintf("%d s", int(t.Seconds()))
	case t < time.Minute:
		return fmt.Sprintf("%.1f s", t.Seconds())
	}
	return fmt.Sprintf("%d:%02d min", int(t.Minutes()), int(t.Seconds())%60)
}

// live gives the runs that have not ended.
func (d *dialogue) live() []*chatRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.runs)
}

// cancel cancels what runs and waits; false: there is nothing.
func (d *dialogue) cancel() bool {
	runs := d.live()
	for _, x := range runs {
		d.client.Notify("$/cancelRequest", map[string]json.RawMessage{"id": x.request})
	}
	return len(runs) > 0
}

// steer gives a line to a run that works; one that has ended meanwhile leaves
// it to a new one.
func (d *dialogue) steer(x *chatRun, text string) {
	_, wait := d.client.Request("workspace/executeCommand", lspclient.Command("agentls.steer", map[string]string{"runId": x.id, "text": text}))
	d.beside(func(ctx context.Context) {
		var r struct {
			Accepted bool
			Reason   string
		}
		switch err := wait(ctx, &r); {
		case err != nil:
			d.fail(err)
		case r.Accepted:
			d.face.note(noteDim, "↳ the run gets it at its next step")
		case slices.Contains(d.live(), x): // it takes nothing more
			d.face.note(noteWarn, "not added to the run: "+oneLine(r.Reason, 300))
		default:
			d.ask(text)
		}
	})
}

// working tells what goes on now, line by line.
func (d *dialogue) working() (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.runs {
		if x.waits {
			lines = append(lines, "waits for the run before it")
			continue
		}
		for _, s := range x.steps {
			lines = append(lines, stepLine(s))
		}
		for _, c := range x.calls {
			if planned(c.ToolCallEvent) {
				continue
			}
			lines = append(lines, fmt.Sprintf("· %s %s", callLine(c.ToolCallEvent, d.parts.secrets), c.standing()))
		}
		if thought := oneLine(x.thought, thoughtChars); thought != "" {
			lines = append(lines, "thinks: … "+thought)
		}
	}
	return lines
}

// planned reports whether a call is one of those by which plans are made and
// carried out: the plan shows what comes of it.
func planned(e agent.ToolCallEvent) bool {
	return e.Server == "" && (e.Tool == "submit_plan" || e.Tool == "submit_review" || e.Tool == "fail_step")
}

// since is when the oldest run that works began; false: none does.
func (d *dialogue) since() (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.runs) == 0 {
		return time.Time{}, false
	}
	return d.runs[0].began, true
}

// standing is what a call waits for.
func (c *chatCall) standing() string {
	text := string(c.State)
	if took := time.Since(c.began); c.State == agent.ToolRunning && took >= time.Second {
		text = shortTime(took.Truncate(time.Second))
	}
	if c.Message != "" {
		text += ": " + oneLine(c.Message, 200)
	}
	return text
}

// stepLine is a step of a plan with its tick.
func stepLine(p agent.PlanStep) string {
	tick := map[agent.StepStatus]string{
		agent.StepCompleted: "✓", agent.StepFailed: "✗", agent.StepRunning: "▸", agent.StepSkipped: "–", agent.StepCancelled: "–",
	}[p.Status]
	text := cmp.Or(tick, "·") + " " + oneLine(p.Title, 200)
	if (p.Status == agent.StepFailed || p.Status == agent.StepRunning) && p.Note != "" {
		text += ": " + oneLine(p.Note, 200)
	}
	return text
}
