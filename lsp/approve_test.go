package lsp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// callsTool is a model that calls list_dir once and repeats what it gave.
func callsTool(t testing.TB) *agenttest.LLM {
	return agenttest.NewScript(t, func(n int, req agent.Request) agenttest.Step {
		if m := req.Messages[len(req.Messages)-1]; m.Role == agent.ToolRole {
			return agenttest.Text("saw: " + m.Text)
		}
		return agenttest.Call(agent.ToolCall{ID: fmt.Sprint("c", n), Name: "list_dir", Arguments: `{"path":"."}`})
	})
}

// asking makes list_dir a question.
func asking(timeout int) map[string]any {
	return obj{"approval": obj{"ask": []string{"list_dir"}, "timeoutSeconds": timeout}}
}

func statuses(r agent.Result) (list []agent.Outcome) {
	for _, c := range r.ToolCalls {
		list = append(list, c.Status)
	}
	return list
}

// title is an answer to window/showMessageRequest.
func title(text string) lsptest.Answer {
	return func(json.RawMessage) (any, error) { return obj{"title": text}, nil }
}

func TestAnswersOfAStockClient(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer lsptest.Answer
		want   agent.Outcome
		reason string // that the model is told
		again  bool   // asked again by the next call of the session
	}{
		{"deny", title("Deny"), agent.Rejected, "denied by the user", true},
		{"once", title("Allow once"), agent.Completed, "", true},
		{"session", title("Allow for this session"), agent.Completed, "", false},
		{"always", title("Always allow"), agent.Completed, "", false},
		{"null", func(json.RawMessage) (any, error) { return nil, nil }, agent.Rejected, "dismissed", true},
		{"empty title", title(""), agent.Rejected, "dismissed", true},
		{"no title", func(json.RawMessage) (any, error) { return obj{}, nil }, agent.Rejected, "dismissed", true},
		{"wrong title", title("allow once"), agent.Rejected, "dismissed", true},
		{"a string", func(json.RawMessage) (any, error) { return "Allow once", nil }, agent.Rejected, "dismissed", true},
		{"a list", func(json.RawMessage) (any, error) { return []any{obj{"title": "Allow once"}}, nil }, agent.Rejected, "dismissed", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setup{llm: callsTool(t), options: asking(600)})
			w.On("window/showMessageRequest", c.answer)
			r := result[agent.Result](t, w.ask("hi", obj{"session": "s"}))
			if got := statuses(r); !slices.Equal(got, []agent.Outcome{c.want}) {
				t.Errorf("calls %v, want %v", got, c.want)
			}
			if !strings.Contains(r.Text, c.reason) {
				t.Errorf("the model saw %q, want the reason %q", r.Text, c.reason)
			}
			result[agent.Result](t, w.ask("again", obj{"session": "s"}))
			if n := len(w.Requests("window/showMessageRequest")); (n == 2) != c.again {
				t.Errorf("%d questions", n)
			}
			if open := commandAs[[]approvalInfo](w, "agentls.approvals", nil); len(open) > 0 {
				t.Errorf("still open: %+v", open)
			}
		})
	}
}

func TestQuestionOfAStockClient(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewScript(t, func(n int, _ agent.Request) agenttest.Step {
		if n > 1 {
			return agenttest.Text("done")
		}
		return agenttest.Call(agent.ToolCall{ID: "1", Name: "list_dir", Arguments: `{"path":"[a](command:b) sk-abcdefgh12345678 ` + strings.Repeat("x", 500) + `"}`})
	}), options: asking(600)})
	result[agent.Result](t, w.ask("hi", nil))
	q := decodeAs[struct {
		Type    int
		Message string
		Actions []struct{ Title string }
	}](t, w.AwaitRequest("window/showMessageRequest", 1).Params)
	var titles []string
	for _, a := range q.Actions {
		titles = append(titles, a.Title)
	}
	if q.Type != 1 || !slices.Equal(titles, []string{"Deny", "Allow once", "Allow for this session", "Always allow"}) {
		t.Errorf("type %d, actions %q", q.Type, titles)
	}
	for _, bad := range []string{"](", "sk-abc", "\n", strings.Repeat("x", 320)} {
		if strings.Contains(q.Message, bad) {
			t.Errorf("the question %q holds %q", q.Message, bad)
		}
	}
	if !strings.Contains(q.Message, "list_dir") || !strings.Contains(q.Message, "[a] (command:b)") {
		t.Errorf("the question %q does not say what is asked", q.Message)
	}
}

