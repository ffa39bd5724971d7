package main

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// screenConsole is the screen as the console that questions are put to.
type screenConsole screen

// asked is the question that is open, and its line.
type asked struct {
	line    textinput.Model
	begun   string      // what was written last without its line's end
	reply   chan string // gets the line; nil: no question is open
	secret  bool
	turned  bool // the keys go to it
	pressed time.Time
	held    []string // to be printed when it is answered
}

// settling is how long no key must have come before a question takes the keys:
// one that is on its way is for the prompt (charmbracelet/crush#3055, #3393).
const settling = 700 * time.Millisecond

func (a *asked) open() bool    { return a.reply != nil }
func (a *asked) focused() bool { return a.open() && a.turned }
func (a *asked) waits() bool   { return a.open() && !a.turned }

// typing says that a key went to the prompt: no question goes on with the keys.
func (a *asked) typing() { a.pressed, a.turned = time.Now(), false }

// Write prints whole lines above; the rest stands before what is typed.
func (c *screenConsole) Write(p []byte) (int, error) {
	text := string(p)
	(*screen)(c).post(func(s *screen) tea.Cmd {
		s.asked.begun += text
		if i := strings.LastIndexByte(s.asked.begun, '\n'); i >= 0 {
			for line := range strings.SplitSeq(s.asked.begun[:i], "\n") {
				s.lines = append(s.lines, s.questionLine(line))
			}
			s.asked.begun = s.asked.begun[i+1:]
		}
		return nil
	})
	return len(p), nil
}

// questionLine gives a line of a question its look; that of a diff by its first
// letter.
func (s *screen) questionLine(line string) string {
	line = strings.ReplaceAll(line, "\t", "    ")
	switch trimmed := strings.TrimPrefix(line, "  "); {
	case trimmed == line:
		return s.style.in(lookBold, line)
	case strings.HasPrefix(trimmed, "+"):
		return s.style.in(lookGreen, line)
	case strings.HasPrefix(trimmed, "-"):
		return s.style.in(lookRed, line)
	case strings.HasPrefix(trimmed, "@@"):
		return s.style.in(lookCyan, line)
	}
	return line
}

func (c *screenConsole) readLine(ctx context.Context) (string, error) {
	return (*screen)(c).read(ctx, false)
}

func (c *screenConsole) readPassword(ctx context.Context) (string, error) {
	line, err := (*screen)(c).read(ctx, true)
	return strings.TrimSuffix(line, "\n"), err
}

// read opens a line for a question, and waits for it.
func (s *screen) read(ctx context.Context, secret bool) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	reply := make(chan string, 1)
	s.post(func(s *screen) tea.Cmd { return s.ask(reply, secret) })
	select {
	case line := <-reply:
		return line, nil
	case <-ctx.Done():
		s.post(func(s *screen) tea.Cmd {
			if s.asked.reply == reply {
				s.settle("  (it has no more use)")
			}
			return nil
		})
		return "", context.Cause(ctx)
	}
}

// ask shows the line of a question.
func (s *screen) ask(reply chan string, secret bool) tea.Cmd {
	a := &s.asked
	a.line = textinput.New()
	a.line.SetVirtualCursor(false)
	a.line.Prompt = a.begun
	if a.reply, a.secret, a.begun = reply, secret, ""; secret {
		a.line.EchoMode = textinput.EchoPassword
	}
	follows := a.turned // the next line of the same talk
	a.turned = false
	if follows {
		return s.turn()
	}
	s.turnToQuestion(time.Now())
	return nil
}

// turnToQuestion gives the keys to a question that waits, once nothing is typed
// for the prompt.
func (s *screen) turnToQuestion(now time.Time) {
	switch a := &s.asked; {
	case a.waits() && s.input.Value() == "" && now.Sub(a.pressed) >= settling:
		s.turn()
	case !a.open() && a.turned && now.Sub(a.pressed) >= settling:
		a.turned = false // no other question followed
	}
}

// turn gives the keys to the question.
func (s *screen) turn() tea.Cmd {
	a := &s.asked
	s.menu.close()
	a.turned = true
	if ansi.StringWidth(a.line.Prompt) > s.width-16 { // there is no room to answer behind it
		s.lines = append(s.lines, a.line.Prompt)
		a.line.Prompt = "  ? "
	}
	a.line.SetWidth(max(10, s.width-2-ansi.StringWidth(a.line.Prompt)))
	return a.line.Focus()
}

// settle ends the question's line; how stands behind what it asked.
func (s *screen) settle(how string) {
	s.lines = append(s.lines, strings.TrimRight(s.asked.line.Prompt, " ")+" "+strings.TrimLeft(how, " "))
	s.lines, s.asked.held = append(s.lines, s.asked.held...), nil
	s.asked.reply = nil
}

// reply answers the question with a line; without its end: the input has ended.
func (s *screen) reply(line string) {
	shown := strings.TrimSuffix(line, "\n")
	if s.asked.secret && shown != "" {
		shown = "…"
	}
	s.asked.reply <- line // never blocks: it has a slot, and is used once
	s.settle(printable(shown))
}

// questionKey takes a key for the question.
func (s *screen) questionKey(msg tea.KeyPressMsg) (cmd tea.Cmd) {
	s.asked.pressed = time.Now()
	switch msg.Keystroke() {
	case "enter", "ctrl+j":
		s.reply(s.asked.line.Value() + "\n")
	case "ctrl+c":
		if !s.d.cancel() {
			s.reply("\n") // the safe answer
		}
	case "ctrl+d":
		if s.asked.line.Value() == "" {
			s.reply("")
		}
	case "esc":
		s.asked.line.SetValue("")
	default:
		s.asked.line, cmd = s.asked.line.Update(msg)
	}
	return cmd
}

// lend implements [console]. A program that is at work when the dialogue ends is
// ended with it.
func (c *screenConsole) lend(cmd *exec.Cmd) error {
	s := (*screen)(c)
	done := make(chan error, 1)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.p.stdin, s.p.stdout, s.p.stdout
	s.post(func(s *screen) tea.Cmd {
		return tea.Exec(&lent{cmd, s.ended}, func(err error) tea.Msg {
			done <- err
			return nil
		})
	})
	select {
	case err := <-done:
		return err
	case <-s.gone:
		return errGone
	}
}

var errGone = errors.New("the dialogue has ended; start it again")

// lent is a program that has the terminal.
type lent struct {
	cmd   *exec.Cmd
	ended <-chan struct{} // closed when the dialogue is to end
}

// Run implements [tea.ExecCommand].
func (l *lent) Run() error {
	if err := l.cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- l.cmd.Wait() }() // ends with the program
	select {
	case err := <-done:
		return err
	case <-l.ended:
		_ = l.cmd.Process.Kill()
		return <-done
	}
}

func (l *lent) SetStdin(io.Reader)  {}
func (l *lent) SetStdout(io.Writer) {}
func (l *lent) SetStderr(io.Writer) {}
