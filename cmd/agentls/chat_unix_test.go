//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"agentls/mcp/mcptest"
)

// chatter is a dialogue on a terminal, and the person before it.
type chatter struct {
	t   *testing.T
	w   *sessionWorld
	cmd *exec.Cmd
	tty *os.File

	mu    sync.Mutex
	term  *vt.Emulator
	all   strings.Builder // what was written to the terminal
	grown chan struct{}   // 1 slot
	ended sync.WaitGroup  // of what reads
}

// chatOn begins a dialogue in a world's folder, 80 columns wide.
func chatOn(t *testing.T, w *sessionWorld, args ...string) *chatter {
	t.Helper()
	c := &chatter{t: t, w: w, cmd: w.command(append([]string{"chat"}, args...)...), term: vt.NewEmulator(80, 24), grown: make(chan struct{}, 1)}
	c.cmd.Env = append(c.cmd.Env, "TERM=xterm-256color")
	var err error
	if c.tty, err = pty.StartWithSize(c.cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	c.ended.Go(c.read)                                   // ends with the terminal
	c.ended.Go(func() { _, _ = io.Copy(c.tty, c.term) }) // what a terminal answers; ends with it
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			_ = c.cmd.Process.Kill()
			_ = c.cmd.Wait()
		}
		_ = c.tty.Close()
		if pipe, ok := c.term.InputPipe().(io.Closer); ok { // Close races with Read
			_ = pipe.Close()
		}
		c.ended.Wait()
	})
	return c
}

func (c *chatter) read() {
	b := make([]byte, 4096)
	for {
		n, err := c.tty.Read(b)
		c.mu.Lock()
		c.all.Write(b[:n])
		_, _ = c.term.Write(b[:n])
		c.mu.Unlock()
		select {
		case c.grown <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// seen is what stands on the screen and scrolled off it, without white space: rows
// break where they must.
func (c *chatter) seen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, line := range c.term.Scrollback().Lines() {
		b.WriteString(line.String() + "\n")
	}
	return dense(b.String() + c.term.String())
}

func dense(text string) string { return strings.Join(strings.Fields(text), "") }

// wait waits until a text is seen once more than before.
func (c *chatter) wait(before, text string) {
	c.t.Helper()
	text = dense(text)
	late := time.After(20 * time.Second)
	for strings.Count(c.seen(), text) <= strings.Count(before, text) {
		select {
		case <-c.grown:
		case <-late:
			c.t.Fatalf("%q is not shown:\n%s\n\n%s", text, c.seen(), c.term.String())
		}
	}
}

// press types, and gives what was seen before.
func (c *chatter) press(keys string) (before string) {
	c.t.Helper()
	before = c.seen()
	if _, err := io.WriteString(c.tty, keys); err != nil {
		c.t.Fatal(err)
	}
	return before
}

// say sends a line; it is on the screen before Enter is pressed.
func (c *chatter) say(line string) (before string) {
	c.t.Helper()
	before = c.press(line)
	c.wait(before, line)
	c.press("\r")
	return before
}

// leave ends the dialogue, and holds that the terminal is as it was.
func (c *chatter) leave(code int) {
	c.t.Helper()
	c.press("\x04")
	c.gone(code)
}

func (c *chatter) gone(code int) {
	c.t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		c.t.Fatalf("it does not end:\n%s", c.seen())
	}
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.t.Errorf("exit code %d, want %d:\n%s", got, code, c.seen())
	}
	late := time.After(20 * time.Second)
	for left := c.left(); left != ""; left = c.left() { // the terminal may still be read
		select {
		case <-c.grown:
		case <-late:
			c.t.Errorf("%q is left behind", left)
			return
		}
	}
}

// left is a mode of the terminal that is not as it was; empty: none is.
func (c *chatter) left() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all.String()
	for on, off := range map[string]string{"\x1b[?25l": "\x1b[?25h", "\x1b[?2004h": "\x1b[?2004l"} { // the cursor, bracketed paste
		if strings.LastIndex(all, on) > strings.LastIndex(all, off) {
			return on
		}
	}
	return ""
}

// The keys that a terminal sends.
const (
	keyEnter  = "\r"
	keyTab    = "\t"
	keyEscape = "\x1b"
	keyUp     = "\x1b[A"
	ctrlC     = "\x03"
	ctrlG     = "\x07"
)

// writeOne is a prompt that gets a file written.
const writeOne = `call write_file {"path":"one.txt","content":"two\n"}`

func pasted(text string) string { return "\x1b[200~" + text + "\x1b[201~" }

