//go:build unix

package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// command is a call of run_command.
func command(id, line string, more ...any) agent.ToolCall {
	args := map[string]any{"command": line}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return agent.ToolCall{ID: id, Name: "run_command", Arguments: marshalAny(args)}
}

func lastResult(llm *agenttest.LLM) string {
	all := results(llm.Last())
	return all[len(all)-1]
}

// said runs one command through the gate and returns its result for the model
// and how it ended.
func (w *world) said(line string, more ...any) (string, agent.Outcome) {
	w.t.Helper()
	res, llm := w.must("go", agenttest.Call(command("c", line, more...)))
	return lastResult(llm), res.ToolCalls[0].Status
}

func TestRunCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.MkdirAll(filepath.Join(w.dir, "sub", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line, want string
		status     agent.Outcome
		more       []any
	}{
		{"echo hello", "hello\n[exit status 0]", agent.Completed, nil},
		{"echo out; echo err >&2; exit 3", "out\nerr\n[exit status 3]", agent.Completed, nil},
		{"true", "(no output)\n[exit status 0]", agent.Completed, nil},
		{"kill -9 $$", "(no output)\n[killed by the signal: killed]", agent.Completed, nil},
		{"pwd", w.dir + "\n[exit status 0]", agent.Completed, nil},
		{"pwd", filepath.Join(w.dir, "sub/deep") + "\n[exit status 0]", agent.Completed, []any{"cwd", "sub/deep"}},
		{"pwd", filepath.Join(w.dir, "sub") + "\n[exit status 0]", agent.Completed, []any{"cwd", filepath.Join(w.dir, "sub")}},
		{"cat; read x; echo ended", "ended\n[exit status 0]", agent.Completed, nil}, // who reads its input finds its end
		{"printf '\\033[31mred\\033[0m 10%%\\rdone\\n\\000\\377x'", "done\n\uFFFDx\n[exit status 0]", agent.Completed, nil},
		{"echo started; sleep 1000", "started\n[timed out after 1 s]", agent.Failed, []any{"timeoutSeconds", 1}},
		{"(trap '' TERM; sleep 1000) & trap '' TERM; echo deaf; wait; sleep 1000", "deaf\n[timed out after 1 s]", agent.Failed, []any{"timeoutSeconds", 1}},
		{"sleep 1000 & echo up", "up\n[exit status 0]\n[what it left running in the background was ended with it]", agent.Completed, nil},
		{"none-such-program", "[exit status 127]", agent.Completed, nil},
		{"yes | head -n 1", "y\n[exit status 0]", agent.Completed, nil},
	} {
		text, status := w.said(c.line, c.more...)
		if status != c.status || !strings.HasSuffix(text, c.want) || c.want[0] != '[' && text != c.want {
			t.Errorf("%s: %s\n got %q\nwant %q", c.line, status, text, c.want)
		}
	}
	for _, e := range w.lines() {
		if e.Outcome == agent.Failed && e.Reason != "timed out after 1 s" {
			t.Errorf("the audit says %q", e.Reason)
		}
	}
}

func TestRunCommandRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	outside := t.TempDir()
	for name, target := range map[string]string{"out": outside, "in": w.dir} {
		if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		call agent.ToolCall
		want string
	}{
		{command("c", ""), "the argument command is missing"},
		{command("c", "  \n "), "the argument command is missing"},
		{command("c", "echo a\x00b"), "NUL"},
		{command("c", strings.Repeat("x", 100_001)), "at most 100000 are taken"},
		{command("c", "touch ran", "timeoutSeconds", 0), "must be 1 to 600"},
		{command("c", "touch ran", "timeoutSeconds", 601), "must be 1 to 600"},
		{command("c", "touch ran", "timeoutSeconds", "5"), `"timeoutSeconds" must be of type integer`},
		{command("c", "touch ran", "cwd", ".."), "outside the workspace"}, // veryfront-code#2226
		{command("c", "touch ran", "cwd", outside), "outside the workspace"},
		{command("c", "touch ran", "cwd", "out"), "outside the workspace"},
		{command("c", "touch ran", "cwd", "in/out"), "outside the workspace"},
		{command("c", "touch ran", "cwd", "none"), `there is no "none"`},
		{command("c", "touch ran", "cwd", "file"), "is no directory"},
		{command("c", "touch ran", "cwd", "a\x00b"), "control characters"},
		{command("c", "touch ran", "cwd", "file://x"), "is a URI"},
		{call("c", "run_command", `{"command":["ls"]}`), `"command" must be of type string`},
		{call("c", "run_command", `{}`), "the argument command is missing"},
	} {
		res, llm := w.must("go", agenttest.Call(c.call))
		if res.ToolCalls[0].Status != agent.Failed {
			t.Errorf("%s: %s", c.call.Arguments, res.ToolCalls[0].Status)
		}
		contains(t, lastResult(llm), c.want)
	}
	if text, _ := w.said("touch ran; pwd", "cwd", "in"); text != w.dir+"\n[exit status 0]" {
		t.Errorf("in a linked folder: %q", text)
	}
	for _, dir := range []string{outside, filepath.Dir(w.dir)} {
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
			t.Errorf("it ran in %s", dir)
		}
	}
	w.task.Folders = nil
	_, llm := w.must("what is there")
	for _, tool := range llm.Last().Tools {
		if tool.Name == "run_command" {
			t.Error("it is offered without a folder")
		}
	}
	if !slices.ContainsFunc(llm.Last().Tools, func(s agent.ToolSpec) bool { return s.Name == "web_fetch" }) {
		t.Error("web_fetch, which needs no folder, is not offered without one")
	}
	w.task.Folders = agenttest.Folders(filepath.Join(w.dir, "gone"))
	text, status := w.said("true")
	if status != agent.Failed {
		t.Errorf("without a folder: %s", status)
	}
	contains(t, text, "no workspace folder")
}

// hosts #28, anomalyco/opencode#31778, VeriTeknik/pluggedin-app#209: no key of
// a provider reaches a command; and nothing that could ask finds a terminal.
func TestEnvironmentOfACommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.environ = append(os.Environ(), "OPENAI_API_KEY=sk-secret-1", "MY_SECRET=secret-2", "GITHUB_TOKEN=secret-3", "LC_TIME=C", "TZ=UTC", "SSH_AUTH_SOCK=/agent", "DISPLAY=:0", "SSH_ASKPASS=/bin/askpass")
	w.restart()
	text, _ := w.said("env; tty; (: </dev/tty) 2>/dev/null || echo no terminal; test -t 0 -o -t 1 -o -t 2 || echo none of three")
	contains(t, text, "LC_TIME=C\n", "TZ=UTC\n", "SSH_AUTH_SOCK=/agent\n", "GIT_TERMINAL_PROMPT=0\n", "GIT_ASKPASS=\n", "TERM=dumb\n", "PWD="+w.dir+"\n", "PATH=", "not a tty\n", "no terminal\n", "none of three\n", "NoDefaultCurrentDirectoryInExePath=1\n")
	for _, none := range []string{"secret", "DISPLAY", "SSH_ASKPASS="} {
		if strings.Contains(text, none) {
			t.Errorf("%s is in the environment: %s", none, text)
		}
	}
}

