package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// streamable is the Streamable HTTP transport, of both eras: a POST for each
// message, answered by JSON or a stream; up to 2025-11-25 with a session and a
// stream from the server, which a GET opens.
type streamable struct {
	*peer
	backoff time.Duration // before a stream is opened again, if the server does not say
}

func newStreamable(p *peer, backoff time.Duration) *streamable {
	t := &streamable{peer: p, backoff: backoff}
	p.post = t.tell
	return t
}

// Start does nothing: the first request connects.
func (t *streamable) Start(context.Context) error { return nil }

// SendRequest posts a request and waits for its answer.
func (t *streamable) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	// Since 2026-07-28 the end of the exchange is the cancel.
	modern := mcpgo.IsModernProtocol(t.protocolHeaders().Get(transport.HeaderKeyProtocolVersion))
	return t.ask(ctx, req, !modern, func(life context.Context, body []byte, over chan<- error) {
		over <- t.exchange(life, req, body)
	})
}

// exchange posts a request and reads what comes back; the answer goes to who
// waits for it. It returns why there was none, or what went wrong.
func (t *streamable) exchange(ctx context.Context, req transport.JSONRPCRequest, body []byte) error {
	h := t.protocolHeaders()
	maps.Copy(h, req.Header)
	h.Set("Content-Type", "application/json")
	h.Set("Accept", acceptBoth)
	resp, err := t.do(ctx, http.MethodPost, t.url, body, h)
	if err != nil {
		t.broke(err)
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if !success(resp) {
		return t.refused(resp, h.Get(transport.HeaderKeySessionID), &req)
	}
	if err := t.keepSession(resp, req.Method); err != nil {
		return err
	}
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case resp.StatusCode != http.StatusOK:
		return errNoAnswer(req.Method)
	case kind == "application/json":
		return t.whole(resp.Body, req)
	case kind == "text/event-stream":
		return t.stream(ctx, resp.Body, req)
	default:
		return fmt.Errorf("the server answers with %q, so its address may be no MCP server's: %s", clip(kind, 100), excerpt(resp.Body))
	}
}

func errNoAnswer(method string) error {
	return fmt.Errorf("the server accepted %s without answering it", method)
}

func success(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode <= 299 }

// keepSession takes the session's id from the answer to initialize.
func (t *streamable) keepSession(resp *http.Response, method string) error {
	if method != string(mcpgo.MethodInitialize) {
		return nil
	}
	id := resp.Header.Get(transport.HeaderKeySessionID)
	if strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return errors.New("the server gave a session id that cannot be sent back")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session = id
	return nil
}

