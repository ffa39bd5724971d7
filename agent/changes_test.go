package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// What became of an edit in the editor is told as it is: to the model, in the
// result and in the audit.
func TestEditsThatTheEditorDoesNotTake(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		status  agent.Outcome
		says    string
		changed bool
	}{
		{"refused", errors.New("the editor refused the edit: read-only"), agent.Failed, "refused the edit: read-only", false},
		{"stale", agent.ErrStale, agent.Failed, `"a.txt" changed meanwhile; nothing was written. Read it again`, false},
		{"closed", agent.ErrNotOpen, agent.Failed, "changed meanwhile", false},
		{"unconfirmed", fmt.Errorf("%w: it was closed", agent.ErrUnconfirmed), agent.Unknown, `unknown whether "a.txt" was changed`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.write("a.txt", "one\n")
			w.host.Open(w.path("a.txt"), "one\n")
			w.host.Editing = func(agent.Edit) error { return c.err }
			res, llm := w.must("go", agenttest.Call(call("1", "edit_file", edits("a.txt", "one", "two"))))
			equal(t, "statuses", statuses(res), []agent.Outcome{c.status})
			contains(t, results(llm.Last())[0], c.says)
			if (len(res.Changed) == 1) != c.changed || c.changed && res.Changed[0].Saved {
				t.Errorf("changed %+v", res.Changed)
			}
			if lines := w.lines(); len(lines) != 1 || lines[0].Outcome != c.status {
				t.Errorf("audit %+v", lines)
			}
			if w.disk("a.txt") != "one\n" {
				t.Errorf("the disk has %q", w.disk("a.txt"))
			}
		})
	}
}

// A file that is saved in the editor, and one that is not.
func TestEditsAreSavedInTheEditor(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"clean.txt", "dirty.txt"} {
		w.write(name, "one\n")
	}
	w.host.Open(w.path("clean.txt"), "one\n")
	w.host.Open(w.path("dirty.txt"), "one\nmore\n")
	res, llm := w.must("go", agenttest.Call(
		call("1", "edit_file", edits("clean.txt", "one", "two")), call("2", "edit_file", edits("dirty.txt", "one", "two"))))
	contains(t, results(llm.Last())[0], "saved it")
	contains(t, results(llm.Last())[1], "not saved to disk yet")
	for _, f := range res.Changed {
		if f.Saved != strings.HasSuffix(f.URI, "clean.txt") {
			t.Errorf("%+v", f)
		}
	}
	if w.disk("clean.txt") != "two\n" || w.disk("dirty.txt") != "one\n" {
		t.Errorf("%q, %q", w.disk("clean.txt"), w.disk("dirty.txt"))
	}
}

// The editor is told whether a person has seen the edit.
func TestEditsSayWhetherAPersonAllowedThem(t *testing.T) {
	for _, c := range []struct {
		approval agent.Approval
		want     bool
	}{{agent.Approval{}, true}, {agent.Approval{Allow: []string{"edit_file"}}, false}, {agent.Approval{Default: "allow"}, false}} {
		w := newWorld(t)
		w.task.Approval = c.approval
		w.write("a.txt", "one\n")
		w.host.Open(w.path("a.txt"), "one\n")
		asked, label := false, ""
		w.host.Editing = func(e agent.Edit) error { asked, label = e.Asked, e.Label; return nil }
		w.must("go", agenttest.Call(call("1", "edit_file", edits("a.txt", "one", "two"))))
		if asked != c.want || label != "edit_file a.txt" {
			t.Errorf("%+v: asked %v, label %q", c.approval, asked, label)
		}
	}
}

// What nobody was asked about is told, with what is different.
func TestChangesThatNobodyWasAskedAbout(t *testing.T) {
	for _, asks := range []bool{true, false} {
		w := newWorld(t)
		if !asks {
			w.task.Approval.Allow = []string{"edit_file", "write_file"}
		}
		w.write("open.txt", "one\n")
		w.host.Open(w.path("open.txt"), "one\n")
		w.must("go", agenttest.Call(
			call("1", "edit_file", edits("open.txt", "one", "two")), call("2", "write_file", `{"path":"new.txt","content":"a\nb\n"}`),
			call("3", "edit_file", edits("open.txt", "nothing there", "x"))))
		got := map[string]agent.Change{}
		for _, e := range w.host.Events() {
			if e.Kind == agent.EventChange {
				got[e.Change.Path] = *e.Change
			}
		}
		if asks && len(got) == 0 {
			continue
		}
		if asks || len(got) != 2 {
			t.Errorf("asked %v: %+v", asks, got)
		}
		if c := got["open.txt"]; !c.Open || c.URI != "file://"+w.path("open.txt") || c.Added != 1 || c.Removed != 1 || !strings.Contains(c.Diff, "-one\n+two\n") {
			t.Errorf("%+v", c)
		}
		if c := got["new.txt"]; c.Open || c.Added != 2 || c.Removed != 0 || !strings.Contains(c.Diff, "+a\n+b\n") {
			t.Errorf("%+v", c)
		}
	}
}

