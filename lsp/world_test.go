package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
	"agentls/mcp/workspace"
)

// world is a whole server with a fake editor before it and a scripted model
// behind it.
type world struct {
	*lsptest.Editor
	*house
	// reading is held while the editor reads nothing.
	reading sync.RWMutex
}

// house is a whole server that nobody is connected to: all between the model
// and the wire is real.
type house struct {
	t        testing.TB
	server   *Server
	dir      string // holds root, state and config
	root     string
	state    string
	evidence *evidence
}

// gatedWriter blocks while the editor does not read.
type gatedWriter struct {
	io.Writer
	reading *sync.RWMutex
	tap     func([]byte) // sees what is written; nil: nobody does
}

func (g *gatedWriter) Write(p []byte) (int, error) {
	g.reading.RLock()
	defer g.reading.RUnlock()
	if g.tap != nil {
		g.tap(p)
	}
	return g.Writer.Write(p)
}

// setup is what a world is made of. The zero value is a trusted folder, a
// stock client, and the model given to newWorld.
type setup struct {
	dir  string // holds the folder and the state; "": a new one
	llm  agent.LLM
	init lsptest.Init
	// recorded are the params of initialize in the place of init, but for
	// initializationOptions; nil: none are.
	recorded map[string]any
	options  map[string]any             // initializationOptions beside workspaceTrusted
	servers  map[string]mcptest.Options // fake MCP servers of the user's, awaited
	files    map[string]string          // of the folder
	answers  map[string]lsptest.Answer  // to the server's requests, from the first on
	before   func(*Server)              // sees the server before it serves
	tap      func([]byte)               // sees what the server writes
	refuse   error                      // what NewLLM says
	sampling bool                       // the servers may ask the model
	unset    bool                       // nobody chose a provider, not even none
}

