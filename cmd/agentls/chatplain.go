package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// plainFace shows line after line and edits none: for a terminal that cannot
// do more, and for scripts.
type plainFace struct {
	d          *dialogue
	out, notes io.Writer
	lines      chan string // of a script
	person     *tty        // nil: nobody is there
	typed      bool        // the prompts are typed by the person, on the console

	mu   sync.Mutex
	mid  bool // out stands in the middle of a line
	idle chan struct{}
}

func newPlainFace(d *dialogue, p program) *plainFace {
	f := &plainFace{d: d, out: p.stdout, notes: p.stderr, lines: make(chan string), idle: make(chan struct{}, 1)}
	if t := openTerminal(p, d.parts.secrets); t.tty != nil {
		f.person, _ = t.tty.(*tty)
		f.typed = isTerminal(p.stdin)
	}
	if !f.typed {
		go f.readLines(p.stdin) // ends with the input, or with the process
	}
	return f
}

func (f *plainFace) console() console {
	if f.person == nil {
		return nil
	}
	return f.person
}

func (f *plainFace) answer(delta string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case delta != "":
		fmt.Fprint(f.out, delta)
		f.mid = !strings.HasSuffix(delta, "\n")
	case f.mid:
		fmt.Fprintln(f.out)
		f.mid = false
	}
}

func (f *plainFace) note(_ noteKind, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mid {
		fmt.Fprintln(f.out)
		f.mid = false
	}
	fmt.Fprintln(f.notes, text)
}

// changed wakes who waits for the end of what runs.
func (f *plainFace) changed() {
	select {
	case f.idle <- struct{}{}:
	default:
	}
}

// run takes the prompts one after the other: the next is read when the answer
// is there.
func (f *plainFace) run(ctx context.Context) (code int, err error) {
	came, stop := interrupts()
	defer stop()
	for {
		text, more := f.read(ctx, came)
		if f.d.line(text) {
			more = false
		}
		if !f.wait(ctx, came) {
			return exitCancelled, nil
		}
		if !more {
			break
		}
	}
	if f.typed {
		return exitOK, nil
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return f.d.worst, nil
}

// errInterrupted ends a read by Ctrl-C.
var errInterrupted = errors.New("interrupted")

// read reads a line; more: the input has not ended.
func (f *plainFace) read(ctx context.Context, came <-chan os.Signal) (text string, more bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() { // ends with ctx
		defer close(watched)
		select {
		case <-came:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	defer func() { cancel(nil); <-watched }()
	if f.typed {
		_, _ = io.WriteString(f.person, "› ")
		text, err := f.person.readLine(ctx)
		if errors.Is(err, errInterrupted) {
			_, _ = io.WriteString(f.person, "\n(Ctrl-D or /exit leaves)\n")
			return "", true
		}
		return text, err == nil && text != ""
	}
	select {
	case line, ok := <-f.lines:
		return line, ok
	case <-ctx.Done():
		return "", false
	}
}

// readLines reads what a script wrote, until its end.
func (f *plainFace) readLines(r io.Reader) {
	defer close(f.lines)
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			f.lines <- line
		}
		if err != nil {
			return
		}
	}
}

// wait waits until nothing runs, and cancels what does when the person wants
// that; false: the process is to end.
func (f *plainFace) wait(ctx context.Context, came <-chan os.Signal) bool {
	for f.d.busy() {
		select {
		case <-f.idle:
		case <-came:
			f.d.cancel()
			if !f.typed {
				return false
			}
		case <-ctx.Done():
			f.d.cancel()
			return false
		}
	}
	return ctx.Err() == nil
}
