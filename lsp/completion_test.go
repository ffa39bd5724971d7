package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentls/lsp/lsptest"
	"agentls/mcp"
)

func TestMentionAt(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		cursor := strings.Index(text, "|")
		text = strings.Replace(text, "|", "", 1)
		got := "no mention"
		if at, ok := mentionAt(text, cursor); ok {
			got = text[at:cursor]
		}
		if got != want {
			t.Errorf("%q at %d: %q, want %q", text, cursor, got, want)
		}
	}
	const none = "no mention"
	check("@|", "@")
	check("see @fs:file:///a|b and", "@fs:file:///a")
	check("see (@fs:|", "@fs:")
	check("see «@fs:|", "@fs:")
	check("see\n@fs:|\n", "@fs:")
	check("me@|", none)
	check("me@corp:http://x|", none)
	check("mail me@fa|", none)
	check("no at sign|", none)
	check("@fs:file:///a@b|", "@fs:file:///a@b")
	check("@one:x @two:|", "@two:")
	check("@one:x and then|", none)
	check("@fs:<file:///my do|", "@fs:<file:///my do")
	check("@fs:<file:///my doc>|", none)
	check(`@fs:"file:///my do|`, `@fs:"file:///my do`)
	check(`@fs:"file:///my doc" |`, none)
	check(`"@fs:|`, `@fs:`)
	check(`"@fs:|"`, none)
	check("`@fs:|` x", none)
	check("`cat @fs:| now`", none)
	check("what's in @fs:|", "@fs:") // PaiCLI P1: an apostrophe is no quote
	check("`done` @fs:|", "@fs:")
	check("5\" @fs:| 6\"", "@fs:")
	check("```\n@fs:|\n```", none)
	check("```\nx\n```\n@fs:|", "@fs:")
	check("## You\n@fs:|", "@fs:")
	check("## You\nq\n## Agent\n@fs:|\n## You\n", none)
	check("## You\nq\n## Agent\na\n## You\n@fs:|", "@fs:")
	check("intro @fs:|\n## You\n", none)
	check("|@fs", none)
	check("@fs|\r\nx", "@fs")
	check("😀 @fs:|", "@fs:")
}

func TestItemsByEditor(t *testing.T) {
	resource := func(uri, insert string) mcp.Candidate {
		return mcp.Candidate{Server: "git", Mention: "git", Resource: &mcp.Resource{Server: "git", URI: uri, MIMEType: "text/x"}, Insert: insert, Label: "A label"}
	}
	plain := resource("git://log/main", "@git:git://log/main")
	spaced := resource("file:///my doc", "@git:<file:///my doc>")
	check := func(client, version, text string, c mcp.Candidate, wantText, wantFilter string) {
		t.Helper()
		s := &Server{docs: newDocuments(nil), peer: peer{name: client, version: version}}
		list := s.mentionEdit(text, strings.IndexByte(text, '@'), len(text)).mentions([]mcp.Candidate{{Insert: "no\nline"}, c, {Insert: "no\nline"}}, true)
		var all struct {
			IsIncomplete bool
			Items        []struct {
				FilterText, SortText string
				TextEdit             struct {
					NewText string
					Range   struct{ Start, End struct{ Character int } }
				}
			}
		}
		if err := json.Unmarshal(list, &all); err != nil || !all.IsIncomplete {
			t.Fatalf("%v: %s", err, list)
		}
		if len(all.Items) == 0 {
			if wantText != "" {
				t.Errorf("%s %q: no item", client, text)
			}
			return
		}
		got := all.Items[0]
		r := got.TextEdit.Range
		if after := text[:r.Start.Character] + got.TextEdit.NewText + text[r.End.Character:]; after != wantText {
			t.Errorf("%s: %q becomes %q, want %q", client, text, after, wantText)
		}
		if got.FilterText != wantFilter || got.SortText != "0000" {
			t.Errorf("%s: filterText %q sortText %q, want %q", client, got.FilterText, got.SortText, wantFilter)
		}
	}
	for _, client := range [][2]string{{"Visual Studio Code", "1.100.0"}, {"Neovim", "0.12.4"}, {"helix", "25.07"}, {"Eglot", "1.17.30"}, {"unknown", ""}} {
		check(client[0], client[1], "see @git:git://l", plain, "see @git:git://log/main", "@git:git://log/main")
		check(client[0], client[1], "@lo", plain, "@git:git://log/main", "@lo A label @git:git://log/main")
		check(client[0], client[1], "@GIT:git", plain, "@git:git://log/main", "@GIT:git A label @git:git://log/main")
		check(client[0], client[1], "@git:fi", spaced, "@git:<file:///my doc>", "@git:file:///my doc")
		check(client[0], client[1], "@git:<fi", spaced, "@git:<file:///my doc>", "@git:<file:///my doc>")
	}
	// Neovim 0.10 looks at the text that would be inserted alone.
	check("Neovim", "0.10.4", "see @git:git://l", plain, "see @git:git://log/main", "@git:git://log/main")
	check("Neovim", "0.10.4", "@gi", spaced, "@git:<file:///my doc>", "@git:<file:///my doc>")
	check("Neovim", "0.10.4", "@git:fi", spaced, "@git:file:///my doc", "@git:file:///my doc")
	check("Neovim", "0.10.4", "@git:<fi", spaced, "@git:<file:///my doc>", "@git:<file:///my doc>")
	// eglot took the symbol at point for what is completed, old Neovim a word.
	check("Eglot", "1.12.29", "see @git:git://l", plain, "see @git:git://log/main", "//log/main")
	check("Emacs", "", "@gi", plain, "@git:git://log/main", "git:git://log/main")
	check("GNU Emacs", "30", "@", plain, "@git:git://log/main", "git:git://log/main")
	check("Eglot", "1.9", "@git:fi", spaced, "@git:file:///my doc", "file:///my doc")
	check("Eglot", "", "@lo", plain, "@git:git://log/main", "lo A label git:git://log/main")
	check("Neovim", "0.7.2", "@git:git://lo", plain, "@git:git://log/main", "log/main")
	check("Neovim", "v0.9.5", "@git:git://", plain, "@git:git://log/main", "log/main")
	check("Eglot", "1.9", "@x:lo", plain, "", "")
	check("", "", "@", resource("a\nb", "@git:a\nb"), "", "")
}

