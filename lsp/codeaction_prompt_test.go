package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// mending is a quick fix as a client sees it.
type mending struct {
	Title       string
	Kind        string
	IsPreferred bool
	Diagnostics []shownDiagnostic
	Edit        json.RawMessage
	Command     *struct {
		Command   string
		Arguments []map[string]any
	}
}

// mendings asks for the quick fixes at a place; preferred ones begin with a *.
func (w *world) mendings(uri string, rng, context any) (list []mending, titles []string) {
	w.t.Helper()
	raw := w.Call("textDocument/codeAction", obj{"textDocument": obj{"uri": uri}, "range": rng, "context": context})
	for _, m := range decodeAs[[]mending](w.t, raw) {
		if m.Title == "Send" {
			continue
		}
		list = append(list, m)
		if m.IsPreferred {
			m.Title = "*" + m.Title
		}
		titles = append(titles, m.Title)
	}
	return list, titles
}

// apply does what an editor does with a chosen fix that is an edit.
func (w *world) apply(m mending) {
	w.t.Helper()
	answer, err := w.Stock("workspace/applyEdit")(json.RawMessage(`{"edit":` + string(m.Edit) + `}`))
	if a, _ := answer.(map[string]any); err != nil || a["applied"] != true {
		w.t.Fatalf("%s: %v %v", m.Edit, answer, err)
	}
}

func TestMendingsOfMentions(t *testing.T) {
	plain := lsptest.Capabilities()
	plain["workspace"].(map[string]any)["workspaceEdit"] = obj{}
	for _, init := range []lsptest.Init{{}, {Capabilities: plain}, {Client: "Neovim", Capabilities: plain}} {
		w := newWorld(t, setup{llm: agenttest.NewLLM(t), init: init, servers: map[string]mcptest.Options{"docs": withoutTemplates}})
		w.fetched("docs", 3)
		for _, c := range []struct {
			name, text string
			at         int      // the character of line 1, under which the cursor is
			want       []string // the fixes there
			after      []string // line 1 after each of them
		}{
			{
				"a server with a typing error", "see 𝄞 @dosc:file://doc0.md, please", 20,
				[]string{"*Change to @docs:file://doc0.md", "Leave as text, in backticks"},
				[]string{"see 𝄞 @docs:file://doc0.md, please", "see 𝄞 `@dosc:file://doc0.md`, please"},
			},
			{"nothing like it", "@nobody:x://y", 3, []string{"Leave as text, in backticks"}, []string{"`@nobody:x://y`"}},
			{
				"a resource with a typing error", "@docs:file://dco0.md", 20,
				[]string{"*Change to @docs:file://doc0.md", "Leave as text, in backticks"},
				[]string{"@docs:file://doc0.md", "`@docs:file://dco0.md`"},
			},
			{
				"several that are as near", "@docs:file://doc7.md", 0,
				[]string{"Change to @docs:file://doc0.md", "Change to @docs:file://doc1.md", "Change to @docs:file://doc2.md", "Leave as text, in backticks"},
				nil,
			},
			{"in brackets no backtick quotes", "(@nobody:x://y)", 3, nil, nil},
			{"backticks inside", "@docs:<file://a`b.md>", 3, []string{"Leave as text, in backticks"}, []string{"``@docs:<file://a`b.md>``"}},
			{"in backticks", "`@docs:file://doc0.md`", 3, []string{"Attach it: take the quotes away"}, []string{"@docs:file://doc0.md"}},
			{"in more backticks", "``@docs:file://doc0.md``.", 3, []string{"Attach it: take the quotes away"}, []string{"@docs:file://doc0.md."}},
			{"in quotes", `"@docs:file://doc0.md"`, 3, []string{"Attach it: take the quotes away"}, []string{"@docs:file://doc0.md"}},
			{"in a quoted sentence", `"see @docs:file://doc0.md"`, 8, nil, nil},
			{"nothing wrong", "@docs:file://doc0.md", 3, nil, nil},
			{"beside it", "see @nobody:x://y", 1, nil, nil},
		} {
			for i := range max(1, len(c.after)) {
				t.Run(c.name, func(t *testing.T) {
					w.t = t
					uri := lsptest.FileURI(filepath.Join(w.root, "x.agentls.md"))
					w.Open(uri, "markdown", "## You\n"+c.text+"\n")
					defer w.CloseDocument(uri)
					for _, context := range []any{obj{}, obj{"only": []string{"quickfix"}}, obj{"triggerKind": 2, "diagnostics": []any{}}} {
						list, titles := w.mendings(uri, span(1, c.at, 1, c.at), context)
						if !slices.Equal(titles, c.want) {
							t.Fatalf("got %q, want %q", titles, c.want)
						}
						for _, m := range list {
							if m.Kind != "quickfix" || m.Command != nil || strings.Contains(string(m.Edit), "documentChanges") != (init.Capabilities == nil || init.Client == "Neovim") {
								t.Errorf("%+v: %s", m, m.Edit)
							}
						}
					}
					if c.after == nil {
						return
					}
					list, _ := w.mendings(uri, span(1, c.at, 1, c.at), obj{})
					w.apply(list[i])
					if got := w.Text(uri); got != "## You\n"+c.after[i]+"\n" {
						t.Errorf("after %q: %q", list[i].Title, got)
					}
				})
			}
		}
		w.t = t
		uri := lsptest.FileURI(filepath.Join(w.root, "x.agentls.md"))
		w.Open(uri, "markdown", "## You\n@nobody:x://y\n## Agent\n1\n## You\n@nobody:x://y @noone:x://y\n")
		if _, got := w.mendings(uri, span(1, 3, 1, 3), obj{}); got != nil {
			t.Errorf("of what was sent %q", got)
		}
		if _, got := w.mendings(uri, span(5, 0, 5, 30), obj{}); len(got) != 2 {
			t.Errorf("of a selection %q", got)
		}
		for _, only := range []string{"refactor", "source.fixAll"} {
			if _, got := w.mendings(uri, span(5, 3, 5, 3), obj{"only": []string{only}}); got != nil {
				t.Errorf("only %s: %q", only, got)
			}
		}
	}
}

