package agent

import (
	"fmt"
	"strconv"
	"strings"
)

// list is the plan as it stands in the run's text: agentls writes it, not the
// model.
func (p *planned) list() string {
	var b strings.Builder
	b.WriteString("\n\n**Plan")
	if p.number > 1 {
		fmt.Fprintf(&b, " %d", p.number)
	}
	b.WriteString("**\n")
	for _, s := range p.steps {
		fmt.Fprintf(&b, "\n%d. %s", s.n, p.r.a.tellable(s.Title, maxStepTitle))
		if on := p.needs(s); len(on) > 0 {
			fmt.Fprintf(&b, " (after %s)", places(on))
		}
	}
	return b.String() + "\n"
}

// places names steps by their places.
func places(steps []*planStep) string {
	words := make([]string, len(steps))
	for i, s := range steps {
		words[i] = strconv.Itoa(s.n)
	}
	return strings.Join(words, ", ")
}

// line says in the run's text how a step ended.
func (s *planStep) line() string {
	text := fmt.Sprintf("\n- %s: %d. %s", s.Status, s.n, s.plan.r.a.tellable(s.Title, maxStepTitle))
	if s.why != "" {
		text += " (" + s.Note + ")"
	}
	return text
}

// overview is the plan for who carries out one of its steps.
func (p *planned) overview(mine *planStep) string {
	var b strings.Builder
	for _, s := range p.steps {
		fmt.Fprintf(&b, "%d. %s", s.n, s.Title)
		if on := p.needs(s); len(on) > 0 {
			fmt.Fprintf(&b, " (after %s)", places(on))
		}
		switch {
		case s == mine:
			b.WriteString(": this is your step")
		case s.Status != StepPending:
			fmt.Fprintf(&b, ": %s", s.Status)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// maxStepRequest is how much of the user's words who carries out a step is
// told, in bytes.
const maxStepRequest = 8 << 10

// asked is what the user asked for, as others than the run's own conversation
// are told it: of an MCP prompt what it says.
func (r *run) asked() string {
	var parts []string
	for _, m := range r.given {
		parts = append(parts, m.Text)
	}
	return paragraphs(append(parts, r.task.words())...)
}

// prompt is what who carries out a step is told: its task, what the user wants,
// the plan, and the results of what it depends on, which find room together.
func (s *planStep) prompt() string {
	p := s.plan
	p.mu.Lock()
	overview, on := p.overview(s), p.needs(s)
	p.mu.Unlock() // what on came to changes no more, and goes to the disk
	parts := []string{
		fmt.Sprintf("Carry out step %d of %d: %s", s.n, len(p.steps), s.Title),
		s.Task,
		"What the user asked for, of which this step is a part:\n" + block(requestTag, truncate(p.r.asked(), maxStepRequest)),
		"The plan, so that you know what is the work of others:\n" + overview,
	}
	for _, other := range on {
		parts = append(parts, other.shown(p.r.toolResultBytes()/len(on)))
	}
	return paragraphs(parts...)
}

// shown is a step's result in a block, of at most limit bytes about; what is
// longer can be read with read_result.
func (s *planStep) shown(limit int) string {
	k := s.plan.r.shelf().keep(max(limit-200, 400))
	k.add(s.result)
	k.Close()
	return block(resultTag, k.String(), "step", s.ID, "title", s.Title)
}

// report is what the planner reads of a plan that ran, or of how far it came.
func (p *planned) report(e env) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := map[StepStatus]int{}
	for _, s := range p.steps {
		counts[s.Status]++
	}
	all := counts[StepCompleted] == len(p.steps)
	parts := []string{fmt.Sprintf("Plan %d ran: %d of %d steps are completed.", p.number, counts[StepCompleted], len(p.steps))}
	if p.edited {
		parts = append(parts, "The user had changed the plan before it ran. It was:\n"+truncate(string(planArguments(p.asRun())), e.room()/3))
	}
	room := e.room() - len(paragraphs(parts...)) - 120*len(p.steps) - 400
	for _, s := range p.steps {
		head := fmt.Sprintf("Step %d (%s), %s: %s", s.n, s.ID, s.Title, s.Status)
		if s.why != "" {
			head += ": " + ellipsis(s.why, 2000)
		}
		if strings.TrimSpace(s.result) == "" {
			parts = append(parts, head)
		} else {
			parts = append(parts, head+"\n"+s.shown(room/len(p.steps)))
		}
	}
	left := maxPlans - p.number
	switch {
	case counts[StepCancelled] > 0:
	case all:
		parts = append(parts, "Answer the user now: what was done, and what came of it. Look first where a result leaves a doubt.")
	case left > 0:
		parts = append(parts, fmt.Sprintf("Submit another plan for what is still to be done, if it can be done in another way (%d more may run), or tell the user what is done and what is not. What is completed must not be done again.", left))
	default:
		parts = append(parts, "No more plans may run for this request. Tell the user what is done, what is not, and why.")
	}
	return paragraphs(parts...)
}

// asRun are the steps as a person let them run.
func (p *planned) asRun() []PlanStep {
	out := make([]PlanStep, len(p.steps))
	for i, s := range p.steps {
		out[i] = PlanStep{ID: s.ID, Title: s.Title, Task: s.Task, DependsOn: s.DependsOn}
	}
	return out
}
