//go:build unix

package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentls/mcp/child"
	"agentls/mcp/mcptest"
)

// MoonshotAI/kimi-code#2109, and the same with a grandchild that holds stdout. It is
// started again, tools and all (anthropics/claude-code#43177), for more than one call
// (anthropics/claude-code#74329).
func TestChildThatDiesInACallFailsItAtOnce(t *testing.T) {
	for _, tool := range []string{"die", "forkdie"} {
		t.Run(tool, func(t *testing.T) {
			log := mcptest.NewLog(t)
			h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Stderr: "last words\n"}})
			within(t, 8*time.Second, tool, func() {
				_, err := h.call("fake", tool, nil)
				if err == nil || !errors.Is(err, errLost) || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "last words") {
					t.Errorf("%v", err)
				}
			})
			if e := h.await("fake", EventLost); !strings.Contains(e.Err, "last words") {
				t.Errorf("%+v", e)
			}
			h.await("fake", EventRecovered)
			for range 3 {
				if got := h.mustCall("fake", "echo", args{"text": "back"}); got != "back" {
					t.Errorf("%q", got)
				}
			}
			h.Close()
			gone(t, log)
		})
	}
}

func TestPendingCallOfAKilledChildFails(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log)}})
	done := make(chan error, 1)
	go func() {
		_, err := h.call("fake", "never", nil)
		done <- err
	}()
	log.AwaitCall(t, "never")
	if err := syscall.Kill(pids(t, log)[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	within(t, 8*time.Second, "the call", func() {
		if err := <-done; err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("%v", err)
		}
	})
	// charmbracelet/crush#3327: status and tools agree.
	h.await("fake", EventRecovered)
	if i := h.status("fake"); i.Status != StatusReady || *i.Tools != len(h.tools("fake")) {
		t.Errorf("%+v", i)
	}
}

// vybestack/llxprt-code#282, topcheer/ggcode#717
func TestChildThatDoesNotReadHoldsNobody(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"deaf": {Log: string(log)}, "other": {}})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { _, _ = h.callCtx(ctx, "deaf", "noread", nil) }()
	log.AwaitCall(t, "noread")
	big := args{"text": strings.Repeat("x", 1<<20)}
	done := make(chan error, 4)
	for range cap(done) {
		go func() {
			_, err := h.callCtx(ctx, "deaf", "echo", big)
			done <- err
		}()
	}
	if got := h.mustCall("other", "echo", args{"text": "fine"}); got != "fine" {
		t.Errorf("%q", got)
	}
	why := errors.New("the user's cancel")
	cancel(why)
	within(t, 8*time.Second, "the cancel", func() {
		for range cap(done) {
			if err := <-done; !errors.Is(err, why) {
				t.Errorf("%v", err)
			}
		}
	})
	within(t, 5*time.Second, "close", h.Close)
	gone(t, log)
}

// Whatever a server does, nothing of it is left: charmbracelet/mods#595 (deaf to the
// end), charmbracelet/crush#3328 (a grandchild), anthropics/claude-code#93087 (still
// starting).
func TestCloseEndsEveryProcess(t *testing.T) {
	check := func(name string, o mcptest.Options) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			log := mcptest.NewLog(t)
			o.Log = string(log)
			h := newHouse(t, Options{}, fast())
			h.Configure([]ServerConfig{fakeConfig(t, "fake", o)})
			log.AwaitEvent(t, 1, "start")
			if o.Child {
				log.AwaitEvent(t, 1, "grandchild")
			}
			within(t, 4*time.Second, "close", h.Close)
			gone(t, log)
		})
	}
	check("well-behaved", mcptest.Options{})
	check("ignores the end of input and TERM", mcptest.Options{IgnoreEOF: true})
	check("has a grandchild", mcptest.Options{Child: true})
	check("stubborn grandchild", mcptest.Options{Child: true, IgnoreEOF: true})
	check("still starting", mcptest.Options{SlowInit: time.Hour})
	check("never answers", mcptest.Options{Silent: true, IgnoreEOF: true})
}

func TestShellWrapperAndItsChildEnd(t *testing.T) {
	log := mcptest.NewLog(t)
	c := fakeConfig(t, "fake", mcptest.Options{Log: string(log)})
	c.Command, c.Args = "sh", []string{"-c", "exec 3<&0; " + c.Command + " <&3 & wait"}
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{c})
	h.started()
	if got := h.mustCall("fake", "echo", args{"text": "through the shell"}); got != "through the shell" {
		t.Errorf("%q", got)
	}
	h.Close()
	gone(t, log)
}

