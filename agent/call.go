package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"agentls/mcp"
)

// What the model reads of a call that was not run.
const (
	notRun         = " Nothing was done."
	cancelledStart = "The run was cancelled before this call started." + notRun
	cancelledCall  = "The run was cancelled while this call was running. It may or may not have had an effect."
	brokenCall     = "The call broke off. It may or may not have had an effect: look before you call it again. "
)

// callResult is what a call comes to.
type callResult struct {
	status Outcome
	text   string  // for the model; never empty
	images []Image // likewise
	stored string  // the id under which the whole text is kept, where this one is cut
	by     string  // who decided, for the audit
	reason string  // why it did not complete, for audit and user
	digest digest  // of text and images, before the gate's cut
	began  time.Time
	took   time.Duration
}

// pending is a call on its way through the gate.
type pending struct {
	id   string
	tool *tool           // nil: no such tool
	name string          // the server's own name; what the model wrote where there is no such tool
	args json.RawMessage // as the person edited them
	real string          // the file that was permitted, with links resolved; empty: none
	of   string          // the fingerprint of the server that was decided about
}

// call is the one gate that every tool call passes: cancel check, name,
// arguments, policy, question, call, audit, truncation (ARCHITECTURE, "What always
// holds"). It always gives a result for the model, soon after ctx ended.
func (a *Agent) call(ctx context.Context, t *thread, set toolset, c ToolCall) (res callResult) {
	p := pending{id: t.callID(c.ID), name: a.tellable(c.Name, maxName)}
	defer func() {
		if v := recover(); v != nil {
			a.log.Error("a tool call panicked", "tool", p.name, "panic", redactText(a.secrets, fmt.Sprint(v)), "stack", string(debug.Stack()))
			res = failed("internal error: the call ended unexpectedly")
		}
		res = a.conclude(t, p, res)
	}()
	if p.tool = set.byName[c.Name]; p.tool != nil {
		p.name = p.tool.name
		if p.tool.definition != "" {
			t.s.offering.ask(p.tool.key())
		}
	}
	var err error
	if p.args, err = p.tool.arguments(c.Arguments); err != nil {
		p.args = marshal(ellipsis(c.Arguments, 1000)) // as a string, for who looks at it
	}
	t.emitCall(p.event(ToolPending, ""), false)
	switch {
	case ctx.Err() != nil:
		return notStarted("policy")
	case p.tool == nil:
		return failed(a.unknownTool(c.Name, set))
	case err != nil:
		return failed(err.Error() + ". Call the tool again with one JSON object that fits its schema." + notRun)
	}
	if err := t.unclear(p.tool, p.args); err != nil {
		return failed("The call failed: " + err.Error() + "." + notRun)
	}
	may := a.permit(ctx, t, &p)
	if may.granted && !p.tool.plan { // what runs in a plan has its own
		free, waited := t.slot(ctx)
		defer free()
		if waited && ctx.Err() == nil && !a.stands(t.run, p) {
			may = a.permit(ctx, t, &p)
		}
	}
	switch {
	case !may.granted:
		return may.callResult
	case ctx.Err() != nil: // whatever was answered meanwhile (obot-platform/obot#5697)
		return notStarted(may.by)
	}
	t.emitCall(p.event(ToolRunning, ""), false)
	res = a.execute(ctx, t, p, may)
	res.by = may.by
	if res.reason == "" {
		res.reason = may.reason
	}
	return res
}

// slot waits until less than limits.parallelTools calls of the run are at work,
// those of all its threads, and takes a place among them until free. A question
// takes none, and no call waits for another one in it. waited: what was
// permitted is a while ago. After ctx ended there may be none.
func (r *run) slot(ctx context.Context) (free func(), waited bool) {
	free = func() { <-r.slots }
	select {
	case r.slots <- struct{}{}:
		return free, false
	default:
	}
	select {
	case r.slots <- struct{}{}:
		return free, true
	case <-ctx.Done():
		return func() {}, true
	}
}

// stands reports whether a permitted call is still what would run: its tool, its
// server and its file are the same, and no rule denies it by now.
func (a *Agent) stands(r *run, p pending) bool {
	now, ok := a.current(p.tool)
	v := a.decide(r, p.tool, p.args)
	return ok && now.definition == p.tool.definition && v.action != actionDeny && v.real == p.real && v.covers.Fingerprint == p.of
}

