package agent

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// planInText finds a plan that a model wrote as JSON into its answer instead of
// submitting it: the whole answer, or a fenced block of it, with steps.
func planInText(text string) (args string, ok bool) {
	candidates := []string{strings.TrimSpace(text)}
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		candidates = append(candidates, strings.TrimSpace(m[1]))
	}
	for _, c := range candidates {
		if strings.HasPrefix(c, "[") {
			c = `{"steps":` + c + `}`
		}
		raw, err := object(c)
		if err != nil || !bytes.Contains(raw, []byte(`"steps"`)) {
			continue
		}
		var named struct { // a call in words: {"name": "submit_plan", "arguments": {...}}
			Arguments  json.RawMessage `json:"arguments"`
			Parameters json.RawMessage `json:"parameters"`
		}
		_ = json.Unmarshal(raw, &named) // an object, as it was read before
		for _, inner := range []json.RawMessage{raw, named.Arguments, named.Parameters} {
			if len(inner) == 0 || string(inner) == "null" {
				continue
			}
			if steps, err := readPlan(inner); err == nil && len(steps) > 1 {
				return string(inner), true
			}
		}
	}
	return "", false
}

var (
	fenced = regexp.MustCompile("(?s)```[a-zA-Z]*[ \t]*\n(.*?)\n[ \t]*```")
	// planLine is an item of a plan in words.
	planLine = regexp.MustCompile(`(?mi)^[ \t]*(?:[-*#]+[ \t]*)*(?:\*\*)?(?:step[ \t]*\d+|\d+[.)][ \t])`)
	// planWord is in a text that is about a plan, in the languages in which the
	// word is nearly the same, and in some others.
	planWord = regexp.MustCompile(`(?i)\bplan|\bsteps\b|schritte|étapes|pasos|计划|計画|步骤|план`)
)

// planReminder follows an answer that reads as a plan.
const planReminder = "[agentls: this reads as a plan. Nothing of it is carried out unless it is submitted: call submit_plan with its steps. If it was an answer and not a plan, say so in one sentence.]"

// remindOfPlan tells a planner that wrote a plan in words to submit it.
func (r *run) remindOfPlan(text string) string {
	if r.plansRan() > 0 || !planWord.MatchString(text) || len(planLine.FindAllStringIndex(text, 2)) < 2 {
		return ""
	}
	return planReminder
}
