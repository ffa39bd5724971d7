package mcp

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// Whatever happens to a server, and in whatever order: every call ends, with
// its own answer or an error, and when the trouble is over all is as before.
func TestRemoteTroubleInAnyOrder(t *testing.T) {
	t.Parallel()
	faults := slices.Sorted(maps.Keys(remoteFaults))
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		o.Replay = o.Mode == mcptest.Streamable && !o.JSON
		srv := mcptest.ServeHTTP(t, o)
		tm := fast()
		tm.tries, tm.use = 10_000, 200*time.Millisecond
		tm.ping, tm.pong = 100*time.Millisecond, 200*time.Millisecond
		h := newHouse(t, Options{}, tm)
		c := remoteConfig("fake", srv.URL)
		c.Timeout, c.StartupTimeout = 300*time.Millisecond, time.Second
		h.Configure([]ServerConfig{c})
		h.started()
		eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })

		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
		var done []string
		stop := make(chan struct{})
		var callers sync.WaitGroup
		for n := range 3 {
			callers.Go(func() { // they end with stop
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					want := fmt.Sprint(n, "-", i)
					began := time.Now()
					got, err := h.callCtx(t.Context(), "fake", "echo", args{"text": want})
					if took := time.Since(began); took > 10*time.Second {
						t.Errorf("a call took %v: %v", took, err)
					}
					// What a fault answers is not ours to judge.
					if err == nil && got != want && len(got) > 3 && got[1] == '-' {
						t.Errorf("the answer to another call: %q for %q", got, want)
					}
				}
			})
		}
		for range 12 {
			what := random.IntN(6)
			name := faults[random.IntN(len(faults))]
			switch what {
			case 0:
				srv.ForgetSessions()
			case 1:
				srv.DropStreams()
			case 2:
				srv.Restart(t)
			case 3:
				srv.Break(mcptest.Any, remoteFaults[name])
			case 4:
				srv.Break(mcptest.Method("tools/call"), remoteFaults[name])
			default:
				srv.Mend()
			}
			done = append(done, fmt.Sprint(what, " ", name))
			before := len(srv.Requests())
			for deadline := time.Now().Add(400 * time.Millisecond); len(srv.Requests()) < before+10 && time.Now().Before(deadline); {
				time.Sleep(5 * time.Millisecond) // until it has met some, or nobody asks any more
			}
		}
		srv.Mend()
		close(stop)
		callers.Wait()
		defer func() {
			if t.Failed() {
				t.Logf("seed %d: %q\n%+v", seed, done, h.seen())
			}
		}()
		eventually(t, "a call is served", func() bool {
			got, err := h.call("fake", "echo", args{"text": "after all"})
			return err == nil && got == "after all"
		})
		eventually(t, "its lists are back", func() bool {
			list, err := h.ListResources(t.Context(), "fake")
			return err == nil && !list.Stale && len(list.Resources) == 3 && h.status("fake").Status == StatusReady && len(h.tools("fake")) > 20
		})
		// A session whose DELETE met a fault is the server's to end.
		eventually(t, "one stream is left", func() bool { return srv.Listeners() <= 1 && srv.Connections() <= 5 })
		h.Close()
		eventually(t, "nothing is left", func() bool { return srv.Listeners() == 0 && srv.Connections() == 0 })
	})
}