func newHouse(t testing.TB, u setup) *house {
	t.Helper()
	dir := u.dir
	if dir == "" {
		dir = t.TempDir()
	}
	h := &house{t: t, dir: dir, root: filepath.Join(dir, "ws"), state: filepath.Join(dir, "state")}
	h.write("README.md", "# Hello\n")
	for name, text := range u.files {
		h.write(name, text)
	}
	if !u.unset { // this is no first run
		if err := errors.Join(os.MkdirAll(h.state, 0o700), os.WriteFile(filepath.Join(h.state, "firstrun.json"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	h.evidence = newEvidence(h)
	log := slog.New(slog.NewTextHandler(io.MultiWriter(testLog{t}, h.evidence), nil))
	secrets := mcp.NewSecrets()
	state := workspace.NewState()
	manager := mcp.NewManager(mcp.Options{
		Name: "agentls", Version: "test", State: state, TrustFile: filepath.Join(h.state, "trust.json"), InputsFile: filepath.Join(h.state, "inputs.json"),
		Environ: os.Environ(), Secrets: secrets, Log: log,
	})
	audit := agent.NewAudit(filepath.Join(h.state, "audit"), secrets, log)
	a := agent.New(agent.Options{
		Manager: manager, State: state, Audit: audit, Secrets: secrets, RememberFile: filepath.Join(h.state, "approvals.json"),
		SessionsDir: filepath.Join(h.state, "sessions"), UndoDir: filepath.Join(h.state, "undo"), Environ: os.Environ(), Log: log,
	})
	h.server = New(Options{
		Version: "test", Agent: a, Audit: audit, Manager: manager, State: state, StateDir: h.state, Secrets: secrets, Log: log,
		Config: config.Source{Dir: filepath.Join(dir, "config"), Home: dir, Getenv: func(string) (string, bool) { return "", false }, Secrets: secrets},
		NewLLM: func(config.Provider) (agent.LLM, error) { return u.llm, u.refuse },
		Local:  []config.KnownProvider{}, // no test looks at the ports of its machine
	})
	if u.before != nil {
		u.before(h.server)
	}
	t.Cleanup(func() {
		a.Close()
		manager.Close()
	})
	return h
}

func newWorld(t testing.TB, u setup) *world {
	t.Helper()
	w := &world{house: newHouse(t, u)}
	w.Editor = lsptest.New(t, func(ctx context.Context, in io.Reader, out io.Writer) (int, error) {
		return w.server.Serve(ctx, in, &gatedWriter{out, &w.reading, u.tap})
	}) // its own cleanup comes first
	w.evidence.said = w.heard
	for method, answer := range u.answers {
		w.On(method, answer)
	}
	if u.init.Root == "" {
		u.init.Root = w.root
	}
	options := map[string]any{"workspaceTrusted": true}
	if !u.unset {
		options["provider"] = config.Offline
	}
	maps.Copy(options, u.options)
	if u.servers != nil {
		entries := serverEntries(t, w.evidence.watch(t, u.servers))
		for _, e := range entries {
			e.(obj)["sampling"] = u.sampling
		}
		options["mcpServers"] = entries
	}
	if u.recorded != nil {
		u.recorded["initializationOptions"] = options
		w.InitializeParams(u.recorded)
	} else {
		u.init.Options = options
		w.Initialize(u.init)
	}
	for name := range u.servers {
		w.awaitStatus(name, mcp.StatusReady)
	}
	return w
}

// heard is what the server told of runs: events, and answers to commands.
func (w *world) heard() (list []json.RawMessage) {
	return append(w.Notifications("agentls/runEvent"), w.Answered()...)
}

// serverEntries is what a configuration file says of fake servers.
func serverEntries(t testing.TB, servers map[string]mcptest.Options) obj {
	entries := obj{}
	for name, o := range servers {
		command, args, env := mcptest.Command(t, o)
		entries[name] = obj{"command": command, "args": args, "env": env}
	}
	return entries
}

// serverInfo is what agentls.mcp.servers says of a server.
func (w *world) serverInfo(name string) mcp.ServerInfo {
	w.t.Helper()
	list := commandAs[[]mcp.ServerInfo](w, "agentls.mcp.servers", nil)
	for _, info := range list {
		if info.Name == name {
			return info
		}
	}
	return mcp.ServerInfo{}
}

func (w *world) awaitStatus(name string, want mcp.Status) {
	w.t.Helper()
	poll(w.t, fmt.Sprintf("%s %s", want, name), func() bool { return w.serverInfo(name).Status == want })
}

// testLog writes the server's log into the test's, until the test has ended.
type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	_, _ = l.t.Output().Write(p)
	return len(p), nil
}

// write writes a file of the folder.
func (h *house) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

type obj = map[string]any

// ask starts agentls.ask.
func (w *world) ask(prompt string, more obj) *lsptest.Pending {
	arg := obj{"prompt": prompt}
	maps.Copy(arg, more)
	return w.StartCommand("agentls.ask", arg, nil)
}

// result decodes a command's result; an error fails the test.
func result[T any](t testing.TB, p *lsptest.Pending) T {
	t.Helper()
	raw, err := p.Wait()
	if err != nil {
		t.Fatalf("%s: %v", p.Method, err)
	}
	return decodeAs[T](t, raw)
}

func decodeAs[T any](t testing.TB, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

// commandAs runs a command and decodes its result.
func commandAs[T any](w *world, name string, arg any) T {
	w.t.Helper()
	return result[T](w.t, w.StartCommand(name, arg, nil))
}

// failure waits for an answer that must be an error with the code.
func failure(t testing.TB, p *lsptest.Pending, code int) *lsptest.Error {
	t.Helper()
	raw, err := p.Wait()
	if err == nil {
		t.Fatalf("%s answered %s, want the error %d", p.Method, raw, code)
	}
	if err.Code != code {
		t.Fatalf("%s: %v, want the code %d", p.Method, err, code)
	}
	return err
}

// runData is the data of a run's error.
type runData struct {
	RunID, Session string
	Kind           agent.ErrorKind
	Retryable      bool
}

// event is agentls/runEvent as a client sees it.
type event struct {
	RunID, Session, Kind, Delta, Status, StopReason string
	Seq                                             int
	ToolCall                                        *agent.ToolCallEvent
	Approval                                        *approvalEvent
	Error                                           *failureEvent
	Changed                                         []agent.ChangedFile
}

// events gives the events of a run that came by now; "" is any run.
func (w *world) events(runID string) (list []event) {
	for _, raw := range w.Notifications("agentls/runEvent") {
		if e := decodeAs[event](w.t, raw); runID == "" || e.RunID == runID {
			list = append(list, e)
		}
	}
	return list
}

// runs gives agentls.runs.
func (w *world) runs() []runInfo { return commandAs[[]runInfo](w, "agentls.runs", nil) }

// awaitRuns polls agentls.runs: a run's state changes without a message to
// stock clients.
func (w *world) awaitRuns(what string, cond func([]runInfo) bool) {
	w.t.Helper()
	poll(w.t, what, func() bool { return cond(w.runs()) })
}

// poll asks again until cond holds.
func poll(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(lsptest.Deadline); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s in %v", what, lsptest.Deadline)
		}
	}
}

// messages gives the texts of window/showMessage or window/logMessage.
func (w *world) messages(method string) (list []string) {
	for _, raw := range w.Notifications(method) {
		list = append(list, decodeAs[struct{ Message string }](w.t, raw).Message)
	}
	return list
}

// progressValue is the value of one $/progress.
type progressValue struct {
	Kind, Title, Message string
	Cancellable          bool
	Percentage           *int
}

// progress gives what came under a token.
func (w *world) progress(token any) (list []progressValue) {
	for _, raw := range w.Notifications("$/progress") {
		p := decodeAs[struct {
			Token any
			Value progressValue
		}](w.t, raw)
		if p.Token == token {
			list = append(list, p.Value)
		}
	}
	return list
}

// deafLLM does not react to the end of its context; release ends it.
type deafLLM struct {
	release chan struct{}
	mu      sync.Mutex
	asked   int
}

func (d *deafLLM) Complete(context.Context, agent.Request, func(agent.Delta)) (agent.Response, error) {
	d.mu.Lock()
	d.asked++
	d.mu.Unlock()
	<-d.release
	return agent.Response{}, io.ErrUnexpectedEOF
}
