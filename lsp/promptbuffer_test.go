package lsp

import (
	"slices"
	"strings"
	"testing"
)

func TestTurns(t *testing.T) {
	check := func(text string, want ...string) {
		t.Helper()
		var got []string
		for _, turn := range turns(text) {
			got = append(got, turn.role+":"+text[turn.start:turn.end])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	check("", ":")
	check("just text\n# Title\n", ":just text\n# Title\n")
	check("## You\nhi\n", "you:hi\n")
	check("## You", "you:")
	check("intro\n## You\nhi\n## Agent\nyes\n## You\n", "you:hi\n", "agent:yes\n", "you:")
	check("## You\r\nhi\r\n## Agent \t\r\nyes", "you:hi\r\n", "agent:yes")
	check("## You\r## Agent\r", "you:", "agent:")
	check("## you\n ## You\n### You\n## You too\n", ":## you\n ## You\n### You\n## You too\n")
	check("## You\n```\n## Agent\n```\nx\n## Agent\n", "you:```\n## Agent\n```\nx\n", "agent:")
	check("## You\n~~~~ go\n## Agent\n~~~\n## Agent\n~~~~\n## Agent", "you:~~~~ go\n## Agent\n~~~\n## Agent\n~~~~\n", "agent:")
	check("## You\n``` a`b\n## Agent\n", "you:``` a`b\n", "agent:")
	check("## You\n    ```\n## Agent\n", "you:    ```\n", "agent:")
	check("## You\n```\n## Agent\n``` x\n## Agent", "you:```\n## Agent\n``` x\n## Agent")
}

func TestPromptAt(t *testing.T) {
	check := func(text, want string, ok bool) {
		t.Helper()
		offset := strings.Index(text, "|")
		text = strings.Replace(text, "|", "", 1)
		if got, gotOK := promptAt(text, offset); got != want || gotOK != ok {
			t.Errorf("%q at %d: %q %v, want %q %v", text, offset, got, gotOK, want, ok)
		}
	}
	check("a prompt", "a prompt", true)
	check("a |prompt", "a prompt", true)
	check("|## You\none\n## Agent\nA\n## You\ntwo", "one\n", true)
	check("## Y|ou\none\n## Agent\nA\n## You\ntwo", "one\n", true)
	check("## You\n|one\n## Agent\nA\n## You\ntwo", "one\n", true)
	check("## You\none\n## Agent\n|A\n## You\ntwo", "", false)
	check("## You\none\n## Agent\nA\n|## You\ntwo", "two", true)
	check("## You\none\n## Agent\nA\n## You\ntwo|", "two", true)
	check("## You\none\n## Agent\nA\n## You\ntwo", "two", true)
	check("int|ro\n## You\none", "", false)
	check("## Agent\nonly", "", false)
	check("## You\none\n## Agent\nA|", "", false)
}

// FuzzAnswerMakesNoTurn: whatever an answer says, it stays one turn.
func FuzzAnswerMakesNoTurn(f *testing.F) {
	f.Add("## You\nx")
	f.Add("```\n## Agent\r## You\n")
	f.Add("~~~\n```\n## You\n~~~ \n![")
	f.Add("`````\n````\n\t```\n   ~~~x\n")
	f.Fuzz(func(t *testing.T, answer string) {
		var e escaper
		text := "## You\nask\n\n## Agent\n" + e.escape(answer) + e.end() + "\n\n## You\nnext"
		list := turns(text)
		if len(list) != 3 || list[0].role != "you" || list[1].role != "agent" || list[2].role != "you" || text[list[2].start:] != "next" {
			t.Fatalf("%q makes the turns %+v", text, list)
		}
		for m := walkMarkdown(text); m.next(); {
			if !m.fenced && strings.Contains(m.line, "![") {
				t.Fatalf("%q loads an image", text)
			}
		}
	})
}

func TestIsPromptBuffer(t *testing.T) {
	for _, c := range []struct {
		uri, language string
		want          bool
	}{
		{"file:///a/b.agentls.md", "markdown", true},
		{"file:///a/b%2Eagentls.md", "plaintext", true},
		{"untitled:Untitled-1", "agentls", true},
		{"untitled:x.agentls.md", "", true},
		{"file:///a/b.md", "markdown", false},
		{"file:///a/agentls.md", "markdown", false},
		{"file:///b.agentls.md/c", "x", false},
	} {
		key, path := canonical(c.uri)
		if got := isPromptBuffer(document{uri: key, path: path, languageID: c.language}); got != c.want {
			t.Errorf("%s (%s): %v", c.uri, c.language, got)
		}
	}
}
