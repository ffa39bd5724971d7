//go:build unix

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp/mcptest"
)

// The tools of the matrix at their real work: a cancel ends what they do in the
// world, and the next prompt works.
func TestCancelOfRealTools(t *testing.T) {
	for _, c := range []struct {
		name string
		// set gives the call, what tells that its tool works, and what tells
		// that nothing of it is left.
		set  func(w *real) (c agent.ToolCall, works, gone func() bool)
		want agent.Outcome
	}{
		{"a tool of a server", func(w *real) (agent.ToolCall, func() bool, func() bool) {
			return call("c", "mcp__fake__sleep", `{"seconds":20}`),
				func() bool { return len(w.received.Calls(w.t, "sleep")) == 1 },
				func() bool { return len(w.received.Method(w.t, "notifications/cancelled")) == 1 }
		}, agent.Cancelled},
		{"a command that ignores TERM", func(w *real) (agent.ToolCall, func() bool, func() bool) {
			pidFile := filepath.Join(w.dir, "pid")
			pid := func() int {
				data, _ := os.ReadFile(pidFile) // not there yet
				n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
				return n
			}
			return call("c", "run_command", `{"command":"trap '' TERM; echo $$ >pid; /bin/sleep 60; echo never"}`),
				func() bool { return pid() > 0 },
				func() bool { return errors.Is(syscall.Kill(pid(), 0), syscall.ESRCH) }
		}, agent.Cancelled},
		{"a page that never comes", func(w *real) (agent.ToolCall, func() bool, func() bool) {
			came, closed := make(chan struct{}), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(came)
				<-r.Context().Done()
				close(closed)
			}))
			w.t.(*testing.T).Cleanup(server.Close)
			w.agent.FetchFromLoopback()
			is := func(ch chan struct{}) func() bool {
				return func() bool {
					select {
					case <-ch:
						return true
					default:
						return false
					}
				}
			}
			return call("c", "web_fetch", fmt.Sprintf(`{"url":%q}`, server.URL)), is(came), is(closed)
		}, agent.Cancelled},
		{"an edit in an editor that hangs", func(w *real) (agent.ToolCall, func() bool, func() bool) {
			path := filepath.Join(w.dir, "a.txt")
			w.host.Open(path, "alpha\n")
			asked, release := make(chan struct{}), make(chan struct{})
			w.host.Editing = func(agent.Edit) error {
				close(asked)
				<-release
				return nil
			}
			w.t.(*testing.T).Cleanup(func() { close(release) })
			return call("c", "edit_file", `{"path":"a.txt","edits":[{"old":"alpha","new":"beta"}]}`),
				func() bool {
					select {
					case <-asked:
						return true
					default:
						return false
					}
				}, func() bool {
					data, err := os.ReadFile(path)
					return err == nil && string(data) == "alpha\n"
				}
		}, agent.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newReal(t, mcptest.Options{})
			w.task.Approval.Default = "allow"
			one, works, gone := c.set(w)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var res agent.Result
			var err error
			done := make(chan struct{})
			go func() { // ends by the cancel
				defer close(done)
				res, _, err = w.run(ctx, "go", agenttest.Call(one))
			}()
			w.eventually("the tool works", works)
			began := time.Now()
			cancel(agent.ErrCancelled)
			<-done
			if took := time.Since(began); took > 5*time.Second { // the fault takes 20 s and more
				t.Errorf("the answer took %v", took)
			}
			if !errors.Is(err, agent.ErrCancelled) {
				t.Errorf("the run ended with %v", err)
			}
			equal(t, "outcomes", statuses(res), []agent.Outcome{c.want})
			w.eventually("nothing is left", gone)
			res, _ = w.must("next", agenttest.Call(call("d", "mcp__fake__echo", "{}"), call("e", "list_dir", `{"path":"."}`)))
			equal(t, "the next outcomes", statuses(res), []agent.Outcome{agent.Completed, agent.Completed})
		})
	}
}
