package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
	"agentls/mcp/workspace"
)

// real is an agent on the real manager, which runs servers as child processes.
type real struct {
	world
	manager  *mcp.Manager
	received mcptest.Log
}

func newReal(t *testing.T, o mcptest.Options) *real {
	t.Helper()
	w := &real{received: mcptest.NewLog(t)}
	w.log = &lockedBuffer{}
	w.t, w.host, w.secrets = t, &agenttest.Host{Answer: agenttest.Always(agent.DecisionOnce)}, mcp.NewSecrets()
	var err error
	if w.dir, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	w.write("a.txt", "alpha\n")
	w.write(".gitignore", "ignored/\n")
	w.write("ignored/x.txt", "alpha ignored\n")
	w.write(".env", "alpha=1\n")
	log := slog.New(slog.NewTextHandler(w.log, nil))
	state := workspace.NewState()
	state.SetFolders([]workspace.Folder{{Path: w.dir, Name: filepath.Base(w.dir)}})
	w.manager = mcp.NewManager(mcp.Options{Name: "test", Version: "1", State: state, TrustFile: filepath.Join(t.TempDir(), "trust.json"), Environ: os.Environ(), Secrets: w.secrets, Log: log})
	t.Cleanup(w.manager.Close)
	o.Log = string(w.received)
	command, args, env := mcptest.Command(t, o)
	w.manager.Configure([]mcp.ServerConfig{{
		Name: "fake", Source: "user", Type: "stdio", Command: command, Args: args, Env: env, Cwd: w.dir,
		Timeout: mcp.DefaultTimeout, StartupTimeout: mcp.DefaultStartupTimeout, Protocol: "auto", Fingerprint: "f1",
	}})
	w.state = t.TempDir()
	t.Cleanup(func() {
		for _, m := range w.received.Method(t, "tools/call") {
			w.told.Served("fake", m.Tool())
		}
		w.checkAudit()
	})
	w.audit = agent.NewAudit(filepath.Join(w.state, "audit"), w.secrets, log)
	w.agent = agent.New(agent.Options{Manager: w.manager, State: state, Audit: w.audit, Secrets: w.secrets, RememberFile: filepath.Join(w.state, "approvals.json"), Log: log})
	t.Cleanup(w.agent.Close)
	w.task = agent.Task{RunID: "r1", Session: "s", Folder: w.dir, Folders: agenttest.Folders(w.dir), Host: w.host}
	return w
}

func (w *real) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// eventually polls until ok holds.
func (w *real) eventually(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("not after 10 s: %s", what)
		}
	}
}

func TestRunOnARealServer(t *testing.T) {
	w := newReal(t, mcptest.Options{Says: "Call echo first."})
	w.eventually("resources", func() bool { l, err := w.manager.Resources("fake"); return err == nil && l.Fetched })
	res, llm := w.must("see @fake:file://doc1.md", agenttest.Call(
		call("1", "mcp__fake__echo", `{"text":"pong"}`), call("2", "mcp__fake__read_resource", `{"uri":"file://doc2.md"}`),
		call("3", "mcp__fake__list_resources", ""), call("4", "mcp__fake__fail", ""), call("5", "mcp__fake__error", ""),
		call("6", "mcp__workspace__read_resource", `{"uri":"file://a.txt"}`), call("7", "mcp__fake__read_resource", `{"uri":"file://none"}`),
	), agenttest.Call(call("1", "mcp__fake__parts", "")))
	contains(t, llm.Requests()[0].Messages[0].Text, "<server_instructions server=\"fake\">\nCall echo first.\n</server_instructions>")
	contains(t, lastUser(llm.Requests()[0]).Text, `<resource server="fake" uri="file://doc1.md" mimeType="text/markdown">`, "# Content of file://doc1.md v0\n</resource>")
	got := results(llm.Last())
	for i, want := range []string{"pong", "# Content of file://doc2.md", "file://doc0.md", "it failed", "an error of the protocol", "alpha", "not found", "part-one\n[image image/png, 8 bytes"} {
		contains(t, got[i], want)
	}
	contains(t, got[7], "[audio: audio/wav", "embedded-text", "[resource link: mem://link, a link, text/html]")
	if lastUser(llm.Last()).Images[0].MIMEType != "image/png" {
		t.Error("the image did not arrive")
	}
	equal(t, "untracked", res.Untracked, []string{"echo", "error", "fail", "parts"})
	ids := map[string]bool{}
	for _, c := range res.ToolCalls {
		ids[c.ID] = true
	}
	if len(ids) != 8 {
		t.Errorf("ids of calls in two answers: %v", ids)
	}
}

// github/copilot-cli#3125
func TestLateToolOfARealServer(t *testing.T) {
	w := newReal(t, mcptest.Options{})
	_, llm := w.must("go", agenttest.Call(call("1", "mcp__fake__add_tool", "")), agenttest.Call(call("2", "mcp__fake__late_tool", "")))
	equal(t, "results", results(llm.Last()), []string{"added", "late tool ran"})
}

// cancel starts a run, waits until the server got the call, cancels it and
// says how long the answer took.
func (w *real) cancel(tool, args string) time.Duration {
	w.t.Helper()
	ctx, cancel := context.WithCancelCause(w.t.Context())
	ended := make(chan error, 1)
	go func() { // ends with the run
		_, _, err := w.run(ctx, "go", agenttest.Call(call("c", "mcp__fake__"+tool, args)))
		ended <- err
	}()
	w.received.AwaitCall(w.t, tool)
	began := time.Now()
	cancel(agent.ErrCancelled)
	err := <-ended
	took := time.Since(began)
	if !errors.Is(err, agent.ErrCancelled) {
		w.t.Errorf("ended with %v", err)
	}
	return took
}

