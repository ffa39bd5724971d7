package lsp

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// published is one textDocument/publishDiagnostics.
type published struct {
	URI         string
	Version     *int
	Diagnostics []shownDiagnostic
}

type shownDiagnostic struct {
	Range    lsptest.Range
	Severity int
	Code     string
	Source   string
	Message  string
}

// published gives what was published of a document by now.
func (w *world) published(uri string) (list []published) {
	for _, raw := range w.Notifications("textDocument/publishDiagnostics") {
		if p := decodeAs[published](w.t, raw); p.URI == uri {
			list = append(list, p)
		}
	}
	return list
}

// marks writes the last published diagnostics of a document as
// `line:from-to severity code`.
func (w *world) marks(uri string) (out []string) {
	if all := w.published(uri); len(all) > 0 {
		for _, d := range all[len(all)-1].Diagnostics {
			at := fmt.Sprintf("%d:%d-%d", d.Range.Start.Line, d.Range.Start.Character, d.Range.End.Character)
			out = append(out, fmt.Sprintf("%s %d %s", at, d.Severity, strings.TrimPrefix(d.Code, "agentls.")))
		}
	}
	return out
}

func (w *world) awaitMarks(uri string, want ...string) []shownDiagnostic {
	w.t.Helper()
	var got []string
	w.Await(fmt.Sprintf("diagnostics %q", want), func() bool {
		got = w.marks(uri)
		return slices.Equal(got, want)
	})
	all := w.published(uri)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Diagnostics
}

// settled opens a buffer with one certain problem, and waits until it is
// published: whatever was to be published before has been.
func (w *world) settled() {
	w.t.Helper()
	uri := lsptest.FileURI(filepath.Join(w.root, "settled.agentls.md"))
	w.Open(uri, "agentls", "@nobody:x://y")
	w.awaitMarks(uri, "0:0-7 2 unknownServer")
	w.CloseDocument(uri)
	w.awaitMarks(uri)
}

// fetched waits until the lists of a server are there.
func (w *world) fetched(name string, resources int) {
	w.t.Helper()
	poll(w.t, "resources of "+name, func() bool {
		i := w.serverInfo(name)
		return i.Resources != nil && *i.Resources == resources
	})
}

// withoutTemplates is a server whose resources are those that it lists.
var withoutTemplates = mcptest.Options{Missing: []string{"resources/templates/list"}}

func TestPromptDiagnostics(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), servers: map[string]mcptest.Options{"docs": withoutTemplates, "any": {}}})
	w.fetched("docs", 3)
	w.fetched("any", 3)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing wrong", "## You\nsee @docs:file://doc0.md and me@corp:http://x\n", nil},
		{"no such server", "## You\nsee @dosc:file://doc0.md.\n", []string{"1:4-9 2 unknownServer"}},
		{"behind astral", "𝄞é @dosc:file://doc0.md", []string{"0:4-9 2 unknownServer"}},
		{"CRLF", "## You\r\n\r\n@dosc:file://a\r\n@docs:file://b\r\n", []string{"2:0-5 2 unknownServer", "3:6-14 2 unknownResource"}},
		{"no such resource", "@docs:file://doc7.md", []string{"0:6-20 2 unknownResource"}},
		{"of a template", "@any:file://doc7.md @any:file://doc7.txt `@any:file://doc7.md`", []string{"0:25-40 2 unknownResource", "0:42-61 4 quotedMention"}},
		{"quoted by its form", "@docs:<file://doc7 x.md>", []string{"0:6-24 2 unknownResource"}},
		{"quoted", "`@docs:file://doc0.md` \"@docs:file://doc9.md\"", []string{"0:1-21 4 quotedMention"}},
		{"in a fence", "```\n@docs:file://doc0.md\n```\n", []string{"1:0-20 4 quotedMention"}},
		{"an unknown server in quotes", "`@dosc:file://doc0.md`", nil},
		{"in an answer", "## Agent\n@dosc:file://a\n## You\n@dosc:file://a", []string{"3:0-5 2 unknownServer"}},
		{"sent already", "## You\n@dosc:file://a\n## Agent\n1\n## You\n", nil},
		{"before the first heading", "@dosc:file://a\n## You\nhi", nil},
		{"two that wait", "## You\n@dosc:file://a\n## You\n@dosc:file://b\n", []string{"1:0-5 2 unknownServer", "3:0-5 2 unknownServer"}},
		{"the workspace's own", "@workspace:file://README.md @workspace:file://nothing.md @workspace:diagnostics://README.md", []string{"0:39-56 2 unknownResource"}},
		{"ignored by git, and there", "@workspace:file://ignored.log", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			w.write(".gitignore", "*.log\n")
			w.write("ignored.log", "x")
			uri := lsptest.FileURI(filepath.Join(w.root, strings.ReplaceAll(c.name, " ", "-")+".agentls.md"))
			w.Open(uri, "markdown", c.text)
			w.settled()
			for _, d := range w.awaitMarks(uri, c.want...) {
				if d.Source != "agentls" || d.Message == "" {
					t.Errorf("%+v", d)
				}
			}
			w.CloseDocument(uri)
			w.awaitMarks(uri) // taken back
			if n := len(w.published(uri)); len(c.want) == 0 && n > 0 {
				t.Errorf("nothing was published in %d messages", n)
			}
		})
	}
	w.t = t
	uri := w.document("x.go", "@dosc:file://a")
	w.settled()
	if got := w.published(uri); len(got) > 0 {
		t.Errorf("of another document %+v", got)
	}
}

