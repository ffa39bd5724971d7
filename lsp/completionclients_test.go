package lsp

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp/mcptest"
)

// offered is a completion item as a client has it. start is the byte of the
// line at which its edit begins.
type offered struct {
	Label, FilterText string
	InsertTextFormat  int
	TextEdit          struct {
		NewText string
		Range   lsptest.Range
	}
	start int
}

// completionClient is what a client does with completion of its own accord, as
// its source has it. Bytes are of the line.
type completionClient struct {
	name     string
	recorded string // of testdata/initialize; "": none
	info     obj    // clientInfo, where it is not the recorded one
	manual   bool   // a person asks, by a key
	begins   bool   // finds no more than what begins with what is typed

	from   func(line string, it offered) int    // where what it filters by begins
	finds  func(it offered, word string) bool   // filters an answer
	keeps  func(it offered, word string) bool   // filters what is shown at the next key; nil: the same
	closes func(key rune) bool                  // a key that closes the popup before it asks; nil: none
	again  func(key rune, incomplete bool) bool // asks at a key while the popup is there
	opens  func(line string) bool               // asks by itself beside the trigger characters; nil: never
	puts   func(line string, it offered) string // accepts
}

func edited(line string, it offered) string { return line[:it.start] + it.TextEdit.NewText }

func fromEdit(_ string, it offered) int { return it.start }

// inOrder reports that the letters of a word stand in a text in this order.
func inOrder(text, word string) bool {
	for _, r := range word {
		i := strings.IndexRune(text, r)
		if i < 0 {
			return false
		}
		text = text[i+utf8.RuneLen(r):]
	}
	return true
}

// fuzzyScore is VS Code's (src/vs/base/common/filters.ts): it looks at 128
// characters, and the first one has to match at the start of a word.
func fuzzyScore(it offered, word string) bool {
	cut := func(s string) []rune {
		r := []rune(strings.ToLower(s))
		return r[:min(len(r), 128)]
	}
	pattern, text := cut(strings.TrimLeft(word, " \t")), cut(it.FilterText)
	for i, r := range text {
		strong := i == 0 || strings.ContainsRune("_-. '\":$<>()[]{}/\\", text[i-1])
		if len(pattern) == 0 || r == pattern[0] && strong && inOrder(string(text[i:]), string(pattern)) {
			return true
		}
	}
	return len(pattern) == 0
}

func trailingWord(line string) string { return line[len(line)-trailing(line, isWord):] }

// neovim12 is runtime/lua/vim/lsp/completion.lua of 0.12 with 'completeopt'
// menuone,noselect; what is shown is filtered on by Vim, which knows words.
func neovim12(it offered, word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) }) || strings.HasPrefix(it.FilterText, word)
}

func byVim(it offered, word string) bool {
	return len(it.TextEdit.NewText) >= len(word) && strings.EqualFold(it.TextEdit.NewText[:len(word)], word)
}

// neovim10 is runtime/lua/vim/lsp/_completion.lua of 0.10.
func neovim10(it offered, word string) bool {
	text := it.TextEdit.NewText
	if it.InsertTextFormat != 1 && strings.ContainsAny(text, `$\}`) {
		return false // it is read as a snippet, and becomes another text
	}
	return strings.HasPrefix(text, word)
}

// eglot is it in a mode whose symbols are of some
// characters beside letters and digits.
func eglot(name, version, also string, finds func(offered, string) bool) completionClient {
	from := func(line string, _ offered) int {
		return len(line) - trailing(line, func(r rune) bool {
			return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(also, r)
		})
	}
	return completionClient{name: name, recorded: "eglot", info: obj{"name": "Eglot", "version": version}, manual: true, from: from, finds: finds, puts: edited}
}

