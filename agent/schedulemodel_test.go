package agent_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// scheduledModel is the model of a run: it follows the run's script, and holds
// each answer where a provider would.
type scheduledModel struct{ r *scheduledRun }

// Model implements [agent.Described].
func (m scheduledModel) Model() agent.Model { return m.r.llm.Model() }

// Complete implements [agent.LLM].
func (m scheduledModel) Complete(ctx context.Context, req agent.Request, on func(agent.Delta)) (agent.Response, error) {
	r := m.r
	r.starts("a model call")
	rnd := r.chance("answer", requestKey(req), r.count(requestKey(req)))
	if rnd.IntN(5) == 0 {
		leave := r.in(atBackOff)
		on(agent.Delta{Waits: "429: asked again in 2 s"})
		sleep(ctx, milliseconds(rnd, 4000))
		leave()
	}
	defer r.in(r.callPlace(req))()
	first := r.in(atFirst)
	defer first()
	sleep(ctx, milliseconds(rnd, 2000))
	resp, err := r.llm.Complete(ctx, req, func(d agent.Delta) {
		first()
		on(d)
		place := atText
		if d.Reasoning != "" {
			place = atReasoning
		}
		defer r.in(place)()
		sleep(ctx, milliseconds(rnd, 300))
	})
	first()
	r.uses(resp.Usage)
	switch {
	case err != nil:
	case len(resp.ToolCalls) > 0:
		r.in(atAnswer)()
	case scheduledRole(req) == "" && !asksForSummary(req):
		r.in(atEnd)()
	}
	return resp, err
}

// uses adds up what the model tells.
func (r *scheduledRun) uses(u agent.Usage) {
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	r.here.Lock()
	defer r.here.Unlock()
	r.used = r.used.Add(u)
}

// scheduledRole says whose a request is: a step's, a reviewer's, or "", that of
// the run's own conversation.
func scheduledRole(req agent.Request) string {
	for _, t := range req.Tools {
		switch t.Name {
		case "fail_step":
			return "step"
		case "submit_review":
			return "reviewer"
		}
	}
	return ""
}

// callPlace is the place of a model call in the modes that plan.
func (r *scheduledRun) callPlace(req agent.Request) string {
	if asksForSummary(req) {
		return atCompaction
	}
	last := req.Messages[len(req.Messages)-1]
	switch role := scheduledRole(req); {
	case role == "reviewer":
		return atReview
	case role == "step" && last.Role == agent.User && strings.Contains(last.Text, revised):
		return atRework
	case role == "step":
		return atStep
	case r.planned():
		return atPlanned
	}
	return ""
}

// planned reports whether a plan was accepted.
func (r *scheduledRun) planned() bool {
	r.here.Lock()
	defer r.here.Unlock()
	return r.plan != nil
}

// requestKey tells requests of a run apart, the same each time.
func requestKey(req agent.Request) string {
	h := fnv.New64a()
	for _, m := range req.Messages {
		if m.Role == agent.User { // what a person wrote, or a task
			_, _ = h.Write([]byte(strings.Fields(m.Text + " -")[0]))
		}
	}
	return fmt.Sprint(len(req.Messages), h.Sum64())
}

// script draws the answer to a request.
func (r *scheduledRun) script(n int, req agent.Request) agenttest.Step {
	rnd := r.chance("script", requestKey(req), r.count("script"+requestKey(req)))
	var s agenttest.Step
	if rnd.IntN(2) == 0 {
		s.Text = []string{"some ", fmt.Sprint("text ", n)}
	}
	if r.aim == atReasoning || rnd.IntN(4) == 0 {
		s.Reasoning = []string{"hm"}
	}
	if rnd.IntN(8) > 0 { // else agentls has to count
		s.Usage = agent.Usage{PromptTokens: rnd.IntN(1000), CompletionTokens: rnd.IntN(100)}
	}
	what := rnd.IntN(14)
	switch {
	case asksForSummary(req) && rnd.IntN(4) > 0:
		s.Text = []string{goodSummary}
		return s
	case r.aim == atRework && scheduledRole(req) == "step":
		s.Text = []string{"done"}
		return s
	case r.aim == atRework, r.aim == atAddedExpansion, r.aim == atCompaction && what > 0: // many turns
		what = 13
	case r.task.Mode.Plans(): // a run has many threads, and most are to come to their ends
		what = rnd.IntN(28)
	}
	switch what {
	case 0:
		s.Block = true
	case 1:
		s.Err = &agent.ProviderError{Kind: agent.KindNetwork, Message: "lost"}
	case 2:
		s.Panic = "bug"
	case 3:
		s.Err = &agent.ProviderError{Kind: agent.KindNetwork, Message: "lost", Retryable: true, Began: true}
	case 4:
		s.Err = &agent.ProviderError{Kind: agent.KindRateLimit, Message: "too many requests", Retryable: true}
	case 5, 6:
		s.Finish = []string{"", "length", "content_filter"}[rnd.IntN(3)]
	default:
		if r.aim == atEnd && rnd.IntN(2) == 0 {
			break // an answer
		}
		if r.llm.Of.ContextWindow > 0 {
			s.Text = []string{textOf(n, 5000)}
		}
		if edits := r.aim == atEdit || r.aim == atDiagnostics; edits && rnd.IntN(3) > 0 && (scheduledRole(req) == "step" || !r.task.Mode.Plans()) {
			s.Calls = []agent.ToolCall{r.edit()}
			break
		}
		if s.Calls = r.roleCalls(rnd, req); s.Calls != nil {
			break
		} else if r.task.Mode.Plans() && rnd.IntN(3) == 0 {
			break // an answer
		}
		s.Calls = scheduledCalls(rnd)
		if rnd.IntN(8) == 0 {
			s.Calls = append(s.Calls, r.edit())
		}
		if rnd.IntN(8) == 0 {
			s.Finish = "stop"
		}
	}
	return s
}

