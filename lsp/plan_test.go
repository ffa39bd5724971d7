package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// twoSteps is a plan whose words try what words of a model can try.
func twoSteps() *agent.PlanState {
	return &agent.PlanState{Plan: 1, Steps: []agent.PlanStep{
		{ID: "read", Title: "Read [it](command:x)", Task: "Read a.go\n## and b.go", DependsOn: []string{}, Status: agent.StepPending},
		{ID: "fix", Title: "Fix it", Task: "Fix ![it](http://x/y.png)", DependsOn: []string{"read"}, Status: agent.StepPending},
	}}
}

// askedPlan is a question that was put, and the answer to it.
type askedPlan struct {
	w      *world
	id     string
	answer chan agent.Answer
}

// askPlan puts a question about a plan.
func askPlan(w *world) askedPlan {
	a := askedPlan{w, newID(), make(chan agent.Answer, 1)}
	q := agent.Question{ID: a.id, Kind: "plan", Tool: "submit_plan", Session: "s", RunID: "r", Plan: twoSteps(), Timeout: time.Hour}
	go func() { // ends with the test's context
		answer, err := w.server.asks.settle(w.t.Context(), toolQuestion(w.server, q))
		if err != nil {
			answer.Reason = err.Error()
		}
		answer.Kept = nil
		a.answer <- answer
	}()
	return a
}

func (a askedPlan) wait() agent.Answer {
	a.w.t.Helper()
	select {
	case answer := <-a.answer:
		return answer
	case <-time.After(lsptest.Deadline):
		a.w.t.Fatal("no answer")
	}
	panic("not reached")
}

// open waits until the question can be answered by its document, and gives that.
func (a askedPlan) open() string {
	a.w.t.Helper()
	file := ""
	poll(a.w.t, "the plan's document", func() bool {
		if w := a.w.server.asks.find(a.id); w != nil {
			file = w.document.file()
		}
		return file != ""
	})
	return file
}

// planWords is an answer to a plan in a line.
func planWords(a agent.Answer) string {
	if a.Plan == nil {
		return string(a.Decision) + " " + a.Reason
	}
	text := string(a.Plan.Decision)
	for _, s := range a.Plan.Steps {
		text += fmt.Sprintf(" %s|%s|%s|%s", s.ID, s.Title, s.Task, strings.Join(s.DependsOn, ","))
	}
	if a.Plan.Note != "" {
		text += " (" + a.Plan.Note + ")"
	}
	return text
}