func completionClients() []completionClient {
	byFilter := func(it offered, word string) bool { return strings.HasPrefix(it.FilterText, word) }
	flex := func(it offered, word string) bool { return inOrder(it.FilterText, word) }
	anyCase := func(it offered, word string) bool {
		return inOrder(strings.ToLower(it.FilterText), strings.ToLower(word))
	}
	ale := completionClient{
		name: "ALE 3.3", recorded: "vim-ale", manual: true, begins: true,
		from: func(line string, _ offered) int { return len(line) - aleWord(line) },
		finds: func(it offered, word string) bool {
			it.TextEdit.NewText, _, _ = strings.Cut(it.TextEdit.NewText, "(")
			return byVim(it, word)
		},
	}
	ale.puts = func(line string, it offered) string { return line[:ale.from(line, it)] + it.TextEdit.NewText } // whatever the range
	const text, lisp, python = "_-+*/&|<>=$%", "_-+*/&|<>=$%@:.!?~^", "_"
	old := eglot("eglot by prefix", "1.12.29", text, byFilter)
	old.begins = true
	return []completionClient{
		{
			name: "VS Code", recorded: "vscode", from: fromEdit, finds: fuzzyScore, puts: edited,
			again: func(key rune, incomplete bool) bool { return incomplete && isWord(key) },
		},
		{
			name: "Neovim 0.12 by autotrigger", recorded: "nvim12", from: fromEdit, finds: neovim12, keeps: byVim, puts: edited,
			closes: func(key rune) bool { return !isWord(key) },
			again:  func(_ rune, incomplete bool) bool { return incomplete },
		},
		{name: "Neovim 0.12 by omnifunc", recorded: "nvim12", manual: true, from: fromEdit, finds: neovim12, puts: edited},
		{name: "Neovim 0.10 by omnifunc", recorded: "nvim10", manual: true, begins: true, from: fromEdit, finds: neovim10, puts: edited},
		{
			name: "Helix", recorded: "helix", finds: anyCase, puts: edited,
			from:   func(line string, _ offered) int { return len(line) - len(trailingWord(line)) },
			closes: func(key rune) bool { return !isWord(key) },
			opens:  func(line string) bool { return utf8.RuneCountInString(trailingWord(line)) >= 2 },
			again:  func(_ rune, incomplete bool) bool { return incomplete },
		},
		eglot("eglot in text-mode", "1.17.30", text, flex),
		eglot("eglot in emacs-lisp-mode", "1.17.30", lisp, flex),
		eglot("eglot in python-mode", "1.17.30", python, flex),
		old,
		{name: "one that filters by prefix", info: obj{"name": "unknown"}, manual: true, from: fromEdit, finds: byFilter, puts: edited},
		{name: "kakoune-lsp", info: obj{"name": "kakoune-lsp"}, manual: true, from: fromEdit, finds: flex, puts: edited},
		ale,
	}
}

// typing is a person that types a mention into a client.
type typing struct {
	*world
	client   completionClient
	uri      string
	triggers []string
	encoding protocol.PositionEncodingKind

	line       string
	open       bool // the popup
	items      []offered
	incomplete bool
}

func newTyping(t *testing.T, client completionClient) *typing {
	listed := []string{
		"docs://log/main.go", "docs://dir/other-page.md", "file:///my docs/read me.md", "docs://日本/メモ.md", "docs://x/17\tBilling guide",
		`docs://p/a$b\c}.md`, "docs://one/same.md", "docs://two/same.md", "docs://" + strings.Repeat("long/", 40) + "end.md", `file:///q"uo>te.md`,
	}
	u := setup{llm: agenttest.NewLLM(t), servers: map[string]mcptest.Options{"fs": {
		Scheme: "docs", Listed: listed, Prompts: []json.RawMessage{json.RawMessage(`{"name":"two words","arguments":[{"name":"branch"}]}`)},
		Values: map[string][]string{"focus": {"security", "speed"}, "branch": {"main", "my branch"}},
	}}}
	u.init.Extra = obj{}
	var recorded struct {
		Params struct {
			ClientInfo, Capabilities obj
		}
	}
	if client.recorded != "" {
		raw, err := os.ReadFile("testdata/initialize/" + client.recorded + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &recorded); err != nil {
			t.Fatal(err)
		}
		u.init.Capabilities = recorded.Params.Capabilities
	}
	if client.info == nil {
		client.info = recorded.Params.ClientInfo
	}
	if u.init.Client = "-"; client.info != nil {
		u.init.Extra["clientInfo"] = client.info
	}
	w := newWorld(t, u)
	p := &typing{world: w, client: client, uri: lsptest.FileURI(w.root + "/chat.agentls.md"), triggers: w.server.peer.completionTriggers(), encoding: w.server.peer.encoding}
	w.Open(p.uri, "markdown", "")
	p.ready()
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 2 })
	return p
}