// ndonfris/fish-lsp#56, scalameta/metals#5114
func TestClientWithoutShowMessageRequestApprovesByCommand(t *testing.T) {
	w := newWorld(t, setup{llm: callsTool(t), options: asking(600)})
	w.On("window/showMessageRequest", func(json.RawMessage) (any, error) {
		return nil, &lsptest.Error{Code: -32601, Message: "method not found"}
	})
	p := w.ask("hi", obj{"session": "s"})
	w.AwaitNotification("window/showMessage", 1)
	open := commandAs[[]approvalInfo](w, "agentls.approvals", nil)
	if len(open) != 1 || open[0].Kind != "tool" || open[0].Tool != "list_dir" || open[0].RunID == "" || string(open[0].Arguments) != `{"path":"."}` {
		t.Fatalf("approvals %+v", open)
	}
	if told := w.messages("window/showMessage"); len(told) != 1 || !strings.Contains(told[0], "agentls.approve") || !strings.Contains(told[0], open[0].ID) {
		t.Errorf("told %q", told)
	}
	if d, err := time.Parse(time.RFC3339, open[0].Deadline); err != nil || time.Until(d) < 9*time.Minute {
		t.Errorf("deadline %q", open[0].Deadline)
	}
	w.awaitRuns("a waiting run", func(list []runInfo) bool { return list[0].Status == runWaiting })
	approve := obj{"id": open[0].ID, "decision": "deny", "reason": "not on a Sunday"}
	if r := commandAs[map[string]bool](w, "agentls.approve", approve); !r["resolved"] {
		t.Error("not resolved")
	}
	r := result[agent.Result](t, p)
	if !strings.Contains(r.Text, "not on a Sunday") || statuses(r)[0] != agent.Rejected {
		t.Errorf("result %+v", r)
	}
	if r := commandAs[map[string]bool](w, "agentls.approve", approve); r["resolved"] {
		t.Error("resolved twice")
	}
}

// The deadline denies, and says so to the model.
func TestSilenceIsDeniedAtTheDeadline(t *testing.T) {
	w := newWorld(t, setup{llm: callsTool(t), options: asking(1)})
	w.On("window/showMessageRequest", func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent })
	r := result[agent.Result](t, w.ask("hi", nil))
	if !strings.Contains(r.Text, "no answer in 1 s") || statuses(r)[0] != agent.Rejected {
		t.Errorf("result %+v", r)
	}
	w.AwaitNotification("$/cancelRequest", 1) // the question is withdrawn
}

