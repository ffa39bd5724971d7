package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"agentls/agent"
)

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

// refusal is a request that is not served at all.
type refusal struct {
	code    jsonrpc2.Code
	message string
}

func (e *refusal) Error() string { return e.message }

// codeRequestFailed is LSP 3.17's: the request was right, and failed.
const codeRequestFailed jsonrpc2.Code = -32803

// errGone is the cause of what ends with the connection. It is a cancel.
var errGone = fmt.Errorf("%w: the editor is gone", agent.ErrCancelled)

// stage is where the connection stands in LSP's life cycle. It belongs to the
// read loop.
type stage int

const (
	fresh stage = iota
	running
	shutDown
)

// requested takes a request: the gate and its prepare run here, in wire order,
// the rest on a goroutine of its own that Serve waits for.
func (s *Server) requested(id jsonrpc2.ID, method string, params []byte, answer reply) {
	ctx, cancel := context.WithCancelCause(s.alive)
	r := &request{id: id, cancel: cancel, answer: answer}
	if err := s.inflight.add(r); err != nil {
		cancel(err)
		answer(id, nil, s.wireError(method, err))
		return
	}
	prep, inline, err := s.admit(method)
	var serve func(context.Context) (any, error)
	if err == nil {
		serve, err = s.prepared(ctx, prep, method, params)
	}
	if inline || err != nil {
		s.serve(ctx, r, method, serve, err)
		return
	}
	s.requests.Go(func() { s.serve(ctx, r, method, serve, nil) })
}

func (s *Server) prepared(ctx context.Context, prep prepare, method string, params []byte) (serve func(context.Context) (any, error), err error) {
	defer s.recovered(method, &err)
	return prep(s, ctx, params)
}

// serve answers one request.
func (s *Server) serve(ctx context.Context, r *request, method string, serve func(context.Context) (any, error), err error) {
	var raw []byte
	if err == nil {
		raw, err = s.served(ctx, method, serve)
	}
	if err != nil {
		s.inflight.finish(r, nil, s.wireError(method, err))
		return
	}
	s.inflight.finish(r, raw, nil)
}

func (s *Server) served(ctx context.Context, method string, serve func(context.Context) (any, error)) (raw []byte, err error) {
	defer s.recovered(method, &err)
	result, err := serve(ctx)
	if err == nil {
		return codec{}.Marshal(result)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) && !isRun(err) {
		err = context.Cause(ctx)
	}
	return nil, err
}

// admit is the gate of LSP's life cycle. inline says that the answer must be
// on the wire before the next message is looked at.
func (s *Server) admit(method string) (prep prepare, inline bool, err error) {
	prep, inline = s.route(method)
	switch {
	case s.stage == fresh && method != "initialize":
		return nil, false, &refusal{jsonrpc2.ServerNotInitialized, method + " before initialize; send initialize first"}
	case s.stage == shutDown:
		return nil, false, &refusal{jsonrpc2.InvalidRequest, method + " after shutdown"}
	case s.stage == running && method == "initialize":
		return nil, false, &refusal{jsonrpc2.InvalidRequest, "initialize was answered already; start another process for another editor"}
	case prep == nil:
		return nil, false, &refusal{jsonrpc2.MethodNotFound, "method not found: " + method}
	}
	return prep, inline, nil
}

// route finds the prepare of a request; nil for one that is unknown.
func route(method string) (prep prepare, inline bool) {
	switch method {
	case "initialize":
		return prepareInitialize, true
	case "shutdown":
		return prepareShutdown, true
	case "textDocument/completion":
		return prepareCompletion, false
	case "completionItem/resolve":
		return prepareResolve, false
	case "textDocument/documentLink":
		return onPrompt(serveDocumentLink), false
	case "documentLink/resolve":
		return prepareDocumentLinkResolve, false
	case "textDocument/documentSymbol":
		return onPrompt(serveDocumentSymbol), false
	case "textDocument/foldingRange":
		return onPrompt(serveFoldingRange), false
	case "textDocument/hover":
		return onPrompt(serveHover), false
	case "textDocument/semanticTokens/full", "textDocument/semanticTokens/range":
		return onPrompt(serveSemanticTokens), false
	case "textDocument/codeLens":
		return onPrompt(serveCodeLens), false
	case "textDocument/codeAction":
		return prepareCodeAction, false
	case "codeAction/resolve":
		return prepareCodeActionResolve, false
	case "workspace/executeCommand":
		return prepareCommand, false
	}
	return nil, false
}

// notified takes a notification. It never fails: what is wrong with one is
// told in the log.
func (s *Server) notified(method string, params []byte) {
	if err := s.notification(method, params); err != nil {
		s.o.Log.Warn("notification of the client passed over", "method", method, "error", err)
	}
}