// A mention is completed, its resource read, and the answer shown.
func TestChatCompletesAndAnswers(t *testing.T) {
	w := newSessionWorld(t)
	if err := os.WriteFile(filepath.Join(w.folder, "apples.md"), []byte("seven\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := chatOn(t, w)
	c.wait("", "model: openai/tiny")
	c.press("look at @app")
	c.wait("", "apples.md")
	at := c.press(keyTab)
	c.wait(at, "@workspace:file://apples.md")
	at = c.press(keyEnter)
	c.wait(at, "apples.md expanded")
	c.wait(at, "fine")
	c.wait(at, "1 step")
	if got := w.last(); !strings.Contains(got[len(got)-1].Text, "seven") {
		t.Errorf("the model got %q", got[len(got)-1].Text)
	}
	c.leave(exitOK)
}

// A question shows what would be done and takes a word; what is typed for the
// prompt when it appears goes to the prompt (charmbracelet/crush#3055, #3393).
func TestChatAsks(t *testing.T) {
	w := newSessionWorld(t)
	w.env = append(w.env, "VISUAL=sed -i s/two/three/")
	c := chatOn(t, w)
	c.wait("", "model:")
	at := c.say(writeOne)
	c.wait(at, "+two")
	c.wait(at, "[N]o, [y]es once")
	at = c.press("yes, but not here" + keyEnter)
	c.wait(at, "That is no answer")
	c.wait(at, "[N]o, [y]es once") // the line that takes the next answer
	at = c.press("n in another place" + keyEnter)
	c.wait(at, "rejected")
	c.wait(at, "2 steps")
	if _, err := os.Stat(filepath.Join(w.folder, "one.txt")); err == nil {
		t.Error("a no wrote the file")
	}

	at = c.press(writeOne + keyEnter + "and the")
	c.wait(at, "A question waits")
	at = c.press("n this" + keyEscape)
	c.wait(at, "[N]o, [y]es once")
	at = c.press("e" + keyEnter)
	c.wait(at, "completed")
	if got, err := os.ReadFile(filepath.Join(w.folder, "one.txt")); err != nil || string(got) != "three\n" {
		t.Errorf("the file has %q, %v", got, err)
	}
	c.wait(at, "and then this")
	c.press("two" + ctrlG) // which makes three of it
	c.wait(at, "and then thisthree")
	c.press(ctrlC)
	c.leave(exitOK)
}

// Ctrl-C ends the run and not the session; a line that is sent meanwhile is for
// the run.
func TestChatCancels(t *testing.T) {
	w := newSessionWorld(t)
	c := chatOn(t, w)
	c.wait("", "model:")
	at := c.say("stream")
	c.wait(at, "w49")
	at = c.say("and more")
	c.wait(at, "the run gets it at its next step")
	at = c.press(ctrlC)
	c.wait(at, "cancelled")
	c.wait(at, "send it again") // the model did not read it
	at = c.say("stream again")
	c.wait(at, "stream again w0")
	at = c.say("/cancel")
	c.wait(at, "The run is cancelled.")
	at = c.say("hello")
	c.wait(at, "fine")
	at = c.say("/nothing")
	c.wait(at, "there is no command /nothing")
	at = c.press(ctrlC)
	c.wait(at, "Ctrl-C once more leaves")
	c.press(ctrlC)
	c.gone(exitOK)
}

// A session goes on where it was, here as in an editor.
func TestChatResumes(t *testing.T) {
	w := newSessionWorld(t)
	c := chatOn(t, w)
	c.wait("", "model:")
	at := c.say("hello one")
	c.wait(at, "1 step")
	at = c.say("/new")
	c.wait(at, "a new session begins")
	at = c.say("hello two")
	c.wait(at, "1 step")
	at = c.say("/sessions")
	c.wait(at, "* 1")
	c.wait(at, "hello one")
	at = c.say("/resume 2")
	c.wait(at, "on with: hello one")
	at = c.say("hello three")
	c.wait(at, "1 step")
	c.leave(exitOK)
	if got := w.last(); len(got) != 3 || got[0].Text != "hello one" {
		t.Errorf("the model got %+v", got)
	}

	c = chatOn(t, w, "--continue")
	c.wait("", "on with: hello one")
	at = c.press(keyUp + keyUp)
	c.wait(at, "/resume 2")
	at = c.press(ctrlC)
	c.say("hello four")
	c.wait(at, "1 step")
	c.leave(exitOK)
	if got := w.last(); len(got) != 5 {
		t.Errorf("the model got %+v", got)
	}
	info, err := os.Stat(filepath.Join(w.dir, "state", "agentls", "chat.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("what was typed: %v, %v", info, err)
	}
}

// A long paste and letters of two columns reach the model as they are.
func TestChatPastes(t *testing.T) {
	w := newSessionWorld(t)
	c := chatOn(t, w)
	c.wait("", "model:")
	var lines strings.Builder
	for i := range 200 {
		fmt.Fprintf(&lines, "line %d\t日本語 👩‍👩‍👧\n", i)
	}
	c.press("看看: " + pasted(lines.String()))
	c.wait("", "[paste 1: 200 lines]")
	at := c.press(keyEnter)
	c.wait(at, "1 step")
	if got := w.last()[0].Text; got != strings.TrimRight("看看: "+lines.String(), "\n") {
		t.Errorf("the model got %q", got)
	}
	if err := pty.Setsize(c.tty, &pty.Winsize{Rows: 10, Cols: 30}); err != nil {
		t.Fatal(err)
	}
	at = c.say("short")
	c.wait(at, "1 step")
	at = c.press(pasted("a\nb") + keyEnter)
	c.wait(at, "1 step")
	if got := w.last(); got[len(got)-1].Text != "a\nb" {
		t.Errorf("the model got %q", got[len(got)-1].Text)
	}
	c.leave(exitOK)
}

// Signals end the dialogue with its runs, and give the terminal back.
func TestChatEndsBySignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			c := chatOn(t, newSessionWorld(t))
			c.wait("", "model:")
			at := c.say("stream")
			c.wait(at, "w49")
			if err := c.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			c.gone(exitCancelled)
		})
	}
}

