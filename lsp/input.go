package lsp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agentls/agent"
	"agentls/mcp"
)

// elicitation is what a question asks for, where it wants a value rather than
// a yes: the one property of the requestedSchema of an MCP elicitation.
type elicitation struct {
	mcp.Input
}

// schema is the requestedSchema: an object with one string. A password is
// marked writeOnly, as JSON Schema has it.
func (e *elicitation) schema() json.RawMessage {
	property := map[string]any{"type": "string", "title": clean(e.ID)}
	if e.Description != "" {
		property["description"] = clean(e.Description)
	}
	if e.Default != "" {
		property["default"] = e.Default
	}
	if e.Options != nil {
		property["enum"] = e.Options
	}
	if e.Password {
		property["writeOnly"] = true
	}
	raw, _ := json.Marshal(map[string]any{ // strings always encode
		"type": "object", "properties": map[string]any{e.ID: property}, "required": []string{e.ID},
	})
	return raw
}

// value takes the value out of an answer's content; without any the default
// counts, if there is one.
func (e *elicitation) value(content json.RawMessage) (string, error) {
	if len(content) == 0 || string(content) == "null" {
		if e.Default != "" {
			return e.Default, nil
		}
		return "", badf("agentls.approve: content is missing; give %s", e.example())
	}
	var values map[string]json.RawMessage
	var value string
	if json.Unmarshal(content, &values) != nil || len(values) != 1 || values[e.ID] == nil || json.Unmarshal(values[e.ID], &value) != nil || string(values[e.ID]) == "null" {
		return "", badf("agentls.approve: content must be %s", e.example())
	}
	if e.Options != nil && !slices.Contains(e.Options, value) {
		return "", badf("agentls.approve: %s must be one of %s", strconv.Quote(clip(e.ID, 100)), clip(fmt.Sprintf("%q", e.Options), 1000))
	}
	return value, nil
}

func (e *elicitation) example() string {
	raw, _ := json.Marshal(map[string]string{clip(e.ID, 100): "…"}) // strings always encode
	return string(raw)
}

// elicitParams is the request agentls/elicit. It is answered like
// agentls/approve, with the value in content, by its name in the schema.
type elicitParams struct {
	ID      string          `json:"id"`
	Kind    string          `json:"kind"`
	RunID   string          `json:"runId"`
	Session string          `json:"session"`
	Server  string          `json:"server"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
}

// maxPicks is how many options a stock client is given as actions.
const maxPicks = 12

// inputQuestion asks for what a server needs before it first starts.
func (q *questions) inputQuestion(r mcp.Request) *question {
	e := &elicitation{r.Input}
	arguments, _ := json.Marshal(map[string]json.RawMessage{"requestedSchema": e.schema()}) // is JSON
	about := "the input " + strconv.Quote(q.s.tell(e.ID))
	return &question{
		id: newID(), kind: "input", server: r.Server, arguments: arguments, timeout: q.s.cfg.Load().Approval.Timeout,
		reason:  "the server needs " + about + " before it can start",
		message: fmt.Sprintf("%s: %s (%s, which this server needs before it can start)", q.s.tell(strings.Join(r.Servers, ", ")), cmp.Or(q.s.tell(e.Description), "a value is needed"), about),
		choices: e.choices(),
		elicit:  e,
	}
}

// choices are the actions of a stock client; none where it cannot show what is
// asked for, or a title would not tell which option is meant, whole: an option
// may end in a command, beyond what is seen.
func (e *elicitation) choices() []choice {
	if len(e.Options) == 0 || len(e.Options) > maxPicks {
		return nil
	}
	list := []choice{{title: "Not now", decision: agent.DecisionDeny}}
	for _, option := range e.Options {
		title := clean(option)
		if title == "" || title != option || slices.ContainsFunc(list, func(c choice) bool { return c.title == title }) {
			return nil
		}
		content, _ := json.Marshal(map[string]string{e.ID: option}) // strings always encode
		list = append(list, choice{title, agent.DecisionOnce, content})
	}
	return list
}

// howToAnswer tells how to answer a question that the client did not show.
func (w *question) howToAnswer() string {
	if w.instead != "" {
		return w.instead
	}
	if w.elicit == nil {
		return fmt.Sprintf(`%s Your editor could not show this question. Answer it by a code action, in any document, or by the command agentls.approve with {"id": %q, "decision": "once"} (or session, always, deny).`, w.message, w.id)
	}
	return fmt.Sprintf(`%s. Your editor cannot ask for it. Give it by the command agentls.approve with {"id": %q, "decision": "once", "content": %s}, or name a variable in its place in the file, as ${VAR}.`,
		w.message, w.id, breakLinks(clean(w.elicit.example())))
}
