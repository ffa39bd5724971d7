package lsp

import "context"

// relay tells the client what the MCP servers tell, until ctx ends or the
// events end. Serve owns the goroutine; it starts after initialized.
func (s *Server) relay(ctx context.Context) { panic("skeleton") }

// clean makes foreign text fit for a message, a question, a progress, a label
// or a hover (CONTRACT §7): control, bidi and zero-width characters out, one
// line, 300 characters, `](` broken.
func clean(text string) string { panic("skeleton") }
