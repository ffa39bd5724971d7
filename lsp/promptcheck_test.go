package lsp

import (
	"slices"
	"strings"
	"testing"

	"agentls/mcp"
	"agentls/mcp/workspace"
)

// Whatever stands in a buffer, a problem is inside of it, an edit that mends it
// is too, and mends it.
func FuzzPromptProblems(f *testing.F) {
	for _, text := range []string{
		"## You\n@nobody:x://y `@workspace:file://a`\n/hlep\n## Agent\n@a:b:c\n## You\n/mcp lst\n",
		"(@nobody:x://y) \"@nobody:x://y\" @workspec:file://a`b @workspace:<x:y>", "/workspace:x y=\"\r\n/help\r\n", "hi\r/cancel\r@nobody:x:y``",
		"## You\n\n/plan `x`\n```\n/x\n", "@work\u202espace:x:y @workspace:x:\u202e",
	} {
		f.Add(text)
	}
	state := workspace.NewState()
	manager := mcp.NewManager(mcp.Options{Name: "agentls", Version: "test", State: state, TrustFile: f.TempDir() + "/trust.json"})
	f.Cleanup(manager.Close)
	awaitEmbedded(f, manager)
	s := New(Options{Manager: manager, Secrets: mcp.NewSecrets(), State: state, StateDir: f.TempDir()})
	poll(f, "workspace", func() bool { // what is said of it changes until then
		info, ok := manager.ServerNamed("workspace")
		return ok && info.Status == mcp.StatusReady && info.Resources != nil
	})
	look := func(text string) (bufferState, *promptCheck) {
		b := s.bufferState(s.promptModel(document{uri: "untitled:p", text: text}))
		return b, s.checkPrompts(b, nil)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, check := look(text)
		if len(check.problems) > maxProblems {
			t.Fatalf("%d problems", len(check.problems))
		}
		s.lenses(document{uri: "untitled:p", text: text}, b)
		s.promptDiagnostics(text, check.problems, check.more)
		for i, p := range check.problems {
			if p.of.start > p.at.start || p.at.start >= p.at.end || p.at.end > p.of.end || p.of.end > len(text) || p.message == "" || p.message != s.settings.words(p.message) {
				t.Fatalf("%q: %+v", text, p)
			}
			if i >= 20 {
				continue
			}
			there := s.problemsAt(b, p.at)
			same := slices.IndexFunc(there, func(o promptProblem) bool { return o.code == p.code && o.at == p.at })
			if same < 0 {
				t.Fatalf("%q: %+v is not there in %+v", text, p, there)
			}
			for _, fix := range there[same].fixes {
				checkMended(t, text, p, fix, look)
			}
		}
	})
}

func checkMended(t *testing.T, text string, p promptProblem, fix promptFix, look func(string) (bufferState, *promptCheck)) {
	t.Helper()
	if fix.command != "" {
		return
	}
	mended, from, at := "", 0, p.at.start
	for _, e := range fix.edits {
		if e.at.start < from || e.at.end < e.at.start || e.at.end > len(text) {
			t.Fatalf("%q: %+v", text, fix)
		}
		if e.at.end <= p.at.start && e.at.start < p.of.end {
			at += len(e.text) - (e.at.end - e.at.start)
		}
		mended += text[from:e.at.start] + e.text
		from = e.at.end
	}
	mended += text[from:]
	_, after := look(mended)
	for _, o := range after.problems {
		if o.code == p.code && o.at.start == at && !strings.HasPrefix(fix.title, "Change to") {
			t.Fatalf("%q: after %q it is %q, with %+v", text, fix.title, mended, o)
		}
	}
}
