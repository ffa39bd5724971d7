package lsp

import (
	"fmt"

	"go.lsp.dev/protocol"
)

// diagnosticSource is the source of our diagnostics.
const diagnosticSource = "agentls"

// promptDiagnostics are the diagnostics of a prompt buffer's problems. more is
// how many beyond them there are: the last one says so.
func (s *Server) promptDiagnostics(text string, problems []promptProblem, more int) []protocol.Diagnostic {
	list := make([]protocol.Diagnostic, len(problems))
	spans := make([]textSpan, len(problems))
	for i, p := range problems {
		spans[i] = p.at
	}
	for i, r := range s.rangesOf(text, spans) {
		p := problems[i]
		if more > 0 && i == len(problems)-1 {
			p.message += fmt.Sprintf(" (%d more like this are not shown)", more)
		}
		list[i] = protocol.Diagnostic{
			Range: r, Severity: p.severity, Code: protocol.String(p.code), Source: protocol.NewOptional(diagnosticSource), Message: protocol.String(p.message),
		}
	}
	return list
}
