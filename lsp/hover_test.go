package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// hovered is what a hover says, and of which text.
type hovered struct{ kind, value, of string }

// hover asks at the '|' of a text, which becomes that of a prompt buffer.
func (w *world) hover(text string) *hovered {
	w.t.Helper()
	before, after, ok := strings.Cut(text, "|")
	if !ok {
		w.t.Fatalf("no place in %q", text)
	}
	uri := lsptest.FileURI(filepath.Join(w.root, "hover.agentls.md"))
	w.Open(uri, "markdown", before+after)
	raw := w.Call("textDocument/hover", obj{"textDocument": obj{"uri": uri}, "position": lsptest.End(before)})
	h := decodeAs[*struct {
		Contents struct{ Kind, Value string }
		Range    struct{ Start, End lsptest.Position }
	}](w.t, raw)
	if h == nil {
		return nil
	}
	d := newDocuments(nil)
	at := func(p lsptest.Position) int {
		return d.offset(before+after, textPosition{integer(p.Line), integer(p.Character)}.position())
	}
	return &hovered{h.Contents.Kind, h.Contents.Value, (before + after)[at(h.Range.Start):at(h.Range.End)]}
}

// hovers are capabilities with a format of hovers.
func hovers(formats ...string) lsptest.Init {
	caps := lsptest.Capabilities()
	caps["textDocument"].(obj)["hover"] = obj{"contentFormat": formats}
	return lsptest.Init{Capabilities: caps}
}

// awaitListed waits until a mention is that of a listed resource.
func (w *world) awaitListed(mention string) {
	w.t.Helper()
	poll(w.t, mention+" in the list", func() bool {
		list := w.server.o.Manager.Mentions(mention)
		return len(list) == 1 && list[0].Known
	})
}

