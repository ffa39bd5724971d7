package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/mcp/workspace"
)

// The kinds of our code actions (CONTRACT §3). Never source: editors run those
// on save.
const (
	kindQuickFix protocol.CodeActionKind = "quickfix"
	kindRefactor protocol.CodeActionKind = "refactor"
	kindRewrite  protocol.CodeActionKind = "refactor.rewrite"
)

const (
	handful     = 3  // actions alike, before there is one for all
	actionMax   = 80 // code points of a foreign text in a title
	aroundLines = 20 // before and behind a diagnostic, that go along with it
)

// codeAction is what textDocument/codeAction answers. The diagnostics are the
// client's own, so that they come back as they were.
type codeAction struct {
	Title       string                  `json:"title"`
	Kind        protocol.CodeActionKind `json:"kind"`
	Diagnostics []json.RawMessage       `json:"diagnostics,omitzero"`
	Preferred   bool                    `json:"isPreferred,omitzero"`
	Edit        *protocol.WorkspaceEdit `json:"edit,omitzero"`
	Command     commandLink             `json:"command,omitzero"` // where there is no edit
	Disabled    *disabled               `json:"disabled,omitzero"`
}

// disabled says why an action cannot be chosen. Editors tell it to who asked
// for its kind.
type disabled struct {
	Reason string `json:"reason"`
}

// commandLink is LSP's Command.
type commandLink struct {
	Title     string `json:"title"`
	Command   string `json:"command"`
	Arguments []any  `json:"arguments"`
}

// documentLink is the document in a command's arguments.
type documentLink struct {
	URI         string            `json:"uri"`
	Range       *protocol.Range   `json:"range,omitzero"`
	Version     int32             `json:"version"`
	Diagnostics []json.RawMessage `json:"diagnostics,omitzero"`
}

// askLink is the argument of agentls.ask in a code action.
type askLink struct {
	Document documentLink `json:"document"`
	Action   agent.Action `json:"action"`
}

// prepareCodeAction offers what can be done at a place (CONTRACT §6). Editors
// ask on every rest of the cursor: nothing here reads a file, or a text that
// is not a prompt buffer's.
func prepareCodeAction(s *Server, _ context.Context, params []byte) (serveFunc, error) {
	r, err := decodeCodeAction(params)
	if err != nil {
		return nil, err
	}
	m := &menu{s: s, actionRequest: r}
	m.doc, m.open = s.docs.identity(r.uri)
	s.noteDiagnostics(r.uri, r.rng, r.told)
	if m.open && isPromptBuffer(m.doc) {
		m.doc, _ = s.docs.prompt(r.uri)
	}
	return func(context.Context) (any, error) { return m.answer(), nil }, nil
}

// actionRequest are the params of textDocument/codeAction.
type actionRequest struct {
	uri       string
	rng       textRange
	from, to  workspace.Position     // of rng, in order
	told      []workspace.Diagnostic // by the context
	problems  []problem              // those of told that can be named, each once
	only      []string
	automatic bool // nobody has asked for it: the cursor rests
}

// problem is a diagnostic with what the client sent of it.
type problem struct {
	workspace.Diagnostic
	raw json.RawMessage
}

