package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// A run works in the folders of now: one that was added is there for its next
// call, one that was removed is out of its reach.
func TestFoldersChangeWhileARunLives(t *testing.T) {
	w := newWorld(t)
	lib := filepath.Join(t.TempDir(), "lib")
	for _, dir := range []string{lib, w.dir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "only-"+filepath.Base(lib)+".txt"), []byte("in "+dir), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var now atomic.Pointer[[]agent.Folder]
	set := func(list ...agent.Folder) { now.Store(&list) }
	set(agent.Folder{Path: w.dir, Name: "main"})
	w.task.Folders = func() []agent.Folder { return *now.Load() }
	ended := 0
	w.host.On = func(e agent.Event) {
		if e.Kind != agent.EventToolCall || e.ToolCall.State != "completed" && e.ToolCall.State != "failed" {
			return
		}
		switch ended++; ended {
		case 1:
			set(agent.Folder{Path: w.dir, Name: "main"}, agent.Folder{Path: lib, Name: "second"})
		case 4:
			set(agent.Folder{Path: lib, Name: "second"})
		}
	}
	_, llm := w.must("go",
		agenttest.Call(call("1", "read_file", `{"path":"second/only-lib.txt"}`)),
		agenttest.Call(call("2", "write_file", `{"path":"second/new.txt","content":"x"}`)),
		agenttest.Call(call("3", "list_dir", `{}`)),
		agenttest.Call(call("3b", "read_file", `{"path":"main/only-lib.txt"}`)),
		agenttest.Call(call("4", "write_file", `{"path":"`+filepath.Join(w.dir, "late.txt")+`","content":"x"}`)),
		agenttest.Call(call("5", "read_file", `{"path":"new.txt"}`)),
	)
	got := results(llm.Last())
	for i, want := range []string{`there is no "second/only-lib.txt"`, "Created second/new.txt", "main/ (" + w.dir + ")\nsecond/ (" + lib + ")", "in " + w.dir, "outside the workspace folders (" + lib + ")", "x"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("call %d: %q, want %q", i+1, got[i], want)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "late.txt")); err == nil {
		t.Error("a file was written into a folder that was removed")
	}
	system := llm.Last().Messages[0].Text
	contains(t, system, "Workspace folder:\n- "+lib+"\nPaths are relative")
}

// What a person allowed is not done elsewhere where the folders changed under
// the question: it is asked about anew.
func TestFoldersChangeUnderAQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		call  agent.ToolCall
		wrote string
	}{
		"a folder's name":  {call("1", "write_file", `{"path":"lib/new.txt","content":"x"}`), "new.txt"},
		"the first folder": {call("1", "run_command", `{"command":"echo x >new.txt"}`), "new.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			lib := filepath.Join(t.TempDir(), "lib")
			for _, dir := range []string{lib, filepath.Join(w.dir, "lib")} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			var now atomic.Pointer[[]agent.Folder]
			now.Store(&[]agent.Folder{{Path: w.dir, Name: "main"}})
			w.task.Folders = func() []agent.Folder { return *now.Load() }
			asked := 0
			w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) {
				if asked++; asked == 2 {
					return agent.Answer{Decision: agent.DecisionDeny}, nil
				}
				now.Store(&[]agent.Folder{{Path: lib, Name: "lib"}, {Path: w.dir, Name: "main"}})
				return agent.Answer{Decision: agent.DecisionOnce}, nil
			}
			res, _ := w.must("go", agenttest.Call(c.call))
			if asked != 2 || res.ToolCalls[0].Status != agent.Rejected {
				t.Errorf("asked %d times, %+v", asked, res.ToolCalls)
			}
			if _, err := os.Stat(filepath.Join(lib, c.wrote)); err == nil {
				t.Error("it was written into the folder that came")
			}
		})
	}
}