// openai/codex#26956, anomalyco/opencode#24312: the server is told, once.
func TestCancelReachesTheServerOnce(t *testing.T) {
	w := newReal(t, mcptest.Options{})
	for _, tool := range []string{"sleep", "stubborn"} {
		if took := w.cancel(tool, `{"seconds":20}`); took > 5*time.Second { // the fault takes 20 s
			t.Errorf("%s: the answer took %v", tool, took)
		}
		asked := w.received.AwaitCall(t, tool)
		w.received.Await(t, 1, func() []mcptest.Entry { return w.cancels(asked) })
		w.must("next", agenttest.Call(call("d", "mcp__fake__echo", "{}")))
		if n := len(w.cancels(asked)); n != 1 {
			t.Errorf("%s: the server was told %d times", tool, n)
		}
	}
}

func (w *real) cancels(of mcptest.Entry) (out []mcptest.Entry) {
	for _, e := range w.received.Method(w.t, "notifications/cancelled") {
		if strings.Contains(string(e.Params), `"requestId":`+string(of.ID)) {
			out = append(out, e)
		}
	}
	return out
}

// vybestack/llxprt-code#282, topcheer/ggcode#717: a server that reads no more.
func TestCancelWhileTheServerDoesNotRead(t *testing.T) {
	w := newReal(t, mcptest.Options{})
	w.must("first", agenttest.Call(call("a", "mcp__fake__echo", "{}")))
	w.cancel("noread", "{}")
	ctx, cancel := context.WithCancelCause(t.Context())
	var cancelled time.Time // read after the run alone
	w.host.On = func(e agent.Event) {
		if e.ToolCall != nil && e.ToolCall.State == agent.ToolRunning {
			time.AfterFunc(100*time.Millisecond, func() {
				cancelled = time.Now()
				cancel(agent.ErrCancelled)
			})
		}
	}
	_, _, err := w.run(ctx, "go", agenttest.Call(call("b", "mcp__fake__echo", `{"text":"`+strings.Repeat("x", 300_000)+`"}`)))
	if took := time.Since(cancelled); !errors.Is(err, agent.ErrCancelled) || took > 5*time.Second {
		t.Errorf("%v, %v after the cancel", err, took)
	}
}

// MoonshotAI/kimi-code#2109, anthropics/claude-code#74329: a server that dies
// in a call fails it soon, and comes back.
func TestServerDiesInACall(t *testing.T) {
	w := newReal(t, mcptest.Options{})
	began := time.Now()
	res, llm := w.must("go", agenttest.Call(call("a", "mcp__fake__die", "")))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	equal(t, "outcome", statuses(res), []agent.Outcome{"unknown"})
	contains(t, results(llm.Last())[0], "The call broke off. It may or may not have had an effect", "exit status 3")
	ready := func() bool {
		return slices.ContainsFunc(w.manager.Servers(), func(s mcp.ServerInfo) bool { return s.Name == "fake" && s.Status == mcp.StatusReady })
	}
	w.eventually("the end is known", func() bool { return !ready() }) // it is back after a second
	w.eventually("the server is back", ready)
	for i := range 3 {
		_, llm := w.must("again", agenttest.Call(call("b", "mcp__fake__echo", fmt.Sprintf(`{"text":"%d"}`, i))))
		got := results(llm.Last())
		equal(t, "result", got[len(got)-1:], []string{fmt.Sprint(i)})
	}
}

// QwenLM/qwen-code#2439, charmbracelet/crush#3480
func TestHugeResultOfARealServer(t *testing.T) {
	w := newReal(t, mcptest.Options{Text: strings.Repeat("é", 30_000)})
	w.task.Limits.MentionChars = 20_000
	w.eventually("resources", func() bool { l, err := w.manager.Resources("fake"); return err == nil && l.Fetched })
	res, llm := w.must("see @fake:file://doc1.md", agenttest.Call(call("a", "mcp__fake__big", `{"bytes":5000000}`)))
	got := results(llm.Last())[0]
	if len(got) > 51200 || len(got) < 50000 {
		t.Errorf("%d bytes", len(got))
	}
	contains(t, got, "of 5000000 bytes here]")
	if res.Mentions[0].Status != "truncated" {
		t.Errorf("mention %+v", res.Mentions[0])
	}
	contains(t, llm.Last().Messages[1].Text, "é\n[resource truncated by agentls at 20000 chars]\n</resource>")
}

// What is ignored or may hold secrets is asked about, by path and by resource.
func TestIgnoredFilesAsk(t *testing.T) {
	w := newReal(t, mcptest.Options{})
	w.host.Answer = nil
	res, llm := w.must("go", agenttest.Call(
		call("1", "read_file", `{"path":"ignored/x.txt"}`), call("2", "mcp__workspace__read_resource", `{"uri":"file://ignored/x.txt"}`),
		call("3", "mcp__workspace__read_resource", `{"uri":"file://.env"}`), call("4", "list_dir", ""), call("5", "search_code", `{"query":"alpha"}`),
	))
	got := map[string]agent.Outcome{}
	for _, c := range res.ToolCalls {
		got[c.ID] = c.Status
	}
	for id, want := range map[string]agent.Outcome{"1": "rejected", "2": "rejected", "3": "rejected", "4": "completed", "5": "completed"} {
		if got[id] != want {
			t.Errorf("call %s: %s, want %s", id, got[id], want)
		}
	}
	texts := results(llm.Last())
	equal(t, "list and search", texts[3:], []string{".env (8 bytes)\n.gitignore (9 bytes)\na.txt (6 bytes)", "a.txt:1: alpha\n"})
}
