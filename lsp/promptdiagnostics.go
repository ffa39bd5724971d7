package lsp

import (
	"fmt"

	"go.lsp.dev/protocol"
)

// maxProblems bounds the diagnostics of a buffer; the last one says how many
// more there are.
const maxProblems = 500

// promptDiagnostics are the diagnostics of a prompt buffer's problems.
func (s *Server) promptDiagnostics(text string, problems []promptProblem) []protocol.Diagnostic {
	list := make([]protocol.Diagnostic, 0, min(len(problems), maxProblems))
	spans := make([]textSpan, 0, cap(list))
	for _, p := range problems[:min(len(problems), maxProblems)] {
		spans = append(spans, p.at)
	}
	for i, r := range s.rangesOf(text, spans) {
		p := problems[i]
		if i == maxProblems-1 && len(problems) > maxProblems {
			p.message += fmt.Sprintf(" (%d more are not shown)", len(problems)-maxProblems)
		}
		list = append(list, protocol.Diagnostic{
			Range: r, Severity: p.severity, Code: protocol.String(p.code), Source: protocol.NewOptional(diagnosticSource), Message: protocol.String(p.message),
		})
	}
	return list
}

// diagnosticSource is the source of our diagnostics.
const diagnosticSource = "agentls"
