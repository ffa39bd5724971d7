package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"agentls/agent"
)

// Titles of a stock client's question about a plan.
const (
	stopPlan    = "Stop"
	runPlan     = "Run plan"
	editPlan    = "Edit plan…"
	anotherPlan = "Another plan…"
)

// What begins the titles of the actions and lenses that answer it.
const (
	stopThePlan = "Stop the plan"
	runThePlan  = "Run the plan"
	askAnother  = "Another plan"
)

const (
	titleShown  = 60  // code points of a step's title in a list of them
	titlesShown = 600 // and of all
)

// planContent is the content of an answer to a plan: as it goes on the wire in
// agentls.approve, and as the plan's document says it.
type planContent struct {
	Decision agent.PlanDecision `json:"decision,omitzero"`
	Steps    []agent.PlanStep   `json:"steps,omitzero"` // nil: as asked
	Note     string             `json:"note,omitzero"`
}

// planQuestion words a question about a plan.
func (w *question) planQuestion(s *Server, a agent.Question) {
	w.plan, w.shown = a.Plan, s.tell
	w.choices = []choice{{title: stopPlan, decision: agent.DecisionDeny}, {title: runPlan, decision: agent.DecisionOnce}}
	w.message = fmt.Sprintf("agentls: run this plan of %s? %s", count(len(a.Plan.Steps), "step", "steps"), s.stepTitles(a.Plan.Steps))
	w.reason = cmp.Or(w.reason, "a plan runs once a person has accepted it")
	w.document = &askedDocument{s: s, kind: planFile, key: w.session, what: "the plan"}
	w.document.text = func() string { return s.planDocument(w).Text() }
	w.document.content = func(text string) (json.RawMessage, error) {
		steps, note, err := s.planDocument(w).Read(text)
		content, _ := json.Marshal(planContent{Steps: steps, Note: note}) // always encodes
		return content, err
	}
	w.dialog = s.asks.planDialog
}

// planDocument is a plan as a document, with how to answer it.
func (s *Server) planDocument(w *question) agent.PlanDocument {
	return agent.PlanDocument{
		Plan: *w.plan,
		How: []string{
			fmt.Sprintf("It runs once you choose *%s*, where you are asked, or the code action *%s*, in any document, or the command `agentls.approve` with `{\"id\": %q, \"decision\": \"once\"}`. "+
				"What this document says by then counts.", runPlan, runThePlan, w.id),
			fmt.Sprintf("For another plan write below *Note*, at the end, what should be different, and choose *%s*.", askAnother),
		},
		Line: s.tell,
		Back: imagesBack,
		Lines: func(text string) string {
			shown, _ := cleanLines(s.o.Secrets.Redact(text), maxAskedDocument, maxAskedDocument)
			return noImages(shown)
		},
	}
}

// stepTitles lists the steps of a plan in a line.
func (s *Server) stepTitles(steps []agent.PlanStep) string {
	var parts []string
	for i, step := range steps {
		parts = append(parts, fmt.Sprintf("%d. %s", i+1, s.tell(cleanTo(step.Title, titleShown))))
	}
	return cleanTo(strings.Join(parts, separator), titlesShown)
}

