package agent

import (
	"slices"
	"strings"
)

// Action chooses the wording of a task about a document (CONTRACT §6): the
// prompt may then be empty, or adds to it.
type Action string

// The actions. Each has its wording in prompts/<action>.md.
const (
	ActionFix      Action = "fix"
	ActionExplain  Action = "explain"
	ActionRewrite  Action = "rewrite"
	ActionTest     Action = "test"
	ActionDocument Action = "document"
)

// Actions lists the actions.
func Actions() []Action {
	return []Action{ActionFix, ActionExplain, ActionRewrite, ActionTest, ActionDocument}
}

// words is what the task asks for: the action's wording, then the user's own
// words.
func (t Task) words() string {
	if !slices.Contains(Actions(), t.Action) {
		return t.Prompt
	}
	wording := prompt(string(t.Action) + ".md")
	if strings.TrimSpace(t.Prompt) == "" {
		return wording
	}
	return wording + "\n\nThe user adds:\n\n" + t.Prompt
}