// Helix replace_or_push: a second question replaces the first, which is then
// never answered. So they come one at a time, and silence frees the slot.
func TestQuestionsOfAStockClientComeOneAtATime(t *testing.T) {
	var mu sync.Mutex
	shown, most := 0, 0
	w := newWorld(t, setup{llm: callsTool(t), options: asking(600), before: func(s *Server) { s.asks.silence = 300 * time.Millisecond }})
	first := true
	w.On("window/showMessageRequest", func(json.RawMessage) (any, error) {
		mu.Lock()
		shown++
		most = max(most, shown)
		silent := first
		first = false
		mu.Unlock()
		if silent {
			mu.Lock()
			shown-- // what it shows is gone when the next comes
			mu.Unlock()
			return nil, lsptest.ErrSilent
		}
		time.Sleep(20 * time.Millisecond) // a person
		mu.Lock()
		shown--
		mu.Unlock()
		return obj{"title": "Allow once"}, nil
	})
	var asked []*lsptest.Pending
	for range 3 {
		asked = append(asked, w.ask("hi", nil)) // three sessions
	}
	done := 0
	poll(t, "two answered runs", func() bool {
		done = 0
		for _, p := range asked {
			select {
			case <-p.Done():
				done++
			default:
			}
		}
		return done == 2
	})
	open := commandAs[[]approvalInfo](w, "agentls.approvals", nil)
	if len(open) != 1 {
		t.Fatalf("open %+v", open)
	}
	commandAs[map[string]bool](w, "agentls.approve", obj{"id": open[0].ID, "decision": "once"})
	for _, p := range asked {
		if r := result[agent.Result](t, p); statuses(r)[0] != agent.Completed {
			t.Errorf("result %+v", r)
		}
	}
	if most > 1 {
		t.Errorf("%d questions at a time", most)
	}
}

// fourCalls is a script of four calls beside each other.
func fourCalls(n int, req agent.Request) agenttest.Step {
	if req.Messages[len(req.Messages)-1].Role == agent.ToolRole {
		return agenttest.Text("done")
	}
	var list []agent.ToolCall
	for i := range 4 {
		list = append(list, agent.ToolCall{ID: fmt.Sprint(n, i), Name: "list_dir", Arguments: fmt.Sprintf(`{"path":"%s."}`, strings.Repeat("./", i))})
	}
	return agenttest.Call(list...)
}

// An answer to the first question settles what waited behind it: the rules are
// looked at again before a question is shown.
func TestWaitingQuestionIsLookedAtAgain(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewScript(t, fourCalls), options: asking(600)})
	all := sync.OnceFunc(func() { w.awaitOpen(4) })
	w.On("window/showMessageRequest", func(json.RawMessage) (any, error) {
		all()
		return obj{"title": "Allow for this session"}, nil
	})
	r := result[agent.Result](t, w.ask("hi", nil))
	if got := statuses(r); !slices.Equal(got, []agent.Outcome{agent.Completed, agent.Completed, agent.Completed, agent.Completed}) {
		t.Errorf("calls %v", got)
	}
	// The second may be shown before the agent has kept the first answer.
	if n := len(w.Requests("window/showMessageRequest")); n > 2 {
		t.Errorf("%d questions for one answer", n)
	}
}

// awaitOpen waits until so many questions are open.
func (w *world) awaitOpen(n int) {
	poll(w.t, fmt.Sprint(n, " open questions"), func() bool { return len(w.server.asks.waiting()) >= n })
}

// obot-platform/obot#5697
func TestCancelClosesTheQuestion(t *testing.T) {
	for _, features := range [][]string{nil, {"approvals"}} {
		t.Run(fmt.Sprint(features), func(t *testing.T) {
			method, late := "window/showMessageRequest", obj{"title": "Allow once"}
			if features != nil {
				method, late = "agentls/approve", obj{"decision": "once"}
			}
			withdrawn := make(chan struct{})
			answered := make(chan struct{})
			w := newWorld(t, setup{llm: callsTool(t), options: asking(600), init: lsptest.Init{Features: features}})
			w.On(method, func(json.RawMessage) (any, error) {
				<-withdrawn
				defer close(answered)
				return late, nil
			})
			p := w.ask("hi", obj{"session": "s"})
			r := w.AwaitRequest(method, 1)
			open := w.server.asks.waiting()[0].id
			p.Cancel()
			failure(t, p, -32800)
			w.Await("withdrawn question", func() bool {
				return slices.ContainsFunc(w.Notifications("$/cancelRequest"), func(n json.RawMessage) bool {
					return decodeAs[struct{ ID json.Number }](t, n).ID.String() == string(r.ID)
				})
			})
			close(withdrawn)
			<-answered
			if r := commandAs[map[string]bool](w, "agentls.approve", obj{"id": open, "decision": "once"}); r["resolved"] {
				t.Error("a question of a cancelled run was resolved")
			}
			lines := commandAs[[]agent.AuditEntry](w, "agentls.audit", nil)
			if len(lines) != 1 || lines[0].Outcome == agent.Completed {
				t.Errorf("audit %+v", lines)
			}
		})
	}
}