// ready waits until the server completes what is listed, and types nothing.
func (p *typing) ready() {
	p.t.Helper()
	p.line = "@fs:docs://log/main.go"
	p.Edit(p.uri, lsptest.TextEdit{NewText: p.line})
	poll(p.t, "resource completes", func() bool {
		p.ask()
		return len(p.items) > 0
	})
	p.line, p.open, p.items = "", false, nil
}

// ask asks the server.
func (p *typing) ask() {
	p.t.Helper()
	raw := p.Call("textDocument/completion", obj{"textDocument": obj{"uri": p.uri}, "position": obj{"line": 0, "character": unitsIn(p.line, p.encoding)}})
	list := decodeAs[struct {
		IsIncomplete bool
		Items        []offered
	}](p.t, raw)
	p.items, p.incomplete = list.Items, list.IsIncomplete
	for i := range p.items {
		r := p.items[i].TextEdit.Range
		p.items[i].start = byteOf(p.line, uint32(r.Start.Character), p.encoding)
		if end := byteOf(p.line, uint32(r.End.Character), p.encoding); end != len(p.line) {
			p.t.Fatalf("%q: an edit ends at %d", p.line, end)
		}
	}
	p.show(p.client.finds)
}

func (p *typing) show(filter func(offered, string) bool) {
	var shown []offered
	for _, it := range p.items {
		if filter(it, p.line[p.client.from(p.line, it):]) {
			shown = append(shown, it)
		}
	}
	p.items, p.open = shown, len(shown) > 0
}

// key types a character. asked: the client had a reason to ask, or shows what
// it got before.
func (p *typing) key(key rune) (asked bool) {
	p.t.Helper()
	c := p.client
	p.line += string(key)
	p.Edit(p.uri, lsptest.TextEdit{NewText: p.line})
	trigger := strings.Contains(strings.Join(p.triggers, ""), string(key))
	was := p.open && (c.closes == nil || !c.closes(key))
	switch {
	case c.manual, trigger && (!was || c.closes == nil), !was && c.opens != nil && c.opens(p.line), was && c.again(key, p.incomplete):
		p.ask()
		return true
	case was && c.keeps != nil:
		p.show(c.keeps)
	case was:
		p.show(c.finds)
	default:
		p.open, p.items = false, nil
	}
	return was
}

// The right item stays in each client's list at every key, and is what is put
// in (microsoft/vscode#183200, ansible/vscode-ansible#556).
func TestCompletionThroughEachClientsFilter(t *testing.T) {
	for _, client := range completionClients() {
		t.Run(client.name, func(t *testing.T) {
			p := newTyping(t, client)
			for _, c := range completionCases() {
				if c.searches && client.begins {
					continue
				}
				p.types(c)
			}
		})
	}
}

type completionCase struct {
	before      string // stands there already
	typed, want string
	bare        string // what will do too where quotes would not be found
	searches    bool   // want does not begin with typed
}

