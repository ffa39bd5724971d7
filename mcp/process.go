package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agentls/mcp/child"
)

const (
	eofGrace  = 500 * time.Millisecond // after stdin was closed
	termGrace = 500 * time.Millisecond // after the group was asked to end
	killGrace = 2 * time.Second        // after which a child that cannot be killed is left
	// drainGrace is how long the output of a dead child may still come: a
	// grandchild that left the group can hold the pipe open for ever.
	drainGrace = 500 * time.Millisecond
)

// processSpec is what a child is started from.
type processSpec struct {
	command string
	args    []string
	env     []string
	dir     string // empty: ours
	reaper  *reaper
	problem func(text string) // told what was skipped on stdout
	stderr  func(line string) // told what it wrote to stderr; nil: nobody is
}

// pathAdvice is what to do about a program that is not found: an editor that
// was started from a desktop often has a shorter PATH than a shell.
const pathAdvice = `write its whole path as "command", or give the server a PATH in "env"`

// process is a server's child and its group. It is ours rather than mcp-go's
// because a child may hang, leave grandchildren, flood its stderr or stop
// reading, and none of that may hold a caller.
type process struct {
	cmd    *exec.Cmd
	group  child.Group
	reaper *reaper
	in     *outbox
	out    *io.PipeReader // messages only, for mcp-go
	outEnd *io.PipeWriter
	stdout *os.File
	stderr *os.File
	tail   tail

	ended   chan struct{}                         // closed when its stdout ended: the connection is lost
	exited  chan struct{}                         // closed when it was waited for
	cleared chan struct{}                         // closed when its pipes are closed as well
	said    chan struct{}                         // closed when its stderr ended
	err     error                                 // what Wait returned; set before exited closes
	gaveUp  atomic.Bool                           // it did not read its input
	updated atomic.Pointer[func(uri string)]      // see frames; nil: not yet
	asked   atomic.Pointer[func(json.RawMessage)] // likewise
	once    sync.Once
	wg      sync.WaitGroup // the goroutines of its three pipes
}

