package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lspclient"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// sessionWorld is a folder and a state that processes share, and the provider
// of all of them.
type sessionWorld struct {
	t         *testing.T
	dir       string
	folder    string
	fake      string // the log of the fake servers
	env       []string
	mu        sync.Mutex
	histories [][]agent.Message // of each request, without the system's message
}

func newSessionWorld(t *testing.T) *sessionWorld {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &sessionWorld{t: t, dir: dir, folder: filepath.Join(dir, "ws"), fake: filepath.Join(dir, "fake.log")}
	t.Cleanup(func() { checkAudit(t, filepath.Join(dir, "state", "agentls"), w.fake, true) })
	if err := os.MkdirAll(w.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	provider := httptest.NewServer(http.HandlerFunc(w.provide))
	t.Cleanup(provider.Close)
	w.env = append(demoEnvironment(os.Environ(), dir), "OPENAI_API_KEY=sk-session-test-1", "OPENAI_BASE_URL="+provider.URL+"/v1", "OPENAI_MODEL=tiny")
	return w
}

// provide refuses what a provider refuses, and answers by the last prompt:
// "stream" gets some words and then nothing more, "sleep" a call that does not
// come back, "call name arguments" that call, anything else "fine".
func (w *sessionWorld) provide(rw http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct {
			Role      agent.Role `json:"role"`
			Content   string     `json:"content"`
			ID        string     `json:"tool_call_id"`
			ToolCalls []struct {
				ID       string `json:"id"`
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		w.t.Errorf("a request for %s: %v", r.URL, err)
		return
	}
	var all []agent.Message
	for _, m := range body.Messages {
		one := agent.Message{Role: m.Role, Text: m.Content, ToolCallID: m.ID}
		for _, c := range m.ToolCalls {
			one.ToolCalls = append(one.ToolCalls, agent.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		all = append(all, one)
	}
	if all[0].Role == agent.User { // a server's own, without a history
		stream(rw, `{"content":"Blue"}`, "stop")
		return
	}
	if err := agenttest.CheckHistory(all); err != nil {
		w.t.Errorf("a request that providers refuse: %v", err)
	}
	w.mu.Lock()
	w.histories = append(w.histories, all[1:])
	w.mu.Unlock()
	content, _ := json.Marshal(all[len(all)-1].Text) // strings always encode
	switch last := all[len(all)-1].Text; {
	case all[len(all)-1].Role == agent.User && called(content) != nil:
		stream(rw, fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":%s}]}`, called(content)), "tool_calls")
	case strings.Contains(last, "stream"):
		rw.Header().Set("Content-Type", "text/event-stream")
		for i := range 50 {
			fmt.Fprintf(rw, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"w%d \"}}]}\n\n", i)
		}
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
	case strings.Contains(last, "sleep"):
		stream(rw, `{"content":"I sleep.","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"mcp__fake__echo","arguments":"{\"text\":\"first\"}"}},`+
			`{"index":1,"id":"c2","type":"function","function":{"name":"mcp__fake__sleep","arguments":"{\"seconds\":600}"}}]}`, "tool_calls")
	default:
		stream(rw, `{"content":"fine"}`, "stop")
	}
}

// last is the history of the last request.
func (w *sessionWorld) last() []agent.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.histories[len(w.histories)-1]
}

func (w *sessionWorld) command(args ...string) *exec.Cmd {
	w.t.Helper()
	binary, err := exec.LookPath("agentls") // this test binary, by TestMain
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = w.folder, w.env
	return cmd
}

// editor starts a server with an editor on the folder, which has a prompt
// buffer open.
func (w *sessionWorld) editor(ctx context.Context, prompt string) (e *lspclient.Client, buffer string) {
	w.t.Helper()
	e, err := lspclient.Start(w.command(), lspclient.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = e.Close() }) // most were killed
	err = e.Call(ctx, "initialize", map[string]any{
		"processId": os.Getpid(), "rootUri": "file://" + filepath.ToSlash(w.folder),
		"clientInfo":   map[string]string{"name": "test"},
		"capabilities": map[string]any{"experimental": map[string]any{"agentls": map[string]bool{"runEvents": true}}},
		"initializationOptions": map[string]any{
			"workspaceTrusted": true, "approval": map[string]string{"default": "allow"},
			"mcpServers": map[string]any{"fake": fakeServer(w.t, mcptest.Options{Log: w.fake})},
		},
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	e.Notify("initialized", struct{}{})
	buffer = "file://" + filepath.ToSlash(w.folder) + "/p.agentls.md"
	e.Notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": buffer, "languageId": "markdown", "version": 1, "text": "## You\n\n" + prompt + "\n",
	}})
	return e, buffer
}

// An editor whose server was killed in the middle of a run, and is started
// again: the same prompt buffer is the same session, which has what was
// received, and the provider takes it (charmbracelet/crush#2622, P14).
func TestSessionSurvivesAKill(t *testing.T) {
	for _, c := range []struct {
		name, prompt string
		reached      func(e event) bool
		kept         string // in the file, by then
		want         func(m []agent.Message) bool
	}{
		{
			"in the stream", "stream it",
			func(e event) bool { return e.Kind == "text" && strings.Contains(e.Delta, "w49") },
			"w49",
			func(m []agent.Message) bool {
				return len(m) == 3 && strings.HasPrefix(m[1].Text, "w0 w1 ") && strings.HasSuffix(m[1].Text, "w49 \n\n[the run was interrupted here]")
			},
		},
		{
			"in a call", "sleep now",
			func() func(event) bool {
				echoed, sleeps := false, false
				return func(e event) bool {
					echoed = echoed || e.ToolCall.Tool == "echo" && e.ToolCall.State == "completed"
					sleeps = sleeps || e.ToolCall.Tool == "sleep" && e.ToolCall.State == "running"
					return echoed && sleeps
				}
			}(),
			`"toolCallId":"c1"`,
			func(m []agent.Message) bool {
				return len(m) == 6 && m[1].Text == "I sleep." && len(m[1].ToolCalls) == 2 && m[2].Text == "first" &&
					m[3].Text == "The call was interrupted. Whether it had an effect is unknown." && m[4].Text == "[the run was interrupted here]"
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newSessionWorld(t)
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			e, buffer := w.editor(ctx, c.prompt)
			before := e.Mark()
			e.Request("workspace/executeCommand", lspclient.Command("agentls.send", map[string]string{"uri": buffer}))
			err := e.Await(ctx, before, "the run does not come so far", func(m lspclient.Message) bool {
				var v event
				return m.Method == "agentls/runEvent" && json.Unmarshal(m.Params, &v) == nil && c.reached(v)
			})
			if err != nil {
				t.Fatal(err)
			}
			w.awaitFile(c.kept) // all is told before it is kept, by an instant
			kill(t, e.PID())
			if err := e.Close(); err == nil {
				t.Error("the server was not killed")
			}

			e, buffer = w.editor(ctx, "and now?")
			var r struct{ Status, Text string }
			if err := e.Execute(ctx, "agentls.send", map[string]string{"uri": buffer}, &r); err != nil || r.Status != "completed" {
				t.Fatalf("%+v, %v", r, err)
			}
			if m := w.last(); !c.want(m) || !strings.Contains(m[0].Text, c.prompt) || !strings.Contains(m[len(m)-1].Text, "and now?") {
				t.Errorf("the provider got %q", m)
			}
		})
	}
}

// event is agentls/runEvent.
type event struct {
	Kind, Delta string
	ToolCall    struct{ Tool, State string }
}

func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// awaitFile waits until the file of a session has some text.
func (w *sessionWorld) awaitFile(text string) {
	w.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(w.dir, "state", "agentls", "sessions", "*", "*.jsonl"))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, f := range files {
			if data, err := os.ReadFile(f); err == nil && bytes.Contains(data, []byte(text)) {
				return
			}
		}
		if time.Now().After(end) {
			w.t.Fatalf("%q is in none of %q", text, files)
		}
	}
}