func TestHover(t *testing.T) {
	body := "# Title *x*\n```\n## You\n\tindented [a](command:b)\u202e\n" + strings.Repeat("more\n", 20)
	w := newWorld(t, setup{
		init: hovers("markdown", "plaintext"),
		servers: fake(mcptest.Options{Text: body, Prompts: []json.RawMessage{
			json.RawMessage(`{"name":"two words","title":"A [t](command:x)","description":"<b>&amp;</b> _so_ a_b","arguments":[{"name":"a b","description":"1. one"},{"name":"c","required":true}]}`),
		}}),
		files: map[string]string{"big.go": strings.Repeat("é", 300_000), "a b.txt": "one\r\ntwo\r\n"},
	})
	w.awaitListed("@fake:file://doc1.md")
	w.awaitListed("@workspace:file://big.go")
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 2 })
	check := func(text, of string, parts ...string) {
		t.Helper()
		var got *hovered
		poll(t, "an answer in time", func() bool { // the machine may be slower than hoverWait
			got = w.hover(text)
			return got == nil || !strings.HasSuffix(got.value, errSlowRead.Error())
		})
		if got == nil {
			t.Errorf("%q: null", text)
			return
		}
		if got.kind != "markdown" || got.of != of {
			t.Errorf("%q: %s of %q, want %q", text, got.kind, got.of, of)
		}
		if want := strings.Join(parts, "\n"); got.value != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got.value, want)
		}
	}
	check("😀 (@fake:file://do|c1.md)", "@fake:file://doc1.md", "**doc1.md**  ", "`file://doc1.md`  ", "text/markdown · 151 bytes", "", "Document doc1.md", "",
		"fake · sent with the prompt", "", "````md", "# Title *x*", "```", "## You", "\tindented [a](command:b)",
		"more", "more", "more", "more", "more", "more", "more", "more", "…", "````")
	check("`@fake:file://do|c1.md`", "@fake:file://doc1.md", "**doc1.md**  ", "`file://doc1.md`  ", "text/markdown", "", "Document doc1.md", "",
		"fake · left alone: it stands in quotes, backticks or a fence")
	check("@fake:file://doc9.md|", "@fake:file://doc9.md", "`file://doc9.md`", "", "fake · cannot be shown: the server has no such resource; did you mean file://doc0.md or file://doc1.md or file://doc2.md?")
	check("## You\n|@workspace:<file://a%20b.txt> x", "@workspace:<file://a%20b.txt>", "**a b.txt**  ", "`file://a%20b.txt`  ", "text/plain · 10 bytes", "",
		"workspace · sent with the prompt", "", "```txt", "one", "two", "```")
	check("@workspace:file://bi|g.go", "@workspace:file://big.go", "**big.go**  ", "`file://big.go`  ", "text/x-go · 585.9 KiB", "",
		"workspace · its first 200000 characters of 300000 are sent with the prompt", "", "```go", strings.Repeat("é", 120)+"…", "…", "```")
	check("@fak:|x:y", "@fak:x:y", "No MCP server is named `fak`: this is sent as text; did you mean fake?")
	check("/fake:re|view x", "/fake:review", "**Review**  ", "`/fake:review focus=…`", "", "Review a pull request", "", "`focus` (required)")
	check(`/fake:"two| words"`, `/fake:"two words"`, `**A [t] (command:x)**  `, "`/fake:\"two words\" [\"a b\"=…] c=…`", "", `\<b>\&amp;\</b> \_so\_ a_b`, "",
		"`a b`: 1. one  ", "`c` (required)")
	check("/fake:revie|", "/fake:revie", "`fake` has no prompt `revie`; did you mean review?")
	check("/fake|s:x", "/fakes:x", "No MCP server is named `fakes`; did you mean fake?")
	check("/mcp |x", "/mcp", "`/mcp [list | tools|resources|prompts|logs|restart|enable|disable|logout NAME | login NAME [ADDRESS]]`", "", "show the MCP servers, or act on one")
	check("/mpc|", "/mpc", "There is no command `/mpc`, so the prompt is not sent; did you mean mcp?")

	check("hi\n/m|cp", "/mcp", "Only the first line of a prompt can be a command: with this one here the prompt is not sent; to send the line as text, indent it by a space or put it into backticks.")
	check("/fake:review @fake:file://do|c1.md", "/fake:review", "**Review**  ", "`/fake:review focus=…`", "", "Review a pull request", "", "`focus` (required)")

	for _, text := range []string{
		"## Yo|u\nx", "pla|in words", "## You\nx\n## Agent\n@fake:file://do|c1.md", "## You\nx\n## Agent\n/m|cp", "intro /m|cp\n## You", "/usr/bin/en|v", "/ |x", "me@fa|ke:x:y", "|",
		"```\n/m|cp\n```", "## You\n## Age|nt", "```\n@nobody:|x:y\n```",
	} {
		if got := w.hover(text); got != nil {
			t.Errorf("%q: %+v, want null", text, got)
		}
	}

	// What is open in the editor is what is sent.
	readme := lsptest.FileURI(filepath.Join(w.root, "README.md"))
	w.Open(readme, "markdown", "unsaved words")
	poll(t, "the editor's text", func() bool {
		got := w.hover("@workspace:file://README.md|")
		return got != nil && strings.HasSuffix(got.value, "```md\nunsaved words\n```")
	})
}

// A prompt of very many arguments makes no popup without an end.
func TestHoverOfManyArguments(t *testing.T) {
	p := mcp.PromptCandidate{Name: "fake", Prompt: mcp.Prompt{Name: "many"}}
	for range maxArguments + 70 {
		p.Prompt.Arguments = append(p.Prompt.Arguments, mcp.PromptArgument{Name: "a", Description: "about it"})
	}
	m := newMarkup(nil)
	idleServer(t, protocol.PositionEncodingKindUTF16).describePrompt(m, p)
	if got := m.content().Value; strings.Count(got, "about it") != maxArguments || !strings.HasSuffix(got, "about it\nand 70 more") {
		t.Errorf("%s", got)
	}
}

