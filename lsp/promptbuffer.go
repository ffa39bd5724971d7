package lsp

// turn is one block of a prompt buffer (CONTRACT §6).
type turn struct {
	role       string // "you", "agent", or "" for a buffer without headings
	start, end int    // byte offsets of the body, heading line excluded
}

// isPromptBuffer reports whether a document is a prompt buffer.
func isPromptBuffer(d document) bool { panic("skeleton") }

// turns parts a prompt buffer by its `## You` and `## Agent` headings, those
// inside fences not counted.
func turns(text string) []turn { panic("skeleton") }

// promptAt returns the body of the `## You` block at the byte offset; the last
// one for offset < 0.
func promptAt(text string, offset int) (body string, ok bool) { panic("skeleton") }
