package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agentls/agent"
	"agentls/mcp"
)

// Titles of a stock client's steps through a form.
const (
	fillIn    = "Fill in the form"
	sendForm  = "Send"
	startOver = "Start over"
	leaveOut  = "Leave out"
	doneWith  = "Done"
)

const (
	maxPicked   = 8   // fields that a stock client is asked for one by one
	maxDefaults = 160 // code points of what a button says would be sent
)

// askFunc shows a stock client one message with actions and gives the title of
// the one that was chosen, or none.
type askFunc func(text string, titles []string) (title string, err error)

// formDialog asks a stock client for a form: choices one after the other,
// reviewed before they are sent; or, where a text is wanted, whether its
// defaults will do or a document is to be filled in.
func (q *questions) formDialog(ctx context.Context, w *question, ask askFunc) (answer agent.Answer, ok bool, err error) {
	form := w.elicit.form
	if steps, ok := pickSteps(form); ok {
		return q.pickDialog(w, steps, ask)
	}
	titles := []string{decline}
	defaults, all := form.Defaults()
	send := "Send defaults: " + q.inWords(form, defaults)
	if all && q.wholeInWords(form, defaults) && len([]rune(send)) <= maxDefaults {
		titles = append(titles, send)
	}
	titles = append(titles, fillIn)
	title, err := ask(sentence(w.message)+" It wants "+q.fieldsInWords(form), titles)
	switch {
	case err != nil:
		return answer, false, err
	case title == fillIn:
		q.letWrite(ctx, w, q.s.tell(w.server)+": Fill in", w.howToSendForm())
		return answer, false, nil
	case title == send && slices.Contains(titles, send):
		return agent.Answer{Decision: agent.DecisionOnce, Content: defaults}, true, nil
	}
	return declined(title), true, nil
}

// sentence ends a text as one, for another to follow.
func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, ":") {
		return text
	}
	return text + "."
}

// declined is the answer of a title that gives nothing.
func declined(title string) agent.Answer {
	if title == decline {
		return deny("denied by the user")
	}
	return deny(dismissed)
}

