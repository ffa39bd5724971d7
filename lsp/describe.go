package lsp

import (
	"cmp"
	"fmt"
	"strings"

	"agentls/mcp"
)

// describe says what is known of a resource without reading it, in a popup of
// completion and of hover. size is in bytes; -1: as far as it is listed.
func (s *Server) describe(m *markup, r mcp.Resource, stale bool, size int64) {
	if name := s.tell(cmp.Or(r.Title, r.Name)); name != "" && name != s.tell(r.URI) {
		m.strong(name)
		m.line()
	}
	m.code(s.tell(r.URI))
	if r.Size != nil && size < 0 {
		size = *r.Size
	}
	var facts []string
	if r.MIMEType != "" {
		facts = append(facts, s.tell(r.MIMEType))
	}
	if size >= 0 {
		facts = append(facts, byteCount(size))
	}
	if r.Modified != "" {
		facts = append(facts, "modified "+s.tell(r.Modified))
	}
	if r.Priority > 0 {
		facts = append(facts, fmt.Sprintf("priority %.2g", r.Priority))
	}
	if len(r.Audience) > 0 {
		facts = append(facts, "for "+s.tell(strings.Join(r.Audience, ", ")))
	}
	if r.Stale || stale {
		facts = append(facts, "changed since it was listed")
	}
	if len(facts) > 0 {
		m.line()
		m.text(strings.Join(facts, separator))
	}
	if about := s.tell(r.Description); about != "" {
		m.paragraph()
		m.text(about)
	}
}

func byteCount(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