// A fix names the diagnostics that it solves as the client sent them, and only
// those.
func TestMendingsNameTheirDiagnostics(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: agenttest.NewLLM(t)}, "@nobody:x://y @noone:x://y")
	w.awaitMarks(uri, "0:0-7 2 unknownServer", "0:14-20 2 unknownServer")
	own := decodeAs[struct{ Diagnostics []any }](t, w.Notifications("textDocument/publishDiagnostics")[0]).Diagnostics
	foreign := obj{"range": span(0, 0, 0, 7), "source": "ltex", "code": "agentls.unknownServer", "message": "spelling"}
	list, _ := w.mendings(uri, span(0, 0, 0, 3), obj{"diagnostics": append(own, foreign)})
	if len(list) != 1 || len(list[0].Diagnostics) != 1 || list[0].Diagnostics[0].Source != "agentls" || list[0].Diagnostics[0].Range.End.Character != 7 {
		t.Errorf("%+v", list)
	}
}

// A client that takes plain commands alone gets what a command can do.
func TestMendingsAsPlainCommands(t *testing.T) {
	caps := lsptest.Capabilities()
	delete(caps["textDocument"].(map[string]any), "codeAction")
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), init: lsptest.Init{Capabilities: caps}, options: obj{"mcpServers": obj{"broken": obj{"command": "/nothing/there"}}}})
	w.awaitStatus("broken", mcp.StatusFailed)
	uri := lsptest.FileURI(filepath.Join(w.root, "x.agentls.md"))
	w.Open(uri, "markdown", "@broken:x://y\n@nobody:x://y")
	raw := w.Call("textDocument/codeAction", obj{"textDocument": obj{"uri": uri}, "range": span(0, 0, 1, 9), "context": obj{}})
	var got []string
	for _, c := range decodeAs[[]struct{ Title, Command string }](t, raw) {
		got = append(got, c.Title+" = "+c.Command)
	}
	if want := []string{"Send = agentls.send", "Restart server broken = agentls.mcp.restart"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A server that failed is started again by its fix, one for all its mentions.
func TestMendingRestartsAServer(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	command, args, env := mcptest.Command(t, withoutTemplates)
	w := newWorld(t, setup{dir: dir, llm: agenttest.NewLLM(t), options: obj{"mcpServers": obj{"docs": obj{"command": program, "args": args, "env": env}}}})
	w.awaitStatus("docs", mcp.StatusFailed)
	uri := lsptest.FileURI(filepath.Join(w.root, "x.agentls.md"))
	w.Open(uri, "markdown", "@docs:file://doc0.md @docs:file://doc7.md")
	w.awaitMarks(uri, "0:0-20 2 serverFailed", "0:21-41 2 serverFailed")
	list, titles := w.mendings(uri, span(0, 0, 0, 40), obj{})
	if !slices.Equal(titles, []string{"*Restart server docs"}) {
		t.Fatalf("%q", titles)
	}
	if err := os.Symlink(command, program); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Start("workspace/executeCommand", list[0].Command).Wait(); err != nil {
		t.Fatal(err)
	}
	w.awaitMarks(uri, "0:27-41 2 unknownResource")
}

// Trust is never given by an action: it brings the whole question, also where
// that was refused before.
func TestMendingAsksForTrust(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		dir := t.TempDir()
		command, args, env := mcptest.Command(t, withoutTemplates)
		project, err := json.Marshal(obj{"mcpServers": obj{"docs": obj{"command": command, "args": args, "env": env}}})
		if err != nil {
			t.Fatal(err)
		}
		var folder, server []string // what the person answers
		answers := make(chan string, 10)
		w := newWorld(t, setup{
			dir: dir, llm: agenttest.NewLLM(t), files: map[string]string{".mcp.json": string(project)}, options: obj{"workspaceTrusted": trusted},
			answers: map[string]lsptest.Answer{"window/showMessageRequest": func(params json.RawMessage) (any, error) {
				answers <- string(params)
				if strings.Contains(string(params), "do you trust the folder") {
					folder = append(folder, "")
					if len(folder) == 2 {
						return obj{"title": "Trust folder"}, nil
					}
					return nil, nil
				}
				server = append(server, "")
				if len(server) == 2 {
					return obj{"title": "Trust and start"}, nil
				}
				return nil, nil
			}},
		})
		w.awaitStatus("docs", mcp.StatusUntrusted)
		uri := lsptest.FileURI(filepath.Join(w.root, "x.agentls.md"))
		w.Open(uri, "markdown", "@docs:file://doc0.md")
		w.awaitMarks(uri, "0:0-20 2 serverUntrusted")
		next := func(words ...string) {
			t.Helper()
			got := <-answers
			for _, word := range words {
				if !strings.Contains(got, word) {
					t.Fatalf("asked %s, not about %s", got, word)
				}
			}
		}
		if trusted {
			next(command) // at the start; it is refused
		} else {
			next("trust the folder")
		}
		poll(t, "refusal", func() bool { return len(w.server.asks.waiting()) == 0 })
		click := func() {
			t.Helper()
			list, titles := w.mendings(uri, span(0, 3, 0, 3), obj{"only": []string{"quickfix"}})
			if !slices.Equal(titles, []string{"*Trust server docs…"}) {
				t.Fatalf("%q", titles)
			}
			if raw, err := w.Start("workspace/executeCommand", list[0].Command).Wait(); err != nil || decodeAs[mcp.ServerInfo](t, raw).Status != mcp.StatusUntrusted {
				t.Fatalf("%s %v", raw, err)
			}
		}
		click()
		if !trusted {
			next("trust the folder") // now it is
			next(command)            // the manager's own, which is refused
			poll(t, "refusal", func() bool { return len(w.server.asks.waiting()) == 0 })
			click()
		}
		next(command) // the whole question once more
		w.awaitStatus("docs", mcp.StatusReady)
		w.awaitMarks(uri)
	}
}