func (s *Server) notification(method string, params []byte) (err error) {
	defer s.recovered(method, &err)
	switch {
	case method == "exit":
		s.exit()
		return nil
	case method == "$/cancelRequest":
		return s.cancelRequest(params)
	case s.stage != running:
		return errors.New("the server is not between initialize and shutdown")
	}
	switch method {
	case "initialized":
		s.initialized()
	case "textDocument/didOpen":
		s.background.Go(s.buffers.refresh)
		return s.docs.didOpen(params)
	case "textDocument/didChange":
		return s.docs.didChange(params)
	case "textDocument/didSave":
		s.savedFile(params)
		return s.docs.didSave(params)
	case "textDocument/didClose":
		return s.docs.didClose(params)
	case "workspace/didChangeWatchedFiles":
		return s.watchedFiles(params)
	case "workspace/didCreateFiles":
		return s.createdFiles(params)
	case "workspace/didRenameFiles":
		return s.renamedFiles(params)
	case "workspace/didDeleteFiles":
		return s.deletedFiles(params)
	case "workspace/didChangeConfiguration":
		return s.settings.changed(params)
	case "workspace/didChangeWorkspaceFolders":
		return s.changeFolders(params)
	case "window/workDoneProgress/cancel":
		return s.cancelProgress(params)
	case "agentls/didChangeDiagnostics":
		s.diagnostics.changed(params)
	}
	// $/setTrace and whatever else is no business of ours: LSP asks servers to
	// pass over what they do not know.
	return nil
}

func (s *Server) cancelRequest(params []byte) error {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	id, ok := decodeID(p.ID)
	if !ok || !id.IsValid() {
		return fmt.Errorf("no request has the id %.40q", p.ID)
	}
	s.inflight.cancel(id)
	return nil
}

func (s *Server) cancelProgress(params []byte) error {
	var p protocol.WorkDoneProgressCancelParams
	if err := protocol.Unmarshal(params, &p); err != nil {
		return err
	}
	s.runs.cancelToken(p.Token)
	return nil
}

// recovered turns a panic of a handler into an error, so that a fault in one
// feature does not take the server away from the editor.
func (s *Server) recovered(method string, err *error) {
	if p := recover(); p != nil {
		*err = s.panicked(method, p)
	}
}

func (s *Server) panicked(where string, p any) error {
	s.o.Log.Error("panic in a handler", "method", where, "panic", p, "stack", string(debug.Stack()))
	return fmt.Errorf("internal error in %s: the log has more", where)
}

// inBackground runs f until alive ends. What it handles comes from servers and
// project files: a panic ends f, not the process.
func (s *Server) inBackground(what string, f func(context.Context)) {
	s.background.Go(func() {
		var err error // is in the log
		defer s.recovered(what, &err)
		f(s.alive)
	})
}

// runErrorData is the data of a run's error: -32800 names the run, -32803 also
// says what failed (CONTRACT §4).
type runErrorData struct {
	Kind      agent.ErrorKind `json:"kind,omitzero"`
	Retryable *bool           `json:"retryable,omitzero"`
	RunID     string          `json:"runId"`
	Session   string          `json:"session"`
}

// wireError is the one place that maps errors to codes.
func (s *Server) wireError(method string, err error) *jsonrpc2.Error {
	code, message := jsonrpc2.InternalError, err.Error()
	var data *runErrorData
	if bad, ok := errors.AsType[*refusal](err); ok {
		code = bad.code
	} else if _, ok := errors.AsType[*paramsError](err); ok {
		code = jsonrpc2.InvalidParams
	} else if run, ok := errors.AsType[*runError](err); ok {
		failure := agent.AsProviderError(run.err)
		code, message = codeRequestFailed, failure.Message
		data = &runErrorData{RunID: run.runID, Session: run.session}
		if !isCancel(err) {
			data.Kind, data.Retryable = failure.Kind, &failure.Retryable
		}
	}
	if isCancel(err) {
		code, message = protocol.CodeRequestCancelled, "cancelled"
	}
	if code == jsonrpc2.InternalError {
		s.o.Log.Error("request failed", "method", method, "error", err)
	}
	wire := jsonrpc2.NewError(code, breakLinks(s.o.Secrets.Redact(message))) // editors show it in a popup
	if data != nil {
		wire.Data, _ = json.Marshal(data) // strings and a bool: cannot fail
	}
	return wire
}

func isCancel(err error) bool {
	return errors.Is(err, agent.ErrCancelled) || errors.Is(err, context.Canceled)
}

func isRun(err error) bool {
	_, ok := errors.AsType[*runError](err)
	return ok
}