func TestJunkOnStdoutIsSkippedAndToldOnce(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"junk": {Junk: true}, "banner": {Banner: true}})
	for _, server := range []string{"junk", "banner"} {
		if got := h.mustCall(server, "echo", args{"text": "alive"}); got != "alive" {
			t.Errorf("%s: %q", server, got)
		}
		if e := h.await(server, EventProblem); !strings.Contains(e.Text, "not an MCP message") {
			t.Errorf("%+v", e)
		}
		if n := len(h.kind(server, EventProblem)); n != 1 {
			t.Errorf("%s: told %d times", server, n)
		}
	}
}

// QwenLM/qwen-code#2439
func TestHugeAnswersAreBounded(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"fake": {}})
	if got := h.mustCall("fake", "big", args{"bytes": 3 << 20}); len(got) != 3<<20 {
		t.Errorf("%d bytes", len(got))
	}
	_, err := h.call("fake", "big", args{"bytes": 17 << 20})
	if err == nil || !strings.Contains(err.Error(), "over 16 MiB") {
		t.Errorf("%v", err)
	}
	if got := h.mustCall("fake", "echo", args{"text": "alive"}); got != "alive" {
		t.Errorf("%q", got)
	}
	h.await("fake", EventProblem)
}

func TestStderrFloodIsDrained(t *testing.T) {
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{{
		Name: "loud", Type: "stdio", Command: "sh",
		Args: []string{"-c", `i=0; while [ $i -lt 3000 ]; do echo "line $i 0123456789012345678901234567890123456789" >&2; i=$((i+1)); done; printf 'the end' >&2; exit 4`},
	}})
	e := h.await("loud", EventFailed)
	if !strings.Contains(e.Err, "exit status 4") || !strings.Contains(e.Err, "line 2999") || !strings.HasSuffix(e.Err, "the end") || len(e.Err) > 3000 {
		t.Errorf("%s", e.Err)
	}
}