func startProcess(spec processSpec) (*process, error) {
	path, err := child.Look(spec.command, spec.env)
	if errors.Is(err, child.ErrNotFound) {
		return nil, fmt.Errorf("%w; %s. PATH=%s", err, pathAdvice, child.PathOf(spec.env))
	}
	if err != nil {
		return nil, err
	}
	if spec.dir != "" {
		if st, err := os.Stat(spec.dir); err != nil || !st.IsDir() {
			return nil, fmt.Errorf("cannot start %s: its working directory %s is not there", spec.command, spec.dir)
		}
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{spec.command}, spec.args...), Env: spec.env, Dir: spec.dir}
	var pipes [6]*os.File // stdin r, w; stdout r, w; stderr r, w
	closeAll := func(files ...*os.File) {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
	}
	for i := 0; i < len(pipes); i += 2 {
		if pipes[i], pipes[i+1], err = os.Pipe(); err != nil {
			closeAll(pipes[:]...)
			return nil, fmt.Errorf("cannot start %s: %w", spec.command, err)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	p := &process{
		cmd: cmd, reaper: spec.reaper, stdout: pipes[2], stderr: pipes[4],
		ended: make(chan struct{}), exited: make(chan struct{}), cleared: make(chan struct{}), said: make(chan struct{}),
	}
	p.tail.each = spec.stderr
	p.out, p.outEnd = io.Pipe()
	p.in = newOutbox(pipes[1], p.giveUp)
	if p.group, err = child.StartWatched(cmd, p.reaper); err != nil {
		closeAll(pipes[:]...)
		return nil, fmt.Errorf("cannot start %s: %w", spec.command, err)
	}
	closeAll(pipes[0], pipes[3], pipes[5])
	f := newFrames(p.stdout, maxFrame, spec.problem)
	f.updated, f.asked = p.takeUpdated, p.takeRequest
	p.run(f)
	return p, nil
}

// onUpdated lets take have the resources/updated from now on. It must not block.
func (p *process) onUpdated(take func(uri string)) { p.updated.Store(&take) }

func (p *process) takeUpdated(uri string) bool {
	take := p.updated.Load()
	if take != nil {
		(*take)(uri)
	}
	return take != nil
}

// onRequest lets take have the server's requests from now on. It must not block.
func (p *process) onRequest(take func(json.RawMessage)) { p.asked.Store(&take) }

func (p *process) takeRequest(m json.RawMessage) bool {
	take := p.asked.Load()
	if take != nil {
		(*take)(m)
	}
	return take != nil
}

// reply queues the answer to a request of the server's.
func (p *process) reply(_ context.Context, m []byte) error {
	_, err := p.in.Write(append(m, '\n'))
	return err
}

func (p *process) run(f *frames) {
	p.wg.Go(p.in.run) // ends when stdin is closed
	p.wg.Go(func() {  // ends at the end of stdout, which wait enforces
		p.copyOut(f)
		_ = p.outEnd.Close()
		close(p.ended)
		_, _ = io.Copy(io.Discard, p.stdout)
	})
	p.wg.Go(func() { // likewise
		defer close(p.said)
		_, _ = io.Copy(&p.tail, p.stderr)
		p.tail.end()
	})
	go p.wait() // ends with the child; close waits for it
}

// copyOut passes messages on until stdout ends; a panic over them ends it too.
func (p *process) copyOut(f *frames) {
	defer func() {
		if r := recover(); r != nil {
			f.problem(fmt.Sprintf("internal error: %v", r))
		}
	}()
	_ = f.copyTo(p.outEnd)
}

// wait waits for the child, ends its group and, after drainGrace, its pipes.
func (p *process) wait() {
	defer close(p.cleared)
	p.err = p.cmd.Wait()
	p.group.Kill()
	p.reaper.Remove(p.group)
	close(p.exited)
	grace, cancel := context.WithTimeout(context.Background(), drainGrace)
	defer cancel()
	for _, end := range []chan struct{}{p.ended, p.said} {
		select {
		case <-end:
		case <-grace.Done():
		}
	}
	_ = p.outEnd.Close()
	_ = p.stdout.Close()
	_ = p.stderr.Close()
	p.in.abort()
}

// giveUp ends a child that takes nothing in.
func (p *process) giveUp() {
	p.gaveUp.Store(true)
	p.group.Kill()
}

// close ends the child: end of input, TERM to its group, KILL to its group.
// It returns when the child and everything around it is gone.
func (p *process) close() {
	p.once.Do(p.end)
	_ = p.outEnd.Close()
	p.wg.Wait()
}

func (p *process) end() {
	defer p.group.Release()
	_ = p.in.Close()
	_ = p.outEnd.Close() // mcp-go's reader ends; the rest of stdout is drained
	if !p.waitExit(eofGrace) {
		p.in.abort()
		p.group.Terminate()
		if !p.waitExit(termGrace) {
			p.group.Kill()
		}
	}
	if p.waitExit(killGrace) {
		<-p.cleared
		return
	}
	// Not even that helped (a dead network disk): its pipes are closed, and
	// only wait is left behind, until the kernel lets the child go.
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}

func (p *process) waitExit(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// reason says how the child ended, with its last words. It waits a moment for
// the exit status: the end of stdout comes first.
func (p *process) reason() string {
	text := "closed its output"
	if p.waitExit(300 * time.Millisecond) {
		select { // its last words may still be on the way
		case <-p.said:
		case <-time.After(100 * time.Millisecond):
		}
		switch {
		case p.gaveUp.Load():
			text = "does not read its input"
		case p.err != nil:
			text = p.err.Error() + p.notFound()
		default:
			text = "exit status 0"
		}
	}
	if words := p.words(); words != "" {
		text += "; stderr: " + words
	}
	return text
}

// words returns what the child wrote to stderr last, and before it the line that
// tells what went wrong: many print a page of usage, or a trace, after that.
func (p *process) words() string {
	const shown = 10
	lines := p.tail.last(shown)
	if cause := p.tail.cause(shown); cause != "" {
		lines = append([]string{clip(cause, 500), "…"}, lines...)
	}
	return clip(strings.Join(lines, "\n"), 2000)
}

// notFound says what a shell or env means by its exit status: a program that
// the child needs is not there (npx is, node is not).
func (p *process) notFound() string {
	if p.cmd.ProcessState == nil || p.cmd.ProcessState.ExitCode() != 127 {
		return ""
	}
	return fmt.Sprintf(" (a program that it needs was not found in the PATH; %s. PATH=%s)", pathAdvice, child.PathOf(p.cmd.Env))
}