// planDialog asks a stock client about a plan, which is shown as a document
// that can be edited meanwhile.
func (q *questions) planDialog(ctx context.Context, w *question, ask askFunc) (answer agent.Answer, ok bool, err error) {
	titles := []string{stopPlan, runPlan, editPlan, anotherPlan}
	text := w.message
	if file, err := w.document.write(); err != nil {
		titles = []string{stopPlan, runPlan}
		text += " " + q.s.previews.unshown("The plan", err) + "."
	} else {
		text += " " + q.s.previews.present(ctx, "The plan", file) + "; what you change there counts."
		q.s.refreshPromptBuffers()
	}
	problem := ""
	for range maxAgain {
		if ctx.Err() != nil {
			return answer, false, context.Cause(ctx)
		}
		title, err := ask(problem+text, titles)
		if err != nil {
			return answer, false, err
		}
		c := planContent{Decision: agent.PlanRun}
		switch {
		case title == stopPlan:
			return stoppedPlan("stopped by the user"), true, nil
		case !slices.Contains(titles, title):
			return deny(dismissed), true, nil
		case title == editPlan:
			q.letWrite(ctx, w, "agentls: Edit", w.howToAnswerPlan(false))
			return answer, false, nil
		case title == anotherPlan:
			c.Decision = agent.PlanRevise
		}
		if w.document.file() != "" {
			c, err = c.filledIn(w.document.take())
		}
		if c.Decision == agent.PlanRevise && c.Note == "" {
			q.letWrite(ctx, w, "agentls: Write what should be different below “Note” in", w.howToAnswerPlan(true))
			return answer, false, nil
		}
		if err == nil {
			answer, err = w.planAnswer(c)
		}
		if err == nil {
			return answer, true, nil
		}
		problem = "agentls: this plan cannot run: " + q.s.tell(err.Error()) + ". "
	}
	return deny(dismissed), true, nil
}

// howToAnswerPlan follows what is to be done with the document of a plan.
func (w *question) howToAnswerPlan(note bool) string {
	action, answer := runThePlan, fmt.Sprintf(`{"id": %q, "decision": "once"}`, w.id)
	if note {
		action, answer = askAnother, fmt.Sprintf(`{"id": %q, "decision": "deny", "content": {"decision": "revise"}}`, w.id)
	}
	return fmt.Sprintf(`and choose the code action “%s” then, in any document, or the command agentls.approve with %s. Nothing runs before.`, action, answer)
}

// whole reports whether an answer says all that it has to.
func (c planContent) whole() bool {
	switch c.Decision {
	case agent.PlanRun:
		return c.Steps != nil
	case agent.PlanRevise:
		return c.Note != ""
	}
	return true
}

// filledIn adds to an answer what the document of the plan says, where the
// answer itself says nothing of it. An error says what is wrong with its steps.
func (c planContent) filledIn(read func() (json.RawMessage, error)) (planContent, error) {
	raw, err := read()
	if c.Decision == agent.PlanRevise && raw != nil {
		err = nil // what is wrong with its steps does not matter
	}
	if err != nil {
		return c, err
	}
	var said planContent
	if err := json.Unmarshal(raw, &said); err != nil {
		return c, err
	}
	c.Note = cmp.Or(c.Note, said.Note)
	if c.Steps == nil {
		c.Steps = said.Steps
	}
	return c, nil
}

// planContentOf reads an answer in words of agentls.approve.
func planContentOf(d agent.Decision, reason string, content json.RawMessage) (c planContent, err error) {
	if len(content) > 0 && json.Unmarshal(content, &c) != nil {
		return c, badf(`agentls.approve: content must be {"decision"?: "run"|"revise", "steps"?: [{"id", "title", "task", "dependsOn"}], "note"?: "…"}`)
	}
	switch {
	case d != agent.DecisionDeny && c.Decision == "":
		c.Decision = agent.PlanRun
	case d == agent.DecisionDeny && c.Decision == "":
		c.Decision = agent.PlanStop
	}
	if err := oneOf("agentls.approve", "content.decision", string(c.Decision), string(agent.PlanRun), string(agent.PlanRevise), string(agent.PlanStop)); err != nil {
		return c, err
	}
	if d == agent.DecisionDeny && c.Decision == agent.PlanRun || d != agent.DecisionDeny && c.Decision == agent.PlanStop {
		return c, badf("agentls.approve: the decision %q does not go with the content's %q; give one of them", d, c.Decision)
	}
	if c.Decision != agent.PlanRun {
		c.Note = cmp.Or(c.Note, reason)
	}
	return c, nil
}

