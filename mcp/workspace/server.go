package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"agentls/mcp/child"
)

// JSON-RPC and MCP error codes.
const (
	codeInvalidParams    = -32602
	codeMethodNotFound   = -32601
	codeInternal         = -32603
	codeResourceNotFound = -32002
)

// Error is a JSON-RPC error.
type Error struct {
	Code    int
	Message string
}

func (e *Error) Error() string { return e.Message }

func notFound(uri, why string) *Error {
	return &Error{Code: codeResourceNotFound, Message: uri + ": " + why}
}

func refused(uri, why string) *Error {
	return &Error{Code: codeInternal, Message: uri + ": " + why}
}

// Server serves a [State] as MCP resources, in process. Safe for concurrent
// use.
type Server struct {
	state    *State
	interest *interest
	outbox   *outbox
	scanner  *scanner
	git      git
	out      chan Notification
	life     context.Context //nolint:containedctx // of the server: ends with Close
	end      context.CancelCauseFunc
	running  sync.WaitGroup

	gitTimeout time.Duration
}

// NewServer starts to scan and watch the state's folders. Close ends it. env is
// the environment that git gets; watch, unless nil, hears of each that is started.
func NewServer(state *State, env []string, watch child.Watch, log *slog.Logger) *Server {
	ctx, end := context.WithCancelCause(context.Background())
	s := &Server{
		state:    state,
		interest: newInterest(),
		outbox:   newOutbox(),
		out:      make(chan Notification),
		life:     ctx,
		end:      end,
		git:      newGit(env, watch),

		gitTimeout: gitTimeout,
	}
	s.scanner = newScanner(state, s.interest, s.outbox, log)
	s.scanner.git = s.git.path != ""
	s.running.Go(func() { s.outbox.send(ctx, s.out) }) // ends with ctx
	s.running.Go(func() { s.scanner.run(ctx) })        // ends with ctx
	s.running.Go(s.scanner.listen)                     // ends with run
	return s
}

var errClosed = &Error{Code: codeInternal, Message: "the workspace server is closed"}

// Close ends the server and waits for its goroutines.
func (s *Server) Close() {
	s.end(errClosed)
	s.running.Wait()
}

// Notifications gives what changed, to one reader. Like changes are merged
// while the reader is behind. It is never closed: select on the reader's own
// end too.
func (s *Server) Notifications() <-chan Notification { return s.out }

// protocols are the versions whose resource methods are spoken, newest first.
//
//nolint:gochecknoglobals // a constant table
var protocols = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Handle answers one request. The result marshals to the method's result
// object; an error of the protocol is an [*Error], any other one is ctx's.
// A notification is taken and has no result.
func (s *Server) Handle(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	switch method {
	case "initialize":
		return initialize(params)
	case "ping":
		return struct{}{}, nil
	case "resources/list":
		return s.list(ctx, params)
	case "resources/templates/list":
		return templatesResult{Templates: []any{}}, nil
	case "resources/read":
		uri, err := uriOf(params)
		if err != nil {
			return nil, err
		}
		c, err := s.read(ctx, uri)
		if err != nil {
			return nil, err
		}
		return readResult{Contents: []contents{c}}, nil
	case "resources/subscribe", "resources/unsubscribe":
		return s.subscribe(method == "resources/subscribe", params)
	}
	if strings.HasPrefix(method, "notifications/") {
		return nil, nil
	}
	return nil, &Error{Code: codeMethodNotFound, Message: "method not found: " + method}
}

type initializeResult struct {
	ProtocolVersion string         `json:"protocolVersion"`
	Capabilities    capabilities   `json:"capabilities"`
	ServerInfo      implementation `json:"serverInfo"`
}

type capabilities struct {
	Resources resourcesCapability `json:"resources"`
}

type resourcesCapability struct {
	Subscribe   bool `json:"subscribe"`
	ListChanged bool `json:"listChanged"`
}

type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type templatesResult struct {
	Templates []any `json:"resourceTemplates"`
}

type readResult struct {
	Contents []contents `json:"contents"`
}

func initialize(params json.RawMessage) (any, error) {
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	version := protocols[0]
	if slices.Contains(protocols, p.ProtocolVersion) {
		version = p.ProtocolVersion
	}
	return initializeResult{
		ProtocolVersion: version,
		Capabilities:    capabilities{Resources: resourcesCapability{Subscribe: true, ListChanged: true}},
		ServerInfo:      implementation{Name: "workspace", Version: "1"},
	}, nil
}

func decode(params json.RawMessage, into any) error {
	if len(params) == 0 {
		return nil
	}
	if err := json.Unmarshal(params, into); err != nil {
		return &Error{Code: codeInvalidParams, Message: "params: " + err.Error()}
	}
	return nil
}

func uriOf(params json.RawMessage) (string, error) {
	var p struct {
		URI string `json:"uri"`
	}
	if err := decode(params, &p); err != nil {
		return "", err
	}
	if p.URI == "" {
		return "", &Error{Code: codeInvalidParams, Message: "params.uri: missing"}
	}
	return p.URI, nil
}

// subscribe takes any URI of ours, whether or not it is there yet.
func (s *Server) subscribe(on bool, params json.RawMessage) (any, error) {
	uri, err := uriOf(params)
	if err != nil {
		return nil, err
	}
	r, err := s.resolve(uri)
	if err != nil {
		return nil, err
	}
	if !on {
		s.interest.unsubscribe(r.key)
	} else if !s.interest.subscribe(r.key, uri) {
		return nil, refused(uri, fmt.Sprintf("more than %d subscriptions", maxSubscriptions))
	}
	return struct{}{}, nil
}
