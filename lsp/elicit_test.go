package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// elicits is a model that lets the fake server ask for each of the forms,
// beside each other.
func elicits(t testing.TB, params ...string) *agenttest.LLM {
	var calls []agent.ToolCall
	for i, p := range params {
		calls = append(calls, agent.ToolCall{ID: fmt.Sprint("c", i), Name: "mcp__fake__ask", Arguments: `{"method":"elicitation/create","params":` + p + `}`})
	}
	return agenttest.NewLLM(t, agenttest.Call(calls...), agenttest.Text("done"))
}

const (
	stageForm = `{"message":"Which stage?","requestedSchema":{"type":"object","properties":{"stage":{"enum":["dev","prod"]}},"required":["stage"]}}`
	colorForm = `{"message":"Which color?","requestedSchema":{"type":"object","properties":{"color":{"enum":["red","blue"]}},"required":["color"]}}`
	nameForm  = `{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":2},"age":{"type":"integer","default":7}},"required":["name"]}}`
)

// elicitWorld is one whose tools run unasked.
func elicitWorld(t *testing.T, llm *agenttest.LLM, u setup) *world {
	t.Helper()
	u.llm, u.servers = llm, map[string]mcptest.Options{"fake": {}}
	approval := obj{"default": "allow"}
	if u.options != nil {
		approval["timeoutSeconds"] = u.options["timeoutSeconds"]
	}
	u.options = obj{"approval": approval}
	return newWorld(t, u)
}

// toldModel are the results of tools that the model got last.
func toldModel(llm *agenttest.LLM) (list []string) {
	requests := llm.Requests()
	for _, m := range requests[len(requests)-1].Messages {
		if m.Role == agent.ToolRole {
			list = append(list, m.Text)
		}
	}
	return list
}

// Two servers' questions, or two of one: a stock client shows one at a time.
func TestElicitationsComeOneAtATime(t *testing.T) {
	llm := elicits(t, stageForm, colorForm)
	shown := make(chan string)
	answers := make(chan string)
	w := elicitWorld(t, llm, setup{answers: map[string]lsptest.Answer{"window/showMessageRequest": func(p json.RawMessage) (any, error) {
		shown <- string(p)
		return obj{"title": <-answers}, nil
	}}})
	p := w.ask("hi", nil)
	w.awaitOpen(2)
	for range 2 {
		text := <-shown
		select {
		case other := <-shown:
			t.Errorf("%s is shown beside %s", other, text)
		case answers <- map[bool]string{true: "prod", false: "blue"}[strings.Contains(text, "stage")]:
		}
	}
	result[agent.Result](t, p)
	got := strings.Join(toldModel(llm), "\n")
	if !strings.Contains(got, `"content":{"stage":"prod"}`) || !strings.Contains(got, `"content":{"color":"blue"}`) {
		t.Error(got)
	}
}

// Helix shows a second question in the place of the first (CASES 27): what is
// never answered gives way after a while, and is answered by command.
func TestElicitationThatIsReplaced(t *testing.T) {
	llm := elicits(t, stageForm, colorForm)
	w := elicitWorld(t, llm, setup{
		before:  func(s *Server) { s.asks.silence = 50 * time.Millisecond },
		answers: map[string]lsptest.Answer{"window/showMessageRequest": func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent }},
	})
	p := w.ask("hi", nil)
	w.AwaitRequest("window/showMessageRequest", 2)
	for _, open := range commandAs[[]approvalInfo](w, "agentls.approvals", nil) {
		content := obj{"stage": "dev"}
		if strings.Contains(string(open.Arguments), "color") {
			content = obj{"color": "red"}
		}
		if open.Kind != "elicit" || open.Server != "fake" || open.RunID == "" {
			t.Errorf("%+v", open)
		}
		if r := commandAs[map[string]bool](w, "agentls.approve", obj{"id": open.ID, "decision": "once", "content": content}); !r["resolved"] {
			t.Error("not resolved")
		}
		if r := commandAs[map[string]bool](w, "agentls.approve", obj{"id": open.ID, "decision": "deny"}); r["resolved"] {
			t.Error("a late answer counts")
		}
	}
	result[agent.Result](t, p)
	if got := strings.Join(toldModel(llm), "\n"); !strings.Contains(got, `"stage":"dev"`) || !strings.Contains(got, `"color":"red"`) {
		t.Error(got)
	}
}

