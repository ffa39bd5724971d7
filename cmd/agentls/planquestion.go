package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"agentls/agent"
)

// taskShown is how much of a step's task is shown beside its title, in code
// points.
const taskShown = 600

// planDraft is a plan while a person decides about it.
type planDraft struct {
	t        *terminal
	document agent.PlanDocument
	text     string           // the document as it was edited last; "": it was not
	left     []agent.PlanStep // without those that were dropped; nil: none was
	steps    []agent.PlanStep // nil: as asked
	note     string
}

// askPlan asks whether a plan is to be carried out: as it is, as edited, not at
// all, or another one. The caller holds mu.
func (t *terminal) askPlan(ctx context.Context, q agent.Question) (agent.Answer, error) {
	d := &planDraft{t: t, document: agent.PlanDocument{
		Plan: *q.Plan, How: []string{"Nothing runs before you say so in the terminal, where *Note* goes with [a]nother."},
		Line:  func(text string) string { return oneLine(t.secrets.Redact(text), 300) },
		Lines: func(text string) string { return printable(t.secrets.Redact(text)) },
	}}
	t.note("The agent wants to carry out this plan:")
	d.show(q.Plan.Steps)
	for misread := 0; misread < misreadMost; {
		fmt.Fprint(t.tty, "  "+d.choices())
		line, err := t.tty.readLine(ctx)
		if err != nil {
			return agent.Answer{}, err
		}
		a, done, changed, err := d.read(ctx, line)
		switch {
		case done:
			return a, nil
		case ctx.Err() != nil:
			return agent.Answer{}, context.Cause(ctx)
		case err != nil:
			fmt.Fprintf(t.tty, "  %s\n", oneLine(t.secrets.Redact(err.Error()), 1000))
		}
		if misread++; changed {
			misread = 0
		}
	}
	return stopPlan(""), nil
}

func (d *planDraft) choices() string {
	if d.t.editor == "" {
		return "[r]un, [d]rop steps by their numbers, [a]nother and why, [S]top: "
	}
	return "[r]un, [e]dit, [d]rop steps by their numbers, [a]nother and why, [S]top: "
}

// show lists steps. Those that are asked about are shown with their tasks.
func (d *planDraft) show(steps []agent.PlanStep) {
	place := map[string]string{}
	for i, s := range steps {
		place[s.ID] = strconv.Itoa(i + 1)
	}
	for i, s := range steps {
		line := fmt.Sprintf("  %d. %s", i+1, oneLine(d.t.secrets.Redact(s.Title), 200))
		var after []string
		for _, id := range s.DependsOn {
			after = append(after, place[id])
		}
		if after != nil {
			line += " (after " + strings.Join(after, ", ") + ")"
		}
		fmt.Fprintln(d.t.tty, line)
		if task := oneLine(d.t.secrets.Redact(s.Task), taskShown); task != "" && task != oneLine(s.Title, taskShown) {
			fmt.Fprintln(d.t.tty, "     "+task)
		}
	}
}

// read reads a line of the person's. done: it is the answer; changed: it changed
// the draft, which is asked about again.
func (d *planDraft) read(ctx context.Context, line string) (a agent.Answer, done, changed bool, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch word = strings.ToLower(strings.TrimRight(word, ":,")); {
	case word == "", word == "s", word == "stop", word == "n", word == "no":
		return stopPlan(rest), true, false, nil
	case word == "a", word == "another":
		note, err := d.why(ctx, rest)
		if err != nil || note == "" {
			return a, false, false, err
		}
		return agent.Answer{Decision: agent.DecisionDeny, Reason: note, Plan: &agent.PlanAnswer{Decision: agent.PlanRevise, Note: note}}, true, false, nil
	case word == "d", word == "drop":
		err = d.drop(rest)
		return a, false, err == nil, err
	case rest != "": // "run, but" does not run it
	case word == "r", word == "run", word == "y", word == "yes":
		return agent.Answer{Decision: agent.DecisionOnce, Plan: &agent.PlanAnswer{Decision: agent.PlanRun, Steps: d.steps, Note: d.note}}, true, false, nil
	case word == "e", word == "edit":
		err = d.edit(ctx)
		return a, false, err == nil, err
	}
	return a, false, false, errMisread
}

// why is what should be different, which is asked for where the line does not
// say it.
func (d *planDraft) why(ctx context.Context, said string) (string, error) {
	if said = cmp.Or(said, d.note); said != "" {
		return said, nil
	}
	fmt.Fprint(d.t.tty, "  What should be different? ")
	line, err := d.t.tty.readLine(ctx)
	return strings.TrimSpace(line), err
}

// edit lets the person change the plan as a document. What cannot be read is
// kept for the next try.
func (d *planDraft) edit(ctx context.Context) error {
	if d.t.editor == "" {
		return fmt.Errorf("There is no editor: set VISUAL or EDITOR, or drop steps by their numbers, as in “d 2 3”")
	}
	text, err := d.t.edit(ctx, "plan.md", cmp.Or(d.text, d.document.Text()))
	if err != nil {
		return err
	}
	d.text = text
	steps, note, err := d.document.Read(text)
	d.note = note
	if err != nil {
		return fmt.Errorf("This plan cannot run: %w; mend it with e", err)
	}
	d.takes(steps)
	return nil
}

// drop leaves steps out, by their places as they are shown.
func (d *planDraft) drop(numbers string) error {
	var places []int
	for word := range strings.FieldsFuncSeq(numbers, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("%q is no number of a step: give numbers, as in “d 2 3”", word)
		}
		places = append(places, n)
	}
	if places == nil {
		return fmt.Errorf("It is not said which steps: give their numbers, as in “d 2 3”")
	}
	now := agent.PlanState{Steps: d.steps}
	if d.steps == nil {
		now.Steps = d.document.Plan.Steps
	}
	steps, err := now.Drop(places...)
	if err != nil {
		return err
	}
	d.text = "" // an edit begins with what is left
	d.left, d.document.Plan.Steps = steps, steps
	d.takes(steps)
	return nil
}

// takes makes steps those that would run, and shows them; nil: those of the
// document as it is at first.
func (d *planDraft) takes(steps []agent.PlanStep) {
	if d.steps = steps; steps == nil {
		d.steps = d.left
	}
	fmt.Fprintln(d.t.tty, "  The plan is now:")
	if steps = d.steps; steps == nil {
		steps = d.document.Plan.Steps
	}
	d.show(steps)
}

// stopPlan ends the run at its plan.
func stopPlan(reason string) agent.Answer {
	return agent.Answer{Decision: agent.DecisionDeny, Reason: cmp.Or(reason, "stopped by the user"), Plan: &agent.PlanAnswer{Decision: agent.PlanStop}}
}

// planNote says which steps began since the last state of a plan, and where those
// are that a reviewer looks at; how they end stands in the answer.
func (t *terminal) planNote(p *agent.PlanState) {
	for i, s := range p.Steps {
		key := [2]int{p.Plan, i}
		was, begun := t.begun[key]
		switch {
		case s.Status != agent.StepRunning || begun && was == s.Note:
			continue
		case !begun:
			t.note("· step %d begins: %s", i+1, s.Title)
		default:
			t.note("· step %d: %s", i+1, s.Note)
		}
		if t.begun == nil {
			t.begun = map[[2]int]string{}
		}
		t.begun[key] = s.Note
	}
}
