package agent

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// PlanDocument is a plan as a Markdown document that a person can edit: a
// heading "## `id` title" for each step, "After: id, id" below it, and its
// task. Whatever stands under "## Note" is for the planner.
type PlanDocument struct {
	Plan PlanState // as asked
	How  []string  // what a person can do with the document, a paragraph each
	// Line and Lines make a text of the model fit to be shown: on one line, and
	// on many. What a person leaves as it is shown stays what it was.
	Line, Lines func(string) string
	// Back undoes in what a person changed what Lines does to show a text; nil:
	// there is nothing to undo.
	Back func(string) string
}

// planFormat explains the form of the document in it.
const planFormat = "Each heading of two `#` is a step: its name in backticks and its title. `After:` names the steps that must be done before it; " +
	"what follows is its task. Change, move, remove or add steps as you like. What comes after a removed step goes on without it. " +
	"In a task, write `\\##` for a line that begins with `##`."

// nothingBefore are the words of a step that needs nothing; the first is ours.
//
//nolint:gochecknoglobals // a constant table
var nothingBefore = []string{"nothing", "none", "-", "–", "—"}

// noteHeading begins what a person has to say about the plan.
const noteHeading = "Note"

var (
	planHeading = regexp.MustCompile(`^##(?:[ \t]+(.*))?$`)
	planAfter   = regexp.MustCompile(`(?i)^after:(.*)$`)
	planEscape  = regexp.MustCompile(`^\\*##(?:[ \t]|$)`)
	plainID     = regexp.MustCompile(`^[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?$`)
)

// Text is the document as it is at first.
func (d PlanDocument) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", d.heading())
	for _, text := range slices.Concat(d.How, []string{planFormat}) {
		b.WriteString("\n" + text + "\n")
	}
	names := d.names()
	for i, s := range d.Plan.Steps {
		after := nothingBefore[0]
		if len(s.DependsOn) > 0 {
			var list []string
			for _, id := range s.DependsOn {
				list = append(list, names[id])
			}
			after = strings.Join(list, ", ")
		}
		fmt.Fprintf(&b, "\n## `%s` %s\n\nAfter: %s\n", names[s.ID], d.title(i), after)
		if task := d.task(i); task != "" {
			b.WriteString("\n" + task + "\n")
		}
	}
	fmt.Fprintf(&b, "\n## %s\n\n", noteHeading)
	return b.String()
}

func (d PlanDocument) heading() string {
	n := fmt.Sprintf("%d steps", len(d.Plan.Steps))
	if len(d.Plan.Steps) == 1 {
		n = "1 step"
	}
	if d.Plan.Plan > 1 {
		return fmt.Sprintf("Plan %d: %s", d.Plan.Plan, n)
	}
	return "Plan: " + n
}

// title is that of a step as it is shown.
func (d PlanDocument) title(i int) string {
	return cmp.Or(strings.TrimSpace(d.Line(d.Plan.Steps[i].Title)), "…")
}