// A client with plans is asked by agentls/plan, and once more where its answer
// cannot be.
func TestPlanOfAnOwnClient(t *testing.T) {
	edited := `"steps": [{"id": "read", "title": "Read [it] (command:x)", "dependsOn": []}, {"id": "new", "title": "Test it", "task": "go test", "dependsOn": ["read"], "status": "completed"}]`
	for name, c := range map[string]struct {
		answers []string
		want    string
		problem string // of the second request
	}{
		"run":            {[]string{`{"decision": "run"}`}, "run", ""},
		"as it was":      {[]string{`{"decision": "run", "steps": [{"id": "read"}, {"id": "fix"}]}`}, "run", ""},
		"edited":         {[]string{`{"decision": "run", ` + edited + `, "note": "be quick"}`}, "run read|Read [it](command:x)|Read a.go\n## and b.go| new|Test it|go test|read (be quick)", ""},
		"revise":         {[]string{`{"decision": "revise", "note": "no tests"}`}, "revise (no tests)", ""},
		"stop":           {[]string{`{"decision": "stop"}`}, "stop", ""},
		"null":           {[]string{`null`}, "deny dismissed", ""},
		"a text":         {[]string{`"run"`}, "deny dismissed", ""},
		"no decision":    {[]string{`{"steps": []}`}, "deny dismissed", ""},
		"another word":   {[]string{`{"decision": "yes"}`, `{"decision": "run"}`}, "run", `decision must be one of run, revise, stop, not "yes"`},
		"a wrong type":   {[]string{`{"decision": "run", "steps": 1}`, `{"decision": "stop"}`}, "stop", "the answer must be"},
		"no steps":       {[]string{`{"decision": "run", "steps": []}`, `{"decision": "run"}`}, "run", "step"},
		"unknown":        {[]string{`{"decision": "run", "steps": [{"id": "fix"}]}`, `{"decision": "run"}`}, "run", "read"},
		"a circle":       {[]string{`{"decision": "run", "steps": [{"id": "read", "dependsOn": ["fix"]}, {"id": "fix"}]}`, `{"decision": "run"}`}, "run", "fix"},
		"wrong for ever": {slices.Repeat([]string{`{"decision": "yes"}`}, maxAgain+1), "deny dismissed", "not \"yes\""},
	} {
		t.Run(name, func(t *testing.T) {
			var left []string
			w := newWorld(t, setup{llm: agenttest.NewLLM(t), init: lsptest.Init{Features: []string{"plans", "approvals"}}, answers: map[string]lsptest.Answer{
				"agentls/plan": func(json.RawMessage) (any, error) {
					answer := left[0]
					left = left[1:]
					return json.RawMessage(answer), nil
				},
			}})
			left = c.answers
			if got := planWords(askPlan(w).wait()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			sent := w.Requests("agentls/plan")
			if len(sent) != len(c.answers) || len(left) != 0 {
				t.Fatalf("%d requests, %d answers left", len(sent), len(left))
			}
			first := decodeAs[planAsk](t, sent[0].Params)
			if first.ID == "" || first.RunID != "r" || first.Session != "s" || first.Plan != 1 || first.Problem != "" || len(first.Steps) != 2 ||
				!reflect.DeepEqual(first.Steps[0], stepParams{"read", "Read [it] (command:x)", "Read a.go\n## and b.go", []string{}}) {
				t.Errorf("%s", sent[0].Params)
			}
			if len(sent) > 1 {
				if got := decodeAs[planAsk](t, sent[1].Params).Problem; !strings.Contains(got, c.problem) {
					t.Errorf("the problem is %q", got)
				}
			}
		})
	}
}

// A client with approvals alone is asked by agentls/approve.
func TestPlanOfAClientWithApprovals(t *testing.T) {
	n := 0
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), init: lsptest.Init{Features: []string{"approvals"}}, answers: map[string]lsptest.Answer{
		"agentls/approve": func(params json.RawMessage) (any, error) {
			p := decodeAs[approveParams](t, params)
			if p.Kind != "plan" || p.Plan == nil || len(p.Plan.Steps) != 2 || !slices.Equal(p.Decisions, []agent.Decision{"deny", "once"}) || (n == 1) != strings.Contains(p.Problem, "does not go with") {
				t.Errorf("%s", params)
			}
			if n++; n == 1 {
				return obj{"decision": "deny", "content": obj{"decision": "run"}}, nil
			}
			return obj{"decision": "deny", "reason": "too long", "content": obj{"decision": "revise"}}, nil
		},
	}})
	if got := planWords(askPlan(w).wait()); got != "revise (too long)" {
		t.Error(got)
	}
}

// A client with plans that has no approvals is asked about plans all the same.
func TestPlanOfAClientWithPlansAlone(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), init: lsptest.Init{Features: []string{"plans"}}, answers: map[string]lsptest.Answer{
		"agentls/plan": func(json.RawMessage) (any, error) { return obj{"decision": "run"}, nil },
	}})
	if got := planWords(askPlan(w).wait()); got != "run" {
		t.Error(got)
	}
}

// planEditor is a stock client that answers with titles, one after the other.
func planEditor(t *testing.T, titles ...string) *world {
	shows := func(json.RawMessage) (any, error) { return obj{"success": true}, nil }
	return newWorld(t, setup{llm: agenttest.NewLLM(t), answers: map[string]lsptest.Answer{
		"window/showDocument": shows,
		"window/showMessageRequest": func(json.RawMessage) (any, error) {
			title := titles[0]
			titles = titles[1:]
			return obj{"title": title}, nil
		},
	}})
}