func TestElicitationThatNobodyAnswers(t *testing.T) {
	llm := elicits(t, stageForm)
	w := elicitWorld(t, llm, setup{
		options: obj{"timeoutSeconds": 1},
		answers: map[string]lsptest.Answer{"window/showMessageRequest": func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent }},
	})
	result[agent.Result](t, w.ask("hi", nil))
	if got := toldModel(llm)[0]; !strings.Contains(got, `"action":"cancel"`) {
		t.Error(got)
	}
	if lines := commandAs[[]agent.AuditEntry](w, "agentls.audit", obj{"tool": "elicitation/create"}); len(lines) != 1 || lines[0].Outcome != agent.Rejected || lines[0].Reason != "no answer in 1 s" {
		t.Errorf("%+v", lines)
	}
}

// ndonfris/fish-lsp#56, scalameta/metals#5114
func TestElicitationOfAClientThatCannotAsk(t *testing.T) {
	llm := elicits(t, nameForm)
	w := elicitWorld(t, llm, setup{answers: map[string]lsptest.Answer{"window/showMessageRequest": func(json.RawMessage) (any, error) {
		return nil, &lsptest.Error{Code: -32601, Message: "method not found"}
	}}})
	p := w.ask("hi", nil)
	w.Await("message", func() bool { return len(w.messages("window/showMessage")) == 1 })
	open := w.server.asks.waiting()[0]
	if m := w.messages("window/showMessage")[0]; !strings.Contains(m, open.id) || !strings.Contains(m, `"content": {"name":"…","age":1}`) || !strings.Contains(m, `"decision": "deny"`) {
		t.Error(m)
	}
	if e := failure(t, w.StartCommand("agentls.approve", obj{"id": open.id, "decision": "once"}, nil), -32602); !strings.Contains(e.Message, "content is missing") {
		t.Error(e)
	}
	commandAs[map[string]bool](w, "agentls.approve", obj{"id": open.id, "decision": "once", "content": obj{"name": "Ada"}})
	result[agent.Result](t, p)
	if got := toldModel(llm)[0]; !strings.Contains(got, `"content":{"name":"Ada","age":7}`) {
		t.Error(got)
	}
}

