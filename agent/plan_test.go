package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// cast are the answers of a model by the role that asks, each role in its own
// order: "planner", or "step" or "reviewer" and the title of the step.
type cast map[string][]agenttest.Step

// roleOf says which conversation a request is of.
func roleOf(req agent.Request) string {
	for _, m := range req.Messages[1:] {
		if m.Role != agent.User {
			continue
		}
		if _, task, ok := strings.Cut(m.Text, "<step_task>\n"); ok {
			title, _, _ := strings.Cut(task, "\n")
			return "reviewer " + title
		}
		if line, _, _ := strings.Cut(m.Text, "\n"); strings.HasPrefix(line, "Carry out step ") {
			_, title, _ := strings.Cut(line, ": ")
			return "step " + title
		}
		break
	}
	return "planner"
}

// script gives each role its next answer, and "done" after the last.
func (c cast) script() agenttest.Script {
	var mu sync.Mutex
	at := map[string]int{}
	return func(_ int, req agent.Request) agenttest.Step {
		mu.Lock()
		defer mu.Unlock()
		role := roleOf(req)
		n := at[role]
		at[role]++
		if n < len(c[role]) {
			return c[role][n]
		}
		return agenttest.Text("done")
	}
}

// plan runs a prompt in plan mode.
func (w *world) plan(ctx context.Context, prompt string, c cast) (agent.Result, *agenttest.LLM, error) {
	llm := agenttest.NewScript(w.t, c.script())
	t := w.task
	t.Prompt, t.LLM, t.Mode = prompt, llm, agent.ModePlan
	res, err := w.work(ctx, t)
	return res, llm, err
}

// of are the requests of a role, in order.
func of(llm *agenttest.LLM, role string) (out []agent.Request) {
	for _, r := range llm.Requests() {
		if roleOf(r) == role {
			out = append(out, r)
		}
	}
	return out
}

// submit is an answer that submits a plan: each step as "title" or "title < needed needed".
func submit(steps ...string) agenttest.Step {
	return agenttest.Call(call("p", "submit_plan", planOf(steps...)))
}

func planOf(steps ...string) string {
	var list []string
	for _, s := range steps {
		title, needs, _ := strings.Cut(s, " < ")
		on, _ := json.Marshal(append([]string{}, strings.Fields(needs)...))
		list = append(list, fmt.Sprintf(`{"id":%q,"title":%q,"task":"Do %s.","dependsOn":%s}`, title, title, title, on))
	}
	return `{"steps":[` + strings.Join(list, ",") + `]}`
}

// stepStates are those of a plan, with their notes.
func stepStates(steps []agent.PlanStep) string {
	var out []string
	for _, s := range steps {
		out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", s.ID, s.Status, s.Note), ": "))
	}
	return strings.Join(out, "\n")
}

func TestPlanRunsItsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		res, llm, err := w.plan(t.Context(), "change it", cast{
			"planner": {
				agenttest.Call(call("l", "list_dir", `{"path":"."}`)),
				{Text: []string{"I plan."}, Calls: submit("a", "b", "c < a b").Calls, Usage: agent.Usage{PromptTokens: 10, CompletionTokens: 1}},
				agenttest.Text("All is done."),
			},
			"step a": {agenttest.Call(call("p", "mcp__fake__echo", `{"text":"pong"}`)), {Text: []string{"a is ", "done"}, Usage: agent.Usage{PromptTokens: 5, CompletionTokens: 2}}},
			"step b": {agenttest.Text("b is done")},
			"step c": {agenttest.Text("c is done")},
		})
		if err != nil || res.Status != agent.StatusCompleted || res.StopReason != "end_turn" {
			t.Fatalf("%+v %v", res, err)
		}
		if got := stepStates(res.Plan); got != "a completed: a is done\nb completed: b is done\nc completed: c is done" {
			t.Error(got)
		}
		if res.Steps != 7 || res.Usage.TotalTokens != 18 || len(res.ToolCalls) != 3 {
			t.Errorf("%+v", res)
		}
		if !strings.HasPrefix(res.Text, "**Plan**\n\n1. a\n2. b\n3. c (after 1, 2)\n\n- completed: ") || !strings.HasSuffix(res.Text, "- completed: 3. c\n\nAll is done.") {
			t.Errorf("%q", res.Text)
		}
		// The planner only looks, a step does all, and a step knows no plan.
		planner, c := of(llm, "planner")[0], of(llm, "step c")[0]
		if got := strings.Join(toolNames(planner), " "); got != "submit_plan read_file list_dir search_code read_result mcp__workspace__list_resources mcp__workspace__read_resource mcp__fake__list_resources mcp__fake__read_resource" {
			t.Error(got)
		}
		if names := toolNames(c); !slices.Contains(names, "write_file") || !slices.Contains(names, "mcp__fake__echo") || slices.Contains(names, "submit_plan") || names[0] != "fail_step" {
			t.Error(names)
		}
		want := "Carry out step 3 of 3: c\n\nDo c.\n\nWhat the user asked for, of which this step is a part:\n<user_request>\nchange it\n</user_request>\n\n" +
			"The plan, so that you know what is the work of others:\n1. a: completed\n2. b: completed\n3. c (after 1, 2): this is your step\n\n\n" +
			"<step_result step=\"a\" title=\"a\">\na is done\n</step_result>\n\n<step_result step=\"b\" title=\"b\">\nb is done\n</step_result>"
		if got := users(c); len(got) != 1 || got[0] != want {
			t.Errorf("%q", got)
		}
		last := results(llm.Last())
		if got := last[len(last)-1]; !strings.HasPrefix(got, "Plan 1 ran: 3 of 3 steps are completed.\n\nStep 1 (a), a: completed\n<step_result") || !strings.Contains(got, "Answer the user now") {
			t.Errorf("%q", got)
		}
		q := w.host.Questions()
		if len(q) == 0 || q[0].Kind != "plan" || q[0].Tool != "submit_plan" || q[0].Covers != "" || q[0].Plan.Plan != 1 || len(q[0].Plan.Steps) != 3 || q[0].Plan.Steps[2].Task != "Do c." || q[0].Plan.Steps[2].Status != agent.StepPending {
			t.Fatalf("%+v", q)
		}
		if q[1].Part != "step 1" {
			t.Errorf("%+v", q[1])
		}
	})
}