// The deadline of a plan's question ends the run, and says why.
func TestPlanIsStoppedAtTheDeadline(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Call(agent.ToolCall{ID: "p", Name: "submit_plan", Arguments: `{"steps":["Look around.","Fix it."]}`}))
	w := newWorld(t, setup{llm: llm, options: asking(1)})
	w.On("window/showMessageRequest", func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent })
	r := result[agent.Result](t, w.ask("hi", obj{"mode": "plan"}))
	if r.Status != agent.StatusStopped || r.StopReason != "plan_stopped" || !strings.Contains(r.Note, "(no answer in 1 s)") || r.Plan != nil || len(llm.Requests()) != 1 {
		t.Errorf("result %+v", r)
	}
	if lines := commandAs[[]agent.AuditEntry](w, "agentls.audit", obj{"tool": "submit_plan"}); len(lines) != 1 || lines[0].Outcome != agent.Rejected || lines[0].Reason != "no answer in 1 s" {
		t.Errorf("audit %+v", lines)
	}
	if open := commandAs[[]approvalInfo](w, "agentls.approvals", nil); len(open) > 0 {
		t.Errorf("still open: %+v", open)
	}
}

func TestPlanOfAStockClient(t *testing.T) {
	for title, want := range map[string]string{
		stopPlan: "stop", runPlan: "run", "": "deny dismissed", "run plan": "deny dismissed",
	} {
		w := planEditor(t, title)
		if got := planWords(askPlan(w).wait()); got != want {
			t.Errorf("%s: %s", title, got)
		}
		params := string(w.Requests("window/showMessageRequest")[0].Params)
		for _, says := range []string{
			"agentls: run this plan of 2 steps? 1. Read [it] (command:x) · 2. Fix it The plan is shown in ", "what you change there counts",
			`"actions":[{"title":"Stop"},{"title":"Run plan"},{"title":"Edit plan…"},{"title":"Another plan…"}]`,
		} {
			if !strings.Contains(params, says) {
				t.Errorf("%s is not in %s", says, params)
			}
		}
		shown := string(w.Requests("window/showDocument")[0].Params)
		if !strings.Contains(shown, "/plans/") || !strings.Contains(shown, `"takeFocus":false`) {
			t.Error(shown)
		}
		files, err := filepath.Glob(filepath.Join(w.state, "plans", "*-*-*.md"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil || !strings.Contains(string(text), "## `read` Read [it] (command:x)\n\nAfter: nothing\n\nRead a.go\n\\## and b.go\n\n## `fix` Fix it\n\nAfter: read\n\nFix !\\[it](http://x/y.png)\n\n## Note\n") {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// What a person makes of the plan's document counts: in the editor, where it is
// open, and else on the disk.
func TestPlanIsEditedAsADocument(t *testing.T) {
	edit := func(text, from, to string) string { return strings.ReplaceAll(text, from, to) }
	for _, open := range []bool{true, false} {
		w := planEditor(t, editPlan)
		a := askPlan(w)
		file := a.open()
		put := func(text string) {
			t.Helper()
			if uri := lsptest.FileURI(file); open {
				w.Open(uri, "markdown", text)
				w.Edit(uri)
			} else if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		poll(t, "how to go on", func() bool { return len(w.messages("window/showMessage")) == 1 })
		if got := w.messages("window/showMessage")[0]; !strings.Contains(got, "agentls: Edit "+filepath.Base(file)+" and choose the code action “Run the plan” then, in any document") {
			t.Error(got)
		}
		put(edit(text, "After: read", "After: raed"))
		approve := obj{"id": a.id, "decision": "once"}
		if e := failure(t, w.StartCommand("agentls.approve", approve, nil), -32602); !strings.Contains(e.Message, "the step `fix` is to come after `raed`, but there is no such step; mend it in "+file) {
			t.Error(e.Message)
		}
		if open {
			w.CloseDocument(lsptest.FileURI(file))
		}
		put(edit(edit(text, "Fix it", "Mend it"), "Fix !", "Mend !"))
		if r := commandAs[map[string]bool](w, "agentls.approve", approve); !r["resolved"] {
			t.Error(r)
		}
		if got := planWords(a.wait()); got != "run read|Read [it](command:x)|Read a.go\n## and b.go| fix|Mend it|Mend ![it](http://x/y.png)|read" {
			t.Error(got)
		}
	}
}

// *Run plan* takes the document as well; one that cannot be read is told, and
// asked about again.
func TestPlanDocumentThatCannotBeRead(t *testing.T) {
	var w *world
	n := 0
	w = newWorld(t, setup{llm: agenttest.NewLLM(t), answers: map[string]lsptest.Answer{
		"window/showDocument": func(json.RawMessage) (any, error) { return obj{"success": true}, nil },
		"window/showMessageRequest": func(json.RawMessage) (any, error) {
			file := w.server.asks.waiting()[0].document.file()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
			}
			now := strings.Replace(string(text), "## `fix` Fix it", "## `fix Fix it", 1)
			if n++; n == 2 {
				now = strings.Replace(string(text), "## `fix Fix it", "## Repair it", 1)
			}
			if err := os.WriteFile(file, []byte(now), 0o600); err != nil {
				t.Error(err)
			}
			return obj{"title": runPlan}, nil
		},
	}})
	if got := planWords(askPlan(w).wait()); !strings.Contains(got, " new-1|Repair it|Fix ![it](http://x/y.png)|read") {
		t.Error(got)
	}
	sent := w.Requests("window/showMessageRequest")
	if len(sent) != 2 || !strings.Contains(string(sent[1].Params), "agentls: this plan cannot run: line ") || !strings.Contains(string(sent[1].Params), "has no backtick at its end") {
		t.Errorf("%d %s", len(sent), sent[len(sent)-1].Params)
	}
}

// A note in the document goes with *Another plan…*; without one it is asked for.
func TestAnotherPlan(t *testing.T) {
	w := planEditor(t, anotherPlan)
	a := askPlan(w)
	file := a.open()
	poll(t, "how to go on", func() bool { return len(w.messages("window/showMessage")) == 1 })
	if got := w.messages("window/showMessage")[0]; !strings.Contains(got, "agentls: Write what should be different below “Note” in "+filepath.Base(file)+" and choose the code action “Another plan” then") {
		t.Error(got)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("No fix,\nonly tests.\n## `bad\n"); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	uri := w.document("x.go", "a\n")
	var titles []string
	for _, action := range w.actions(uri, span(0, 0, 0, 0), obj{"diagnostics": []any{}}) {
		titles = append(titles, action.Title)
		if strings.HasPrefix(action.Title, askAnother) {
			result[map[string]bool](t, w.Start("workspace/executeCommand", action.Command))
		}
	}
	about := ": 1. Read [it] (command:x) · 2. Fix it"
	if want := []string{stopThePlan + about, runThePlan + about, askAnother + about}; len(titles) < 3 || !slices.Equal(titles[:3], want) {
		t.Errorf("%q", titles)
	}
	if got := planWords(a.wait()); got != "revise (No fix,\nonly tests.)" {
		t.Error(got)
	}
}

// Among what waits a plan is whole, and is answered by a direct request.
func TestPlanAmongApprovals(t *testing.T) {
	for _, c := range []struct{ argument, want, fails string }{
		{`"decision": "once"`, "run", ""},
		{`"decision": "always"`, "run", ""},
		{`"decision": "once", "content": {"steps": [{"id": "read"}]}`, "run read|Read [it](command:x)|Read a.go\n## and b.go|", ""},
		{`"decision": "deny"`, "stop", ""},
		{`"decision": "deny", "content": {"decision": "revise", "note": "x"}`, "revise (x)", ""},
		{`"decision": "once", "content": {"decision": "revise"}`, "revise", ""},
		{`"decision": "once", "content": {"decision": "stop"}`, "", "does not go with"},
		{`"decision": "once", "content": {"decision": "go"}`, "", "content.decision must be one of run, revise, stop"},
		{`"decision": "once", "content": []`, "", "content must be"},
		{`"decision": "once", "content": {"steps": [{"id": "fix"}]}`, "", "read"},
	} {
		w := newWorld(t, setup{llm: agenttest.NewLLM(t), answers: map[string]lsptest.Answer{"agentls/plan": nil}, init: lsptest.Init{Features: []string{"plans"}}})
		a := askPlan(w)
		poll(t, "the question", func() bool { return w.server.asks.find(a.id) != nil })
		list := commandAs[[]approvalInfo](w, "agentls.approvals", nil)
		if len(list) != 1 || list[0].Kind != "plan" || list[0].Plan == nil || len(list[0].Plan.Steps) != 2 || list[0].Plan.Steps[1].Task != "Fix ![it](http://x/y.png)" {
			t.Fatalf("%+v", list)
		}
		p := w.StartText("workspace/executeCommand", fmt.Sprintf(`{"command": "agentls.approve", "arguments": [{"id": %q, %s}]}`, a.id, c.argument))
		if c.fails != "" {
			if e := failure(t, p, -32602); !strings.Contains(e.Message, c.fails) {
				t.Errorf("%s: %s", c.argument, e.Message)
			}
			result[map[string]bool](t, w.StartCommand("agentls.approve", obj{"id": a.id, "decision": "deny"}, nil))
			a.wait()
			continue
		}
		result[map[string]bool](t, p)
		if got := planWords(a.wait()); got != c.want {
			t.Errorf("%s: %s", c.argument, got)
		}
	}
}

// A plan that nobody answers stays open until the deadline, one whose run ends
// is withdrawn.
func TestPlanThatNobodyAnswers(t *testing.T) {
	llm := agenttest.NewScript(t, func(int, agent.Request) agenttest.Step {
		return agenttest.Call(agent.ToolCall{ID: "c", Name: "submit_plan", Arguments: `{"steps":[{"id":"a","title":"Look","task":"look","dependsOn":[]}]}`})
	})
	w := newWorld(t, setup{llm: llm, options: obj{"approval": obj{"timeoutSeconds": 1}}, answers: map[string]lsptest.Answer{
		"window/showMessageRequest": func(json.RawMessage) (any, error) {
			return nil, &lsptest.Error{Code: -32601, Message: "no such method"}
		},
		"window/showDocument": func(json.RawMessage) (any, error) {
			return nil, &lsptest.Error{Code: -32601, Message: "no such method"}
		},
	}})
	r := result[agent.Result](t, w.ask("go", obj{"mode": "plan"}))
	if r.Status != "stopped" || r.StopReason != "plan_stopped" || !strings.Contains(r.Note, "no answer in 1 s") {
		t.Errorf("%+v", r)
	}
	told := strings.Join(w.messages("window/showMessage"), "\n")
	for _, says := range []string{"Your editor could not show this question.", "The plan is in ", ".md", `agentls.approve with {"id": `, `"deny" stops the run`} {
		if !strings.Contains(told, says) {
			t.Errorf("%q is not in %s", says, told)
		}
	}

	silent := func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent }
	w = newWorld(t, setup{llm: llm, answers: map[string]lsptest.Answer{"window/showMessageRequest": silent, "window/showDocument": silent}})
	p := w.ask("go", obj{"mode": "plan", "runId": "r"})
	poll(t, "the question", func() bool { return len(w.server.asks.waiting()) == 1 })
	result[map[string][]string](t, w.StartCommand("agentls.cancel", obj{"runId": "r"}, nil))
	failure(t, p, -32800)
	if open := w.server.asks.waiting(); len(open) != 0 {
		t.Errorf("%d questions are open", len(open))
	}
}
