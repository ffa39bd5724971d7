package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds on a plan. Titles that are longer are cut, the rest is refused.
const (
	maxPlanSteps = 20
	maxStepID    = 64    // characters
	maxStepTitle = 120   // likewise
	maxStepTask  = 20000 // bytes
)

// readPlan reads the arguments of submit_plan as models write them: ids as
// numbers or none at all, a step as a plain text, dependsOn as one id, a title
// or a place. What has no plain meaning is an error that says what to mend.
func readPlan(args json.RawMessage) ([]PlanStep, error) {
	var in struct {
		Steps json.RawMessage `json:"steps"`
		Plan  json.RawMessage `json:"plan"`
	}
	if err := into(args, &in); err != nil {
		return nil, err
	}
	raw := in.Steps
	if raw == nil && in.Plan != nil { // {"plan": [...]} or {"plan": {"steps": [...]}}
		if raw = in.Plan; bytes.HasPrefix(raw, []byte("{")) {
			in.Plan = nil // no deeper: each level would be read by all above it
			if err := into(raw, &in); err != nil {
				return nil, err
			}
			raw = in.Steps
		}
	}
	list, err := jsonList(raw)
	if err != nil {
		return nil, fmt.Errorf("the argument steps must be a list of steps: %w", err)
	}
	steps := make([]PlanStep, len(list))
	for i, one := range list {
		if steps[i], err = readStep(one); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return FitPlan(steps)
}

// jsonList reads a list, also one that is written as a text.
func jsonList(raw json.RawMessage) (list []json.RawMessage, err error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	if len(raw) == 0 {
		return nil, errors.New("it is missing")
	}
	return list, json.Unmarshal(raw, &list)
}

// readStep reads a step; its dependsOn is as written.
func readStep(raw json.RawMessage) (s PlanStep, err error) {
	if json.Unmarshal(raw, &s.Task) == nil {
		return s, nil
	}
	var in struct {
		ID          json.RawMessage `json:"id"`
		Title       string          `json:"title"`
		Name        string          `json:"name"`
		Task        string          `json:"task"`
		Description string          `json:"description"`
		DependsOn   json.RawMessage `json:"dependsOn"`
		Depends     json.RawMessage `json:"depends_on"`
		Needs       json.RawMessage `json:"dependencies"`
	}
	if err = into(raw, &in); err != nil {
		return s, err
	}
	first := func(texts ...string) string {
		return texts[max(slices.IndexFunc(texts, func(t string) bool { return strings.TrimSpace(t) != "" }), 0)]
	}
	s = PlanStep{Title: first(in.Title, in.Name), Task: first(in.Task, in.Description)}
	if s.ID, err = jsonWord(in.ID); err != nil {
		return s, fmt.Errorf("its id must be a text: %w", err)
	}
	for _, raw := range []json.RawMessage{in.DependsOn, in.Depends, in.Needs} {
		if one, err := jsonWord(raw); err == nil {
			s.DependsOn = append(s.DependsOn, splitIDs(one)...)
			continue
		}
		list, err := jsonList(raw)
		if err != nil {
			return s, errors.New("its dependsOn must be a list of ids")
		}
		for _, raw := range list {
			one, err := jsonWord(raw)
			if err != nil {
				return s, errors.New("its dependsOn must be a list of ids")
			}
			s.DependsOn = append(s.DependsOn, one)
		}
	}
	return s, nil
}

// splitIDs reads a dependsOn that is one text: [] and lists are written so too.
func splitIDs(text string) (ids []string) {
	var list []json.RawMessage
	if json.Unmarshal([]byte(text), &list) == nil {
		for _, raw := range list {
			if one, err := jsonWord(raw); err == nil {
				ids = append(ids, one)
			}
		}
		return ids
	}
	if text != "" && !strings.EqualFold(text, "none") {
		ids = append(ids, text)
	}
	return ids
}

// jsonWord reads a text or a number as a text; nothing and null are "".
func jsonWord(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil && raw[0] != '"' {
		return n.String(), nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return strings.TrimSpace(text), err
}

// FitPlan checks the steps of a plan, and gives them as they count: an empty
// title is made of the task and the other way round, an id that is missing is
// the step's place, and dependsOn has the ids of what is meant, in the plan's
// order. Status and note are taken away. The error says what to mend.
func FitPlan(steps []PlanStep) ([]PlanStep, error) {
	switch n := len(steps); {
	case n == 0:
		return nil, errors.New("the plan has no steps: give one at least")
	case n > maxPlanSteps:
		return nil, fmt.Errorf("the plan has %d steps, at most %d are taken: join what belongs together", n, maxPlanSteps)
	}
	out := make([]PlanStep, len(steps))
	for i, s := range steps {
		s.Status, s.Note = "", ""
		if err := s.fit(); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		out[i] = s
	}
	if err := nameSteps(out); err != nil {
		return nil, err
	}
	for i := range out {
		if err := out[i].resolve(out); err != nil {
			return nil, err
		}
	}
	if circle := findCircle(out); circle != nil {
		return nil, fmt.Errorf("the steps depend on each other in a circle: %s. None of them could begin", strings.Join(circle, " → "))
	}
	return out, nil
}

// fit checks what a step says of itself.
func (s *PlanStep) fit() error {
	s.ID = strings.TrimSpace(s.ID)
	s.Task = strings.TrimSpace(visible(s.Task))
	if s.Title = oneLine(strings.TrimSpace(visible(s.Title)), maxStepTitle); s.Title == "" {
		line, _, _ := strings.Cut(s.Task, "\n")
		s.Title = oneLine(line, 60)
	}
	if s.Task == "" {
		s.Task = s.Title
	}
	switch {
	case s.Task == "":
		return errors.New("it has no task: say in whole sentences what is to be done")
	case len(s.Task) > maxStepTask:
		return fmt.Errorf("its task has %d bytes, at most %d are taken: name files instead of quoting them", len(s.Task), maxStepTask)
	case s.ID != oneLine(s.ID, maxStepID):
		return fmt.Errorf("its id %q is no short word: write one of at most %d characters", oneLine(s.ID, maxStepID), maxStepID)
	}
	return nil
}

// nameSteps gives ids to the steps that have none, and refuses what two have.
func nameSteps(steps []PlanStep) error {
	at := map[string]int{}
	for i, s := range steps {
		if s.ID == "" {
			continue
		}
		if other, twice := at[s.ID]; twice {
			return fmt.Errorf("the steps %d and %d have the same id %q: give each its own", other+1, i+1, s.ID)
		}
		at[s.ID] = i
	}
	for i := range steps {
		for id := strconv.Itoa(i + 1); steps[i].ID == ""; id += "'" {
			if _, taken := at[id]; !taken {
				steps[i].ID = id
				at[id] = i
			}
		}
	}
	return nil
}

// resolve finds the steps that a step depends on.
func (s *PlanStep) resolve(steps []PlanStep) error {
	var places []int
	for _, word := range s.DependsOn {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		i := findStep(steps, word)
		switch {
		case i < 0:
			ids := make([]string, len(steps))
			for k := range steps {
				ids[k] = steps[k].ID
			}
			return fmt.Errorf("the step %q depends on %q, which is no step of the plan: its steps have the ids %s", s.ID, oneLine(word, 100), strings.Join(ids, ", "))
		case steps[i].ID == s.ID:
			return fmt.Errorf("the step %q depends on itself", s.ID)
		}
		places = append(places, i)
	}
	slices.Sort(places)
	s.DependsOn = []string{}
	for _, i := range slices.Compact(places) {
		s.DependsOn = append(s.DependsOn, steps[i].ID)
	}
	return nil
}

// findStep finds what a word of dependsOn means: an id, else the one step of
// that title, else a place, where ids are no numbers themselves. -1: nothing.
func findStep(steps []PlanStep, word string) int {
	byID := func(s PlanStep) bool { return s.ID == word }
	if i := slices.IndexFunc(steps, byID); i >= 0 {
		return i
	}
	found := -1
	for i, s := range steps {
		if strings.EqualFold(s.Title, word) || strings.EqualFold(s.ID, word) {
			if found >= 0 {
				return -1 // two: which one is meant cannot be told
			}
			found = i
		}
	}
	if found >= 0 {
		return found
	}
	number := strings.TrimLeft(strings.TrimPrefix(strings.ToLower(word), "step"), " _-#")
	if i := slices.IndexFunc(steps, func(s PlanStep) bool { return s.ID == number }); i >= 0 {
		return i
	}
	numbered := slices.ContainsFunc(steps, func(s PlanStep) bool { _, err := strconv.Atoi(s.ID); return err == nil })
	if n, err := strconv.Atoi(number); err == nil && !numbered && n >= 1 && n <= len(steps) {
		return n - 1
	}
	return -1
}

// findCircle returns the ids of steps that wait for each other, the first one
// twice; nil: there are none.
func findCircle(steps []PlanStep) []string {
	const onTheWay, done = 1, 2
	state := make(map[string]int, len(steps))
	var way []string
	var visit func(id string) []string
	visit = func(id string) []string {
		switch state[id] {
		case onTheWay:
			return append(slices.Clone(way[slices.Index(way, id):]), id)
		case done:
			return nil
		}
		state[id] = onTheWay
		way = append(way, id)
		i := slices.IndexFunc(steps, func(s PlanStep) bool { return s.ID == id })
		for _, next := range steps[i].DependsOn {
			if circle := visit(next); circle != nil {
				return circle
			}
		}
		way = way[:len(way)-1]
		state[id] = done
		return nil
	}
	for _, s := range steps {
		if circle := visit(s.ID); circle != nil {
			return circle
		}
	}
	return nil
}
