package agent

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Edited holds the steps of an answer against the plan that was asked: nil
// stays nil, and so do steps that are as they were. What an answer leaves out of
// a step of the plan stays as it was, and so does a title as it was shown. An error says what is wrong with them.
func (p PlanState) Edited(answer []PlanStep, shown func(string) string) ([]PlanStep, error) {
	if answer == nil {
		return nil, nil
	}
	asked := p.asAsked()
	steps := make([]PlanStep, len(answer))
	for i, s := range answer {
		was := PlanStep{Title: s.Task, Task: s.Title}
		if j := slices.IndexFunc(asked, func(a PlanStep) bool { return a.ID == s.ID }); j >= 0 {
			if was = asked[j]; s.Title == shown(was.Title) {
				s.Title = was.Title
			}
		}
		on := s.DependsOn
		if on == nil {
			on = was.DependsOn
		}
		steps[i] = PlanStep{ID: s.ID, Title: cmp.Or(s.Title, was.Title), Task: cmp.Or(s.Task, was.Task), DependsOn: append([]string{}, on...)}
	}
	if steps, err := FitPlan(steps); err != nil || !reflect.DeepEqual(steps, asked) {
		return steps, err
	}
	return nil, nil
}

// Drop gives the steps that are left without some, by their places from 1.
func (p PlanState) Drop(places ...int) ([]PlanStep, error) {
	var steps []PlanStep
	for i, s := range p.asAsked() {
		if !slices.Contains(places, i+1) {
			steps = append(steps, s)
		}
	}
	for _, n := range places {
		if n < 1 || n > len(p.Steps) {
			return nil, fmt.Errorf("there is no step %d: they go from 1 to %d", n, len(p.Steps))
		}
	}
	if steps = p.without(steps); len(steps) == 0 {
		return nil, errors.New("no step is left; stop the plan instead")
	}
	return steps, nil
}

// without lets steps that came after one that is gone come after what that one
// came after.
func (p PlanState) without(steps []PlanStep) []PlanStep {
	before := map[string][]string{} // of the steps that are gone
	for _, s := range p.Steps {
		if !slices.ContainsFunc(steps, func(left PlanStep) bool { return left.ID == s.ID }) {
			before[s.ID] = s.DependsOn
		}
	}
	for i := range steps {
		var on []string
		passed := map[string]bool{}
		var add func(ids []string)
		add = func(ids []string) {
			for _, id := range ids {
				if passed[id] {
					continue
				}
				passed[id] = true
				if through, gone := before[id]; gone {
					add(through)
				} else {
					on = append(on, id)
				}
			}
		}
		add(steps[i].DependsOn)
		steps[i].DependsOn = append([]string{}, on...)
	}
	return steps
}

// asAsked are the steps that were asked, without their states.
func (p PlanState) asAsked() []PlanStep {
	steps := make([]PlanStep, len(p.Steps))
	for i, s := range p.Steps {
		steps[i] = PlanStep{ID: s.ID, Title: s.Title, Task: s.Task, DependsOn: append([]string{}, s.DependsOn...)}
	}
	if fit, err := FitPlan(steps); err == nil { // as answers are
		return fit
	}
	return steps
}
