package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// said asks in a session and waits for the answer.
func (w *world) said(session, prompt string) {
	w.t.Helper()
	result[agent.Result](w.t, w.ask(prompt, obj{"session": session}))
}

func (w *world) sessions() []agent.SessionInfo {
	w.t.Helper()
	return commandAs[[]agent.SessionInfo](w, "agentls.session.list", nil)
}

func (w *world) texts(session string) (lines []string) {
	w.t.Helper()
	for _, m := range commandAs[agent.SessionText](w, "agentls.session.show", session).Messages {
		lines = append(lines, string(m.Role)+": "+m.Text)
	}
	return lines
}

func TestSessionCommands(t *testing.T) {
	llm := agenttest.NewLLM(t)
	w := newWorld(t, setup{llm: llm})
	if list := w.sessions(); list == nil || len(list) != 0 {
		t.Errorf("at first there is %v", list)
	}
	w.said("one", "Look at\n@workspace:file://README.md")
	w.said("two", "else")
	w.said("one", "and now?")
	list := w.sessions()
	if len(list) != 2 || list[0].Session != "one" || list[0].Title != "Look at @workspace:file://README.md" || list[0].Turns != 2 || list[0].Status != "completed" || list[0].Folder != w.root {
		t.Errorf("sessions %+v", list)
	}
	if list = commandAs[[]agent.SessionInfo](w, "agentls.session.list", "two"); len(list) != 1 || list[0].Session != "two" {
		t.Errorf("of one: %+v", list)
	}
	same(t, "shown", w.texts("one"), []string{"user: Look at\n@workspace:file://README.md", "assistant: done", "user: and now?", "assistant: done"})

	fork := commandAs[sessionRef](w, "agentls.session.fork", obj{"session": "one"})
	w.said(fork.Session, "another way")
	if n := len(llm.Last().Messages); n != 6 || !strings.Contains(llm.Last().Messages[1].Text, "# Hello") {
		t.Errorf("the fork's model got %q", llm.Last().Messages)
	}
	if n := len(w.texts("one")); n != 4 {
		t.Errorf("%d messages in what was forked", n)
	}

	if r := commandAs[sessionRef](w, "agentls.session.clear", "one"); r.Session != "one" {
		t.Errorf("cleared %+v", r)
	}
	same(t, "shown", w.texts("one"), nil)
	w.said("one", "anew")
	if n := len(llm.Last().Messages); n != 2 {
		t.Errorf("after it was cleared the model got %d messages", n)
	}

	// What was answered is the user's own, and stays.
	document := filepath.Join(w.state, "answers", "two.agentls.md")
	poll(t, "answer document", func() bool { _, err := os.Stat(document); return err == nil })
	commandAs[sessionRef](w, "agentls.session.delete", obj{"session": "two"})
	if _, err := os.Stat(document); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"show", "fork", "clear", "delete"} {
		e := failure(t, w.StartCommand("agentls.session."+name, "two", nil), -32602)
		if !strings.Contains(e.Message, `there is no session "two" in this folder`) {
			t.Errorf("%s: %v", name, e)
		}
	}
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// A session that a run works on, or waits for, is neither cleared nor deleted;
// it can be read and forked.
func TestSessionCommandsWhileARunIsLive(t *testing.T) {
	llm := blockOn(t, "slow")
	w := newWorld(t, setup{llm: llm})
	w.said("s", "quick")
	live := w.ask("slow", obj{"session": "s"})
	llm.Await(2)
	queued := w.ask("next", obj{"session": "s"})
	for _, name := range []string{"clear", "delete"} {
		e := failure(t, w.StartCommand("agentls.session."+name, "s", nil), -32602)
		if !strings.Contains(e.Message, "a run works on this session") {
			t.Errorf("%s: %v", name, e)
		}
	}
	if list := w.sessions(); len(list) != 1 || list[0].Status != "running" || list[0].Turns != 2 {
		t.Errorf("sessions %+v", list)
	}
	fork := commandAs[sessionRef](w, "agentls.session.fork", "s")
	same(t, "the fork", w.texts(fork.Session)[:3], []string{"user: quick", "assistant: fine", "user: slow"})
	live.Cancel()
	failure(t, live, -32800)
	result[agent.Result](t, queued)
	commandAs[sessionRef](w, "agentls.session.delete", "s")
	if list := w.sessions(); len(list) != 1 || list[0].Session != fork.Session {
		t.Errorf("sessions %+v", list)
	}
}

// The same buffer is the same session after the editor has started again.
func TestPromptBufferGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	buffer := "## You\n\nremember seven\n"
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), dir: dir})
	uri := w.document("p.agentls.md", buffer)
	first := result[agent.Result](t, w.StartCommand("agentls.send", uri, nil))
	w.Shutdown()

	llm := agenttest.NewLLM(t)
	w = newWorld(t, setup{llm: llm, dir: dir})
	w.Open(uri, "markdown", "## You\n\nwhich number?\n")
	second := result[agent.Result](t, w.StartCommand("agentls.send", uri, nil))
	if second.Session != first.Session {
		t.Errorf("session %s, before %s", second.Session, first.Session)
	}
	if m := llm.Last().Messages; len(m) != 4 || !strings.Contains(m[1].Text, "remember seven") {
		t.Errorf("the model got %q", m)
	}
}

// A session's file that cannot be written is a message, once.
func TestSessionThatCannotBeKept(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), before: func(s *Server) {
		if err := os.MkdirAll(s.o.StateDir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.o.StateDir, "sessions"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}})
	w.said("s", "one")
	w.said("s", "two")
	n := 0
	for _, m := range w.messages("window/showMessage") {
		if strings.Contains(m, "cannot be kept on disk") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("told %d times: %q", n, w.messages("window/showMessage"))
	}
	if list := w.sessions(); len(list) != 1 || list[0].Turns != 2 {
		t.Errorf("sessions %+v", list)
	}
}

// A second process on a session is told which one has it.
func TestSessionOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	llm := blockOn(t, "slow")
	one := newWorld(t, setup{llm: llm, dir: dir})
	live := one.ask("slow", obj{"session": "s"})
	llm.Await(1)
	two := newWorld(t, setup{llm: agenttest.NewLLM(t), dir: dir})
	e := failure(t, two.ask("me too", obj{"session": "s"}), -32803)
	data := decodeAs[runData](t, e.Data)
	if !strings.Contains(e.Message, "The session is in use: another agentls process (") || !data.Retryable || data.Kind != agent.KindInternal {
		t.Errorf("%v %+v", e, data)
	}
	failure(t, two.StartCommand("agentls.session.delete", "s", nil), -32602)
	live.Cancel()
	failure(t, live, -32800)
	two.said("s", "me too")
	same(t, "shown", two.texts("s"), []string{"user: slow", "assistant: partial \n\n[the run was cancelled here]", "user: me too", "assistant: done"})
	one.said("s", "and I")
	if n := len(one.texts("s")); n != 6 {
		t.Errorf("%d messages", n)
	}
}