// What servers want of the person is asked as in agentls ask: trust, a form, and
// leave to ask the model.
func TestChatAsksForServers(t *testing.T) {
	w := newSessionWorld(t)
	write := func(path string, v any) {
		t.Helper()
		b, err := json.Marshal(v)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fake, evil := fakeServer(t, mcptest.Options{Log: w.fake}), fakeServer(t, mcptest.Options{Log: filepath.Join(w.dir, "evil.log")})
	fake["sampling"] = true
	write(filepath.Join(w.dir, "config", "agentls", "config.json"), map[string]any{"approval": map[string]any{"allow": []string{"far/*"}}, "mcpServers": map[string]any{"far": fake}})
	write(filepath.Join(w.folder, ".mcp.json"), map[string]any{"mcpServers": map[string]any{"evil": evil}})

	c := chatOn(t, w)
	c.wait("", "Trust the folder? [N]o, [y]es:")
	at := c.press("y" + keyEnter)
	c.wait(at, "would start: "+fmt.Sprintf("%.20s", evil["command"]))
	c.wait(at, "Trust and start it? [N]o, [y]es:")
	at = c.press("n" + keyEnter)
	c.wait(at, "start it? [N]o, [y]es: n")
	at = c.say("/mcp")
	c.wait(at, "trust it with /mcp restart") // what one can type here

	at = c.say(`call mcp__far__ask {"method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"nickname":{"type":"string"}},"required":["nickname"]}}}`)
	c.wait(at, "Who are you?")
	c.wait(at, "Answer it? [N]o, [y]es:")
	at = c.press("y" + keyEnter)
	c.wait(at, "nickname")
	at = c.press("Rumpelstilz" + keyEnter)
	c.wait(at, `It would get: {"nickname":"Rumpelstilz"}`)
	c.wait(at, "Send it? [N]o, [y]es, [a]gain:")
	at = c.press("y" + keyEnter)
	c.wait(at, "2 steps")

	at = c.say(`call mcp__far__ask {"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Name a colour."}}],"maxTokens":77}}`)
	c.wait(at, "user: Name a colour.")
	c.wait(at, "once and [r]eview the answer")
	at = c.press("r" + keyEnter)
	c.wait(at, "Send it to the server far?")
	c.wait(at, "[N]o, [y]es:")
	at = c.press("y" + keyEnter)
	c.wait(at, "2 steps")
	c.leave(exitOK)
	texts := ""
	for _, m := range w.last() {
		texts += m.Text
	}
	if !strings.Contains(texts, "Rumpelstilz") || strings.Contains(c.seen(), "2 ready") {
		t.Errorf("the model got %q", texts)
	}
}

// A plan is asked about and carried out, step by step, and what its steps want to
// call is asked about in their names; Ctrl-C in the question ends the run.
func TestChatRunsAPlan(t *testing.T) {
	c := chatOn(t, newSessionWorld(t))
	c.wait("", "model:")
	const plan = `/plan call submit_plan {"steps":[{"id":"a","title":"Count apples","task":"Count them.","dependsOn":[]},{"id":"b","title":"Tell","task":"Tell it.","dependsOn":["a"]}]}`
	at := c.say(plan)
	c.wait(at, "2. Tell (after 1)")
	c.wait(at, "[S]top:")
	at = c.press("r" + keyEnter)
	c.wait(at, "completed: 1. Count apples")
	c.wait(at, "completed: 2. Tell")
	c.wait(at, "steps ·")
	at = c.say(`/plan call submit_plan {"steps":[{"id":"a","title":"Write","task":"call write_file {\"path\":\"a.txt\",\"content\":\"a\"}","dependsOn":[]}]}`)
	c.wait(at, "[S]top:")
	at = c.press("r" + keyEnter)
	c.wait(at, "step 1 wants to call write_file")
	c.wait(at, "in this folder.) [N]o, [y]es once") // nothing comes between a question and its answer
	at = c.press("y" + keyEnter)
	c.wait(at, "completed: 1. Write")
	c.wait(at, "steps ·")
	at = c.say(plan)
	c.wait(at, "[S]top:")
	at = c.press(ctrlC)
	c.wait(at, "it has no more use")
	c.wait(at, "cancelled")
	at = c.say("hello")
	c.wait(at, "1 step")
	c.leave(exitOK)
}