// The encoding of the positions is the client's, and where it knows versions
// they are told.
func TestPromptDiagnosticsInUTF8(t *testing.T) {
	caps := lsptest.Capabilities()
	caps["general"] = obj{"positionEncodings": []string{"utf-8"}}
	caps["textDocument"].(map[string]any)["publishDiagnostics"] = obj{"versionSupport": true}
	w, uri := sendWorld(t, setup{llm: agenttest.NewLLM(t), init: lsptest.Init{Capabilities: caps}}, "𝄞é @dosc:file://doc0.md")
	w.awaitMarks(uri, "0:7-12 2 unknownServer")
	if v := w.published(uri)[0].Version; v == nil || *v != 1 {
		t.Errorf("version %v", v)
	}
}

// What a server is, and what to do about it, is said at its mentions, and
// taken back when it is not so any more.
func TestPromptDiagnosticsOfServers(t *testing.T) {
	dir := t.TempDir()
	evil := obj{"command": filepath.Join(dir, "evil"), "args": []string{"--now"}}
	project, _ := json.Marshal(obj{"mcpServers": obj{"evil": evil}})
	command, args, env := mcptest.Command(t, withoutTemplates)
	fake := func(more obj) obj {
		o := obj{"command": command, "args": args, "env": env}
		maps.Copy(o, more)
		return o
	}
	hangCommand, hangArgs, hangEnv := mcptest.Command(t, mcptest.Options{Silent: true})
	w := newWorld(t, setup{
		dir: dir, llm: agenttest.NewLLM(t), files: map[string]string{".mcp.json": string(project)},
		options: obj{"mcpServers": obj{
			"off": fake(obj{"disabled": true}), "broken": obj{"command": filepath.Join(dir, "missing\u202e"), "args": []string{}},
			"hangs": obj{"command": hangCommand, "args": hangArgs, "env": hangEnv}, "docs": fake(nil),
		}},
	})
	w.awaitStatus("broken", mcp.StatusFailed)
	uri := lsptest.FileURI(w.root + "/chat.agentls.md")
	w.Open(uri, "markdown", "@off:file://a\n@broken:file://a\n@hangs:file://a\n@evil:file://a\n@docs:file://doc0.md\n")
	list := w.awaitMarks(uri, "0:0-13 2 serverDisabled", "1:0-16 2 serverFailed", "2:0-15 3 serverStarting", "3:0-14 2 serverUntrusted")
	for i, words := range []string{"disabled in the editor's settings", "agentls.mcp.restart", "being started", ".mcp.json"} {
		if !strings.Contains(list[i].Message, words) || strings.Contains(list[i].Message, "\u202e") {
			t.Errorf("%q does not say %q", list[i].Message, words)
		}
	}
	// The one that was off is on, and the one that does not come up is off.
	w.Notify("workspace/didChangeConfiguration", obj{"settings": obj{"agentls": obj{"mcpServers": obj{"off": fake(nil), "hangs": fake(obj{"disabled": true})}}}})
	w.awaitMarks(uri, "0:5-13 2 unknownResource", "1:0-16 2 serverFailed", "2:0-15 2 serverDisabled", "3:0-14 2 serverUntrusted")
}