// A hover in plain text cannot be left by what it shows, either.
func TestHoverInPlainText(t *testing.T) {
	w := newWorld(t, setup{init: hovers("plaintext"), servers: fake(mcptest.Options{Text: "one\n\nfake · sent *now*\u200b\n"})})
	w.awaitListed("@fake:file://doc1.md")
	want := "doc1.md\nfile://doc1.md\ntext/markdown · 27 bytes\n\nDocument doc1.md\n\nfake · sent with the prompt\n\n│ one\n│ \n│ fake · sent *now*"
	if got := w.hover("@fake:file://doc1.md|"); got == nil || got.kind != "plaintext" || got.value != want {
		t.Errorf("%+v, want\n%s", got, want)
	}
}

// A hover waits a second for a server, and no longer; what it read is audited,
// what it shows from the cache is read no more.
func TestHoverReads(t *testing.T) {
	log := mcptest.NewLog(t)
	w := newWorld(t, setup{init: hovers("markdown"), servers: map[string]mcptest.Options{
		"slow": {Unanswered: []string{"resources/read"}}, "fast": {Log: string(log)},
	}})
	w.awaitListed("@slow:file://doc1.md")
	w.awaitListed("@fast:file://doc1.md")
	begin := time.Now()
	if got := w.hover("@slow:file://doc1.md|"); got == nil || !strings.HasSuffix(got.value, "slow · cannot be shown: the server did not answer within a second") {
		t.Errorf("%+v", got)
	}
	if took := time.Since(begin); took > 10*hoverWait {
		t.Errorf("it took %v", took)
	}
	for range 3 {
		if got := w.hover("@fast:file://doc1.md|"); got == nil || !strings.Contains(got.value, "# Content of file://doc1.md v0") {
			t.Errorf("%+v", got)
		}
	}
	if n := len(log.Method(t, "resources/read")); n != 1 {
		t.Errorf("%d reads reached the server", n)
	}
	var lines []string
	for _, raw := range commandAs[[]json.RawMessage](w, "agentls.audit", nil) {
		l := decodeAs[struct {
			Server, Tool, DecidedBy string
			Outcome                 agent.Outcome
			Arguments               struct{ URI string }
		}](t, raw)
		lines = append(lines, strings.Join([]string{l.Server, l.Tool, l.Arguments.URI, l.DecidedBy, string(l.Outcome)}, " "))
	}
	if got := strings.Join(lines, ", "); got != "slow read_resource file://doc1.md command cancelled, fast read_resource file://doc1.md command completed" {
		t.Errorf("the audit has %s", got)
	}
}

// A hover and a link that are cancelled are answered at once, and their reads
// end.
func TestReadingIsCancelled(t *testing.T) {
	log := mcptest.NewLog(t)
	w := newWorld(t, setup{init: hovers("markdown"), servers: map[string]mcptest.Options{"slow": {Log: string(log), Unanswered: []string{"resources/read"}}}})
	w.awaitListed("@slow:file://doc1.md")
	uri := lsptest.FileURI(filepath.Join(w.root, "a.agentls.md"))
	w.Open(uri, "markdown", "@slow:file://doc1.md")
	for i, p := range []func() *lsptest.Pending{
		func() *lsptest.Pending {
			return w.Start("textDocument/hover", obj{"textDocument": obj{"uri": uri}, "position": obj{"line": 0, "character": 3}})
		},
		func() *lsptest.Pending {
			return w.Start("documentLink/resolve", obj{"range": lsptest.Range{}, "data": obj{"server": "slow", "uri": "file://doc1.md"}})
		},
	} {
		pending := p()
		poll(t, "the read", func() bool { return len(log.Method(t, "resources/read")) == i+1 })
		pending.Cancel()
		failure(t, pending, -32800)
		poll(t, "the cancel at the server", func() bool { return len(log.Method(t, "notifications/cancelled")) == i+1 })
	}
}