// revised is in the notes of reviews.
const revised = "<do it again>"

// roleCalls draws calls of what a role alone is there for; nil: none.
func (r *scheduledRun) roleCalls(rnd *rand.Rand, req agent.Request) []agent.ToolCall {
	switch role := scheduledRole(req); {
	case role == "step":
		if rnd.IntN(10) == 0 {
			return []agent.ToolCall{call("f", "fail_step", []string{`{"reason":"it cannot be done"}`, `{}`}[rnd.IntN(2)])}
		}
	case role == "reviewer":
		verdicts := []string{`{"verdict":"approve","notes":""}`, `{"verdict":"approve"}`, `{"verdict":"revise","notes":"` + revised + `"}`, `{"verdict":"revise","notes":"` + revised + `"}`, `{"verdict":"perhaps"}`, `7`}
		if r.aim == atRework {
			return []agent.ToolCall{call("v", "submit_review", verdicts[2])}
		}
		if rnd.IntN(4) > 0 {
			return []agent.ToolCall{call("v", "submit_review", verdicts[rnd.IntN(len(verdicts))])}
		}
	case r.task.Mode.Plans() && rnd.IntN(4) > 0:
		calls := []agent.ToolCall{call("p", "submit_plan", scheduledPlan(rnd))}
		if rnd.IntN(8) == 0 {
			calls = append(calls, call("q", "submit_plan", scheduledPlan(rnd)))
		}
		return calls
	}
	return nil
}

// scheduledPlan draws a plan, which may be wrong.
func scheduledPlan(rnd *rand.Rand) string {
	if rnd.IntN(8) == 0 {
		return []string{`{}`, `{"steps":[]}`, planOf("a < a"), planOf("a < b", "b < a"), planOf("a", "a"), `{"steps":"none"}`}[rnd.IntN(6)]
	}
	var steps []string
	for i := range 1 + rnd.IntN(4) {
		step := fmt.Sprint("s", i)
		for k := range i {
			if rnd.IntN(4) == 0 {
				if !strings.Contains(step, "<") {
					step += " <"
				}
				step += fmt.Sprint(" s", k)
			}
		}
		steps = append(steps, step)
	}
	return planOf(steps...)
}

// scheduledCalls draws calls of any tool with arguments that say what it does,
// or with wrong ones.
func scheduledCalls(rnd *rand.Rand) (calls []agent.ToolCall) {
	tools := []string{"mcp__fake__echo", "mcp__fake__sleep", "mcp__fake__stubborn", "mcp__fake__fail", "mcp__fake__error", "mcp__fake__panic", "mcp__fake__progress", "nosuch", "no such!"}
	for _, k := range callKinds {
		tools = append(tools, k.tool)
	}
	args := []string{
		"", "{}", `{"text":"x"}`, `{"uri":"file://doc.md"}`, "null", "[1]", `{"broken`, `{"path":"../x"}`,
		`{"do":"wait","ms":700}`, `{"do":"wait","ms":5000,"path":"a.txt"}`, `{"do":"deaf"}`, `{"do":"fail","command":"ls"}`, `{"do":"panic"}`, `{"do":"long"}`, `{"do":"long","url":"https://example.com/"}`,
	}
	for range 1 + rnd.IntN(6) {
		id := fmt.Sprint("c", rnd.IntN(4)) // doubles happen
		calls = append(calls, call(id, tools[rnd.IntN(len(tools))], args[rnd.IntN(len(args))]))
	}
	return calls
}

// edit is a call that changes what the editor has open.
func (r *scheduledRun) edit() agent.ToolCall {
	text, _ := r.host.Document(r.dir + "/open.txt")
	return call("edit", "edit_file", fmt.Sprintf(`{"path":"open.txt","edits":[{"old":%q,"new":%q}]}`, text, text+"more\n"))
}
