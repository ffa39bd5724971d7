package lsp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"agentls/agent"
	"agentls/mcp"
)

// inputElicitation is an input as a form of one field, whose name is the input's.
func inputElicitation(in mcp.Input) *elicitation {
	f := mcp.Field{Name: in.ID, Description: in.Description, Kind: mcp.FieldString, Required: true, Secret: in.Password}
	for _, option := range in.Options {
		f.Kind = mcp.FieldEnum
		f.Options = append(f.Options, mcp.Option{Value: jsonString(option), Title: option})
	}
	if in.Default != "" {
		f.Default = jsonString(in.Default)
	}
	return &elicitation{form: mcp.Form{Fields: []mcp.Field{f}}, schema: inputSchema(in)}
}

func jsonString(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // strings always encode
	return raw
}

// inputSchema is the requestedSchema: an object with one string. A password is
// marked writeOnly, as JSON Schema has it.
func inputSchema(in mcp.Input) json.RawMessage {
	property := map[string]any{"type": "string", "title": clean(in.ID)}
	if in.Description != "" {
		property["description"] = clean(in.Description)
	}
	if in.Default != "" {
		property["default"] = in.Default
	}
	if in.Options != nil {
		property["enum"] = in.Options
	}
	if in.Password {
		property["writeOnly"] = true
	}
	raw, _ := json.Marshal(map[string]any{ // strings always encode
		"type": "object", "properties": map[string]any{in.ID: property}, "required": []string{in.ID},
	})
	return raw
}

// inputValue is the value of the one field in content that was checked.
func inputValue(in mcp.Input, content json.RawMessage) string {
	var values map[string]string
	_ = json.Unmarshal(content, &values) // is what check made
	return values[in.ID]
}

// maxPicks is how many options a stock client is given as actions.
const maxPicks = 12

// inputQuestion asks for what a server needs before it first starts.
func (q *questions) inputQuestion(r mcp.Request) *question {
	e := inputElicitation(r.Input)
	arguments, _ := json.Marshal(map[string]json.RawMessage{"requestedSchema": e.schema}) // is JSON
	about := "the input " + strconv.Quote(q.s.tell(r.Input.ID))
	return &question{
		id: newID(), kind: asksInput, server: r.Server, arguments: arguments, timeout: q.s.cfg.Load().Approval.Timeout,
		reason:  "the server needs " + about + " before it can start",
		message: fmt.Sprintf("%s: %s (%s, which this server needs before it can start)", q.s.tell(strings.Join(r.Servers, ", ")), cmp.Or(q.s.tell(r.Input.Description), "a value is needed"), about),
		choices: inputChoices(r.Input),
		elicit:  e,
	}
}

// inputChoices are the actions of a stock client; none where it cannot show what
// is asked for, or a title would not tell which option is meant, whole: an
// option may end in a command, beyond what is seen.
func inputChoices(in mcp.Input) []choice {
	list := []choice{{title: "Not now", decision: agent.DecisionDeny}}
	for _, option := range in.Options {
		content, _ := json.Marshal(map[string]string{in.ID: option}) // strings always encode
		list = append(list, choice{option, agent.DecisionOnce, content})
	}
	if len(in.Options) == 0 || !tellApart(list) {
		return nil
	}
	return list
}

// tellApart reports whether each of the choices can be meant by its title alone,
// and there are not too many.
func tellApart(list []choice) bool {
	seen := map[string]bool{}
	for _, c := range list {
		if c.title == "" || clean(c.title) != c.title || seen[c.title] {
			return false
		}
		seen[c.title] = true
	}
	return len(list) <= maxPicks+1
}

// howToAnswer tells how to answer a question that the client did not show.
func (w *question) howToAnswer() string {
	if w.instead != "" {
		return w.instead
	}
	if w.plan != nil {
		return w.howToPlan()
	}
	if w.elicit == nil {
		return fmt.Sprintf(`%s Your editor could not show this question. Answer it by a code action, in any document, or by the command agentls.approve with {"id": %q, "decision": "once"} (or session, always, deny).`, w.message, w.id)
	}
	if w.kind == asksElicit {
		return w.howToElicit()
	}
	return fmt.Sprintf(`%s. Your editor cannot ask for it. Give it by the command agentls.approve with {"id": %q, "decision": "once", "content": %s}, or name a variable in its place in the file, as ${VAR}.`,
		w.message, w.id, breakLinks(clean(w.elicit.example())))
}