// A label that is all invisible is none to pick: the text itself is shown.
func TestItemOfAnInvisibleTitle(t *testing.T) {
	s := &Server{docs: newDocuments(nil)}
	list := s.mentionEdit("@", 0, 1).mentions([]mcp.Candidate{{Mention: "git", Insert: "@git:git://log", Label: "\u200b\u2800"}}, false)
	var all struct{ Items []struct{ Label string } }
	if err := json.Unmarshal(list, &all); err != nil || len(all.Items) != 1 || all.Items[0].Label != "@git:git://log" {
		t.Errorf("%v: %s", err, list)
	}
}

// The whole way, with the embedded server's resources.
func TestCompletion(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"README.md", "read me too.txt"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("# Hello\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, _ := served(t, testOptions(t), nil)
	e.Initialize(lsptest.Init{Root: root})
	type item struct {
		Label, FilterText string
		TextEdit          lsptest.TextEdit
		LabelDetails      struct{ Description string }
		Documentation     struct{ Kind, Value string }
		Data              json.RawMessage
	}
	complete := func(uri, text string) (items []item, null bool) {
		t.Helper()
		e.Edit(uri, lsptest.TextEdit{NewText: text})
		raw := e.Call("textDocument/completion", map[string]any{"textDocument": map[string]any{"uri": uri}, "position": lsptest.End(text)})
		var list *struct{ Items []item }
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		if list == nil {
			return nil, true
		}
		return list.Items, false
	}
	prompt := lsptest.FileURI(filepath.Join(root, "a.agentls.md"))
	e.Open(prompt, "markdown", "")
	var items []item
	e.Await("README.md among the items", func() bool {
		items, _ = complete(prompt, "## You\nsee @workspace:file://READ")
		return len(items) > 0 && strings.Contains(items[0].TextEdit.NewText, "README.md")
	})
	got := items[0]
	if got.TextEdit.NewText != "@workspace:file://README.md" || got.FilterText != got.TextEdit.NewText || *got.TextEdit.Range != (lsptest.Range{Start: lsptest.Position{Line: 1, Character: 4}, End: lsptest.Position{Line: 1, Character: 26}}) {
		t.Errorf("%+v", got)
	}
	var resolved item
	if err := json.Unmarshal(e.Call("completionItem/resolve", map[string]any{"label": "x", "data": got.Data, "own": 5}), &resolved); err != nil {
		t.Fatal(err)
	}
	if resolved.Label != "x" || !strings.Contains(resolved.Documentation.Value, "file://README.md") {
		t.Errorf("resolved: %+v", resolved)
	}
	if _, null := complete(prompt, "mail me@wo"); !null {
		t.Error("an address is completed")
	}
	other := lsptest.FileURI(filepath.Join(root, "b.md"))
	e.Open(other, "markdown", "")
	if _, null := complete(other, "see @workspace:"); !null {
		t.Error("a document that is no prompt buffer is completed")
	}
	e.Shutdown()
}

func BenchmarkMentionAt(b *testing.B) {
	text := strings.Repeat("## You\nwhat is this?\n\n## Agent\n"+strings.Repeat("An answer of some length, with words.\n", 50)+"\n", 20) + "## You\nsee @fs:file:///a"
	for b.Loop() {
		if _, ok := mentionAt(text, len(text)); !ok {
			b.Fatal("no mention")
		}
	}
}

// What completion adds to the candidates: finding the mention, and the answer.
func BenchmarkMentionList(b *testing.B) {
	s := &Server{docs: newDocuments(nil)}
	candidates := make([]mcp.Candidate, maxItems)
	for i := range candidates {
		uri := fmt.Sprintf("file://pkg%d/agent/session_handler%d.go", i%50, i)
		r := &mcp.Resource{Server: "server0", URI: uri, Name: uri[7:], MIMEType: "text/x-go"}
		candidates[i] = mcp.Candidate{Server: "server0", Mention: "server0", Insert: "@server0:" + uri, Label: r.Name, Resource: r}
	}
	const text = "## You\n\nlook at @server0:file://pkg"
	for b.Loop() {
		s.mentionEdit(text, strings.Index(text, "@"), len(text)).mentions(candidates, false)
	}
}