// charmbracelet/crush#3480, QwenLM/qwen-code#2439: 200 MB do not fill the
// memory, and the model reads the ends and how to read the rest.
func TestHugeOutputOfACommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		line  string
		first string
		more  []any
	}{
		{"echo first; head -c 200000000 /dev/zero | tr '\\0' 'x' | fold -w 99; echo last", "first\nx", []any{"timeoutSeconds", 120}},
		{"echo first; head -c 80000000 /dev/zero | tr '\\0' 'x'; echo; echo last", "first\nx", []any{"timeoutSeconds", 120}}, // one line
		{"head -c 20000000 /dev/urandom; echo; echo last", "", nil},
		{"yes", "y\ny", []any{"timeoutSeconds", 3}},
	} {
		stop := make(chan struct{})
		var most uint64
		var watching sync.WaitGroup
		watching.Go(func() { // ends by stop
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		})
		text, _ := w.said(c.line, c.more...)
		close(stop)
		watching.Wait()
		if most > 300<<20 { // that of the other tests beside it included; all of an output would be twice that
			t.Errorf("%s: %d MiB in use", c.line, most>>20)
		}
		if len(text) > agent.DefaultLimits().ToolResultBytes || !strings.HasPrefix(text, c.first) {
			t.Errorf("%s: %d bytes: %.100q", c.line, len(text), text)
		}
		if c.line != "yes" {
			contains(t, text[len(text)-100:], "last\n[exit status 0]")
		}
		id := regexp.MustCompile(`read_result with id "(\w+)"`).FindStringSubmatch(text)
		if id == nil {
			t.Fatalf("%s: no id in %.200q … %q", c.line, text, text[len(text)-300:])
		}
		_, llm := w.must("rest", agenttest.Call(call("r", "read_result", fmt.Sprintf(`{"id":%q,"range":{"start":2,"end":4}}`, id[1]))))
		contains(t, lastResult(llm), "[lines 2-")
	}
}

// A command is cancelled wherever it stands: none of its processes is left, the
// run ends at once, and what it said is kept for the model.
func TestCancelOfACommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line, said string
		n                int
	}{
		{"plain", "echo said; echo $$ >>pids; sleep 1000", "said", 1},
		{"deaf", "trap '' TERM; echo said; echo $$ >>pids; sh -c 'echo $$ >>pids; exec sleep 1000'; sleep 1000", "said", 2},
		{"tree", "echo said; echo $$ >>pids; sh -c 'echo $$ >>pids; sh -c \"echo \\$\\$ >>pids; exec sleep 1000\"; true'; true", "said", 3},
		{"flood", "echo $$ >>pids; yes", "y", 1},
		{"tidy", "trap 'echo tidied; exit 0' TERM; echo $$ >>pids; while :; do sleep 0.01; done", "tidied", 1},
		{"ended, held open", "echo $$ >>pids; (trap '' TERM; sh -c 'echo $$ >>pids; exec sleep 1000') & echo said", "said", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			var found []int
			var cancelled time.Time
			done := make(chan struct{})
			go func() {
				defer close(done)
				found = awaitPids(t, filepath.Join(w.dir, "pids"), c.n)
				cancelled = time.Now()
				cancel(agent.ErrCancelled)
			}()
			res, _, err := w.run(ctx, "go", agenttest.Call(command("c", c.line)))
			<-done
			if took := time.Since(cancelled); took > 10*time.Second {
				t.Errorf("the cancel took %v", took)
			}
			if !errors.Is(err, agent.ErrCancelled) {
				t.Errorf("%v", err)
			}
			awaitGone(t, found)
			// On a busy machine the end can come after the grace of a call.
			if s := res.ToolCalls[0].Status; s != agent.Cancelled && s != agent.Unknown {
				t.Errorf("%s", s)
			} else if s == agent.Cancelled {
				history := w.agent.History(w.dir, "s")
				contains(t, history[2].Text, "The run was cancelled while this call was running.", c.said)
			}
			if _, _, err := w.run(context.Background(), "next", agenttest.Call(command("d", "echo works"))); err != nil {
				t.Errorf("the next run: %v", err)
			}
		})
	}
}