func decodeCodeAction(params []byte) (r actionRequest, err error) {
	var p struct {
		TextDocument textDocument    `json:"textDocument"`
		Range        *textRange      `json:"range"`
		Context      json.RawMessage `json:"context"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return r, &paramsError{"bad textDocument or range: " + err.Error()}
	}
	if p.TextDocument.URI == "" || p.Range == nil {
		return r, &paramsError{"textDocument.uri and range are needed"}
	}
	r.uri, r.rng = p.TextDocument.URI, *p.Range
	if r.from, r.to = r.rng.places(); r.to.Compare(r.from) < 0 {
		r.from, r.to = r.to, r.from
	}
	var c map[string]json.RawMessage
	_ = json.Unmarshal(p.Context, &c) // c stays empty
	r.read(c["diagnostics"])
	r.only = lenient[[]string](c["only"])
	r.automatic = lenient[integer](c["triggerKind"]) == 2
	return r, nil
}

// read takes the diagnostics of the context.
func (r *actionRequest) read(list json.RawMessage) {
	var all []json.RawMessage
	_ = json.Unmarshal(list, &all) // no list: nothing
	seen := map[string]bool{}
	for _, raw := range all {
		d, ok := readDiagnostic(raw)
		if !ok {
			continue
		}
		r.told = append(r.told, d)
		key := fmt.Sprint(d.Position, d.End, d.Message)
		if strings.TrimSpace(d.Message) != "" && !seen[key] {
			seen[key] = true
			r.problems = append(r.problems, problem{d, raw})
		}
	}
}

// cursor reports that nothing is selected. Where a cursor is a block the
// character under it is the range.
func (r *actionRequest) cursor() bool {
	return r.from.Line == r.to.Line && r.to.Column-r.from.Column <= 1
}

// narrowed reports that only some kinds are asked for. Editors then run the
// one action that they get without a question.
func (r *actionRequest) narrowed() bool {
	return len(r.only) > 0 && !slices.Contains(r.only, "")
}

// wants says whether a kind is asked for; kinds are hierarchical.
func (r *actionRequest) wants(kind protocol.CodeActionKind) bool {
	return !r.narrowed() || slices.ContainsFunc(r.only, func(only string) bool {
		return string(kind) == only || strings.HasPrefix(string(kind), only+".")
	})
}

// menu collects the actions of one request.
type menu struct {
	s *Server
	actionRequest
	doc  document // without its text, but for a prompt buffer
	open bool
	list []codeAction
}

// answer is the result: plain commands for a client that knows no more.
func (m *menu) answer() any {
	m.control()
	if m.open && isPromptBuffer(m.doc) {
		m.mend()
		m.setUp()
	}
	if m.open && !isPromptBuffer(m.doc) {
		m.solve()
		m.selection()
		m.undo()
	}
	if m.s.peer.literals {
		return append([]codeAction{}, m.list...)
	}
	commands := []commandLink{}
	for _, a := range m.list {
		if a.Command.Command != "" { // such a client cannot take one
			commands = append(commands, a.Command)
		}
	}
	return commands
}

// offer adds an action of a wanted kind.
func (m *menu) offer(kind protocol.CodeActionKind, title, command string, argument any, diagnostics ...json.RawMessage) {
	if m.wants(kind) {
		m.list = append(m.list, codeAction{Title: title, Kind: kind, Diagnostics: diagnostics, Command: commandLink{title, command, []any{argument}}})
	}
}

func between(from, to workspace.Position) protocol.Range {
	at := func(p workspace.Position) protocol.Position {
		return protocol.Position{Line: p.Line, Character: p.Column}
	}
	return protocol.Range{Start: at(from), End: at(to)}
}

func (m *menu) document(r protocol.Range, diagnostics []json.RawMessage) documentLink {
	return documentLink{m.uri, &r, m.doc.version, diagnostics}
}

// withoutSelection says what is missing for a refactoring, to a person who has
// asked for one.
func (m *menu) withoutSelection() {
	if caps := m.s.peer.caps.TextDocument; m.automatic || !m.narrowed() || !m.s.peer.literals || caps == nil || caps.CodeAction == nil || !deref(caps.CodeAction.DisabledSupport) {
		return
	}
	for _, a := range []codeAction{{Title: "Rewrite", Kind: kindRewrite}, {Title: "Write tests", Kind: kindRefactor}, {Title: "Document", Kind: kindRefactor}} {
		if a.Disabled = (&disabled{"select the text first that it is about"}); m.wants(a.Kind) {
			m.list = append(m.list, a)
		}
	}
}

// selection offers what can be done with a selected text. A cursor at rest
// gets nothing: a bulb that is always lit says nothing.
func (m *menu) selection() {
	if m.cursor() {
		m.withoutSelection()
		if !m.automatic {
			m.offer(kindRefactor, "Ask about this…", "agentls.new", map[string]any{"document": map[string]string{"uri": m.uri}})
		}
		return
	}
	selected := between(m.from, m.to)
	ask := func(kind protocol.CodeActionKind, title string, action agent.Action) {
		m.offer(kind, title, "agentls.ask", askLink{m.document(selected, nil), action})
	}
	if len(m.problems) == 0 {
		ask(kindQuickFix, "Fix problems in selection", agent.ActionFix)
	}
	ask(kindRewrite, "Rewrite", agent.ActionRewrite)
	ask(kindRefactor, "Explain", agent.ActionExplain)
	ask(kindRefactor, "Write tests", agent.ActionTest)
	ask(kindRefactor, "Document", agent.ActionDocument)
	m.offer(kindRefactor, "Ask about this…", "agentls.new", map[string]any{"document": m.document(selected, nil)})
}