// A person is shown what an edit would change, and what is edited in the
// question is what is done.
func TestEditQuestionShowsTheChange(t *testing.T) {
	w := newWorld(t)
	w.write("a.txt", "one\ntwo\n")
	w.host.Answer = func(_ context.Context, q agent.Question) (agent.Answer, error) {
		if q.Preview == nil || q.Preview.Path != "a.txt" || q.Preview.Added != 1 || q.Preview.Removed != 1 || !strings.Contains(q.Preview.Diff, "-one\n+1\n") {
			t.Errorf("%+v", q.Preview)
		}
		return agent.Answer{Decision: agent.DecisionOnce, Arguments: []byte(edits("a.txt", "two", "2"))}, nil
	}
	w.must("go", agenttest.Call(call("1", "edit_file", edits("a.txt", "one", "1"))))
	if got := w.disk("a.txt"); got != "one\n2\n" {
		t.Errorf("%q", got)
	}
	// The file changes while the question is open.
	w.must("read it", agenttest.Call(call("2", "read_file", `{"path":"a.txt"}`)))
	w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) {
		w.write("a.txt", "one\nmine\n")
		return agent.Answer{Decision: agent.DecisionOnce}, nil
	}
	_, llm := w.must("go on", agenttest.Call(call("3", "write_file", `{"path":"a.txt","content":"x"}`)))
	contains(t, results(llm.Last())[len(results(llm.Last()))-1], "changed since it was read")
	if got := w.disk("a.txt"); got != "one\nmine\n" {
		t.Errorf("%q", got)
	}
}

// What a session knows of files is its own, and an attachment is as good as a
// read.
func TestSessionsKnowWhatTheyRead(t *testing.T) {
	w := newWorld(t)
	w.write("a.txt", "one\n")
	w.must("read it", agenttest.Call(call("1", "read_file", `{"path":"a.txt"}`)))
	w.task.Session = "other"
	_, llm := w.must("write it", agenttest.Call(call("1", "write_file", `{"path":"a.txt","content":"x"}`)))
	contains(t, results(llm.Last())[0], "was not read in this session")
	w.task.Attachment = &agent.Attachment{Path: "a.txt", Text: "on", Whole: "one\n"}
	_, llm = w.must("write it", agenttest.Call(call("2", "write_file", `{"path":"a.txt","content":"two\n"}`)))
	contains(t, results(llm.Last())[1], "Replaced a.txt")
	w.task.Session, w.task.Attachment = "s", nil
	_, llm = w.must("write it", agenttest.Call(call("3", "write_file", `{"path":"a.txt","content":"three\n"}`)))
	contains(t, results(llm.Last())[1], "changed since it was read")
	if w.disk("a.txt") != "two\n" {
		t.Errorf("%q", w.disk("a.txt"))
	}
}

// A cancel before an edit leaves the file; one in an edit that the editor does
// not answer leaves an outcome that is unknown, and a change that can be undone.
func TestCancelOfAnEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		w.write("a.txt", "one\n")
		w.host.Answer = ask
		res, _ := w.cancelled("go", agenttest.Call(call("1", "edit_file", edits("a.txt", "one", "two"))))
		if w.disk("a.txt") != "one\n" || len(res.Changed) > 0 {
			t.Errorf("%q, %+v", w.disk("a.txt"), res.Changed)
		}

		w.task.RunID = "r2"
		w.host.Answer = agenttest.Always(agent.DecisionOnce)
		w.host.Open(w.path("a.txt"), "one\n")
		release := make(chan struct{})
		w.host.Editing = func(agent.Edit) error { <-release; return agent.ErrUnconfirmed }
		res, took := w.cancelled("go", agenttest.Call(call("2", "edit_file", edits("a.txt", "one", "two"))))
		equal(t, "statuses", statuses(res), []agent.Outcome{agent.Unknown})
		if took > 500*time.Millisecond || len(res.Changed) != 1 || res.Changed[0].Saved {
			t.Errorf("after %v: %+v", took, res.Changed)
		}
		close(release)
		synctest.Wait()
		w.host.Editing = nil
		w.host.Open(w.path("a.txt"), "two\n") // it happened all the same
		if out := w.undo("r2"); len(out.Restored) != 1 {
			t.Errorf("%+v", out)
		}
	})
}
