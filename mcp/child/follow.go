package child

import (
	"context"
	"io"
	"os"
	"os/exec"
	"time"
)

// How long what is left of a command may take, one after the other.
const (
	leftGrace = 500 * time.Millisecond // its output, when others of the group hold it open
	goneGrace = 50 * time.Millisecond  // its last processes: init takes a moment to clear them away
	termGrace = 200 * time.Millisecond // its end, after the group was asked to end
	killGrace = 2 * time.Second        // after which one that cannot be killed is left
)

// Ending is how a command ended.
type Ending struct {
	State *os.ProcessState // nil: it never started, or could not be ended
	// Left: something that it had started ran on, and was ended with it.
	Left bool
	// Escaped: something that left the group holds its output open.
	Escaped bool
}

// Follow starts cmd as a group and hands what all of it writes to stdout and
// stderr to out, in the order it comes, until it ends. Then, and when ctx ends,
// all of the group is ended: it is asked to, has 200 ms, and is killed. The
// error is ctx's cause, or why cmd could not be started. out is not written to
// after Follow returned, unless a write hangs. watch, unless nil, hears of the
// group.
func Follow(ctx context.Context, cmd *exec.Cmd, out io.Writer, watch Watch) (Ending, error) {
	if ctx.Err() != nil {
		return Ending{}, context.Cause(ctx)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return Ending{}, err
	}
	defer func() { _ = r.Close() }() // ends the copy, if it has not ended
	cmd.Stdout, cmd.Stderr = w, w
	g, err := StartWatched(cmd, watch)
	_ = w.Close()
	if err != nil {
		return Ending{}, err
	}
	defer g.Release()
	if watch != nil {
		defer watch.Remove(g)
	}
	said := make(chan struct{}) // closed at the end of its output
	go func() {                 // ends at the end of the output, or with r
		defer close(said)
		_, _ = io.Copy(out, r)
		_, _ = io.Copy(io.Discard, r) // out failed: the command must not hang for it
	}()
	exited := make(chan struct{})
	go func() { // ends with the command, which Follow ends
		_ = cmd.Wait() // told by its ProcessState
		close(exited)
	}()
	var e Ending
	last := leftGrace // for what holds its output though it is of no group of ours
	select {
	case <-exited:
		e.Left = (!within(ctx, said, leftGrace) || !g.gone(goneGrace)) && ctx.Err() == nil
	case <-ctx.Done():
		g.Terminate()
		began := time.Now()
		within(context.Background(), exited, termGrace)
		g.gone(termGrace - time.Since(began))
		last = goneGrace // who cancelled waits
	}
	cause := context.Cause(ctx)
	g.Kill()
	if within(context.Background(), exited, killGrace) {
		e.State = cmd.ProcessState
		e.Escaped = !within(context.Background(), said, last)
	}
	if e.State == nil || e.Escaped {
		_ = r.Close()
		within(context.Background(), said, last)
	}
	return e, cause
}

// gone reports whether nothing of the group runs, which it waits for.
func (g Group) gone(most time.Duration) bool {
	for end := time.Now().Add(most); g.Alive(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// within reports whether done closes before a time is over or ctx ends.
func within(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}
