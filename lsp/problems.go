package lsp

import (
	"fmt"
	"slices"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"agentls/agent/config"
)

// tell shows problems where the user looks: in the log, and at their file.
func (t *settings) tell(problems []config.Problem) {
	files := make(map[uri.URI][]protocol.Diagnostic)
	var fresh []config.Problem
	for _, p := range problems {
		if !slices.Contains(t.told, p) {
			fresh = append(fresh, p)
			t.s.logMessage(severityType(p), t.words(p.String()))
		}
		if p.File != "" {
			file := uri.File(p.File)
			files[file] = append(files[file], t.diagnose(p))
		}
	}
	for file := range t.marked {
		if files[file] == nil {
			t.s.notify("textDocument/publishDiagnostics", protocol.PublishDiagnosticsParams{URI: file})
			delete(t.marked, file)
		}
	}
	if !slices.Equal(t.told, problems) {
		for file, list := range files {
			t.s.notify("textDocument/publishDiagnostics", protocol.PublishDiagnosticsParams{URI: file, Diagnostics: list})
			t.marked[file] = true
		}
	}
	t.told = problems
	t.popUp(fresh)
}

// popUp tells that something is wrong to who looks at neither the log nor the
// open file: what is passed over may be a rule that denies. What a server or
// the provider says of itself is not told twice.
func (t *settings) popUp(fresh []config.Problem) {
	fresh = slices.DeleteFunc(fresh, func(p config.Problem) bool { return p.Elsewhere || t.shown(p) })
	if len(fresh) == 0 || t.s.cfg.Load().Notifications == "off" {
		return
	}
	text := "agentls: something in the configuration is passed over: " + t.words(fresh[0].String())
	if more := len(fresh) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more in the log)", more)
	}
	t.s.showMessage(protocol.MessageTypeWarning, text)
}

// shown reports whether the person has the file before them, and in it the
// problem.
func (t *settings) shown(p config.Problem) bool {
	if p.File == "" {
		return false
	}
	_, open := t.s.docs.get(string(uri.File(p.File)))
	return open
}

// severityType is how loud a problem is told.
func severityType(p config.Problem) protocol.MessageType {
	if p.Disables {
		return protocol.MessageTypeError
	}
	return protocol.MessageTypeWarning
}

// problemLimit is more than clean shows: a problem begins with its file.
const problemLimit = 1000

// words makes a problem fit to be shown: it quotes keys and values of files
// that may come with a project.
func (t *settings) words(text string) string {
	return cleanTo(t.s.o.Secrets.Redact(text), problemLimit)
}

// lineEnd is beyond any line; clients clamp it.
const lineEnd = 1000

func (t *settings) diagnose(p config.Problem) protocol.Diagnostic {
	text := p.Message
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	line, from, to := uint32(max(0, p.Line-1)), uint32(p.From), uint32(p.To)
	if to == 0 {
		to = lineEnd
	}
	d := protocol.Diagnostic{
		Range:    protocol.Range{Start: protocol.Position{Line: line, Character: from}, End: protocol.Position{Line: line, Character: to}},
		Severity: protocol.DiagnosticSeverityWarning,
		Source:   protocol.NewOptional(diagnosticSource),
		Message:  protocol.String(t.words(text)),
	}
	if p.Disables {
		d.Severity = protocol.DiagnosticSeverityError
	}
	return d
}
