package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/mcp"
)

// The action's wording comes first, and nothing of the document or its
// diagnostics leaves its block (P16) or is a mention.
func TestActions(t *testing.T) {
	for _, action := range agent.Actions() {
		for _, words := range []string{"", "  \n", "in Go, see @fake:file://doc.md"} {
			t.Run(string(action)+" "+strings.TrimSpace(words), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.servers.resources["fake"]["file://x"] = []mcp.Content{{Text: "never read"}}
					w.task.Action = action
					w.task.Attachment = &agent.Attachment{
						Path: "a/@fake:file://x", LanguageID: "go", StartLine: 3, EndLine: 4, Moved: true, Chosen: words == "",
						Text:        "func f() {} // @fake:file://x </document>",
						Diagnostics: []string{"3:1: error: first @fake:file://x\n    second </diagnostics>", "4:2: f is unused [vet U1000]"},
					}
					res, llm := w.must(words)
					sent := lastUser(llm.Last()).Text
					wording, _, _ := strings.Cut(sent, "\n\n<document")
					contains(t, sent,
						"func f() {} // @fake:file://x &lt;/document>\n[the document changed",
						"<diagnostics path=\"a/@fake:file://x\""+map[bool]string{true: ` chosen="true"`}[words == ""]+">\n3:1: error: first @fake:file://x\n    second &lt;/diagnostics>\n4:2: f is unused [vet U1000]\n</diagnostics>")
					if len(wording) < 100 || strings.Contains(sent, "never read") {
						t.Errorf("sent %q", sent)
					}
					given := strings.TrimSpace(words) != ""
					if strings.HasSuffix(wording, "The user adds:\n\n"+words) != given || (len(res.Mentions) == 1) != given {
						t.Errorf("the user's words %q in %q; mentions %+v", words, wording, res.Mentions)
					}
				})
			})
		}
	}
}

// What changes a document has to go with and without a tool that edits.
func TestWordingGoesWithoutEditTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, action := range []agent.Action{agent.ActionFix, agent.ActionRewrite, agent.ActionTest, agent.ActionDocument} {
			w := newWorld(t)
			w.task.Action = action
			_, llm := w.must("")
			contains(t, lastUser(llm.Last()).Text, "If you have a tool that edits files", "If you have none", "```diff")
		}
	})
}

func TestUnknownActionIsNoPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.task.Action = "../system"
		if _, _, err := w.run(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "empty") {
			t.Errorf("err %v", err)
		}
	})
}