// A list that is out of date makes nothing unknown that was not, and clears
// nothing that was.
func TestPromptDiagnosticsOfAListThatChanges(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Call(agent.ToolCall{ID: "1", Name: "mcp__docs__add_resource", Arguments: "{}"}))
	w := newWorld(t, setup{llm: llm, options: obj{"approval": obj{"allow": []string{"docs/*"}}}, servers: map[string]mcptest.Options{"docs": withoutTemplates}})
	w.fetched("docs", 3)
	uri := lsptest.FileURI(w.root + "/chat.agentls.md")
	w.Open(uri, "markdown", "@docs:file://late0.md")
	w.awaitMarks(uri, "0:6-21 2 unknownResource")
	result[agent.Result](t, w.ask("add one", nil))
	w.awaitMarks(uri)
	if n := len(w.published(uri)); n != 2 {
		t.Errorf("published %d times", n)
	}
}

// Closing, renaming and another language take everything back.
func TestPromptDiagnosticsAreTakenBack(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: agenttest.NewLLM(t)}, "@nobody:x://y")
	w.awaitMarks(uri, "0:0-7 2 unknownServer")
	renamed := lsptest.FileURI(w.root + "/other.agentls.md")
	w.CloseDocument(uri)
	w.Open(renamed, "markdown", "@nobody:x://y")
	w.awaitMarks(uri)
	w.awaitMarks(renamed, "0:0-7 2 unknownServer")

	file := lsptest.FileURI(w.root + "/notes.md")
	w.Open(file, "agentls", "@nobody:x://y")
	w.awaitMarks(file, "0:0-7 2 unknownServer")
	w.Open(file, "markdown", "@nobody:x://y") // without didClose, as some do
	w.awaitMarks(file)
	// Another spelling of the URI.
	spelled := strings.Replace(renamed, "other", "%6fther", 1)
	w.Open(spelled, "markdown", "@nobody:x://y")
	w.awaitMarks(spelled, "0:0-7 2 unknownServer")
	w.awaitMarks(renamed)
}

// A prompt that was sent is not complained about any more.
func TestPromptDiagnosticsEndWithSending(t *testing.T) {
	llm := blockOn(t, "slow")
	w, uri := sendWorld(t, setup{llm: llm}, "## You\n\nslow @nobody:x://y\n")
	w.awaitMarks(uri, "2:5-12 2 unknownServer")
	p := w.send(uri, nil)
	llm.Await(1)
	w.awaitMarks(uri)
	p.Cancel()
	failure(t, p, -32800)
	w.settled()
	w.awaitMarks(uri)
}

// However many events there are, nothing is published twice.
func TestPromptDiagnosticsAreNotRepeated(t *testing.T) {
	caps := lsptest.Capabilities()
	caps["workspace"].(map[string]any)["codeLens"] = obj{"refreshSupport": true}
	caps["workspace"].(map[string]any)["semanticTokens"] = obj{"refreshSupport": true}
	w, uri := sendWorld(t, setup{llm: agenttest.NewLLM(t), init: lsptest.Init{Capabilities: caps}}, "@nobody:x://y @workspace:file://README.md")
	w.awaitMarks(uri, "0:0-7 2 unknownServer")
	w.settled()
	before := [2]int{len(w.Requests("workspace/codeLens/refresh")), len(w.Requests("workspace/semanticTokens/refresh"))}
	for range 100_000 {
		w.server.refreshPromptBuffers()
	}
	w.settled()
	if n := len(w.published(uri)); n != 1 {
		t.Errorf("published %d times", n)
	}
	after := [2]int{len(w.Requests("workspace/codeLens/refresh")), len(w.Requests("workspace/semanticTokens/refresh"))}
	// The buffers of settled have lenses and tokens of their own.
	if after[0]-before[0] > 2 || after[1]-before[1] > 2 {
		t.Errorf("refreshes %v, then %v", before, after)
	}
	// In another version of the text they are told again.
	w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: lsptest.Position{Line: 0, Character: 13}, End: lsptest.Position{Line: 0, Character: 13}}, NewText: " "})
	w.Await("the next version", func() bool { return len(w.published(uri)) == 2 })
}

