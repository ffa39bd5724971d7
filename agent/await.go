package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// grace is how long a call may take to react to the end of its context, before
// it is left to its owner (CONTRACT §5).
const grace = 300 * time.Millisecond

// panicError is a panic of a call, as an error.
type panicError struct{ value any }

func (e panicError) Error() string { return fmt.Sprintf("internal error: %v", e.value) }

// await runs f on a goroutine that the agent owns and waits for it; after ctx
// ended no longer than the grace time. ok is false when f was left behind: its
// late answer is dropped, and Close waits for it half a second at most. err is set
// when f panicked or the agent is closed.
func await[T any](ctx context.Context, a *Agent, f func(context.Context) T) (v T, ok bool, err error) {
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1) // an answer that nobody takes any more must not block
	started := a.calls.start(func() {
		var got answer
		defer func() {
			if p := recover(); p != nil {
				a.log.Error("a call panicked", "panic", redactText(a.secrets, fmt.Sprint(p)), "stack", string(debug.Stack()))
				got.err = panicError{p}
			}
			done <- got
		}()
		got.v = f(ctx)
	})
	if !started {
		return v, true, fmt.Errorf("the agent is shutting down")
	}
	select {
	case got := <-done:
		return got.v, true, got.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case got := <-done:
		return got.v, true, got.err
	case <-timer.C:
		return v, false, nil
	}
}