// A server that is off is turned on by its fix, where the client knows the
// command; a client with approvals runs no such action.
func TestMendingEnablesAServer(t *testing.T) {
	for _, features := range [][]string{nil, {"approvals"}} {
		command, args, env := mcptest.Command(t, withoutTemplates)
		w := newWorld(t, setup{llm: agenttest.NewLLM(t), init: lsptest.Init{Features: features}, options: obj{"mcpServers": obj{
			"docs": obj{"command": command, "args": args, "env": env, "disabled": true},
		}}})
		uri := lsptest.FileURI(filepath.Join(w.root, "x.agentls.md"))
		w.Open(uri, "markdown", "@docs:file://doc0.md")
		w.awaitMarks(uri, "0:0-20 2 serverDisabled")
		list, titles := w.mendings(uri, span(0, 0, 0, 0), obj{})
		if features != nil {
			if titles != nil {
				t.Errorf("with approvals %q", titles)
			}
			continue
		}
		if !slices.Equal(titles, []string{"*Enable server docs"}) {
			t.Fatalf("%q", titles)
		}
		if _, err := w.Start("workspace/executeCommand", list[0].Command).Wait(); err != nil {
			t.Fatal(err)
		}
		w.awaitMarks(uri)
	}
}

// A question that the client lost comes back with the fix, and the one before
// is withdrawn.
func TestMendingShowsALostQuestionAgain(t *testing.T) {
	dir := t.TempDir()
	command, args, env := mcptest.Command(t, withoutTemplates)
	project, err := json.Marshal(obj{"mcpServers": obj{"docs": obj{"command": command, "args": args, "env": env}}})
	if err != nil {
		t.Fatal(err)
	}
	var w *world
	w = newWorld(t, setup{
		dir: dir, llm: agenttest.NewLLM(t), files: map[string]string{".mcp.json": string(project)},
		answers: map[string]lsptest.Answer{"window/showMessageRequest": func(json.RawMessage) (any, error) {
			if len(w.Requests("window/showMessageRequest")) == 1 {
				return nil, lsptest.ErrSilent
			}
			return obj{"title": "Trust and start"}, nil
		}},
	})
	first := w.AwaitRequest("window/showMessageRequest", 1)
	uri := lsptest.FileURI(filepath.Join(w.root, "x.agentls.md"))
	w.Open(uri, "markdown", "@docs:file://doc0.md")
	w.awaitMarks(uri, "0:0-20 2 serverUntrusted")
	list, _ := w.mendings(uri, span(0, 3, 0, 3), obj{"only": []string{"quickfix"}})
	if _, err := w.Start("workspace/executeCommand", list[0].Command).Wait(); err != nil {
		t.Fatal(err)
	}
	if again := w.AwaitRequest("window/showMessageRequest", 2); string(again.Params) != string(first.Params) {
		t.Errorf("asked %s, then %s", first.Params, again.Params)
	}
	w.awaitMarks(uri)
	cancelled := false
	for _, raw := range w.Notifications("$/cancelRequest") {
		cancelled = cancelled || string(decodeAs[struct{ ID json.RawMessage }](t, raw).ID) == string(first.ID)
	}
	if !cancelled {
		t.Error("the first question was not withdrawn")
	}
}