// toolNames are the names of the tools that a request offers.
func toolNames(req agent.Request) (out []string) {
	for _, s := range req.Tools {
		out = append(out, s.Name)
	}
	return out
}

// result is what the planner read of its n-th call of submit_plan, from 0.
func planResult(llm *agenttest.LLM, n int) string {
	var got []string
	for _, m := range of(llm, "planner")[len(of(llm, "planner"))-1].Messages {
		if m.Role == agent.ToolRole {
			got = append(got, m.Text)
		}
	}
	if n >= len(got) {
		return "no such result"
	}
	return got[n]
}

// holds reports whether a text has all these parts, in order.
func holds(text string, parts ...string) bool {
	for _, p := range parts {
		_, rest, ok := strings.Cut(text, p)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// A step that fails takes along what depends on it and nothing else; the
// planner hears all, and plans anew what is left.
func TestPlanFailsAndIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var states []string
		w.host.On = func(e agent.Event) {
			if e.Kind == agent.EventPlan {
				words := []string{fmt.Sprint(e.Plan.Plan)}
				for _, s := range e.Plan.Steps {
					words = append(words, string(s.Status[:2]))
					if s.Task != "" {
						t.Errorf("the state has a task: %+v", s)
					}
				}
				states = append(states, strings.Join(words, " "))
			}
		}
		w.task.Limits.ParallelTools = 1
		res, llm, err := w.plan(t.Context(), "change it", cast{
			"planner": {submit("a", "b < a", "c < b", "d"), submit("e"), agenttest.Text("Mostly done.")},
			"step a":  {agenttest.Call(call("f", "fail_step", `{"reason":"there is no a"}`)), agenttest.Text("never asked")},
			"step d":  {agenttest.Text("d is done")},
			"step e":  {agenttest.Text("e is done")},
		})
		if err != nil || res.Status != agent.StatusCompleted || stepStates(res.Plan) != "e completed: e is done" {
			t.Fatalf("%+v %v", res, err)
		}
		want := "1 pe pe pe pe|1 ru pe pe pe|1 fa sk sk pe|1 fa sk sk ru|1 fa sk sk co|2 pe|2 ru|2 co"
		if got := strings.Join(states, "|"); got != want {
			t.Errorf("%s", got)
		}
		if got := planResult(llm, 0); !holds(got, "Plan 1 ran: 1 of 4 steps are completed.", "Step 1 (a), a: failed: there is no a\n\nStep 2 (b), b: skipped: it depends on step 1, which was not done\n\n",
			"Step 3 (c), c: skipped: it depends on step 2", "Step 4 (d), d: completed\n<step_result", "d is done", "2 more may run") {
			t.Error(got)
		}
		if !holds(res.Text, "**Plan**", "- failed: 1. a (there is no a)\n- skipped: 2. b (it depends on step 1, which was not done)\n- skipped: 3. c", "- completed: 4. d\n\n**Plan 2**\n\n1. e\n\n- completed: 1. e\n\nMostly done.") {
			t.Errorf("%q", res.Text)
		}
		if n := len(of(llm, "step a")); n != 1 {
			t.Errorf("the failed step was asked %d times", n)
		}
	})
}