// Questions of a client that announced approvals come beside each other.
func TestOwnQuestionsComeBesideEachOther(t *testing.T) {
	both := make(chan struct{})
	w := newWorld(t, setup{llm: callsTool(t), options: asking(600), init: lsptest.Init{Features: []string{"approvals", "runEvents"}}})
	w.On("agentls/approve", func(json.RawMessage) (any, error) {
		<-both
		return obj{"decision": "once"}, nil
	})
	a, b := w.ask("hi", obj{"runId": "a"}), w.ask("hi", obj{"runId": "b"})
	q := decodeAs[approveParams](t, w.AwaitRequest("agentls/approve", 2).Params)
	if q.Kind != "tool" || q.Tool != "list_dir" || q.RunID == "" || q.Session == "" || string(q.Arguments) != `{"path":"."}` || q.Reason == "" || q.Description == "" {
		t.Errorf("question %+v", q)
	}
	close(both)
	for _, p := range []*lsptest.Pending{a, b} {
		if r := result[agent.Result](t, p); statuses(r)[0] != agent.Completed {
			t.Errorf("result %+v", r)
		}
	}
	var states []string
	for _, e := range w.events("a") {
		if e.Approval != nil {
			states = append(states, e.Approval.State+" "+string(e.Approval.Decision))
		}
	}
	if !slices.Equal(states, []string{"open ", "resolved once"}) {
		t.Errorf("approval events %q", states)
	}
}

// An answer that is remembered also settles what such a client was shown beside
// it: the other questions are withdrawn.
func TestOwnQuestionsAreLookedAtAgain(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewScript(t, fourCalls), options: asking(600), init: lsptest.Init{Features: []string{"approvals"}}})
	var first sync.Once
	end := make(chan struct{})
	w.On("agentls/approve", func(json.RawMessage) (any, error) {
		var answer any
		first.Do(func() {
			w.awaitOpen(4)
			answer = obj{"decision": "session"}
		})
		if answer == nil {
			<-end // nobody answers the others
		}
		return answer, nil
	})
	r := result[agent.Result](t, w.ask("hi", nil))
	close(end)
	if got := statuses(r); !slices.Equal(got, []agent.Outcome{agent.Completed, agent.Completed, agent.Completed, agent.Completed}) {
		t.Errorf("calls %v", got)
	}
}

func TestAnswersOfAnOwnClient(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer any
		want   agent.Outcome
		saw    string
	}{
		{"once", obj{"decision": "once"}, agent.Completed, "README.md"},
		{"edited", obj{"decision": "once", "arguments": obj{"path": "sub"}}, agent.Completed, "inner.txt"},
		{"edited to no object", obj{"decision": "once", "arguments": "sub"}, agent.Rejected, "dismissed"},
		{"deny", obj{"decision": "deny", "reason": "too early"}, agent.Rejected, "too early"},
		{"null", nil, agent.Rejected, "dismissed"},
		{"unknown", obj{"decision": "yes"}, agent.Rejected, "dismissed"},
		{"wrong type", obj{"decision": true}, agent.Rejected, "dismissed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setup{llm: callsTool(t), options: asking(600), init: lsptest.Init{Features: []string{"approvals"}}, files: map[string]string{"sub/inner.txt": "x"}})
			w.On("agentls/approve", func(json.RawMessage) (any, error) { return c.answer, nil })
			r := result[agent.Result](t, w.ask("hi", nil))
			if statuses(r)[0] != c.want || !strings.Contains(r.Text, c.saw) {
				t.Errorf("result %+v", r)
			}
		})
	}
}
