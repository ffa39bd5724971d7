package mcp

import (
	"encoding/json"
	"strings"
)

// MaxInstructions bounds what the model gets of a server's instructions, in
// bytes. They stand in each request; other hosts take as much.
const MaxInstructions = 2 << 10

// Instructions is what a server says of how it is to be used ("instructions" of
// initialize and server/discover). They are the server's words: data.
type Instructions struct {
	Server string // configured name
	Text   string // valid UTF-8, at most MaxInstructions bytes, never blank
	Cut    int    // bytes that were left out at the end
}

// Instructions returns what the ready servers that have tools or resources say
// of themselves, by server as in Servers. Never blocks.
func (m *Manager) Instructions() []Instructions {
	var out []Instructions
	for _, s := range m.list() {
		s.mu.Lock()
		if c := s.conn; s.status == StatusReady && c != nil && c.instructions.Text != "" && (len(s.tools) > 0 || c.caps.resources) {
			said := c.instructions
			said.Server = s.cfg.Name
			out = append(out, said)
		}
		s.mu.Unlock()
	}
	return out
}

// parseInstructions reads them from the result of initialize or
// server/discover.
func parseInstructions(hello json.RawMessage) Instructions {
	var r struct {
		Instructions maybe[string] `json:"instructions"`
	}
	_ = json.Unmarshal(hello, &r)
	text := strings.TrimSpace(strings.ToValidUTF8(r.Instructions.v, "\uFFFD"))
	kept := text
	if len(text) > MaxInstructions {
		kept = strings.TrimSuffix(clip(text, MaxInstructions), "…") // its mark, or one that stood there
	}
	return Instructions{Text: kept, Cut: len(text) - len(kept)}
}
