package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Bounds of what is kept word for word of what is summarised, in bytes.
const (
	askedFirst = 2000 // of the first prompt
	askedLast  = 1000 // of each of the last ones, and of what was added
	askedCount = 6
	factCount  = 15 // files
	factBytes  = 300
	planBytes  = 1500
)

// asked is what the user asked for in a part of a history: the first prompt and
// the last ones, as they were typed.
func asked(part []entry) []string {
	var all []string
	for _, e := range part {
		if e.Role != User || e.Asked == "" && strings.HasPrefix(e.Text, "[agentls") { // a note of ours
			continue
		}
		text := e.Asked
		if text == "" {
			text = withoutAttachments(e.Text)
		}
		if text = strings.TrimSpace(text); text != "" {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return nil
	}
	out := []string{truncate(all[0], askedFirst)}
	if n := len(all) - askedCount; n > 0 {
		out = append(out, fmt.Sprintf("[%d more, left out by agentls]", n))
	}
	for _, text := range all[max(1, len(all)-askedCount+1):] {
		out = append(out, truncate(text, askedLast))
	}
	return out
}

// withoutAttachments is a prompt without the blocks below it.
func withoutAttachments(text string) string {
	for _, begin := range attachments {
		if i := strings.Index(text, begin); i >= 0 {
			text = text[:i]
		}
	}
	return text
}

// endOfCommand is how run_command says that a command ended.
var endOfCommand = regexp.MustCompile(`(?m)^\[(exit status \d+|killed by the signal: [^\n\]]*|timed out after \d+ s)\]$`)

// facts is what a history's calls did, as far as that is certain: no model is
// asked.
type facts struct {
	changed, looked []string // paths, the newest last
	failed          []failedCommand
	plan            string
}

type failedCommand struct{ command, end string }

// factsOf collects facts.
func factsOf(part []entry) string {
	var f facts
	for i, e := range part {
		for _, c := range e.ToolCalls {
			f.add(c, resultOf(part[i+1:], c.ID))
		}
	}
	var b strings.Builder
	list := func(title string, items []string) {
		if n := len(items) - factCount; n > 0 {
			items = items[n:]
		}
		if len(items) > 0 {
			b.WriteString(title + "\n")
			for _, item := range items {
				b.WriteString("- " + oneLine(item, factBytes) + "\n")
			}
		}
	}
	list("Files that were changed, the last one last:", f.changed)
	list("Files that were read, the last one last:", f.looked)
	var failed []string
	for _, c := range f.failed {
		failed = append(failed, c.command+" ["+c.end+"]")
	}
	list("Commands that failed when they ran last:", failed)
	if f.plan != "" {
		b.WriteString("The last plan that was submitted, and what came of it:\n" + f.plan + "\n")
	}
	return b.String()
}

// resultOf is the text of a call's result, in what follows the call.
func resultOf(after []entry, id string) string {
	for _, e := range after {
		if e.Role != ToolRole {
			break
		}
		if e.ToolCallID == id {
			return e.Text
		}
	}
	return ""
}

func (f *facts) add(c ToolCall, result string) {
	var in struct {
		Path    string `json:"path"`
		Command string `json:"command"`
	}
	_ = json.Unmarshal([]byte(c.Arguments), &in) // what cannot be read names nothing
	newest := func(list []string, item string) []string {
		if item == "" {
			return list
		}
		return append(slices.DeleteFunc(list, func(old string) bool { return old == item }), item)
	}
	switch c.Name {
	case "write_file", "edit_file":
		if strings.HasPrefix(result, "Created ") || strings.HasPrefix(result, "Replaced ") || strings.HasPrefix(result, "Edited ") {
			f.changed = newest(f.changed, in.Path)
		}
	case "read_file":
		f.looked = newest(f.looked, in.Path)
	case "run_command":
		f.failed = slices.DeleteFunc(f.failed, func(old failedCommand) bool { return old.command == in.Command })
		if ends := endOfCommand.FindAllStringSubmatch(result, -1); len(ends) > 0 {
			if end := ends[len(ends)-1][1]; end != "exit status 0" {
				f.failed = append(f.failed, failedCommand{in.Command, end})
			}
		}
	case "submit_plan":
		f.plan = truncate(c.Arguments, planBytes) + "\n" + truncate(result, planBytes)
	}
}
