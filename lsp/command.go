package lsp

import "context"

// prepareCommand is the [prepare] of workspace/executeCommand: it decodes the
// argument, takes the prompt's and the document's text, and queues a run in
// wire order; the rest happens in what it returns.
func prepareCommand(s *Server, ctx context.Context, params []byte) (func(context.Context) (any, error), error) {
	panic("skeleton")
}

// commandNames lists the commands to announce to this client (CONTRACT §3).
func (s *Server) commandNames() []string { panic("skeleton") }
