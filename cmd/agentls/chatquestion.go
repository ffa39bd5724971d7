package main

import (
	"context"
	"encoding/json"
	"strings"

	"agentls/agent"
	"agentls/mcp"
)

// answer puts a question of the server's to the person. nil dismisses it: the
// server denies then, or asks another way.
func (d *dialogue) answer(ctx context.Context, method string, params json.RawMessage) any {
	defer d.guard()
	switch method {
	case "agentls/approve":
		return d.approve(ctx, params)
	case "agentls/elicit":
		return d.elicit(ctx, params)
	case "agentls/plan":
		return d.plan(ctx, params)
	case "workspace/applyEdit": // nothing of the person's is open here
		return map[string]any{"applied": false, "failureReason": "a dialogue in a terminal has no document open"}
	}
	return nil
}

// approveAnswer answers agentls/approve and agentls/elicit (CONTRACT §7).
type approveAnswer struct {
	Decision  agent.Decision  `json:"decision"`
	Reason    string          `json:"reason,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Content   json.RawMessage `json:"content,omitempty"`
}

// approve asks about a call, a server's request to the model, or trust.
func (d *dialogue) approve(ctx context.Context, params json.RawMessage) any {
	var p struct {
		Kind, Server, Tool, Description, Reason, Covers, Part string
		Arguments                                             json.RawMessage
		DefinitionChanged                                     bool
		Preview                                               *agent.Preview
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	q := agent.Question{
		Kind: p.Kind, Server: p.Server, Tool: p.Tool, Description: p.Description, Reason: p.Reason, Covers: p.Covers, Part: p.Part,
		Arguments: p.Arguments, DefinitionChanged: p.DefinitionChanged, Preview: p.Preview,
	}
	if p.Kind == "sample" {
		q.Sample = sampleOf(p.Arguments)
	}
	a, err := d.asks.Ask(ctx, q)
	if err != nil {
		return nil
	}
	return approveAnswer{a.Decision, a.Reason, a.Arguments, a.Content}
}

// sampleOf reads what a question about sampling is about: the request of the
// server, or the answer that it is to get.
func sampleOf(arguments json.RawMessage) *agent.SampleQuestion {
	if r, err := mcp.ParseSample(arguments); err == nil {
		return &agent.SampleQuestion{Request: r}
	}
	var answer struct{ Text *string }
	if json.Unmarshal(arguments, &answer) == nil && answer.Text != nil {
		return &agent.SampleQuestion{Answer: answer.Text}
	}
	return nil
}

// elicit asks for what a server wants to know, or needs before it starts.
func (d *dialogue) elicit(ctx context.Context, params json.RawMessage) any {
	var p struct {
		Server, Mode, Message, URL, Problem string
		RequestedSchema                     json.RawMessage
		Opened                              bool
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	p.Message = strings.TrimPrefix(p.Message, p.Server+" asks: ") // the terminal says so itself
	r := mcp.Request{Server: p.Server, Kind: mcp.RequestElicit, Elicit: mcp.Elicitation{Mode: p.Mode, Message: p.Message, Opened: p.Opened}}
	var err error
	if p.Mode == "url" {
		r.Elicit.Link, err = mcp.ParseLink(p.URL)
	} else {
		r.Elicit.Form, err = mcp.ParseForm(p.RequestedSchema)
	}
	if err != nil {
		d.fail(err)
		return nil
	}
	if p.Problem != "" {
		d.face.note(noteError, oneLine(p.Problem, 1000))
	}
	switch a := d.asks.elicit(ctx, r); {
	case a.Accept:
		return approveAnswer{Decision: agent.DecisionOnce, Content: a.Content}
	case a.Decline:
		return approveAnswer{Decision: agent.DecisionDeny}
	}
	return nil
}

// plan asks whether a plan is to be carried out.
func (d *dialogue) plan(ctx context.Context, params json.RawMessage) any {
	var p struct {
		agent.PlanState
		Problem string
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	if p.Problem != "" {
		d.face.note(noteError, oneLine(p.Problem, 1000))
	}
	a, err := d.asks.Ask(ctx, agent.Question{Kind: "plan", Plan: &p.PlanState})
	switch {
	case err != nil:
		return nil
	case a.Plan == nil: // nobody could be asked
		a.Plan = &agent.PlanAnswer{Decision: agent.PlanStop, Note: a.Reason}
	}
	return struct {
		Decision agent.PlanDecision `json:"decision"`
		Steps    []agent.PlanStep   `json:"steps,omitempty"`
		Note     string             `json:"note,omitempty"`
	}{a.Plan.Decision, a.Plan.Steps, a.Plan.Note}
}