// What is told of mentions is bounded and read in one pass.
func TestPromptDiagnosticsOfManyMentions(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	uri := lsptest.FileURI(w.root + "/chat.agentls.md")
	w.Open(uri, "agentls", strings.Repeat("see @nobody:x://y here\n", 100_000))
	w.Await("diagnostics", func() bool { return len(w.marks(uri)) == maxProblems })
	list := w.published(uri)[0].Diagnostics
	if last := list[maxProblems-1]; !strings.Contains(last.Message, "99500 more") || last.Range.Start.Line != maxProblems-1 {
		t.Errorf("%+v", last)
	}
}

// What we say of a buffer ourselves is no news of other language servers.
func TestOwnDiagnosticsAreNotThoseOfOthers(t *testing.T) {
	for _, features := range [][]string{nil, {"diagnostics"}} {
		var own json.RawMessage
		answer := func(json.RawMessage) (any, error) { return []obj{}, nil }
		w, uri := sendWorld(t, setup{llm: agenttest.NewLLM(t), init: lsptest.Init{Features: features}, answers: map[string]lsptest.Answer{"agentls/diagnostics": answer}}, "@nobody:x://y")
		w.awaitMarks(uri, "0:0-7 2 unknownServer")
		own = decodeAs[struct{ Diagnostics json.RawMessage }](t, w.Notifications("textDocument/publishDiagnostics")[0]).Diagnostics
		other := obj{"range": span(0, 1, 0, 2), "message": "spelling", "source": "ltex"}
		mine := decodeAs[[]any](t, own)
		if features == nil {
			w.actions(uri, span(0, 0, 0, 1), obj{"diagnostics": append(mine, other)})
		} else {
			w.On("agentls/diagnostics", func(json.RawMessage) (any, error) {
				return []obj{{"uri": uri, "version": 1, "diagnostics": append(mine, other)}}, nil
			})
			w.Notify("agentls/didChangeDiagnostics", obj{"uri": uri})
		}
		_, path := canonical(uri)
		poll(t, "the other's", func() bool {
			known, _ := w.server.o.State.DiagnosticsOf(path, uri)
			if len(known.List) > 1 {
				t.Fatalf("%+v", known.List)
			}
			return len(known.List) == 1 && known.List[0].Message == "spelling"
		})
	}
}

// A server that says all the time that its lists changed makes nothing flicker.
func TestPromptDiagnosticsInAFlood(t *testing.T) {
	call := func(id, tool, args string) agent.ToolCall {
		return agent.ToolCall{ID: id, Name: "mcp__docs__" + tool, Arguments: args}
	}
	llm := agenttest.NewLLM(t, agenttest.Call(
		call("1", "flood", `{"n":3000,"level":"debug"}`), call("2", "storm", `{"n":1000}`), call("3", "updates", `{"rate":10000,"seconds":0.5}`)))
	w := newWorld(t, setup{llm: llm, options: obj{"approval": obj{"allow": []string{"docs/*"}}, "notifications": "off"}, servers: map[string]mcptest.Options{"docs": withoutTemplates}})
	w.fetched("docs", 3)
	uri := lsptest.FileURI(w.root + "/chat.agentls.md")
	w.Open(uri, "markdown", "@docs:file://doc7.md @docs:file://doc0.md")
	w.awaitMarks(uri, "0:6-20 2 unknownResource")
	result[agent.Result](t, w.ask("flood", nil))
	w.settled()
	if all := w.published(uri); len(all) != 1 {
		t.Errorf("published %d times: %+v", len(all), all)
	}
}
