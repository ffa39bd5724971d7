package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentls/mcp"
)

// read reads what the list says.
func (v *visitor) read(ctx context.Context) {
	for _, r := range v.server.Do.Read {
		listed := slices.ContainsFunc(v.resourceList, func(x mcp.Resource) bool { return x.URI == v.expand(r.URI) })
		if listed == r.Unlisted {
			v.fault("%s: listed is %v", r.URI, listed)
		}
		contents, err := v.Read(ctx, v.server.Name, v.expand(r.URI))
		var text strings.Builder
		blob, typed := false, len(contents) > 0
		for _, c := range contents {
			text.WriteString(c.Text)
			blob = blob || c.Blob != ""
			typed = typed && c.MIMEType != ""
		}
		switch {
		case r.Fails != "" && (err == nil || !strings.Contains(err.Error(), r.Fails)):
			v.fault("reading %s does not fail with %q: %v", r.URI, r.Fails, err)
		case r.Fails != "":
			v.did(&v.reads, r.URI+" (refused)")
			continue
		case err != nil:
			v.fault("reading %s: %v", r.URI, err)
		case !strings.Contains(text.String(), r.Contains) || text.Len() < r.AtLeast || blob != r.Blob:
			v.fault("%s has %d characters, bytes %v, and not %q: %s", r.URI, text.Len(), blob, r.Contains, clip(text.String(), 400))
		case typed == r.NoType:
			v.fault("%s: a MIME type is given %v", r.URI, typed)
		}
		v.did(&v.reads, r.URI)
	}
}

// complete asks for values of arguments: for those of the list, which are known,
// and for those of whatever is there, which only must not go wrong.
func (v *visitor) complete(ctx context.Context) {
	for _, t := range v.templateList {
		if _, rest, ok := strings.Cut(t.URITemplate, "{"); ok {
			variable, _, _ := strings.Cut(strings.TrimLeft(rest, "+#./;?&"), "}")
			v.ask(ctx, mcp.CompletionRef{Template: t.URITemplate}, variable)
		}
	}
	for _, p := range v.promptList {
		if len(p.Arguments) > 0 {
			v.ask(ctx, mcp.CompletionRef{Prompt: p.Name}, p.Arguments[0].Name)
		}
	}
	for _, c := range v.server.Do.Complete {
		got, _, err := v.CompleteArgument(ctx, v.server.Name, mcp.CompletionRef{Prompt: c.Prompt, Template: c.Template}, c.Argument, c.Value, c.Others)
		switch {
		case err != nil:
			v.fault("the values of %s: %v", c.Argument, err)
		case !slices.Contains(got, c.Gives):
			v.fault("the values of %s do not have %q: %q", c.Argument, c.Gives, got)
		}
		v.completes++
	}
}

func (v *visitor) ask(ctx context.Context, of mcp.CompletionRef, argument string) {
	got, _, err := v.CompleteArgument(ctx, v.server.Name, of, argument, "", nil)
	if err != nil {
		v.fault("the values of %s, of %s%s: %v", argument, of.Prompt, of.Template, err)
	}
	v.detail("values of %s, of %s%s: %q", argument, of.Prompt, of.Template, got)
}

// prompt gets a prompt.
func (v *visitor) prompt(ctx context.Context) {
	p := v.server.Do.Prompt
	if p == nil {
		return
	}
	got, err := v.GetPrompt(ctx, v.server.Name, p.Name, p.Arguments)
	if err != nil {
		v.fault("the prompt %s: %v", p.Name, err)
		return
	}
	raw, _ := json.Marshal(got.Messages)
	if !strings.Contains(string(raw), p.Contains) {
		v.fault("the prompt %s does not say %q: %s", p.Name, p.Contains, clip(string(raw), 400))
	}
}

// call calls a tool.
func (v *visitor) call(ctx context.Context) {
	if c := v.server.Do.Call; c != nil {
		v.try(ctx, *c)
		v.did(&v.calls, c.Tool)
	}
}

func (v *visitor) try(ctx context.Context, c call) {
	wrong := ""
	for deadline := time.Now().Add(wait); ; time.Sleep(50 * time.Millisecond) {
		if wrong = v.tried(ctx, c); wrong == "" || !c.Until || time.Now().After(deadline) {
			break
		}
	}
	if wrong != "" {
		v.fault("calling %s: %s", c.Tool, wrong)
	}
}

// tried calls a tool and says what is wrong with the answer.
func (v *visitor) tried(ctx context.Context, c call) (wrong string) {
	r, err := v.CallTool(ctx, v.server.Name, c.Tool, v.arguments(c), nil)
	switch {
	case err != nil && c.Fails != "" && strings.Contains(err.Error(), c.Fails):
		return ""
	case err != nil:
		return err.Error()
	case c.Fails != "":
		return fmt.Sprintf("it does not fail with %q", c.Fails)
	}
	var text strings.Builder
	for _, part := range r.Content {
		text.WriteString(part.Text)
	}
	if r.IsError == c.IsError && strings.Contains(text.String(), v.expand(c.Contains)) {
		return ""
	}
	raw, _ := json.Marshal(r)
	return fmt.Sprintf("it gives (error: %v) no %q: %s", r.IsError, v.expand(c.Contains), clip(string(raw), 600))
}

