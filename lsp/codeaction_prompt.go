package lsp

import (
	"encoding/json"

	"go.lsp.dev/protocol"

	"agentls/mcp/workspace"
)

// mend offers what mends the problems of a prompt at the place asked about,
// also to a client that does not send its diagnostics back. A fix of one kind
// may be the only one: it does what its diagnostic says, and what is trusted is
// asked first.
func (m *menu) mend() {
	if !m.wants(kindQuickFix) {
		return
	}
	text, whole := m.doc.text, between(m.from, m.to)
	place := textSpan{m.s.docs.offset(text, whole.Start), m.s.docs.offset(text, whole.End)}
	problems := m.s.problemsAt(m.s.bufferState(m.s.promptModel(m.doc)), place)
	spans := make([]textSpan, len(problems))
	for i, p := range problems {
		spans[i] = p.at
	}
	offered := map[string]bool{}
	for i, r := range m.s.rangesOf(text, spans) {
		solves := m.sent(problems[i].code, r)
		for _, f := range problems[i].fixes {
			if key := f.title + "\x00" + f.server; f.command == "" || !offered[key] { // one restart mends several
				offered[key] = true
				m.list = append(m.list, m.fix(f, solves))
			}
		}
	}
}

func (m *menu) fix(f promptFix, solves []json.RawMessage) codeAction {
	a := codeAction{Title: f.title, Kind: kindQuickFix, Diagnostics: solves, Preferred: f.exact}
	if f.command != "" {
		a.Command = commandLink{f.title, f.command, []any{map[string]string{"server": f.server}}}
		return a
	}
	spans := make([]textSpan, len(f.edits))
	for i, e := range f.edits {
		spans[i] = e.at
	}
	edits := make([]protocol.TextEdit, len(f.edits))
	for i, r := range m.s.rangesOf(m.doc.text, spans) {
		edits[i] = protocol.TextEdit{Range: r, NewText: f.edits[i].text}
	}
	edit := m.s.applyEdit(change{of: m.doc, edits: edits}).Edit
	a.Edit = &edit
	return a
}

// sent finds the diagnostics of a problem among those that the client sent.
func (m *menu) sent(code problemCode, r protocol.Range) (list []json.RawMessage) {
	at := workspace.Position{Line: r.Start.Line, Column: r.Start.Character}
	for _, p := range m.problems {
		if p.Source == diagnosticSource && p.Code == string(code) && p.Position == at {
			list = append(list, p.raw)
		}
	}
	return list
}
