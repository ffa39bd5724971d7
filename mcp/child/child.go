// Package child starts programs as groups that end as a whole, so that nothing
// a program starts in turn is left behind.
package child

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Look finds a program as the child's own PATH has it. Who tells a person that it
// is not there names the PATH, last: editors started from a desktop often have a
// short one, a shell's can be longer than what is shown.
func Look(command string, env []string) (string, error) {
	if command == "" {
		return "", errors.New("no command is configured")
	}
	if strings.ContainsAny(command, `/\`) {
		return command, nil
	}
	path := PathOf(env)
	if found := searchPath(command, path, env); found != "" {
		return found, nil
	}
	return "", fmt.Errorf("cannot start %s: %w in the PATH", command, ErrNotFound)
}

// ErrNotFound is given for a program that is in no directory of the PATH.
var ErrNotFound = errors.New("not found")

// PathOf returns the PATH of an environment.
func PathOf(env []string) (path string) {
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); strings.EqualFold(name, "PATH") {
			path = value
		}
	}
	return path
}

// outputGrace is how long the output of an ended program may still come.
const outputGrace = time.Second

// Run starts a program, made by [exec.CommandContext] with ctx, as a group and
// waits for it. Whatever is left of the group then is killed; when ctx ends all
// of it is, and the error is ctx's cause. watch, unless nil, hears of the group
// once it runs: it is for programs that are short and end by themselves, of which
// a diff takes five, and holding one costs ten times what git does.
func Run(ctx context.Context, cmd *exec.Cmd, watch Watch) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	cmd.WaitDelay = outputGrace
	if watch == nil {
		watch = unwatched{}
	}
	watch.Expect()
	g, err := startTold(cmd, watch)
	if err != nil {
		return err
	}
	defer g.Release()
	defer watch.Remove(g)
	stop := context.AfterFunc(ctx, g.Kill)
	defer stop()
	err = cmd.Wait()
	g.Kill()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