// A form that was filled in and saved, in an editor that does not open it for
// us, is read from the disk, and is gone afterwards.
func TestFormDocumentOnDisk(t *testing.T) {
	llm := elicits(t, nameForm)
	w := elicitWorld(t, llm, setup{answers: map[string]lsptest.Answer{"window/showMessageRequest": title(fillIn)}})
	p := w.ask("hi", nil)
	poll(t, "the form", func() bool {
		return len(w.server.asks.waiting()) == 1 && w.server.asks.waiting()[0].document.file() != ""
	})
	open := w.server.asks.waiting()[0]
	file := open.document.file()
	text, err := os.ReadFile(file)
	want := fmt.Sprintf(`// fake asks: Who?
// Fill this in, save it and send it: the code action “Send the form”, in any document, or the command
// agentls.approve with {"id": %q, "decision": "once"}. Nothing is sent before. null leaves a field out.
{
  // required; 2 characters at least
  "name": null,

  // optional; a whole number
  "age": 7
}
`, open.id)
	if err != nil || string(text) != want || filepath.Dir(file) != filepath.Join(w.state, "forms") {
		t.Errorf("%s %v\n%s", file, err, text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	approve := obj{"id": open.id, "decision": "once"}
	refused := func(text, says string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if e := failure(t, w.StartCommand("agentls.approve", approve, nil), -32602); !strings.Contains(e.Message, says) {
			t.Error(e)
		}
	}
	refused(want, `"name" is missing; mend it in `+file+`, save it`)
	refused("{", "is no JSON")
	refused(strings.Repeat(" ", maxAskedDocument+1), "cannot be read")
	if err := os.WriteFile(file, []byte("{\"name\": \"Ada\", // me\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	commandAs[map[string]bool](w, "agentls.approve", approve)
	result[agent.Result](t, p)
	if got := toldModel(llm)[0]; !strings.Contains(got, `"content":{"name":"Ada","age":7}`) {
		t.Error(got)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the form is still there: %v", err)
	}
}

// What is given for a secret is in no message, log or audit.
func TestSecretsOfAnElicitation(t *testing.T) {
	llm := elicits(t, `{"message":"Sign in","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}`)
	w := elicitWorld(t, llm, setup{init: lsptest.Init{Features: []string{"approvals"}}, answers: map[string]lsptest.Answer{"agentls/elicit": func(json.RawMessage) (any, error) {
		return obj{"decision": "once", "content": obj{"password": "correct-horse-battery"}}, nil
	}}})
	result[agent.Result](t, w.ask("hi", nil))
	if got := w.server.o.Secrets.Redact("correct-horse-battery"); got != "[redacted]" {
		t.Error(got)
	}
	audit, _ := json.Marshal(commandAs[[]agent.AuditEntry](w, "agentls.audit", nil))
	for _, m := range append(append(w.messages("window/showMessage"), w.messages("window/logMessage")...), string(audit)) {
		if strings.Contains(m, "correct-horse") {
			t.Errorf("told in %q", m)
		}
	}
}

// What a person leaves out does not come back as its default.
func TestFieldThatIsLeftOut(t *testing.T) {
	llm := elicits(t, `{"message":"?","requestedSchema":{"type":"object","properties":{"stage":{"enum":["dev","prod"],"default":"prod"}}}}`)
	w := elicitWorld(t, llm, setup{answers: map[string]lsptest.Answer{"window/showMessageRequest": title(leaveOut)}})
	result[agent.Result](t, w.ask("hi", nil))
	if got := toldModel(llm)[0]; !strings.Contains(got, `"content":{}`) {
		t.Error(got)
	}
}

// In MRTR the question comes in the same way, in the name of the run.
func TestElicitationOfAModernServer(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Call(agent.ToolCall{ID: "1", Name: "mcp__fake__need", Arguments: `{"state":"s","inputs":{"who":{"method":"elicitation/create","params":` + stageForm + `}}}`}), agenttest.Text("done"))
	w := newWorld(t, setup{
		llm: llm, servers: map[string]mcptest.Options{"fake": {Modern: true}}, options: obj{"approval": obj{"default": "allow"}},
		init: lsptest.Init{Features: []string{"approvals", "runEvents"}}, answers: map[string]lsptest.Answer{"agentls/elicit": func(p json.RawMessage) (any, error) {
			if q := decodeAs[elicitParams](t, p); q.RunID != "r" || q.Mode != "form" {
				t.Errorf("%+v", q)
			}
			return obj{"decision": "once", "content": obj{"stage": "prod"}}, nil
		}},
	})
	result[agent.Result](t, w.ask("hi", obj{"runId": "r"}))
	if got := toldModel(llm)[0]; got != `{"inputResponses":{"who":{"action":"accept","content":{"stage":"prod"}}},"requestState":"s"}` {
		t.Error(got)
	}
	var states []string
	for _, e := range w.events("r") {
		if e.Approval != nil {
			states = append(states, string(e.Approval.Kind)+" "+e.Approval.State)
		}
	}
	if !slices.Equal(states, []string{"elicit open", "elicit resolved"}) {
		t.Errorf("%q", states)
	}
}

// dialog goes through the steps of a form with a person's titles, and gives
// what was shown, a line a step.
func dialog(t *testing.T, schema string, titles ...string) (a agent.Answer, ok bool, steps []string) {
	t.Helper()
	form, err := mcp.ParseForm(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	q := newQuestions(&Server{o: Options{Secrets: mcp.NewSecrets()}})
	w := &question{kind: "elicit", message: "s asks: m", elicit: &elicitation{form: form}}
	a, ok, err = q.formDialog(t.Context(), w, func(text string, offered []string) (string, error) {
		steps = append(steps, strings.TrimPrefix(text, "s asks: m")+" | "+strings.Join(offered, " | "))
		if len(titles) == 0 {
			return "", context.Canceled
		}
		title := titles[0]
		titles = titles[1:]
		return title, nil
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	return a, ok, steps
}

func TestStepsThroughAForm(t *testing.T) {
	t.Parallel()
	some := `{"type":"object","properties":{"f":{"type":"array","title":"Fish","minItems":1,"maxItems":2,"items":{"anyOf":[{"const":"1","title":"Tuna"},{"const":"2","title":"Cod"},{"const":"3","title":"Eel"}]},"default":["2"]}},"required":["f"]}`
	a, ok, steps := dialog(t, some, "+ Eel", "+ Tuna", "− Cod", doneWith, sendForm)
	want := []string{
		". Fish. Chosen: Cod | Decline | Done | + Tuna | − Cod | + Eel",
		". Fish. Chosen: Cod, Eel | Decline | Done | + Tuna | − Cod | − Eel",
		`. Fish. Chosen: Cod, Eel, Tuna (it "f" takes at most 2 values) | Decline | − Tuna | − Cod | − Eel`,
		". Fish. Chosen: Eel, Tuna | Decline | Done | − Tuna | + Cod | − Eel",
		". Send this to it? Fish = Eel, Tuna | Decline | Send | Start over",
	}
	if !ok || string(a.Content) != `{"f":["3","1"]}` || !slices.Equal(steps, want) {
		t.Errorf("%s %v\n%s", a.Content, ok, strings.Join(steps, "\n"))
	}
	for _, c := range []struct {
		schema, want string
		titles       []string
	}{
		{some, "denied by the user", []string{decline}},
		{some, dismissed, []string{"Tuna"}},
		{some, dismissed, []string{doneWith, "send"}},
		{`{"type":"object","properties":{}}`, `{}`, []string{"Accept"}},
		{`{"type":"object"}`, "denied by the user", []string{decline}},
		{`{"type":"object"}`, dismissed, []string{"OK"}},
		{`{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"]}`, `{"b":false}`, []string{"No"}},
		{`{"type":"object","properties":{"b":{"type":"boolean","default":true}}}`, `{"b":null}`, []string{leaveOut}},
		{`{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"]}`, dismissed, []string{leaveOut}},
		{`{"type":"object","properties":{"l":{"enum":[1,2]},"m":{"enum":[1,2]}},"required":["l","m"]}`, `{"l":2,"m":1}`, []string{"2", "1", sendForm}},
		{`{"type":"object","properties":{"f":{"type":"array","items":{"enum":["x"]},"minItems":1}}}`, `{"f":null}`, []string{doneWith, sendForm}},
	} {
		a, ok, steps := dialog(t, c.schema, c.titles...)
		if got := string(a.Content); !ok || got != c.want && a.Reason != c.want {
			t.Errorf("%s %q: %+v %s %v\n%s", c.schema, c.titles, a, got, ok, strings.Join(steps, "\n"))
		}
	}
}

// What cannot be told apart, or is not seen whole, is no button.
func TestFormsThatNoButtonAnswers(t *testing.T) {
	t.Parallel()
	property := func(p string) string { return `{"type":"object","properties":{"p":` + p + `},"required":["p"]}` }
	for _, schema := range []string{
		property(`{"enum":["a","Decline"]}`), property(`{"enum":["a b","a  b"]}`), property(`{"enum":["a\u200b"]}`), property(`{"enum":[""]}`), property(`{"enum":["a","a"]}`),
		property(`{"oneOf":[{"const":"1","title":"same"},{"const":"2","title":"same"}]}`), property(`{"enum":["` + strings.Repeat("x", cleanLimit+1) + `"]}`),
		property(`{"enum":["1","2","3","4","5","6","7","8","9","10","11","12","13"]}`), property(`{"type":"string"}`), property(`{"type":"integer"}`),
		`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"string"}},"required":["b"]}`,
	} {
		if _, ok, steps := dialog(t, schema, "x"); !ok || len(steps) != 1 || !strings.HasSuffix(steps[0], "| Decline | Fill in the form") {
			t.Errorf("%s: %q", clip(schema, 100), steps)
		}
	}
	// Defaults that are seen whole can be sent as they are.
	if a, ok, steps := dialog(t, `{"type":"object","properties":{"p":{"type":"string","default":"x"}},"required":["p"]}`, "Send defaults: p = x"); !ok || string(a.Content) != `{"p":"x"}` {
		t.Errorf("%+v %q", a, steps)
	}
	if _, _, steps := dialog(t, `{"type":"object","properties":{"p":{"type":"string","default":"x\u200by"}},"required":["p"]}`, "x"); strings.Contains(steps[0], "Send defaults") {
		t.Errorf("what is not seen would be sent: %q", steps)
	}
	if _, _, steps := dialog(t, `{"type":"object","properties":{"p":{"type":"string","default":"`+strings.Repeat("x", maxDefaults)+`"}},"required":["p"]}`, "x"); strings.Contains(steps[0], "Send defaults") {
		t.Errorf("%q", steps)
	}
}

func TestShownSchema(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","title":"a","properties":{"title":{"type":"string","title":"b","default":"title"},"description":{"description":"c","enum":["d"],"enumNames":["e"]}},"x":[1.50,{"title":"f"}]}`://
		`{"type":"object","title":"A","properties":{"title":{"type":"string","title":"B","default":"title"},"description":{"description":"C","enum":["d"],"enumNames":["E"]}},"x":[1.50,{"title":"F"}]}`,
		`{"properties":{"p":{"oneOf":[{"const":"g","title":"h"}]}},"$defs":{"title":{"title":"i"}}}`: `{"properties":{"p":{"oneOf":[{"const":"g","title":"H"}]}},"$defs":{"title":{"title":"I"}}}`,
		`{"big":12345678901234567890}`: `{"big":12345678901234567890}`,
		`nonsense`:                     `{"type":"object"}`,
	} {
		if got := string(shownSchema(json.RawMessage(schema), strings.ToUpper)); got != want {
			t.Errorf("%s:\n%s, want\n%s", schema, got, want)
		}
	}
}
