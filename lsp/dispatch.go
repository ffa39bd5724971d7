package lsp

import "context"

// prepare is the inline half of a request: it runs on the read loop, in wire
// order, must not block, and takes whatever snapshot the request needs. What
// it returns runs beside other requests; its ctx ends with $/cancelRequest,
// with cause agent.ErrCancelled, or with the connection.
type prepare func(s *Server, ctx context.Context, params []byte) (serve func(context.Context) (any, error), err error)

// paramsError is a bad argument: -32602 with what is wrong and what to do.
type paramsError struct{ message string }

func (e *paramsError) Error() string { return e.message }

// runError is a run that did not complete: -32800 when err's cause is a
// cancel, else -32803 with the data of CONTRACT §4.
type runError struct {
	runID, session string
	err            error
}

func (e *runError) Error() string { return e.err.Error() }
func (e *runError) Unwrap() error { return e.err }
