package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agentls/agent"
	"agentls/mcp"
)

// elicitation is what a question asks for, where it wants more than a yes: the
// fields of a form, or that a link is opened.
type elicitation struct {
	form   mcp.Form
	schema json.RawMessage // requestedSchema, as a client may show it; nil of a link
	link   *mcp.Link       // nil: it is a form
	opened bool            // the link was: is it done?
}

// mode is "form" or "url".
func (e *elicitation) mode() string {
	if e.link != nil {
		return "url"
	}
	return "form"
}

// check holds an answer's content against the form and gives what counts, with
// the defaults of what it leaves out. The error says what would do.
func (e *elicitation) check(content json.RawMessage) (json.RawMessage, error) {
	if e.link != nil {
		return nil, nil
	}
	if string(content) == "null" {
		content = nil
	}
	checked, err := e.form.Check(content)
	switch {
	case err == nil:
		return checked, nil
	case len(content) == 0:
		return nil, badf("agentls.approve: content is missing; give %s", e.example())
	}
	return nil, badf("agentls.approve: content must be %s: %s", e.example(), clip(err.Error(), 1000))
}

// example is content as it could be.
func (e *elicitation) example() string {
	var parts []string
	for i, f := range e.form.Fields {
		if i == 5 {
			parts = append(parts, "…")
			break
		}
		name, _ := json.Marshal(clip(f.Name, 100)) // strings always encode
		parts = append(parts, string(name)+":"+exampleValue(f))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func exampleValue(f mcp.Field) string {
	switch {
	case f.Kind == mcp.FieldEnum && len(f.Options[0].Value) <= 100:
		return string(f.Options[0].Value)
	case f.Kind == mcp.FieldEnums && len(f.Options[0].Value) <= 100:
		return "[" + string(f.Options[0].Value) + "]"
	case f.Kind == mcp.FieldList:
		return `["…"]`
	case f.Kind == mcp.FieldBoolean:
		return "true"
	case f.Kind == mcp.FieldNumber, f.Kind == mcp.FieldInteger:
		return "1"
	}
	return `"…"`
}

// elicitParams is the request agentls/elicit. It is answered like
// agentls/approve, with the values of a form in content, by their names in the
// schema.
type elicitParams struct {
	ID      string          `json:"id"`
	Kind    questionKind    `json:"kind" contract:"'elicit' | 'input'"`
	RunID   string          `json:"runId"`
	Session string          `json:"session"`
	Server  string          `json:"server"`
	Message string          `json:"message"`
	Mode    string          `json:"mode" contract:"'form' | 'url'"`
	Schema  json.RawMessage `json:"requestedSchema,omitzero"` // of a form
	// Fields is the form once more, in the order of its properties and without
	// the many ways to write one.
	Fields []fieldParams `json:"fields,omitzero"`
	// URL is opened by the server once the answer is yes, whole; Host is the
	// part of it that says whose it is. Opened: it was opened before, and yes
	// says that what it is for is done.
	URL    string `json:"url,omitzero"`
	Host   string `json:"host,omitzero"`
	Opened bool   `json:"opened,omitzero"`
	// Problem says what was wrong with the answer before.
	Problem  string `json:"problem,omitzero"`
	Deadline string `json:"deadline"` // RFC 3339
}

// fieldParams is one field of a form.
type fieldParams struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitzero"`
	Description string          `json:"description,omitzero"`
	Kind        mcp.FieldKind   `json:"kind"` // string, number, integer, boolean, enum, enums or list
	Hint        string          `json:"hint,omitzero"`
	Required    bool            `json:"required"`
	Secret      bool            `json:"secret"` // it is not to be seen while it is typed
	Options     []optionParams  `json:"options,omitzero"`
	Default     json.RawMessage `json:"default,omitzero"`
}

// optionParams is a value of an enumeration.
type optionParams struct {
	Value json.RawMessage `json:"value"`
	Title string          `json:"title"`
}

// fieldParams are those of a form.
func (q *questions) fieldParams(form mcp.Form) []fieldParams {
	list := []fieldParams{}
	for _, f := range form.Fields {
		p := fieldParams{
			Name: f.Name, Title: q.s.tell(f.Title), Description: q.s.tell(f.Description), Kind: f.Kind, Hint: q.s.tell(f.Hint()), Required: f.Required,
			Secret: f.Secret, Default: f.Default,
		}
		for _, o := range f.Options {
			p.Options = append(p.Options, optionParams{o.Value, q.s.tell(o.Title)})
		}
		list = append(list, p)
	}
	return list
}

// elicitParams are those of a question.
func (q *questions) elicitParams(w *question, problem string) elicitParams {
	e := w.elicit
	p := elicitParams{
		ID: w.id, Kind: w.kind, RunID: w.runID, Session: w.session, Server: clean(w.server), Message: w.message, Mode: e.mode(), Schema: e.schema,
		Problem: q.s.tell(problem), Deadline: w.deadlineOf(),
	}
	if e.link != nil {
		p.URL, p.Host, p.Opened = e.link.URL, hostShown(*e.link), e.opened
	} else {
		p.Fields = q.fieldParams(e.form)
	}
	return p
}

// maxAgain is how often an own client is asked once more, after answers that
// the form does not take.
const maxAgain = 5

// elicit asks what an MCP server wants to know (elicitation/create), and
// audits that it was asked: never what was answered.
func (q *questions) elicit(ctx context.Context, r mcp.Request) (answer mcp.RequestAnswer) {
	begin := time.Now()
	x := q.s.runs.find(r.Origin.RunID)
	var reason string
	for {
		w := q.elicitQuestion(r)
		a, err := q.askInRun(ctx, x, w)
		if a.Kept != nil {
			a.Kept()
		}
		w.document.remove()
		switch {
		case err != nil:
			reason = err.Error()
		case yes(a):
			if w.elicit.link != nil && !(w.elicit.opened && string(a.Content) != openAgain) {
				q.s.openLink(ctx, w)
				if w.elicit.opened {
					continue // is it done now?
				}
			}
			answer = mcp.RequestAnswer{Accept: true, Content: a.Content}
		default:
			reason = a.Reason
			answer.Decline = a.Reason != dismissed && a.Reason != closed && !strings.HasPrefix(a.Reason, noAnswer)
		}
		q.s.o.Audit.Write(agent.ElicitEntry(r, begin, answer, err, reason))
		return answer
	}
}

// elicitQuestion makes the question of a server's elicitation.
func (q *questions) elicitQuestion(r mcp.Request) *question {
	w := &question{
		id: newID(), kind: asksElicit, server: r.Server, runID: r.Origin.RunID, session: r.Origin.Session, timeout: q.s.cfg.Load().Approval.Timeout,
	}
	if r.Elicit.Mode == "url" {
		q.linkQuestion(w, r)
	} else {
		q.formQuestion(w, r)
	}
	return w
}

// formQuestion asks for the fields of a form.
func (q *questions) formQuestion(w *question, r mcp.Request) {
	e := &elicitation{form: r.Elicit.Form, schema: shownSchema(r.Elicit.Schema, q.s.tell)}
	w.elicit = e
	w.arguments, _ = json.Marshal(map[string]any{"mode": e.mode(), "requestedSchema": e.schema}) // is JSON
	w.message = q.s.tell(r.Server) + " asks: " + q.s.tell(r.Elicit.Message)
	if warning := secretWarning(e.form); warning != "" {
		w.message += " (" + warning + ")"
	}
	w.reason = w.message
	w.choices = []choice{{title: decline, decision: agent.DecisionDeny}, {title: "Send", decision: agent.DecisionOnce}}
	w.document = q.s.formDocument(w)
	w.dialog = q.formDialog
}

// secretWarning warns of a form that asks for what servers must not ask for in
// one (client/elicitation, 2026-07-28); empty: it does not.
func secretWarning(f mcp.Form) string {
	var names []string
	for _, field := range f.Fields {
		if field.Secret {
			names = append(names, cleanTo(field.Name, 40))
		}
	}
	if names == nil {
		return ""
	}
	return "Careful: it asks for what looks like a secret, " + strings.Join(names[:min(len(names), 3)], ", ") + ". MCP servers must not ask for secrets in a form; decline if you do not know why"
}

// howToElicit tells how to answer an elicitation that the client did not show.
func (w *question) howToElicit() string {
	e := w.elicit
	content := ""
	if e.link == nil && len(e.form.Fields) > 0 {
		content = fmt.Sprintf(`, "content": %s`, breakLinks(clean(e.example())))
	}
	return fmt.Sprintf(`%s Your editor cannot ask for it. Answer by the command agentls.approve with {"id": %q, "decision": "once"%s}, or decline with {"id": %q, "decision": "deny"}.`, sentence(w.message), w.id, content, w.id)
}