// refused turns an answer that is no success into an error, or, where it is
// an error of JSON-RPC, into the answer to req. session is what was sent.
func (t *streamable) refused(resp *http.Response, session string, req *transport.JSONRPCRequest) error {
	t.late.Store(0) // it answers
	switch {        // what needs no body does not wait for one
	case resp.StatusCode == http.StatusUnauthorized:
		err := t.loginError(resp, "")
		if req != nil {
			t.unserved(req.ID) // or it would end like those that wait for an answer
		}
		t.lose(err)
		return err
	case resp.StatusCode == http.StatusNotFound && session != "":
		return t.forgotten(resp.StatusCode, req)
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	text := excerpt(strings.NewReader(string(body)))
	if resp.StatusCode == http.StatusForbidden {
		return t.loginError(resp, text)
	}
	// Servers made after the TypeScript SDK's examples say 400 where the
	// protocol has 404. One that names the request may as well be its answer, of
	// a session that is the tool's matter: a ping tells, which has none.
	if session != "" && resp.StatusCode == http.StatusBadRequest && strings.Contains(strings.ToLower(text), "session") {
		if !answers(body, req) || req.Method == string(mcpgo.MethodPing) {
			return t.forgotten(resp.StatusCode, req)
		}
		t.suspect()
	}
	err := &statusError{resp.StatusCode, text}
	e := jsonError(body)
	switch {
	case e == nil:
	case notNow(err): // in whatever words: it is no answer
		err.text = errorMessage(e)
	case req != nil:
		return t.answerError(req.ID, e)
	}
	return err
}

// forgotten ends what the server does not know any more; req, if it is not nil,
// was refused for it.
func (t *streamable) forgotten(status int, req *transport.JSONRPCRequest) error {
	if req != nil {
		t.unserved(req.ID)
	}
	err := &forgottenError{status}
	t.lose(err)
	return err
}

// forgottenError says that the server is there, and the session is not.
type forgottenError struct{ status int }

func (e *forgottenError) Error() string {
	return fmt.Sprintf("the server does not know the session any more (HTTP %d)", e.status)
}

func forgot(err error) bool {
	_, ok := errors.AsType[*forgottenError](err)
	return ok
}

// jsonError returns the error of a JSON-RPC response; nil: it is none.
func jsonError(body []byte) json.RawMessage {
	var f frame
	if json.Unmarshal(body, &f) != nil || missing(f.Error) || f.Method != nil {
		return nil
	}
	return lenientError(f.Error)
}

// errorMessage returns the message of an error of JSON-RPC.
func errorMessage(e json.RawMessage) string {
	var r struct{ Message string }
	_ = json.Unmarshal(e, &r) // as lenientError made it
	return excerpt(strings.NewReader(r.Message))
}

// answers reports whether body is the answer to req, by its id.
func answers(body []byte, req *transport.JSONRPCRequest) bool {
	var f frame
	return req != nil && json.Unmarshal(body, &f) == nil && f.Method == nil && string(f.ID) == idKey(req.ID)
}

// answerError answers a request in place of the server, which left out its id.
func (t *streamable) answerError(id mcpgo.RequestId, e json.RawMessage) error {
	raw, err := json.Marshal(id)
	if err != nil {
		return err
	}
	t.takeOne(respond(raw, "error", e))
	return nil
}

// whole reads an answer that is one JSON text.
func (t *streamable) whole(body io.Reader, req transport.JSONRPCRequest) error {
	data, err := io.ReadAll(io.LimitReader(body, maxWireMessage+1))
	switch {
	case err != nil:
		err = &unreachableError{origin(t.url), false, err}
		t.broke(err)
		return err
	case len(data) > maxWireMessage:
		return errors.New(tooLong(maxWireMessage))
	}
	t.take(data)
	if e := jsonError(data); e != nil && !t.answeredAlready(req.ID) {
		return t.answerError(req.ID, e)
	}
	return fmt.Errorf("the server's answer to %s is no answer of MCP: %s", req.Method, excerpt(strings.NewReader(string(data))))
}

// SendNotification posts a notification. After the one that ends the start of
// a legacy session the stream from the server is opened.
func (t *streamable) SendNotification(ctx context.Context, n mcpgo.JSONRPCNotification) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := t.tell(ctx, body); err != nil {
		return err
	}
	if n.Method == string(mcpgo.MethodNotificationInitialized) {
		t.spawn(t.listen) //nolint:contextcheck // it ends with the connection
	}
	return nil
}

// tell posts what has no answer.
func (t *streamable) tell(ctx context.Context, body []byte) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	h := t.protocolHeaders()
	h.Set("Content-Type", "application/json")
	h.Set("Accept", acceptBoth)
	resp, err := t.do(ctx, http.MethodPost, t.url, body, h)
	if err != nil {
		t.broke(err)
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if !success(resp) {
		return t.refused(resp, h.Get(transport.HeaderKeySessionID), nil)
	}
	spill(resp, end)
	return nil
}

// shut ends the session (2025-11-25, session management) and the connection.
func (t *streamable) shut() {
	t.peer.shut(func(ctx context.Context) {
		h := t.protocolHeaders()
		if h.Get(transport.HeaderKeySessionID) == "" {
			return
		}
		if resp, err := t.do(ctx, http.MethodDelete, t.url, nil, h); err == nil {
			_ = resp.Body.Close()
		}
	})
}