// What does not start is told with its reason, and what to do: a server that never
// answers (anthropics/claude-code#35287), a PATH that does not have its program
// (zed-industries/zed#60800).
func TestWhatCannotStartNamesTheCulprit(t *testing.T) {
	dir := t.TempDir()
	check := func(name string, c ServerConfig, want ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, Options{Environ: []string{"PATH=/usr/bin:/bin"}}, fast())
			c.Name, c.StartupTimeout = "culprit", 500*time.Millisecond
			h.Configure([]ServerConfig{c})
			e := h.await("culprit", EventFailed)
			i := h.status("culprit")
			for _, w := range want {
				if !strings.Contains(e.Err, w) || !strings.Contains(i.Error, w) {
					t.Errorf("%q does not name %q", e.Err, w)
				}
			}
			if i.Status != StatusFailed {
				t.Errorf("%+v", i)
			}
		})
	}
	check("no command", ServerConfig{}, "no command")
	check("not in PATH", ServerConfig{Command: "npx-of-nowhere"}, "npx-of-nowhere", "PATH=/usr/bin:/bin", `whole path as "command"`, `PATH in "env"`)
	script := dir + "/npx"
	if err := os.WriteFile(script, []byte("#!/usr/bin/env node-of-nowhere\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	check("its interpreter is not in PATH", ServerConfig{Command: script, Env: map[string]string{"PATH": "/bin:/opt/none"}}, "exit status 127", "PATH=/bin:/opt/none", `PATH in "env"`, "node-of-nowhere", "No such file")
	check("no such file", ServerConfig{Command: dir + "/none"}, dir+"/none")
	check("not executable", ServerConfig{Command: "/etc/passwd"}, "/etc/passwd", "permission denied")
	check("no such folder", ServerConfig{Command: "cat", Cwd: dir + "/none"}, dir+"/none")
	check("exits", ServerConfig{Command: "sh", Args: []string{"-c", "echo 'set FOO first' >&2; exit 7"}}, "exit status 7", "set FOO first")
	// Seen of kubernetes-mcp-server 0.0.67 without a kubeconfig (a page of usage
	// after the reason), of node (what it tried after it) and of mcp-mongo-server
	// 3.0.1 (it ends so late that the second try has no time left).
	check("exits after a page of usage", ServerConfig{Command: "sh", Args: []string{"-c", "echo 'Error: no current-context' >&2; seq 30 | sed 's/^/  --option /' >&2; exit 1"}}, "exit status 1", "Error: no current-context", "--option 30")
	check("exits and never answers again", ServerConfig{Command: "sh", Args: []string{"-c", "read l; case $l in *initialize*) echo 'connect ECONNREFUSED' >&2; exit 1;; esac; cat >/dev/null"}}, "500ms", "ECONNREFUSED")
	check("never answers", ServerConfig{Command: "sh", Args: []string{"-c", "echo waiting >&2; while read l; do :; done"}}, "500ms", "waiting")
	check("answers to anything with an error", ServerConfig{Command: "sh", Args: []string{"-c", `while read l; do echo '{"id":1,"error":{"code":-32000,"message":"go away"}}'; done`}}, "go away")
	check("has no start", ServerConfig{Command: "sh", Args: []string{"-c", `while read l; do echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what?"}}'; done`}}, "answered the start with an error", "what?")
	check("echoes", ServerConfig{Command: "cat"}, "may be no MCP server")
	check("configuration", ServerConfig{Command: "cat", Err: "env.TOKEN: variable TOKEN is not set"}, "env.TOKEN")
	check("a URL without a scheme", ServerConfig{Type: "http", URL: "example.com/mcp"}, `"url" has to begin with http://`)
	check("no URL", ServerConfig{Type: "sse"}, `"url" has to begin with http://`)
}

// anomalyco/opencode#31778
func TestChildGetsTheBaseEnvironmentOnly(t *testing.T) {
	check := func(name string, change func(*ServerConfig), want, not []string) {
		t.Helper()
		c := ServerConfig{Env: map[string]string{"MINE": "1"}}
		change(&c)
		got := childEnv([]string{
			"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_STATE_HOME=/s", "https_proxy=p", "NO_PROXY=n", "SSL_CERT_FILE=c", "OPENAI_API_KEY=sk-1", "ANTHROPIC_AUTH_TOKEN=t",
			"AZURE_API_KEY=a", "GLM_API_KEY=g", "QWEN_API_KEY=q", "AZURE_STORAGE_KEY=s", "CORP_LLM=x", "GITHUB_TOKEN=g", "SECRET=s", "AGENTLS_X=1", "=C:=hidden", "MINE=0", "NODE_EXTRA_CA_CERTS=x",
		}, c)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %s is missing: %q", name, w, got)
			}
		}
		for _, n := range not {
			if slices.ContainsFunc(got, func(kv string) bool { return strings.HasPrefix(kv, n+"=") }) {
				t.Errorf("%s: %s is there: %q", name, n, got)
			}
		}
	}
	base := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_STATE_HOME=/s", "https_proxy=p", "NO_PROXY=n", "SSL_CERT_FILE=c", "NODE_EXTRA_CA_CERTS=x", "MINE=1"}
	check("base", func(*ServerConfig) {}, base, []string{"OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CORP_LLM", "GITHUB_TOKEN", "SECRET", "AGENTLS_X"})
	check("inherited", func(c *ServerConfig) { c.InheritEnv, c.Withheld = true, []string{"CORP_LLM"} }, append(base, "GITHUB_TOKEN=g", "SECRET=s", "AZURE_STORAGE_KEY=s"),
		[]string{"OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AZURE_API_KEY", "GLM_API_KEY", "QWEN_API_KEY", "CORP_LLM"})
	check("configured", func(c *ServerConfig) { c.Env = map[string]string{"OPENAI_API_KEY": "given"} }, []string{"OPENAI_API_KEY=given"}, nil)

	o := mcptest.Options{}
	h := newHouse(t, Options{Environ: append(os.Environ(), "OPENAI_API_KEY=sk-should-not-leak")}, fast())
	c := fakeConfig(t, "env", o)
	c.Cwd = t.TempDir()
	h.Configure([]ServerConfig{c})
	h.started()
	if env := h.mustCall("env", "env", nil); strings.Contains(env, "sk-should-not-leak") || !strings.Contains(env, "PATH=") {
		t.Errorf("%s", env)
	}
}

