package workspace

import (
	"fmt"
	"strings"
	"unicode"
)

// maxListing is the length in bytes from which diagnostics are left out.
const maxListing = 1 << 20

// diagnosticsText is the body of a resource: those of one file, or with a nil
// folder all of them but what files with secrets have.
func (s *State) diagnosticsText(f *folder, rel string) string {
	var b strings.Builder
	glimpsed := false
	for _, file := range s.diagnosedFiles() {
		if f != nil && (file.f == nil || file.f.path != f.path || file.rel != rel) || f == nil && SecretName(file.rel) {
			continue
		}
		glimpsed = glimpsed || file.Glimpsed
		for i := range file.List {
			if b.Len() > maxListing {
				b.WriteString("[more diagnostics are left out]\n")
				return b.String()
			}
			s.writeDiagnostic(&b, onOneLine(file.name)+":", &file.List[i])
		}
	}
	switch {
	case b.Len() == 0:
		return "No diagnostics.\n"
	case glimpsed:
		b.WriteString("[as of the last code action: the editor does not tell the others]\n")
	}
	return b.String()
}

// DiagnosticText writes a diagnostic as line:column: severity: message [source
// code], line and column from 1. Further lines, those of the message and of
// related places, are indented.
func (s *State) DiagnosticText(d Diagnostic) string {
	var b strings.Builder
	s.writeDiagnostic(&b, "", &d)
	return strings.TrimSuffix(b.String(), "\n")
}

func (s *State) writeDiagnostic(b *strings.Builder, before string, d *Diagnostic) {
	severity := "error"
	if i := d.Severity - 1; i >= 0 && i < len(severities) {
		severity = severities[i]
	}
	fmt.Fprintf(b, "%s%d:%d: %s: %s", before, d.Line+1, d.Column+1, severity, indented(d.Message))
	if origin := strings.TrimSpace(onOneLine(d.Source + " " + d.Code)); origin != "" {
		fmt.Fprintf(b, " [%s]", origin)
	}
	b.WriteByte('\n')
	for _, r := range d.Related {
		where := r.URI
		if f, rel, ok := s.folderOf(r.Path); r.Path != "" && ok {
			where = displayName(f, rel, len(s.roots()) > 1)
		}
		fmt.Fprintf(b, "    %s:%d:%d: %s\n", onOneLine(where), r.Line+1, r.Column+1, indented(r.Message))
	}
}

//nolint:gochecknoglobals // a constant table
var severities = []string{"error", "warning", "information", "hint"}

// indented keeps further lines of a message from being taken for diagnostics.
func indented(message string) string {
	message = strings.ToValidUTF8(strings.ReplaceAll(strings.TrimSpace(message), "\r\n", "\n"), "\uFFFD")
	message = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' {
			return ' '
		}
		return r
	}, message)
	return strings.ReplaceAll(message, "\n", "\n    ")
}

func onOneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