// execute runs a permitted call.
func (a *Agent) execute(ctx context.Context, t *thread, p pending, may permit) callResult {
	type answer struct {
		out output
		err error
	}
	e := t.env()
	e.real, e.asked, e.edited = p.real, may.asked, may.edited
	e.progress = func(m mcp.Progress) {
		if text := progressText(m.Progress, m.Total, a.tellable(m.Message, 200)); text != "" {
			t.emitCall(p.event(ToolRunning, text), false)
		}
	}
	began := time.Now()
	work := func(ctx context.Context) answer {
		out, err := p.tool.run(ctx, e, p.args)
		return answer{out, err}
	}
	var got answer
	var err error
	ok := true
	if p.tool.plan { // all in it is awaited there: what was done is not lost
		got = work(ctx)
	} else {
		got, ok, err = await(ctx, a, work)
	}
	if err == nil {
		err = got.err
	}
	res := callResult{status: Completed, text: got.out.text, images: got.out.images, stored: got.out.stored, began: began, took: time.Since(began)}
	switch {
	case !ok:
		res.status, res.text, res.reason = Unknown, cancelledCall, "did not react to the cancel, outcome unknown"
	case errors.Is(err, ErrUnconfirmed):
		res.status, res.text, res.reason = Unknown, a.secrets.Redact(ellipsis(err.Error(), 4000)), err.Error()
	case err != nil && ctx.Err() != nil:
		res.status, res.text, res.reason = Cancelled, cancelledCall, "cancelled"
		if got.out.text != "" {
			res.text += " Until then it said:\n" + got.out.text
		}
	case errors.Is(err, mcp.ErrUnknownOutcome):
		res.status, res.reason = Unknown, err.Error()
		res.text = brokenCall + a.secrets.Redact(ellipsis(err.Error(), 4000))
	case err != nil:
		res.status, res.text, res.reason = Failed, "The call failed: "+a.secrets.Redact(ellipsis(err.Error(), 4000)), err.Error()
	case got.out.failed && got.out.reason != "":
		res.status, res.reason = Failed, got.out.reason
	case got.out.failed:
		res.status, res.text, res.reason = Failed, "The tool reports an error:\n"+got.out.text, "the tool reported an error"
	}
	return res
}

// env is what a call of the thread finds around it.
func (t *thread) env() env {
	return env{
		folders: t.folders(), host: t.task.Host, ignored: t.a.ignored, limit: t.toolResultBytes(), shelf: t.shelf(),
		children: t.a.children, web: t.a.web, changes: t.changes, deeds: t.part.deeds, edits: &t.edits, known: &t.s.known, unsaved: t.changes.unsaved, progress: func(mcp.Progress) {},
		find:    t.find,
		changed: func(c Change) { t.emit(Event{Kind: EventChange, Change: &c}) },
	}
}

// conclude audits a call, tells its end and cuts its text for the model.
func (a *Agent) conclude(t *thread, p pending, res callResult) callResult {
	if strings.TrimSpace(res.text) == "" {
		res.text = noOutput
	}
	ran := !res.began.IsZero()
	if !ran {
		res.began = time.Now()
	}
	server := ""
	if p.tool != nil {
		server = p.tool.server
	}
	entry := AuditEntry{
		Time: res.began, RunID: t.task.RunID, Session: t.task.Session, Server: server, Tool: p.name, Arguments: p.args,
		Outcome: res.status, DecidedBy: res.by, Reason: a.tellable(res.reason, 300), DurationMS: res.took.Milliseconds(),
	}
	a.audit.Write(entry)
	message := ""
	if res.status != Completed {
		message = entry.Reason
	}
	blind := ran && (p.tool.untracked || server != "" && server != workspaceServer && !p.tool.virtual)
	t.record(ToolCallResult{ID: p.id, Tool: p.name, Server: server, Status: res.status, DurationMS: entry.DurationMS}, blind)
	t.part.deeds.called(entry, blind)
	t.emitCall(p.event(ToolCallState(res.status), message), true)
	res.digest = digestResult(res)
	res.text, res.stored = t.fitResult(p, res)
	return res
}

// fitResult cuts a text that is too long for the model and keeps the whole,
// but not of a part that read_result gave.
func (r *run) fitResult(p pending, res callResult) (text, stored string) {
	limit := r.toolResultBytes()
	if len(res.text) <= limit || p.tool != nil && p.tool.server == "" && p.tool.name == readResultName {
		return truncate(res.text, limit), res.stored
	}
	k := r.shelf().keep(limit)
	k.add(res.text)
	k.Close()
	return k.String(), k.id
}

func (p pending) event(state ToolCallState, message string) ToolCallEvent {
	e := ToolCallEvent{ID: p.id, Tool: p.name, State: state, Arguments: p.args, Message: message}
	if p.tool != nil {
		e.Server = p.tool.server
	}
	return e
}

// failed is a call that the gate does not take up.
func failed(text string) callResult {
	return callResult{status: Failed, text: text, by: "policy", reason: text}
}

func notStarted(by string) callResult {
	return callResult{status: Cancelled, text: cancelledStart, by: by, reason: "cancelled before it started"}
}

// unknownTool tells the model which names there are, and whose server is away.
func (a *Agent) unknownTool(name string, set toolset) string {
	if why, ok := set.withheld[name]; ok {
		return fmt.Sprintf("The tool %q cannot be called here: %s.%s", oneLine(name, 100), why, notRun)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "There is no tool %q.%s", oneLine(name, 100), notRun)
	for _, s := range a.manager.Servers() {
		if s.Status != mcp.StatusReady && strings.HasPrefix(name, "mcp__"+cleanName(s.Name)+"__") {
			fmt.Fprintf(&text, " The MCP server %q is not ready: it is %s.", oneLine(s.Name, 100), s.Status)
		}
	}
	if names := set.known(); len(names) > 0 {
		text.WriteString(" Near names: " + strings.Join(nearNames(name, names, 5), ", ") + ".")
	} else {
		text.WriteString(" No tools are offered.")
	}
	return text.String()
}

// progressText words a server's progress.
func progressText(progress, total float64, text string) string {
	if total > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%g/%g %s", progress, total, text))
	}
	return text
}