func completionCases() []completionCase {
	long := "@fs:docs://" + strings.Repeat("long/", 40) + "end.md"
	return []completionCase{
		{typed: "@fs:docs://log/main.go", want: "@fs:docs://log/main.go"},
		{typed: "see (@fs:docs://dir/other-page.md", want: "see (@fs:docs://dir/other-page.md"},
		{typed: "@fs:docs://日本/メモ.md", want: "@fs:docs://日本/メモ.md"},
		{typed: `@fs:docs://p/a$b\c}.md`, want: `@fs:docs://p/a$b\c}.md`},
		{typed: "@fs:<file:///my docs/read me.md", want: "@fs:<file:///my docs/read me.md>"},
		{typed: "@fs:file:///my", want: "@fs:<file:///my docs/read me.md>", bare: "@fs:file:///my docs/read me.md"},
		{typed: `@fs:file:///q"uo`, want: `@fs:<file:///q"uo>te.md>`, bare: `@fs:file:///q"uo>te.md`},
		{typed: long, want: long},
		{typed: "@fs:docs://doc0.m", want: "@fs:docs://doc0.md"},
		{typed: "@fs:docs://two/same.md", want: "@fs:docs://two/same.md"},
		{typed: "@fs", want: "@fs:"},
		{typed: "@main", want: "@fs:docs://log/main.go", searches: true},
		{typed: "@MAIN.G", want: "@fs:docs://log/main.go", searches: true},
		{typed: "@fs:end.md", want: long, searches: true},
		{typed: "@billing", want: "@fs:docs://x/17", searches: true},
		{typed: "@fs:guide", want: "@fs:docs://x/17", searches: true},
		{typed: "@FS:docs://one/sa", want: "@fs:docs://one/same.md", searches: true},
		{typed: "/mcp", want: "/mcp"},
		{typed: "/fs:review", want: "/fs:review"},
		{typed: `/fs:"two wo`, want: `/fs:"two words"`},
		{before: "/mcp", typed: " resources", want: "/mcp resources"},
		{before: "/mcp restart", typed: " fs", want: "/mcp restart fs"},
		{before: "/fs:review", typed: " focus", want: "/fs:review focus="},
		{before: "/fs:review focus", typed: "=speed", want: "/fs:review focus=speed"},
		{before: `/fs:"two words"`, typed: " main", want: `/fs:"two words" main`},
		{before: `/fs:"two words" branch`, typed: `="my b`, want: `/fs:"two words" branch="my branch"`},
		{before: `/fs:"two words"`, typed: ` "my b`, want: `/fs:"two words" "my branch"`},
	}
}

// types types a case, and looks at the list at each key. A client that closes
// its popup at a key has none until a reason comes to ask again.
func (p *typing) types(c completionCase) {
	p.t.Helper()
	p.line, p.open, p.items = c.before, false, nil
	closed := false
	for _, key := range c.typed {
		asked := p.key(key)
		if !strings.Contains(p.line, "@") && !strings.HasPrefix(p.line, "/") {
			continue
		}
		closes := p.client.closes != nil && p.client.closes(key) && !strings.ContainsRune(strings.Join(p.triggers, ""), key)
		if closed = !asked && (closed || closes); closed {
			continue
		}
		var got []string
		for _, it := range p.items {
			got = append(got, p.client.puts(p.line, it))
		}
		if !slices.Contains(got, c.want) && (c.bare == "" || !slices.Contains(got, c.bare)) {
			p.t.Errorf("typing %q: %q is not among %.300q", p.line, c.want, got)
			return
		}
	}
	if closed {
		p.t.Logf("no popup at the end of %q", c.typed)
	}
}

// An address is no mention, whatever of it is typed, and an odd context, or
// none, changes nothing.
func TestCompletionContexts(t *testing.T) {
	p := newTyping(t, completionClient{info: obj{"name": "unknown"}, from: fromEdit, finds: fuzzyScore})
	for _, key := range "mail me@fs:docs://log" {
		p.line += string(key)
		p.Edit(p.uri, lsptest.TextEdit{NewText: p.line})
		if p.ask(); len(p.items) > 0 {
			t.Fatalf("%q completes", p.line)
		}
	}
	p.line = "@fs:docs://log"
	p.Edit(p.uri, lsptest.TextEdit{NewText: p.line})
	for _, context := range []any{nil, obj{}, []any{}, 5, "x", obj{"triggerKind": "one", "triggerCharacter": 7}, obj{"triggerKind": 9}, obj{"triggerKind": 2, "triggerCharacter": "@"}} {
		raw := p.Call("textDocument/completion", obj{"textDocument": obj{"uri": p.uri}, "position": obj{"line": 0, "character": 14}, "context": context})
		if !strings.Contains(string(raw), "@fs:docs://log/main.go") {
			t.Errorf("context %v: %s", context, raw)
		}
	}
}
