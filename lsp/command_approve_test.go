package lsp

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp/mcptest"
)

// A client that lost a question can show all of it again: what waits has what
// the request had, the deadline included.
func TestApprovalsHoldWhatTheRequestsDid(t *testing.T) {
	asked, end := make(chan json.RawMessage, 1), make(chan struct{})
	begin := time.Now().Truncate(time.Second)
	w := newWorld(t, setup{
		llm: agenttest.NewLLM(t, agenttest.Call(
			agent.ToolCall{ID: "c", Name: "write_file", Arguments: `{"path":"a b.txt","content":"one\n"}`},
		), agenttest.Text("done")),
		options: obj{"approval": obj{"timeoutSeconds": 500}},
		init:    lsptest.Init{Features: []string{"approvals"}},
		answers: map[string]lsptest.Answer{"agentls/approve": func(p json.RawMessage) (any, error) {
			asked <- p
			<-end
			return nil, lsptest.ErrSilent
		}},
	})
	t.Cleanup(func() { close(end) })
	p := w.ask("hi", obj{"session": "s"})
	q := decodeAs[approveParams](t, <-asked)
	if q.Preview == nil || q.Preview.URI != w.uri("a b.txt") || q.Preview.Path != "a b.txt" {
		t.Errorf("preview %+v", q.Preview)
	}
	deadline, err := time.Parse(time.RFC3339, q.Deadline)
	if err != nil || deadline.Before(begin.Add(500*time.Second)) || deadline.After(time.Now().Add(500*time.Second)) {
		t.Errorf("deadline %q, asked at %v: %v", q.Deadline, begin, err)
	}
	open := commandAs[[]approvalInfo](w, "agentls.approvals", nil)
	if len(open) != 1 {
		t.Fatalf("approvals %+v", open)
	}
	a := open[0]
	again := approveParams{
		ID: a.ID, Kind: a.Kind, RunID: a.RunID, Session: a.Session, Server: a.Server, Tool: a.Tool, Description: a.Description, Arguments: a.Arguments,
		Reason: a.Reason, DefinitionChanged: a.Changed, Covers: a.Covers, Decisions: a.Decisions, Preview: a.Preview, Part: a.Part, Plan: a.Plan, Deadline: a.Deadline,
	}
	if !reflect.DeepEqual(again, q) {
		t.Errorf("waiting:\n%+v\nasked:\n%+v", again, q)
	}
	commandAs[map[string]bool](w, "agentls.approve", obj{"id": q.ID, "decision": "deny"})
	result[agent.Result](t, p)
}

// The same of a form.
func TestApprovalsHoldTheForm(t *testing.T) {
	asked, end := make(chan elicitParams, 1), make(chan struct{})
	w := elicitWorld(t, elicits(t, nameForm), setup{init: lsptest.Init{Features: []string{"approvals"}}, answers: map[string]lsptest.Answer{
		"agentls/elicit": func(p json.RawMessage) (any, error) {
			asked <- decodeAs[elicitParams](t, p)
			<-end
			return nil, lsptest.ErrSilent
		},
	}})
	t.Cleanup(func() { close(end) })
	p := w.ask("hi", nil)
	q := <-asked
	open := commandAs[[]approvalInfo](w, "agentls.approvals", nil)
	if len(open) != 1 || open[0].Elicit == nil || q.Deadline == "" || !reflect.DeepEqual(*open[0].Elicit, q) {
		t.Fatalf("waiting %+v, asked %+v", open, q)
	}
	commandAs[map[string]bool](w, "agentls.approve", obj{"id": q.ID, "decision": "once", "content": obj{"name": "Ada"}})
	result[agent.Result](t, p)
}

// The question about a project's server says which of its tools would run
// unasked, to a client of ours too.
func TestTrustQuestionNamesTheRules(t *testing.T) {
	file, err := json.Marshal(obj{"mcpServers": serverEntries(t, map[string]mcptest.Options{"evil": {}})})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, setup{
		llm: agenttest.NewLLM(t), init: lsptest.Init{Features: []string{"approvals"}}, files: map[string]string{".mcp.json": string(file)},
		options: obj{"workspaceTrusted": true, "approval": obj{"allow": []string{"evil/ask"}}},
		answers: map[string]lsptest.Answer{"agentls/approve": func(json.RawMessage) (any, error) { return obj{"decision": "deny"}, nil }},
	})
	q := decodeAs[approveParams](t, w.AwaitRequest("agentls/approve", 1).Params)
	if q.Kind != "trust" || q.Description != "Your own rules let its tools run unasked: evil/ask." {
		t.Errorf("%+v", q)
	}
}