// fieldsInWords says what a form wants.
func (q *questions) fieldsInWords(form mcp.Form) string {
	var parts []string
	for i, f := range form.Fields {
		if i == maxPicked {
			parts = append(parts, fmt.Sprintf("%d more", len(form.Fields)-i))
			break
		}
		part := q.label(f)
		var about []string
		if hint := q.s.tell(f.Hint()); hint != "" {
			about = append(about, hint)
		}
		if !f.Required {
			about = append(about, "optional")
		}
		if about != nil {
			part += " (" + strings.Join(about, "; ") + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// label is what a field is called.
func (q *questions) label(f mcp.Field) string {
	if title := cleanTo(q.s.o.Secrets.Redact(f.Title), 60); title != "" {
		return title
	}
	return cleanTo(q.s.o.Secrets.Redact(f.Name), 60)
}

// inWords says what would be sent.
func (q *questions) inWords(form mcp.Form, content json.RawMessage) string {
	var values map[string]json.RawMessage
	_ = json.Unmarshal(content, &values) // is what check made
	var parts []string
	for _, f := range form.Fields {
		if v, ok := values[f.Name]; ok {
			parts = append(parts, q.label(f)+" = "+q.s.tell(f.InWords(v)))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// wholeInWords reports whether inWords leaves nothing of the values out.
func (q *questions) wholeInWords(form mcp.Form, content json.RawMessage) bool {
	var values map[string]json.RawMessage
	_ = json.Unmarshal(content, &values) // is what check made
	return !slices.ContainsFunc(form.Fields, func(f mcp.Field) bool {
		v, ok := values[f.Name]
		return ok && q.s.tell(f.InWords(v)) != f.InWords(v)
	})
}

// pickStep asks for one field by its options.
type pickStep struct {
	field   mcp.Field
	choices []choice // the first is the no; content is the field's value
}

// pickSteps are the steps through a form; false: some of it cannot be asked for
// by options, which are few and told apart by their titles.
func pickSteps(form mcp.Form) (steps []pickStep, ok bool) {
	if len(form.Fields) > maxPicked {
		return nil, false
	}
	for _, f := range form.Fields {
		s := pickStep{f, []choice{{title: decline, decision: agent.DecisionDeny}}}
		add := func(title string, value json.RawMessage) {
			s.choices = append(s.choices, choice{title, agent.DecisionOnce, value})
		}
		switch f.Kind {
		case mcp.FieldBoolean:
			add("Yes", json.RawMessage("true"))
			add("No", json.RawMessage("false"))
		case mcp.FieldEnum, mcp.FieldEnums:
			for _, o := range f.Options {
				add(o.Title, o.Value)
			}
		default:
			return nil, false
		}
		if i := slices.IndexFunc(s.choices, func(c choice) bool { return f.Default != nil && string(c.content) == string(f.Default) }); i > 1 {
			first := s.choices[i]
			s.choices = slices.Insert(slices.Delete(s.choices, i, i+1), 1, first)
		}
		if !f.Required && f.Kind != mcp.FieldEnums {
			add(leaveOut, nil)
		}
		if !tellApart(s.choices) {
			return nil, false
		}
		steps = append(steps, s)
	}
	return steps, true
}

// pickDialog goes through the steps, and shows what was chosen before it is
// sent. One choice alone is sent as it is made.
func (q *questions) pickDialog(w *question, steps []pickStep, ask askFunc) (answer agent.Answer, ok bool, err error) {
	send := agent.Answer{Decision: agent.DecisionOnce}
	for {
		values := map[string]json.RawMessage{}
		for i, step := range steps {
			text := w.message
			if len(steps) > 1 {
				text += fmt.Sprintf(" (%d of %d)", i+1, len(steps))
			}
			value, title, err := q.pick(step, text, ask)
			if err != nil || title == decline || title == "" {
				return declined(title), err == nil, err
			}
			if value == nil {
				value = json.RawMessage("null") // not its default
			}
			values[step.field.Name] = value
		}
		send.Content, _ = json.Marshal(values) // is JSON
		content, err := w.elicit.check(send.Content)
		if err != nil {
			return answer, false, err // cannot be: each was checked
		}
		if len(steps) == 1 && steps[0].field.Kind != mcp.FieldEnums {
			return send, true, nil
		}
		titles := []string{decline, sendForm, startOver}
		text := sentence(w.message) + " Send this to it? " + q.inWords(w.elicit.form, content)
		if len(steps) == 0 {
			titles, text = []string{decline, "Accept"}, w.message
		}
		switch title, err := ask(text, titles); {
		case err != nil:
			return answer, false, err
		case title == titles[1]:
			return send, true, nil
		case title != startOver:
			return declined(title), true, nil
		}
	}
}

// pick asks for one field. title is empty or decline where none was picked.
func (q *questions) pick(step pickStep, text string, ask askFunc) (value json.RawMessage, title string, err error) {
	f := step.field
	text = sentence(text) + " " + q.label(f)
	if about := q.s.tell(f.Description); about != "" {
		text += ": " + about
	}
	if f.Kind == mcp.FieldEnums {
		return q.pickSome(step, text, ask)
	}
	titles := make([]string, len(step.choices))
	for i, c := range step.choices {
		titles[i] = c.title
	}
	if title, err = ask(text, titles); err != nil {
		return nil, "", err
	}
	i := slices.Index(titles, title)
	if i < 0 {
		return nil, "", nil
	}
	return step.choices[i].content, title, nil
}

// pickSome lets options be taken and put back until it is said that that is all.
func (q *questions) pickSome(step pickStep, text string, ask askFunc) (value json.RawMessage, title string, err error) {
	f, options := step.field, step.choices[1:]
	var chosen []json.RawMessage
	_ = json.Unmarshal(f.Default, &chosen) // nil: none
	for {
		value, _ = json.Marshal(append([]json.RawMessage{}, chosen...)) // is JSON
		titles := []string{decline}
		problem := f.Check(value)
		if problem == nil || !f.Required && len(chosen) == 0 {
			titles = append(titles, doneWith)
		}
		said := sentence(text) + " Chosen: " + q.s.tell(f.InWords(value))
		if problem != nil {
			said += " (it " + q.s.tell(problem.Error()) + ")"
		}
		at := map[string]json.RawMessage{}
		for _, o := range options {
			t := "+ " + o.title
			if slices.ContainsFunc(chosen, func(v json.RawMessage) bool { return string(v) == string(o.content) }) {
				t = "− " + o.title
			}
			at[t] = o.content
			titles = append(titles, t)
		}
		title, err = ask(said, titles)
		option, known := at[title]
		switch {
		case err != nil:
			return nil, "", err
		case title == doneWith && slices.Contains(titles, doneWith):
			if problem != nil {
				value = nil // left out
			}
			return value, title, nil
		case !known:
			if title != decline {
				title = ""
			}
			return nil, title, nil
		}
		if i := slices.IndexFunc(chosen, func(v json.RawMessage) bool { return string(v) == string(option) }); i >= 0 {
			chosen = slices.Delete(chosen, i, i+1)
		} else {
			chosen = append(chosen, option)
		}
	}
}
