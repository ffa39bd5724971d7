package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"agentls/lsp"
	"agentls/lsp/lspclient"
)

// dialogue is an editor without a window: it speaks LSP to a server of its own
// process, and what it can do comes from there.
type dialogue struct {
	parts  *parts
	folder string
	script bool // no person types: what only a person wants to know is left out
	face   face
	asks   *terminal // puts the server's questions to the person

	client *lspclient.Client
	served chan struct{}  // closed when the server has ended
	work   sync.WaitGroup // what waits for answers; it ends with the client

	mu      sync.Mutex
	id      string     // of the session
	runs    []*chatRun // that have not ended, the oldest first
	waits   int        // lines that are not answered yet
	some    bool       // something was asked
	worst   int        // the exit code of a script
	listed  []string   // sessions, as they were numbered last
	version int        // of the document that completion is asked in
}

func newDialogue(parts *parts, folder string) *dialogue {
	return &dialogue{parts: parts, folder: folder, served: make(chan struct{})}
}

func newSession() string { return strings.ToLower(rand.Text()) }

func (d *dialogue) session() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id
}

func (d *dialogue) setSession(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.id = id
}

// asked reports whether there is a session to go on with.
func (d *dialogue) asked() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.some
}

// connect starts the server. close ends it.
func (d *dialogue) connect() {
	toServer, fromServer := newPipes()
	options := d.parts.serverOptions()
	options.Own = true
	go func() { // ends with its input
		defer close(d.served)
		if _, err := lsp.New(options).Serve(context.Background(), toServer.r, fromServer.w); err != nil {
			d.parts.log.Error("serving ended", "err", err)
		}
	}()
	d.asks = &terminal{out: io.Discard, notes: io.Discard, secrets: d.parts.secrets, editor: editorOf(d.parts.source.Getenv)}
	if c := d.face.console(); c != nil {
		d.asks.tty, d.asks.notes = c, c
	}
	d.client = lspclient.Connect(fromServer.r, toServer.w, lspclient.Options{Note: d.notice, Answer: d.answer})
}

type pipe struct {
	r *io.PipeReader
	w *io.PipeWriter
}

func newPipes() (a, b pipe) {
	a.r, a.w = io.Pipe()
	b.r, b.w = io.Pipe()
	return a, b
}

// close ends what runs, and the server.
func (d *dialogue) close() {
	_ = d.client.Close()
	<-d.served
	d.work.Wait()
}

func (d *dialogue) initialize(ctx context.Context) error {
	uri := fileURI(d.folder)
	err := d.client.Call(ctx, "initialize", map[string]any{
		"processId": os.Getpid(), "clientInfo": map[string]string{"name": chatClient, "version": version},
		"workspaceFolders": []any{map[string]string{"uri": uri, "name": filepath.Base(d.folder)}},
		"capabilities": map[string]any{
			"general":      map[string]any{"positionEncodings": []string{"utf-8"}},
			"workspace":    map[string]any{"workspaceFolders": true},
			"textDocument": map[string]any{"completion": map[string]any{"contextSupport": true, "completionItem": map[string]any{"labelDetailsSupport": true}}},
			"experimental": map[string]any{"agentls": map[string]bool{"runEvents": true, "approvals": true, "plans": true}},
		},
	}, nil)
	if err != nil {
		return fmt.Errorf("the server does not begin (%w); the log in %s may say why, look there", err, filepath.Join(d.parts.paths.state, "log"))
	}
	d.client.Notify("initialized", struct{}{})
	d.openPrompt()
	return nil
}

// chatClient is the name by which the server knows a dialogue.
const chatClient = "agentls chat"

// execute calls a command of the server.
func (d *dialogue) execute(ctx context.Context, command string, argument, result any) error {
	return d.client.Execute(ctx, command, argument, result)
}

// notice takes what the server tells, in the order it comes.
func (d *dialogue) notice(method string, params json.RawMessage) {
	defer d.guard()
	switch method {
	case "agentls/runEvent":
		d.event(params)
	case "window/showMessage":
		d.message(params)
	case "textDocument/publishDiagnostics":
		d.diagnosed(params)
	}
}

// message shows what the server pops up. Its texts are clean, and whole where
// they have to be.
func (d *dialogue) message(params json.RawMessage) {
	var m struct {
		Type    int
		Message string
	}
	if json.Unmarshal(params, &m) != nil || m.Message == "" {
		return
	}
	const isError, isWarning = 1, 2
	kind := noteDim
	switch m.Type {
	case isError:
		kind = noteError
	case isWarning:
		kind = noteWarn
	}
	d.face.note(kind, printable(d.parts.secrets.Redact(inLines(m.Message))))
}

// inLines names what a person at a terminal types, where the server names its
// commands.
func inLines(text string) string {
	return strings.NewReplacer(
		"agentls.mcp.login as redirectUrl", "`/mcp login`, behind the server's name", "agentls.mcp.servers", "/mcp", "agentls.mcp.trust", "/mcp restart", "agentls.mcp.", "/mcp ", "agentls.model", "/model", "agentls.cancel", "/cancel",
		"agentls.session.list", "/sessions", "agentls.setup or `agentls init`", "`agentls init`", "agentls.setup", "`agentls init`",
	).Replace(text)
}

// fail shows why something could not be done.
func (d *dialogue) fail(err error) {
	text := err.Error()
	if e, ok := asServerError(err); ok {
		text = strings.TrimPrefix(e.Message, "agentls.ask: ")
	}
	d.face.note(noteError, printable(d.parts.secrets.Redact(inLines(text))))
}

// restorer gives the terminal back as it was.
type restorer interface{ restore() }

// guard lets a panic end the process as it does anywhere, but on a terminal
// that shows it.
func (d *dialogue) guard() {
	if r := recover(); r != nil {
		if f, ok := d.face.(restorer); ok {
			f.restore()
		}
		panic(r)
	}
}

// beside does something that waits for the server, beside what goes on.
func (d *dialogue) beside(do func(ctx context.Context)) {
	d.mu.Lock()
	d.waits++
	d.mu.Unlock()
	d.work.Go(func() {
		defer d.guard()
		do(context.Background()) // every wait ends with the client
		d.mu.Lock()
		d.waits--
		d.mu.Unlock()
		d.face.changed()
	})
}

// busy reports whether the answer to a line is still to come.
func (d *dialogue) busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waits > 0
}

// fileURI is the URI of a path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter
	}
	return "file://" + escapePath(path)
}