// cancel cancels a call that is under way. It returns at once, and the server
// is as ready as before.
func (v *visitor) cancel(ctx context.Context) {
	c := v.server.Do.Cancel
	if c == nil {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	why := errors.New("nobody wants it any more")
	var at time.Time
	timer := time.AfterFunc(time.Second, func() {
		at = time.Now()
		cancel(why)
	})
	_, err := v.CallTool(ctx, v.server.Name, c.Tool, v.arguments(*c), nil)
	if timer.Stop() {
		v.fault("%s was over before it was cancelled: %v", c.Tool, err)
		return
	}
	<-ctx.Done()
	if took := time.Since(at); !errors.Is(err, why) || took > abandon {
		v.fault("the cancelled %s returned after %v: %v", c.Tool, took, err)
	}
	v.cancelled = true
}

// notify makes the server tell of changes.
func (v *visitor) notify(ctx context.Context) {
	for _, n := range v.server.Do.Notify {
		if n.Read != "" {
			if _, err := v.Read(ctx, v.server.Name, v.expand(n.Read)); err != nil {
				v.fault("reading %s: %v", n.Read, err)
			}
		}
		before := len(v.told())
		v.try(ctx, n.Call)
		if !v.await(ctx, before, func(e mcp.Event) bool {
			return string(e.Kind) == n.Event && (n.Read == "" || e.URI == v.expand(n.Read))
		}) {
			v.fault("after %s nothing of kind %q was told", n.Call.Tool, n.Event)
		}
		v.did(&v.notified, n.Event)
	}
}

// revive kills the server's process, as a crash does: that is told, its lists
// stay, it comes back, and a call reaches it again.
func (v *visitor) revive(ctx context.Context) {
	list := marked(v.home.dir, nil)
	if len(list) == 0 {
		return // measure has told where none is seen
	}
	before := len(v.told())
	v.killed++
	for _, p := range list {
		if err := kill(p.pid); err != nil {
			v.detail("killing %s: %v", p.name, err)
		}
	}
	if !v.await(ctx, before, func(e mcp.Event) bool { return e.Kind == mcp.EventLost }) {
		v.fault("its loss was not told")
	}
	if list, err := v.Resources(v.server.Name); err != nil || len(list.Resources) != len(v.resourceList) {
		v.fault("while it is away %d of its %d resources are there: %v", len(list.Resources), len(v.resourceList), err)
	}
	if !v.await(ctx, before, func(e mcp.Event) bool { return e.Kind == mcp.EventRecovered }) {
		i := v.info()
		v.fault("it did not come back: it is %s: %s", i.Status, i.Error)
		return
	}
	v.sessions = sessionsOf(marked(v.home.dir, nil))
	if c := v.server.Do.Call; c != nil {
		v.try(ctx, *c)
	}
	if len(v.resourceList) > 0 {
		if list, err := v.ListResources(ctx, v.server.Name); err != nil || len(list.Resources) != len(v.resourceList) || list.Stale {
			v.fault("since it came back it has %d of its %d resources, stale %v: %v", len(list.Resources), len(v.resourceList), list.Stale, err)
		}
	}
}

// oddities compares what was told as odd with what is expected.
func (v *visitor) oddities() {
	e := v.server.Expect
	logs, lost := 0, 0
	met := make([]bool, len(e.Problems))
	for _, event := range v.told() {
		switch event.Kind {
		case mcp.EventLog:
			logs += 1 + event.Merged
			v.detail("log %s: %s", event.LogLevel, clip(event.Text, 200))
		case mcp.EventLost:
			lost += 1 + event.Merged
		case mcp.EventFailed:
			v.fault("told %s: %s", event.Kind, event.Err)
		case mcp.EventProblem:
			known := false
			for i, p := range e.Problems {
				if strings.Contains(event.Text, p) {
					met[i], known = true, true
				}
			}
			if !known {
				v.fault("told as odd: %s", event.Text)
			}
		default:
			v.detail("told %s %s", event.Kind, event.URI)
		}
	}
	for i, p := range e.Problems {
		if !met[i] {
			v.fault("%q was not told as odd", p)
		}
	}
	if lost != v.killed {
		v.fault("its loss was told %d times, and it was killed %d times", lost, v.killed)
	}
	if (logs > 0) != e.Logs {
		v.fault("it sent %d log messages", logs)
	}
	v.logs = logs > 0
}

func (v *visitor) arguments(c call) json.RawMessage {
	return json.RawMessage(v.expand(string(c.Arguments)))
}

// expand fills in ${WORK} and ${PORT}: the server's folder, and the port of what
// stands beside it.
func (v *visitor) expand(text string) string {
	return strings.NewReplacer("${WORK}", v.home.work(), "${PORT}", v.home.port).Replace(text)
}