// task is that of a step as it is shown: no line of it reads as a heading.
func (d PlanDocument) task(i int) string {
	lines := strings.Split(strings.TrimSpace(d.Lines(d.Plan.Steps[i].Task)), "\n")
	for j, line := range lines {
		if planEscape.MatchString(line) {
			lines[j] = `\` + line
		}
	}
	return strings.Join(lines, "\n")
}

// names are what the steps are called in the document, by their ids: an id that
// is not a plain word could not be told apart there.
func (d PlanDocument) names() map[string]string {
	names, taken := map[string]string{}, map[string]bool{}
	for _, s := range d.Plan.Steps {
		if plainID.MatchString(s.ID) && d.Line(s.ID) == s.ID && !slices.Contains(nothingBefore, strings.ToLower(s.ID)) {
			names[s.ID], taken[s.ID] = s.ID, true
		}
	}
	for i, s := range d.Plan.Steps {
		for name := fmt.Sprintf("step-%d", i+1); names[s.ID] == ""; name += "-" + strconv.Itoa(i+1) {
			if !taken[name] {
				names[s.ID], taken[name] = name, true
			}
		}
	}
	return names
}

// writtenStep is a step as a document says it.
type writtenStep struct {
	line, afterLine int // from 1; afterLine 0: there is none
	name, title     string
	after           []string
	task            string
}

// Read gives what a document says by now: nil steps are those that were asked,
// and the note is what a person wrote under its heading. An error names the
// line, and leaves the note good.
func (d PlanDocument) Read(text string) (steps []PlanStep, note string, err error) {
	written, note, err := readPlanDocument(text)
	note = d.back(note)
	if err != nil {
		return nil, note, err
	}
	asked, _, err := readPlanDocument(d.Text())
	if err != nil {
		return nil, note, fmt.Errorf("the plan cannot be edited as a document (%w)", err)
	}
	steps, err = d.steps(written, asked)
	if err == nil && reflect.DeepEqual(steps, d.Plan.asAsked()) {
		return nil, note, nil
	}
	return steps, note, err
}

// steps makes steps of what is written, with the words of the model where they
// stand as they were shown.
func (d PlanDocument) steps(written, asked []writtenStep) ([]PlanStep, error) {
	ids := map[string]string{} // by name
	for i, w := range asked {
		ids[w.name] = d.Plan.Steps[i].ID
	}
	nameNew(written, ids)
	var steps []PlanStep
	seen := map[string]int{}
	for _, w := range written {
		if line, double := seen[w.name]; double {
			return nil, fmt.Errorf("line %d: there is a step `%s` already, in line %d; give this one another name", w.line, w.name, line)
		}
		seen[w.name] = w.line
		step := PlanStep{ID: cmp.Or(ids[w.name], w.name), Title: w.title, Task: d.back(cmp.Or(w.task, w.title)), DependsOn: []string{}}
		if i := slices.IndexFunc(asked, func(a writtenStep) bool { return a.name == w.name }); i >= 0 {
			if w.title == asked[i].title {
				step.Title = d.Plan.Steps[i].Title
			}
			if w.task == asked[i].task {
				step.Task = d.Plan.Steps[i].Task
			}
		}
		steps = append(steps, step)
	}
	for i, w := range written {
		for _, name := range w.after {
			_, known := ids[name]
			if _, there := seen[name]; !there && !known {
				return nil, fmt.Errorf("line %d: the step `%s` is to come after `%s`, but there is no such step", w.afterLine, w.name, name)
			}
			steps[i].DependsOn = append(steps[i].DependsOn, cmp.Or(ids[name], name))
		}
	}
	steps = d.Plan.without(steps)
	return FitPlan(steps)
}

func (d PlanDocument) back(text string) string {
	if d.Back == nil {
		return text
	}
	return d.Back(text)
}

// nameNew gives steps without a name one that is free.
func nameNew(written []writtenStep, ids map[string]string) {
	n := 0
	taken := func(name string) bool {
		return ids[name] != "" || slices.ContainsFunc(written, func(w writtenStep) bool { return w.name == name })
	}
	for i := range written {
		for written[i].name == "" {
			if n++; !taken(fmt.Sprintf("new-%d", n)) {
				written[i].name = fmt.Sprintf("new-%d", n)
			}
		}
	}
}

// readPlanDocument reads the steps and the note of a document. The note is good beside
// an error.
func readPlanDocument(text string) (steps []writtenStep, note string, err error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var body []string
	inNote := false
	end := func() {
		words := strings.TrimSpace(strings.Join(body, "\n"))
		switch {
		case inNote:
			note = paragraphs(note, words)
		case len(steps) > 0:
			steps[len(steps)-1].task = words
		}
		body = nil
	}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t")
		m := planHeading.FindStringSubmatch(line)
		switch {
		case m == nil && len(steps) > 0 && !inNote && steps[len(steps)-1].takesAfter(line, i+1, body):
		case m == nil && planEscape.MatchString(line):
			body = append(body, line[1:])
		case m == nil:
			body = append(body, line)
		default:
			end()
			if inNote = strings.EqualFold(strings.TrimSpace(m[1]), noteHeading); inNote {
				continue
			}
			step, problem := readHeading(m[1])
			if problem != "" && err == nil {
				err = fmt.Errorf("line %d: %s", i+1, problem)
			}
			step.line = i + 1
			steps = append(steps, step)
		}
	}
	end()
	if len(steps) == 0 && err == nil {
		err = errors.New("there is no step left: a step is a heading like “## `name` title”; to run nothing, stop the plan")
	}
	return steps, note, err
}

// takesAfter reads the line that names what is done before: the first one that
// says something.
func (w *writtenStep) takesAfter(line string, n int, body []string) bool {
	m := planAfter.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil || w.afterLine > 0 || strings.TrimSpace(strings.Join(body, "")) != "" {
		return false
	}
	w.afterLine = n
	for name := range strings.SplitSeq(m[1], ",") {
		name = strings.Trim(name, " \t`.")
		if name != "" && !slices.Contains(nothingBefore, strings.ToLower(name)) && !slices.Contains(w.after, name) {
			w.after = append(w.after, name)
		}
	}
	return true
}

// readHeading reads "`name` title", or a title alone.
func readHeading(text string) (w writtenStep, problem string) {
	w.title = strings.TrimSpace(text)
	if rest, named := strings.CutPrefix(w.title, "`"); named {
		name, title, closed := strings.Cut(rest, "`")
		w.name, w.title = strings.TrimSpace(name), strings.TrimSpace(title)
		switch {
		case !closed:
			return w, "the name of the step has no backtick at its end"
		case !plainID.MatchString(w.name):
			return w, "the name of a step is letters, digits, `.`, `_` and `-`"
		}
	}
	if w.title == "" {
		return w, "the step has no title; write one behind its name, or remove the heading"
	}
	return w, ""
}