// Before it started, nothing runs.
func TestCancelBeforeACommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) {
		cancel(agent.ErrCancelled)
		return agent.Answer{Decision: agent.DecisionOnce}, nil
	}
	res, _, err := w.run(ctx, "go", agenttest.Call(command("c", "touch ran")))
	if !errors.Is(err, agent.ErrCancelled) || res.ToolCalls[0].Status != agent.Cancelled {
		t.Errorf("%v, %v", res.ToolCalls, err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task.Limits.ParallelTools = 50
	var calls []agent.ToolCall
	for i := range 50 {
		calls = append(calls, command(fmt.Sprint("c", i), fmt.Sprintf("echo %d >&2; sleep 0.2; echo end %d; exit %d", i, i, i)))
	}
	res, llm := w.must("go", agenttest.Call(calls...))
	for i, text := range results(llm.Last()) {
		if want := fmt.Sprintf("%d\nend %d\n[exit status %d]", i, i, i); text != want {
			t.Errorf("%d: %q", i, text)
		}
	}
	if len(res.ToolCalls) != 50 {
		t.Errorf("%d calls", len(res.ToolCalls))
	}
	equal(t, "untracked", res.Untracked, []string{"run_command"})
}

// The last line is told, ten times a second at most, whole, and without secrets.
func TestProgressOfACommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secrets.Add("known-value-1")
	var mu sync.Mutex
	var told []string
	saw := func(text string) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range told {
				if strings.Contains(m, text) {
					return true
				}
			}
			return false
		}
	}
	w.host.On = func(e agent.Event) {
		if e.Kind == agent.EventToolCall && e.ToolCall.State == agent.ToolRunning && e.ToolCall.Message != "" {
			mu.Lock()
			told = append(told, e.ToolCall.Message)
			mu.Unlock()
		}
	}
	go func() {
		awaitTrue(t, "the first line", saw("one"))
		_ = os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600)
		awaitTrue(t, "the last line", saw("[redacted]"))
		_ = os.WriteFile(filepath.Join(w.dir, "end"), nil, 0o600)
	}()
	began := time.Now()
	w.said("printf '\\033[31mone\\033]0;t\\007\\n'; while ! test -e go; do sleep 0.01; done; for i in $(seq 2000); do echo line $i; done; echo known-value-1 --token abc123; printf 'half known-val'; while ! test -e end; do sleep 0.01; done")
	most := int(time.Since(began)/(100*time.Millisecond)) + 1
	if len(told) > most {
		t.Errorf("%d reports, at most %d", len(told), most)
	}
	all := strings.Join(told, "\n")
	for _, none := range []string{"known-val", "abc123", "half", "\x1b", "\x07"} {
		if strings.Contains(all, none) {
			t.Errorf("%q was told: %q", none, all)
		}
	}
}

// Commands that ignore TERM do not hold up the end of the process
// (charmbracelet/mods#595, CASES 15).
func TestShutdownWithCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task.Limits.ParallelTools = 8
	var calls []agent.ToolCall
	for i := range 8 {
		calls = append(calls, command(fmt.Sprint("c", i), "trap '' TERM; echo $$ >>pids; while :; do sleep 0.05; done"))
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	var pids []int
	done := make(chan time.Time, 1)
	go func() {
		pids = awaitPids(t, filepath.Join(w.dir, "pids"), 8)
		done <- time.Now()
		cancel(agent.ErrCancelled)
	}()
	_, _, err := w.run(ctx, "go", agenttest.Call(calls...))
	w.agent.Close()
	if took := time.Since(<-done); took > 10*time.Second { // the goal is 2 s
		t.Errorf("took %v", took)
	} else {
		t.Logf("took %v", took)
	}
	if !errors.Is(err, agent.ErrCancelled) {
		t.Error(err)
	}
	awaitGone(t, pids)
}

// awaitPids waits for a file with n process ids, a line each.
func awaitPids(t *testing.T, file string, n int) (pids []int) {
	t.Helper()
	awaitTrue(t, fmt.Sprint(n, " processes"), func() bool {
		data, _ := os.ReadFile(file) // not there yet
		if bytes.Count(data, []byte("\n")) < n {
			return false
		}
		for word := range strings.FieldsSeq(string(data)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Errorf("%q", data)
			}
			pids = append(pids, pid)
		}
		return true
	})
	return pids
}

func awaitGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		awaitTrue(t, fmt.Sprintf("the end of process %d", pid), func() bool {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ")
		})
	}
}

func awaitTrue(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s: not after 20 s", what)
			return
		}
	}
}