// planAnswer holds an answer against the plan, and gives what the agent hears.
// Of steps that it was asked about, what an answer leaves out stays.
func (w *question) planAnswer(c planContent) (agent.Answer, error) {
	switch c.Decision {
	case agent.PlanStop:
		return stoppedPlan(cmp.Or(c.Note, "stopped by the user")), nil
	case agent.PlanRevise:
		return agent.Answer{Decision: agent.DecisionDeny, Reason: c.Note, Plan: &agent.PlanAnswer{Decision: agent.PlanRevise, Note: c.Note}}, nil
	}
	steps, err := w.plan.Edited(c.Steps, w.shown)
	if err != nil {
		return agent.Answer{}, err
	}
	return agent.Answer{Decision: agent.DecisionOnce, Plan: &agent.PlanAnswer{Decision: agent.PlanRun, Steps: steps, Note: c.Note}}, nil
}

func stoppedPlan(reason string) agent.Answer {
	a := deny(reason)
	a.Plan = &agent.PlanAnswer{Decision: agent.PlanStop}
	return a
}

// planParams is a plan on the wire, and without the rest part of what waits.
type planParams struct {
	Plan  int          `json:"plan"`
	Steps []stepParams `json:"steps"`
}

// stepParams is a step that is asked about: its task is content and goes whole.
type stepParams struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Task      string   `json:"task"`
	DependsOn []string `json:"dependsOn"`
}

// planParams of a question; nil: it is about none.
func (w *question) planParams(s *Server) *planParams {
	if w.plan == nil {
		return nil
	}
	p := &planParams{Plan: w.plan.Plan, Steps: []stepParams{}}
	for _, step := range w.plan.Steps {
		p.Steps = append(p.Steps, stepParams{step.ID, s.tell(step.Title), step.Task, append([]string{}, step.DependsOn...)})
	}
	return p
}

// planAsk is the request agentls/plan.
type planAsk struct {
	ID      string `json:"id"`
	RunID   string `json:"runId"`
	Session string `json:"session"`
	planParams
	// Problem says what was wrong with the answer before.
	Problem  string `json:"problem,omitzero"`
	Deadline string `json:"deadline"` // RFC 3339
}

// planReply is what answers agentls/plan. nil: it is no answer.
func (w *question) planReply(result []byte) (*agent.Answer, error) {
	no := deny(dismissed)
	var c planContent
	readable := json.Unmarshal(result, &c) == nil
	switch {
	case !readable && len(result) > 0 && result[0] == '{':
		return &no, badf(`the answer must be {"decision": "run"|"revise"|"stop", "steps"?: [{"id", "title", "task", "dependsOn"}], "note"?: "…"}`)
	case !readable, c.Decision == "":
		return &no, nil
	}
	if err := oneOf("agentls/plan", "decision", string(c.Decision), string(agent.PlanRun), string(agent.PlanRevise), string(agent.PlanStop)); err != nil {
		return &no, err
	}
	answer, err := w.planAnswer(c)
	if err != nil {
		return &no, err
	}
	return &answer, nil
}

// planDecisions are the answers to a plan that need no more than a title.
func (w *question) planDecisions(about string) []commandLink {
	revise := map[string]any{"id": w.id, "decision": agent.DecisionDeny, "content": planContent{Decision: agent.PlanRevise}}
	return []commandLink{
		w.decisionLink(stopThePlan+": "+about, agent.DecisionDeny),
		w.decisionLink(runThePlan+": "+about, agent.DecisionOnce),
		{askAnother + ": " + about, "agentls.approve", []any{revise}},
	}
}

// howToPlan tells how to answer a plan that the client did not show.
func (w *question) howToPlan() string {
	where := ""
	if file := w.document.file(); file != "" {
		where = " The plan is in " + file + " (" + filepath.Base(file) + "), and what you change there counts."
	}
	return fmt.Sprintf(`%s Your editor could not show this question.%s Answer it by a code action, in any document, or by the command agentls.approve with {"id": %q, "decision": "once"}; "deny" stops the run, and with "content": {"decision": "revise", "note": "…"} another plan is made.`,
		sentence(w.message), where, w.id)
}