// A server that is not ready is neither started nor asked about; the hover says
// what to do.
func TestHoverOfServersThatAreNotReady(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "started")
	w := newWorld(t, setup{
		init: hovers("markdown"), answers: map[string]lsptest.Answer{"window/showMessageRequest": silent},
		options: obj{"workspaceTrusted": false, "mcpServers": obj{"off": obj{"command": "x", "disabled": true}, "bad": obj{"command": filepath.Join(t.TempDir(), "nothing")}}},
		files:   map[string]string{".mcp.json": `{"mcpServers": {"project": {"command": "touch", "args": ["` + marker + `"]}}}`},
	})
	w.awaitStatus("bad", mcp.StatusFailed)
	w.awaitStatus("project", mcp.StatusUntrusted)
	for mention, want := range map[string]string{
		"@off:x:y":     "off · the server is disabled in ",
		"@bad:x:y":     "bad · the server cannot be used: ",
		"@project:x:y": "before you trust it",
	} {
		if got := w.hover(mention + "|"); got == nil || !strings.Contains(got.value, want) {
			t.Errorf("%s: %+v", mention, got)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a server was started that is not trusted")
	}
}

func silent(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent }

// In a folder that is not trusted a diff is not read: the question for the trust
// comes with the prompt, not because a pointer rests somewhere.
func TestHoverAsksNothing(t *testing.T) {
	w := newWorld(t, setup{init: hovers("markdown"), options: obj{"workspaceTrusted": false}})
	w.awaitStatus(workspaceServer, mcp.StatusReady)
	if got := w.hover("@workspace:git://diff/unstaged|"); got == nil || !strings.Contains(got.value, "workspace · cannot be shown: the workspace folder is not trusted") {
		t.Errorf("%+v", got)
	}
	if lines := commandAs[[]json.RawMessage](w, "agentls.audit", nil); len(lines) > 0 { // see TestHoverReads
		t.Errorf("it was read: %s", lines)
	}
}

// FuzzHoverFence: what a resource holds cannot leave its block, in either
// format.
func FuzzHoverFence(f *testing.F) {
	f.Add("```\n````\n~~~", "go", "file://a.md")
	f.Add("\x00\x1b[31mred\u2028```\r`", "`x\n", "x:<y>")
	f.Fuzz(func(t *testing.T, body, language, name string) {
		s := &Server{o: Options{Secrets: mcp.NewSecrets()}}
		for _, format := range []protocol.MarkupKind{protocol.MarkupKindMarkdown, protocol.MarkupKindPlainText} {
			m := newMarkup([]protocol.MarkupKind{format})
			s.describe(m, mcp.Resource{URI: name, Title: body, Description: body, MIMEType: language, Modified: name}, false, -1)
			if text := m.b.String(); strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && agent.Unseen(r) }) {
				t.Fatalf("%q shows what is not seen", text)
			}
			for l := walkMarkdown(m.b.String()); m.markdown && l.next(); {
				if l.fenced || strings.HasPrefix(l.line, "#") || strings.Contains(l.line, "](") {
					t.Fatalf("%q is not only text", m.b.String())
				}
			}
			head := m.b.Len()
			lines, _ := cleanLines(body, hoverLines, hoverWidth)
			if strings.ContainsFunc(lines, func(r rune) bool { return r != '\n' && r != '\t' && agent.Unseen(r) }) || strings.Count(lines, "\n") >= hoverLines {
				t.Fatalf("%q becomes %q", body, lines)
			}
			m.block(lines, language)
			m.paragraph()
			m.text("after")
			checkBlock(t, m, head, lines)
		}
	})
}

// checkBlock looks at a block behind a head, and at what stands behind it.
func checkBlock(t *testing.T, m *markup, head int, lines string) {
	t.Helper()
	text := m.b.String()
	if !strings.HasSuffix(text, "\n\nafter") {
		t.Fatalf("%q", text)
	}
	var inside []string
	for l := walkMarkdown(text); l.next(); {
		switch {
		case l.start < head:
		case m.markdown && l.fenced, !m.markdown && strings.HasPrefix(l.line, "│ "):
			inside = append(inside, strings.TrimPrefix(l.line, "│ "))
		case l.line != "" && l.line != "after":
			t.Fatalf("%q: %q has left its block", text, l.line)
		}
	}
	if m.markdown {
		inside = inside[1 : len(inside)-1]
	}
	if got := strings.Join(inside, "\n"); got != strings.ReplaceAll("\n"+lines, "\n│ ", "\n")[1:] {
		t.Fatalf("%q holds %q", lines, got)
	}
}