// ask runs `agentls ask` and returns its exit code and what it said on stderr.
func (w *sessionWorld) ask(args ...string) (code int, errors string) {
	w.t.Helper()
	cmd := w.command(append([]string{"ask"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}

// agent is an agent on the state of the processes.
func (w *sessionWorld) agent() *agent.Agent {
	m := mcp.NewManager(mcp.Options{Name: "agentls", Version: "test"})
	w.t.Cleanup(m.Close)
	return agent.New(agent.Options{Manager: m, SessionsDir: filepath.Join(w.dir, "state", "agentls", "sessions"), Secrets: mcp.NewSecrets(), Log: slog.New(slog.DiscardHandler)})
}

// PEERS 62, editor-code-assistant/eca#558, charmbracelet/crush#2690: two
// processes on one session. One is told that the other has it, at once, and
// whatever both do, no turn is lost and the file stays whole.
func TestTwoProcessesOnASession(t *testing.T) {
	w := newSessionWorld(t)
	holder := w.command("ask", "--session", "shared", "stream", "it")
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	var said []byte
	for buf := make([]byte, 512); !bytes.Contains(said, []byte("w49")); {
		n, err := out.Read(buf)
		if said = append(said, buf[:n]...); err != nil {
			t.Fatalf("%v after %q", err, said)
		}
	}
	code, words := w.ask("--session", "shared", "me", "too")
	if code != exitFailed || !strings.Contains(words, fmt.Sprintf("The session is in use: another agentls process (%d) works on this session since ", holder.Process.Pid)) {
		t.Errorf("exit %d: %s", code, words)
	}
	kill(t, holder.Process.Pid)
	if err := holder.Wait(); err == nil {
		t.Error("the first process was not killed")
	}

	const turns = 8
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			for n := 0; n < turns; {
				code, words := w.ask("--session", "shared", fmt.Sprintf("turn %d of %d", n, i))
				switch {
				case code == exitOK:
					n++
				case !strings.Contains(words, "The session is in use"):
					t.Errorf("exit %d: %s", code, words)
					return
				}
			}
		})
	}
	both.Wait()
	a := w.agent()
	s, err := a.ShowSession(t.Context(), []string{w.folder}, "shared")
	if err != nil || s.Turns != 1+2*turns || s.Status != "completed" {
		t.Fatalf("%+v, %v", s.SessionInfo, err)
	}
	seen := map[string]int{}
	for _, m := range s.Messages {
		seen[m.Text]++
	}
	for i := range 2 {
		for n := range turns {
			if seen[fmt.Sprintf("turn %d of %d", n, i)] != 1 {
				t.Errorf("turn %d of %d is there %d times", n, i, seen[fmt.Sprintf("turn %d of %d", n, i)])
			}
		}
	}
	if seen["fine"] != 2*turns || len(s.Messages) != 2+4*turns {
		t.Errorf("%d answers, %d messages", seen["fine"], len(s.Messages))
	}
	if _, err := a.ForkSession(t.Context(), []string{w.folder}, "none"); !errors.Is(err, agent.ErrNoSession) {
		t.Error(err)
	}
}
