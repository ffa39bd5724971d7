package mcp

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"agentls/mcp/child"
)

// reaper is a helper process that outlives a SIGKILL of this one: it is told
// of each child's group over a pipe, and when the pipe ends without a goodbye
// it kills those that are left. A nil reaper does nothing. One that cannot be
// started or dies costs nothing but its service.
type reaper struct {
	command []string
	hold    []string // see [Options.Hold]
	env     []string
	log     *slog.Logger

	mu     sync.Mutex
	cmd    *exec.Cmd
	pipe   *os.File
	groups map[int]bool
	broken bool
}

func newReaper(command, hold, env []string, log *slog.Logger) *reaper {
	if len(command) == 0 {
		return nil
	}
	return &reaper{command: command, hold: hold, env: env, log: log, groups: map[int]bool{}}
}

// Expect starts the helper, if it does not run, and says how a child is held
// until the helper knows of it.
func (r *reaper) Expect() (hold []string) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe == nil {
		r.restart()
	}
	if r.pipe == nil {
		return nil
	}
	return r.hold
}

// Add tells the helper of a group.
func (r *reaper) Add(g child.Group) {
	if r == nil || g.ID() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups[g.ID()] = true
	if r.pipe == nil || r.say("+%d\n", g.ID()) != nil {
		r.restart()
	}
}

func (r *reaper) restart() {
	if err := r.start(); err != nil && !r.broken {
		r.broken = true
		r.log.Warn("no reaper: children may outlive a kill of agentls", "err", err)
	}
}

// Remove tells the helper that a group is gone.
func (r *reaper) Remove(g child.Group) {
	if r == nil || g.ID() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.groups, g.ID())
	if r.pipe != nil {
		_ = r.say("-%d\n", g.ID())
	}
}

// close says goodbye and waits for the helper. Groups that are left, as of a
// command that could not be ended in time, are its to end.
func (r *reaper) close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe != nil && len(r.groups) == 0 {
		_ = r.say("bye\n")
	}
	r.stop()
	r.command = nil
}

// start starts the helper and tells it of all groups that live.
func (r *reaper) start() error {
	r.stop()
	if len(r.command) == 0 {
		return nil
	}
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	cmd := exec.Command(r.command[0], r.command[1:]...) //nolint:noctx // it outlives us, and ends with its input
	cmd.Env, cmd.Stdin = r.env, in
	// Its own group: what is typed or sent to ours does not reach it.
	if _, err := child.Start(cmd); err != nil {
		_ = out.Close()
		return err
	}
	r.cmd, r.pipe = cmd, out
	for id := range r.groups {
		if err := r.say("+%d\n", id); err != nil {
			return err
		}
	}
	return nil
}

func (r *reaper) stop() {
	if r.pipe == nil {
		return
	}
	_ = r.pipe.Close()
	cmd := r.cmd // a late kill must not look at what is cleared below
	stop := time.AfterFunc(time.Second, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	stop.Stop()
	r.pipe, r.cmd = nil, nil
}

func (r *reaper) say(format string, args ...any) error {
	_ = r.pipe.SetWriteDeadline(time.Now().Add(time.Second))
	_, err := fmt.Fprintf(r.pipe, format, args...)
	return err
}

// Reap is the whole of the helper process named by [Options.Reaper], with its
// stdin as r. It returns when r ends.
func Reap(r io.Reader) {
	live := map[int]bool{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if line == "bye" {
			return
		}
		id, err := strconv.Atoi(strings.TrimLeft(line, "+-"))
		if err != nil || id <= 1 {
			continue
		}
		if strings.HasPrefix(line, "-") {
			delete(live, id)
		} else {
			live[id] = true
		}
	}
	for id := range live {
		child.KillGroup(id)
	}
}
