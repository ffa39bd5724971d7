package lsp

import (
	"context"

	"go.lsp.dev/protocol"
)

// runs owns every run: it can end each and waits for all.
type runs struct{}

func newRuns(s *Server) *runs { panic("skeleton") }

// cancelToken cancels the run whose progress has the token
// (window/workDoneProgress/cancel). Unknown tokens are ignored.
func (r *runs) cancelToken(t protocol.ProgressToken) { panic("skeleton") }

// close cancels all runs with the cause and waits until each is answered, or
// ctx ends.
func (r *runs) close(ctx context.Context, cause error) { panic("skeleton") }
