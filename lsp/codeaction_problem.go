package lsp

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/mcp/workspace"
)

// recall takes the problems there from what the client told by itself, where
// it does not tell them with the request: Neovim gives a server none of the
// other servers' diagnostics.
func (m *menu) recall() {
	if !m.s.peer.features.diagnostics || len(m.told) > 0 {
		return
	}
	known, _ := m.s.o.State.DiagnosticsOf(m.doc.path, m.doc.spelled)
	for _, d := range known.List {
		if strings.TrimSpace(d.Message) == "" || m.to.Line < d.Line || d.End.Line < m.from.Line {
			continue
		}
		raw, err := json.Marshal(struct {
			Range    protocol.Range `json:"range"`
			Severity int            `json:"severity,omitempty"`
			Code     string         `json:"code,omitempty"`
			Source   string         `json:"source,omitempty"`
			Message  string         `json:"message"`
		}{between(d.Position, d.End), d.Severity, d.Code, d.Source, d.Message})
		if err == nil {
			m.problems = append(m.problems, problem{d, raw})
		}
	}
}

// solve offers to fix and to explain the diagnostics there.
func (m *menu) solve() {
	m.recall()
	some := m.problems[:min(len(m.problems), handful)]
	one := func(verb string, action agent.Action, list ...problem) {
		raws := make([]json.RawMessage, len(list))
		for i, p := range list {
			raws[i] = sendable(p.raw)
		}
		title := fmt.Sprintf("%s all %d problems", verb, len(list))
		if len(list) == 1 {
			title = verb + ": " + cleanTo(m.s.o.Secrets.Redact(list[0].Message), actionMax)
		}
		m.offer(kindQuickFix, title, "agentls.ask", askLink{m.document(m.around(list), raws), action}, raws...)
	}
	for _, p := range some {
		one("Fix", agent.ActionFix, p)
	}
	if len(m.problems) > handful {
		one("Fix", agent.ActionFix, m.problems[:min(len(m.problems), attachDiagnostics)]...)
	}
	for _, p := range some {
		one("Explain", agent.ActionExplain, p)
	}
}

// around is the part of the document that goes along with problems: what is
// selected too, else the lines around them.
func (m *menu) around(list []problem) protocol.Range {
	from, to := m.from, m.to
	for _, p := range list {
		if p.End == (workspace.Position{}) {
			continue // it was told without a place
		}
		if p.Compare(from) < 0 {
			from = p.Position
		}
		if to.Compare(p.End) < 0 {
			to = p.End
		}
	}
	if m.cursor() {
		from = workspace.Position{Line: from.Line - min(from.Line, aroundLines)}
		to = workspace.Position{Line: min(to.Line, math.MaxInt32) + aroundLines + 1}
	}
	return between(from, to)
}

// sendable gives JSON of the client's in a form that the strict encoder takes:
// it refuses what it does not find valid, such as a name that comes twice.
func sendable(raw json.RawMessage) json.RawMessage {
	if _, err := protocol.Marshal(raw); err == nil {
		return raw
	}
	d := json.NewDecoder(strings.NewReader(strings.ToValidUTF8(string(raw), "\uFFFD")))
	d.UseNumber()
	var v any
	_ = d.Decode(&v) // v stays nil
	fit, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return fit
}
