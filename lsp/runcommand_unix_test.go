//go:build unix

package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// onCommands is a model that runs n commands for a prompt "call", and tells
// what it saw.
func onCommands(t testing.TB, line string, n int) *agenttest.LLM {
	arguments, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	return agenttest.NewScript(t, func(_ int, req agent.Request) agenttest.Step {
		m := req.Messages[len(req.Messages)-1]
		if m.Role != agent.User || m.Text != "call" {
			return agenttest.Text("saw: " + m.Text)
		}
		var calls []agent.ToolCall
		for i := range n {
			calls = append(calls, agent.ToolCall{ID: fmt.Sprint("c", i), Name: "run_command", Arguments: string(arguments)})
		}
		return agenttest.Call(calls...)
	})
}

// ran waits for n process ids in the folder's file "pids".
func (w *world) ran(n int) (pids []int) {
	w.t.Helper()
	var data []byte
	poll(w.t, fmt.Sprint(n, " commands"), func() bool {
		data, _ = os.ReadFile(filepath.Join(w.root, "pids")) // not there yet
		return strings.Count(string(data), "\n") >= n
	})
	for word := range strings.FieldsSeq(string(data)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			w.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func (w *world) ended(pids []int) {
	w.t.Helper()
	for _, pid := range pids {
		poll(w.t, fmt.Sprintf("end of process %d", pid), func() bool {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ")
		})
	}
}

// A cancel ends a command and all that it started; what it said is kept.
func TestCancelOfACommand(t *testing.T) {
	llm := onCommands(t, "trap '' TERM; echo said it; echo $$ >>pids; sh -c 'echo $$ >>pids; exec sleep 1000'; sleep 1000", 1)
	w := newWorld(t, setup{llm: llm, options: obj{"approval": obj{"default": "allow"}}, init: lsptest.Init{Features: []string{"runEvents"}}})
	p := w.ask("call", obj{"session": "s", "runId": "r"})
	pids := w.ran(2)
	start := time.Now()
	p.Cancel()
	failure(t, p, -32800)
	if took := time.Since(start); took > 5*time.Second { // ten times the bound
		t.Errorf("answered after %v", took)
	}
	w.ended(pids)
	result[agent.Result](t, w.ask("after", obj{"session": "s"}))
	var said string
	for _, m := range llm.Last().Messages {
		if m.Role == agent.ToolRole {
			said = m.Text
		}
	}
	// On a busy machine it may have been left to its owner before it was killed.
	if !strings.Contains(said, "The run was cancelled while this call was running") {
		t.Errorf("the model reads %q", said)
	}
}

// charmbracelet/mods#595, github/copilot.vim#266 (CASES 15, 54): commands that
// ignore TERM hold up neither shutdown nor the end of the connection.
func TestEndWithCommands(t *testing.T) {
	for name, end := range map[string]func(*world){"shutdown": func(w *world) { w.Shutdown() }, "gone": func(w *world) { w.Close() }} {
		t.Run(name, func(t *testing.T) {
			llm := onCommands(t, "trap '' TERM HUP INT; echo $$ >>pids; while :; do sleep 0.05; done", 8)
			w := newWorld(t, setup{llm: llm, options: obj{"approval": obj{"default": "allow"}, "limits": obj{"parallelTools": 8}}})
			p := w.ask("call", nil)
			pids := w.ran(8)
			start := time.Now()
			end(w)
			if _, err := w.Wait(); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > 20*time.Second { // ten times the bound
				t.Errorf("ended after %v", took)
			} else {
				t.Logf("ended after %v", took)
			}
			failure(t, p, -32800)
			w.ended(pids)
		})
	}
}

// A question about a command shows it whole; allowed, it runs as it was shown,
// and its last line is its progress.
func TestCommandThatIsAskedAbout(t *testing.T) {
	w := newWorld(t, setup{
		llm:     onCommands(t, "printf '\\033[1mworking\\033[0m\\n'; while ! test -e go; do sleep 0.02; done; echo done; exit 2", 1),
		init:    lsptest.Init{Features: []string{"runEvents"}},
		answers: map[string]lsptest.Answer{"window/showMessageRequest": func(json.RawMessage) (any, error) { return obj{"title": "Allow once"}, nil }},
	})
	p := w.ask("call", obj{"runId": "r"})
	q := w.AwaitRequest("window/showMessageRequest", 1)
	if !strings.Contains(string(q.Params), "run the command printf") || !strings.Contains(string(q.Params), "test -e go; do sleep 0.02; done; echo done; exit 2") {
		t.Errorf("the question: %s", q.Params)
	}
	w.Await("the progress", func() bool {
		for _, n := range w.Notifications("agentls/runEvent") {
			if strings.Contains(string(n), `"working"`) {
				return true
			}
		}
		return false
	})
	w.write("go", "")
	r := result[agent.Result](t, p)
	if r.Text != "saw: working\ndone\n[exit status 2]" || len(r.Untracked) != 1 || r.Untracked[0] != "run_command" {
		t.Errorf("%+v", r)
	}
}
