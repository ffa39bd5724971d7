package agent_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	goleak.VerifyTestMain(m)
}

// world is an agent with doubles around it.
type world struct {
	t       testing.TB
	servers *servers
	host    *agenttest.Host
	agent   *agent.Agent
	audit   *agent.Audit
	dir     string // the workspace folder
	state   string
	secrets *mcp.Secrets
	task    agent.Task // what run adds a prompt to
	environ []string   // the process's, for restart
	window  int        // of run's model; 0: unknown
	told    agenttest.Evidence
	log     *lockedBuffer
	acts    atomic.Int32 // calls that reached a tool of acting
	own     []string     // directories of agentls
}

// lockedBuffer takes the log of an agent.
type lockedBuffer struct {
	on func(line string) // sees each line; may be nil
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	if b.on != nil {
		b.on(string(p))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, servers: newServers(), host: &agenttest.Host{Answer: agenttest.Always(agent.DecisionOnce)}, secrets: mcp.NewSecrets(), environ: os.Environ(), log: &lockedBuffer{}}
	var err error
	if w.dir, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	w.state = t.TempDir()
	t.Cleanup(w.checkAudit)
	w.audit = agent.NewAudit(filepath.Join(w.state, "audit"), w.secrets, slog.New(slog.DiscardHandler))
	w.restart()
	w.task = agent.Task{RunID: "r1", Session: "s", Folder: w.dir, Folders: agenttest.Folders(w.dir), Host: w.host}
	return w
}

// restart makes a new agent on the same state.
func (w *world) restart() {
	w.agent = agent.NewWith(agent.Options{
		Audit: w.audit, Secrets: w.secrets, Environ: w.environ, RememberFile: filepath.Join(w.state, "approvals.json"),
		ResultsDir: filepath.Join(w.state, "results"), UndoDir: filepath.Join(w.state, "undo"),
		SessionsDir: filepath.Join(w.state, "sessions"), Own: w.own,
		Log: w.logger(),
	}, w.servers, nil)
}

func (w *world) logger() *slog.Logger { return slog.New(slog.NewTextHandler(w.log, nil)) }

// checkAudit holds the audit against what the runs told and what was logged.
func (w *world) checkAudit() {
	w.log.mu.Lock()
	w.told.Log(w.log.Bytes())
	w.log.mu.Unlock()
	if err := agenttest.CheckAudit(w.state, &w.told); err != nil && !w.t.Failed() {
		w.t.Error(err)
	}
}

// run works on a prompt with a model that follows steps.
func (w *world) run(ctx context.Context, prompt string, steps ...agenttest.Step) (agent.Result, *agenttest.LLM, error) {
	llm := agenttest.NewLLM(w.t, steps...)
	llm.Of.ContextWindow = w.window
	t := w.task
	t.Prompt, t.LLM = prompt, llm
	res, err := w.work(ctx, t)
	return res, llm, err
}

// work runs a task.
func (w *world) work(ctx context.Context, t agent.Task) (agent.Result, error) {
	res, err := w.agent.Run(ctx, t)
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.told.Result(res)
	return res, err
}

// must is run for prompts that have to succeed.
func (w *world) must(prompt string, steps ...agenttest.Step) (agent.Result, *agenttest.LLM) {
	w.t.Helper()
	res, llm, err := w.run(context.Background(), prompt, steps...)
	if err != nil {
		w.t.Fatalf("run %q: %v", prompt, err)
	}
	w.reloads()
	return res, llm
}

// reloads checks that a session comes back from its file as it is in memory.
func (w *world) reloads() {
	w.t.Helper()
	if w.agent.SessionPath("", "") == "" {
		return // some tests make an agent without
	}
	got, err := w.agent.OnDisk(w.task.Folder, w.task.Session)
	if err != nil {
		w.t.Fatal(err)
	}
	if want := w.agent.History(w.task.Folder, w.task.Session); !reflect.DeepEqual(got, want) {
		w.t.Errorf("the session's file says\n%q\nthe memory\n%q", got, want)
	}
}

// close lets go what hangs and waits for it.
func (w *world) close() {
	close(w.servers.stubborn)
	w.agent.Close()
}

func call(id, tool, args string) agent.ToolCall {
	return agent.ToolCall{ID: id, Name: tool, Arguments: args}
}

// results are the tool messages of a request, in order.
func results(req agent.Request) []string {
	var out []string
	for _, m := range req.Messages {
		if m.Role == agent.ToolRole {
			out = append(out, m.Text)
		}
	}
	return out
}

// lastUser is the last user message of a request.
func lastUser(req agent.Request) agent.Message {
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == agent.User {
			return m
		}
	}
	return agent.Message{}
}

func statuses(res agent.Result) []agent.Outcome {
	var out []agent.Outcome
	for _, c := range res.ToolCalls {
		out = append(out, c.Status)
	}
	return out
}

func (w *world) lines() []agent.AuditEntry {
	w.t.Helper()
	all, err := w.audit.Read(agent.AuditFilter{Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in:\n%s", p, text)
		}
	}
}

func equal[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}