// Three plans run for a request, no more; the person is asked about each.
func TestPlansAreBounded(t *testing.T) {
	w := newWorld(t)
	w.task.Approval.Default = "allow"
	fails := agenttest.Call(call("f", "fail_step", `{"reason":"no"}`))
	res, llm, err := w.plan(t.Context(), "change it", cast{
		"planner": {submit("a"), submit("b"), submit("c"), submit("d"), agenttest.Text("I give up.")},
		"step a":  {fails}, "step b": {fails}, "step c": {fails}, "step d": {fails},
	})
	if err != nil || res.Status != agent.StatusCompleted || stepStates(res.Plan) != "c failed: no" {
		t.Fatalf("%+v %v", res, err)
	}
	if q := w.host.Questions(); len(q) != 3 || q[2].Plan.Plan != 3 {
		t.Errorf("%+v", q)
	}
	planner := of(llm, "planner")
	if slices.Contains(toolNames(planner[3]), "submit_plan") || !slices.Contains(toolNames(planner[2]), "submit_plan") {
		t.Error(toolNames(planner[3]))
	}
	if got := planResult(llm, 2); !strings.Contains(got, "No more plans may run") {
		t.Error(got)
	}
	if got := planResult(llm, 3); !strings.Contains(got, "3 plans have run for this request, and no more will") {
		t.Error(got)
	}
}

// anthropics/claude-code#33037, anomalyco/opencode#32793, anomalyco/opencode#3038:
// a planner changes nothing itself, and hears what to do instead. A question is
// answered without a plan.
func TestPlannerOnlyLooks(t *testing.T) {
	w := newWorld(t)
	res, llm, err := w.plan(t.Context(), "what is it?", cast{"planner": {
		agenttest.Call(call("w", "write_file", `{"path":"a","content":"x"}`), call("e", "mcp__fake__echo", `{"text":"x"}`)), agenttest.Text("It is this."),
	}})
	if err != nil || res.Text != "It is this." || res.Plan != nil || len(res.Changed) > 0 || len(w.host.Questions()) > 0 {
		t.Fatalf("%+v %v", res, err)
	}
	for n := range 2 {
		if got := planResult(llm, n); !holds(got, "cannot be called here: it is for the steps of a plan: submit one", "Nothing was done") {
			t.Error(got)
		}
	}
	if system := of(llm, "planner")[0].Messages[0].Text; !holds(system, "they also have these tools", "edit_file, ", "mcp__fake__echo", "write_file") || strings.Contains(system, ", submit_plan") {
		t.Error(system)
	}
}

// The next prompt of the session knows what was planned and done, in any mode.
func TestSessionGoesOnAfterAPlan(t *testing.T) {
	w := newWorld(t)
	if _, _, err := w.plan(t.Context(), "change it", cast{"planner": {submit("a"), agenttest.Text("Done.")}, "step a": {agenttest.Text("a is done")}}); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.task.RunID = "r2"
	_, llm := w.must("and now?", agenttest.Text("Nothing."))
	got := strings.Join(history(llm.Last()), "\n")
	if !holds(got, "user: change it", "tool: Plan 1 ran: 1 of 1", "a is done", "assistant: Done.", "user: and now?") || strings.Contains(got, "**Plan**") {
		t.Error(got)
	}
	if m := llm.Last().Messages; len(m[2].ToolCalls) != 1 || !strings.Contains(m[2].ToolCalls[0].Arguments, "Do a.") || slices.Contains(toolNames(llm.Last()), "submit_plan") {
		t.Errorf("%+v", m)
	}
}

// What an MCP prompt says, which the user chose, is what a step is for.
func TestPlanOfAnMCPPrompt(t *testing.T) {
	w := newWorld(t)
	w.servers.prompts = map[string]mcp.PromptResult{"fake/p": {Messages: []mcp.PromptMessage{says("user", words("Review the parser."))}}}
	w.task.MCPPrompt = &agent.PromptUse{Server: "fake", Name: "p", Typed: "/fake:p"}
	_, llm, err := w.plan(t.Context(), "be short", cast{"planner": {submit("a"), agenttest.Text("Done.")}})
	if err != nil || !strings.Contains(users(of(llm, "step a")[0])[0], "<user_request>\nReview the parser.\n\nbe short\n</user_request>") {
		t.Errorf("%v %q", err, users(of(llm, "step a")[0]))
	}
}