func TestReaperEndsChildrenOfAKilledProcess(t *testing.T) {
	ended := exec.Command("sh", "-c", "sleep 1000 & wait")
	g, err := child.Start(ended)
	if err != nil {
		t.Fatal(err)
	}
	spared := exec.Command("sleep", "1000")
	other, err := child.Start(spared)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.Kill()
		other.Kill()
		_, _ = ended.Process.Wait()
		_, _ = spared.Process.Wait()
	})
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		Reap(r)
	}()
	_, _ = fmt.Fprintf(w, "+%d\n+%d\nnonsense\n-%d\n+1\n+-5\n", g.ID(), other.ID(), other.ID())
	_ = w.Close() // without a goodbye
	<-done
	eventually(t, "the child is killed", func() bool { return !alive(ended.Process.Pid) })
	if !alive(spared.Process.Pid) {
		t.Error("one that had ended was killed")
	}
	Reap(strings.NewReader(fmt.Sprintf("+%d\nbye\n", other.ID())))
	if !alive(spared.Process.Pid) {
		t.Error("killed in spite of a goodbye")
	}
}

func TestReaperIsToldOfEachChild(t *testing.T) {
	file := t.TempDir() + "/told"
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{Reaper: []string{"sh", "-c", `cat >> "$0"`, file}, Log: slog.New(slog.DiscardHandler)}, fast())
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{Log: string(log)})})
	h.started()
	pid := pids(t, log)[0]
	h.Close()
	told, err := os.ReadFile(file)
	if want := fmt.Sprintf("+%d\n-%d\nbye\n", pid, pid); err != nil || string(told) != want {
		t.Errorf("%q, %v; want %q", told, err, want)
	}
	// One that cannot be started costs nothing but its service.
	h = newHouse(t, Options{Reaper: []string{"/nonexistent/reaper"}}, fast())
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{})})
	h.started()
	if got := h.mustCall("fake", "echo", args{"text": "fine"}); got != "fine" {
		t.Errorf("%q", got)
	}
}

// A helper that does not hear the goodbye holds nobody up.
func TestReaperThatDoesNotEndIsKilled(t *testing.T) {
	h := newHouse(t, Options{Reaper: []string{"sleep", "30"}}, fast())
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{})})
	h.started()
	start := time.Now()
	h.Close()
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("closed after %v", took)
	}
}

func TestTailKeepsTheLastLines(t *testing.T) {
	var tl tail
	for i := range 1000 {
		_, _ = fmt.Fprintf(&tl, "line %d\r\n\n", i)
	}
	_, _ = tl.Write([]byte(strings.Repeat("y", 1<<20)))
	got := tl.last(3)
	if len(got) != 3 || got[0] != "line 998" || got[1] != "line 999" || len(got[2]) != tailLine {
		t.Errorf("%d %q", len(got), got[:2])
	}
	if n := len(tl.last(10_000)); n != tailLines+1 {
		t.Errorf("%d lines are held", n)
	}
}

func TestTailTellsTheCauseThatIsOutOfSight(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"Error: no kubeconfig", "Error: no kubeconfig"},
		{"TypeError [ERR_X]: no", "TypeError [ERR_X]: no"},
		{"java.lang.RuntimeException: no", "java.lang.RuntimeException: no"},
		{"panic: no", "panic: no"},
		{"  fatal: no repository", "  fatal: no repository"},
		{"Failed to connect to MongoDB: no", "Failed to connect to MongoDB: no"},
		{"errors are told here", ""},
		{"usage: x [error]", ""},
	} {
		t.Run(c.line, func(t *testing.T) {
			var out tail
			_, _ = out.Write([]byte("Error: an older one\n"))
			for range tailLines {
				_, _ = out.Write([]byte("."))
				_, _ = out.Write([]byte("\n"))
			}
			_, _ = out.Write([]byte(c.line + "\n1\n2\n"))
			if got := out.cause(2); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got := out.cause(3); got != "" {
				t.Errorf("%q is in sight already", got)
			}
		})
	}
}

// A call with large arguments (charmbracelet/crush#2854) to a server that stopped
// reading ends at its deadline, and what does not read is ended with the manager.
func TestCallToAChildThatDoesNotReadEndsAtItsDeadline(t *testing.T) {
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{}, fast())
	c := fakeConfig(t, "deaf", mcptest.Options{Log: string(log), IgnoreEOF: true})
	c.Timeout = 500 * time.Millisecond
	h.Configure([]ServerConfig{c})
	h.started()
	go func() { _, _ = h.call("deaf", "noread", nil) }() // ends at its deadline
	log.AwaitCall(t, "noread")
	within(t, 8*time.Second, "the call", func() {
		if _, err := h.call("deaf", "echo", args{"text": strings.Repeat("x", 300_000)}); err == nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errLost) {
			t.Errorf("%v", err)
		}
	})
	within(t, 8*time.Second, "close", h.Close)
	gone(t, log)
}
