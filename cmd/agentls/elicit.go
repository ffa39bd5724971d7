package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agentls/agent"
	"agentls/mcp"
)

// elicit asks for what a server wants to know, and audits that it was asked.
func (p *parts) elicit(ctx context.Context, t *terminal, r mcp.Request) mcp.RequestAnswer {
	began := time.Now()
	answer := t.elicit(ctx, r)
	reason := ""
	switch {
	case answer.Accept:
	case t.tty == nil:
		reason = "there is no terminal to ask at"
	case answer.Decline:
		reason = "declined"
	default:
		reason = "dismissed"
	}
	p.audit.Write(agent.ElicitEntry(r, began, answer, context.Cause(ctx), reason))
	return answer
}

// elicit asks on the terminal for what a server wants to know, field by field,
// and shows it before it is sent. Without a terminal it is declined; when ctx or
// the input ends, dismissed.
func (t *terminal) elicit(ctx context.Context, r mcp.Request) mcp.RequestAnswer {
	if t.tty == nil {
		return mcp.RequestAnswer{Decline: true}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil { // while others were asked
		return declined
	}
	defer func() {
		if ctx.Err() != nil {
			fmt.Fprintln(t.tty)
			t.note("The question of %s has no more use.", r.Server)
		}
	}()
	if r.Elicit.Mode == "url" {
		return t.elicitLink(ctx, r)
	}
	t.note("The MCP server %s asks: %s", r.Server, r.Elicit.Message)
	for _, f := range r.Elicit.Form.Fields {
		if f.Secret {
			t.note("Careful: %s looks like a secret, which MCP servers must not ask for in this way. Answer no if you do not know why.", word(f.Name))
		}
	}
	if yes, err := t.yes(ctx, "Answer it?"); err != nil || !yes {
		return mcp.RequestAnswer{Decline: err == nil}
	}
	for {
		values := map[string]json.RawMessage{}
		for _, f := range r.Elicit.Form.Fields {
			value, err := t.field(ctx, f)
			if err != nil {
				return declined
			}
			values[f.Name] = value
		}
		content, _ := json.Marshal(values)                      // is JSON
		if _, err := r.Elicit.Form.Check(content); err != nil { // cannot be: each was checked
			return declined
		}
		fmt.Fprintf(t.tty, "  It would get: %s\n", oneLine(string(shownContent(r.Elicit.Form, values)), 20000))
		fmt.Fprint(t.tty, "  Send it? [N]o, [y]es, [a]gain: ")
		line, err := t.tty.readLine(ctx)
		if err != nil || line == "" {
			return declined
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return mcp.RequestAnswer{Accept: true, Content: content}
		case "a", "again":
			continue
		}
		return mcp.RequestAnswer{Decline: true}
	}
}

// shownContent is what would be sent, without its secrets.
func shownContent(form mcp.Form, values map[string]json.RawMessage) json.RawMessage {
	shown := map[string]json.RawMessage{}
	for name, value := range values {
		if string(value) == "null" { // stays out
			continue
		}
		if f := form.Field(name); f != nil && f.Secret {
			value = json.RawMessage(`"…"`)
		}
		shown[name] = value
	}
	raw, _ := json.Marshal(shown) // is JSON
	return raw
}

// elicitLink shows a link whole, and asks whether the person opened it: nothing
// is opened or fetched from here.
func (t *terminal) elicitLink(ctx context.Context, r mcp.Request) mcp.RequestAnswer {
	l := r.Elicit.Link
	host := l.Host
	if l.Decoded != "" {
		host += " (Careful: it reads " + word(l.Decoded) + ", which can pass for another name)"
	}
	what := "wants you to open a page of " + host + " in your browser"
	question := "Did you open it?"
	if r.Elicit.Opened {
		what, question = "waits until you are done at "+host, "Are you done?"
	}
	t.note("The MCP server %s %s: %s", r.Server, what, r.Elicit.Message)
	fmt.Fprintf(t.tty, "  %s\n", l.URL) // ASCII without spaces, whole
	yes, err := t.yes(ctx, question)
	return mcp.RequestAnswer{Accept: err == nil && yes, Decline: err == nil && !yes}
}

// yes asks for a yes; the end of the input is an error.
func (t *terminal) yes(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(t.tty, "  %s [N]o, [y]es: ", question)
	line, err := t.tty.readLine(ctx)
	if err != nil {
		return false, err
	}
	if line == "" {
		return false, context.Canceled
	}
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes", nil
}

// field asks for one field until it has a value that it takes. An empty line is
// its default, or leaves it out.
func (t *terminal) field(ctx context.Context, f mcp.Field) (json.RawMessage, error) {
	label := f.Name
	if f.Title != "" {
		label = f.Title
	}
	if f.Description != "" {
		fmt.Fprintf(t.tty, "  %s\n", oneLine(t.secrets.Redact(f.Description), 300))
	}
	for i, o := range f.Options {
		title := ""
		if o.Title != strings.Trim(string(o.Value), `"`) {
			title = "  " + oneLine(t.secrets.Redact(o.Title), 100)
		}
		fmt.Fprintf(t.tty, "  %d  %s%s\n", i+1, word(strings.Trim(string(o.Value), `"`)), title)
	}
	about := []string{}
	if hint := oneLine(f.Hint(), 300); hint != "" {
		about = append(about, hint)
	}
	if f.Kind == mcp.FieldEnums || f.Kind == mcp.FieldList {
		about = append(about, "parted by commas")
	}
	if !f.Required {
		about = append(about, "optional")
	}
	prompt := "  " + oneLine(t.secrets.Redact(label), 100)
	if len(about) > 0 {
		prompt += " (" + strings.Join(about, "; ") + ")"
	}
	if f.Default != nil {
		prompt += " [" + oneLine(t.secrets.Redact(string(f.Default)), 300) + "]"
	}
	read := t.tty.readLine
	if f.Secret {
		read = t.tty.readPassword
	}
	for {
		fmt.Fprint(t.tty, prompt+": ")
		line, err := read(ctx)
		switch {
		case err != nil:
			return nil, err
		case line == "" && !f.Secret: // the end of the input
			return nil, context.Canceled
		}
		value, err := f.Parse(line)
		switch {
		case err != nil:
			fmt.Fprintf(t.tty, "  %s\n", oneLine(err.Error(), 1000))
		case value != nil:
			return value, nil
		case f.Default != nil:
			return f.Default, nil
		case !f.Required:
			return json.RawMessage("null"), nil
		default:
			fmt.Fprintln(t.tty, "  It needs a value.")
		}
	}
}
