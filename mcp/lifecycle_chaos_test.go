package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// chaos is a manager whose servers are started, stopped and broken from many
// sides at once.
type chaos struct {
	*house
	names []string // the last one is a project's
	logs  map[string]mcptest.Log
	full  map[string]ServerConfig

	mu   sync.Mutex
	done []string
}

func newChaos(t *testing.T) *chaos {
	tm := fast()
	tm.tries, tm.use, tm.backoff, tm.backoffMax = 10_000, 50*time.Millisecond, 5*time.Millisecond, 20*time.Millisecond
	c := &chaos{
		house: newHouse(t, Options{TrustFile: filepath.Join(t.TempDir(), "trust.json"), Reaper: []string{os.Args[0], partReap}, Hold: []string{os.Args[0], partHold}}, tm),
		names: []string{"plain", "slow", "deaf", "mother", "modern", "evil"}, logs: map[string]mcptest.Log{}, full: map[string]ServerConfig{},
	}
	for name, o := range map[string]mcptest.Options{
		"plain": {}, "slow": {SlowInit: 50 * time.Millisecond}, "deaf": {IgnoreEOF: true}, "mother": {Child: true},
		"modern": {Modern: true}, "evil": {},
	} {
		c.logs[name] = mcptest.NewLog(t)
		o.Log = string(c.logs[name])
		f := fakeConfig(t, name, o)
		if name == "evil" {
			f.Project, f.Source, f.Folder = true, "/w/.mcp.json", t.TempDir()
		}
		c.full[name] = f
	}
	return c
}

// list is a configuration: some of the servers, some of them changed or disabled.
func (c *chaos) list(random *rand.Rand) (list []ServerConfig) {
	for _, name := range c.names {
		f := c.full[name]
		f.Timeout += time.Duration(random.IntN(3)) * time.Second // a change starts it anew
		f.Disabled = random.IntN(5) == 0
		if random.IntN(6) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// step does something that a person, a file or a server may do at any time.
func (c *chaos) step(random *rand.Rand) {
	name := c.names[random.IntN(len(c.names))]
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(200))*time.Millisecond)
	defer cancel()
	call := func(tool string) { _, _ = c.CallTool(ctx, name, tool, json.RawMessage(`{"text":"x"}`), nil) }
	what := ""
	switch random.IntN(12) {
	case 0:
		what = "configure"
		c.Configure(c.list(random))
	case 1, 2:
		what = "restart"
		_, _ = c.Restart(name)
	case 3:
		what = "enable"
		_, _ = c.Enable(name)
	case 4:
		what = "disable"
		_, _ = c.Disable(name)
	case 5:
		what = "trust"
		_, _ = c.Trust("evil", random.IntN(2) == 0, "")
	case 6:
		what = "trust folder"
		c.TrustFolder(random.IntN(3) > 0)
	case 7:
		what = "die"
		call("die")
	case 8:
		what = "forkdie"
		call("forkdie")
	case 9:
		what = "noread"
		call("noread")
	case 10:
		what = "read"
		_, _ = c.Read(ctx, name, "file://doc1.md")
	default:
		what = "look"
		_, _ = c.Logs(name)
		c.Servers()
		call("echo")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, what+" "+name)
}

// watch looks, until stop, that no server has two children at a time.
func (c *chaos) watch(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(2 * time.Millisecond):
		}
		for name, log := range c.logs {
			var first int // one that runs
			for _, e := range log.Events(c.t, "start") {
				switch {
				case !alive(e.PID):
				case first == 0:
					first = e.PID
				case alive(first): // both did when e.PID was looked at
					c.t.Errorf("%s runs as %d and as %d", name, first, e.PID)
				}
			}
		}
	}
}

// settle says the last word about each server, and looks that it counts.
func (c *chaos) settle(random *rand.Rand) {
	list := c.list(random)
	c.TrustFolder(true)
	c.Configure(list)
	want := map[string]Status{}
	for _, f := range list {
		trusted, on := true, random.IntN(3) > 0
		if f.Project {
			trusted = random.IntN(2) == 0
			if _, err := c.Trust(f.Name, trusted, f.Fingerprint); err != nil {
				c.t.Errorf("trust: %v", err)
			}
		}
		turn := c.Disable
		if on {
			turn = c.Enable
		}
		if _, err := turn(f.Name); err != nil {
			c.t.Errorf("turn %s %v: %v", f.Name, on, err)
		}
		want[f.Name] = StatusReady
		switch {
		case !on:
			want[f.Name] = StatusDisabled
		case !trusted:
			want[f.Name] = StatusUntrusted
		case random.IntN(2) == 0:
			if _, err := c.Restart(f.Name); err != nil {
				c.t.Errorf("restart %s: %v", f.Name, err)
			}
		}
	}
	eventually(c.t, fmt.Sprint("they are as was said last: ", want), func() bool {
		have := c.Servers()
		for _, i := range have {
			if i.Status != want[i.Name] {
				return false
			}
		}
		return len(have) == len(want)
	})
	for name, status := range want {
		text, err := c.call(name, "echo", args{"text": name})
		if got := err == nil && text == name; got != (status == StatusReady) {
			c.t.Errorf("%s is %s: %q, %v", name, status, text, err)
		}
	}
	for name, log := range c.logs {
		children := 0
		if want[name] == StatusReady {
			children = 1
		}
		eventually(c.t, fmt.Sprintf("%d children of %s", children, name), func() bool { // what is disabled takes a second to end
			running := 0
			for _, e := range log.Events(c.t, "start") {
				if alive(e.PID) {
					running++
				}
			}
			return running == children
		})
	}
}

// Servers are configured anew, restarted, enabled, disabled, trusted and
// distrusted, and die, from four sides at once: what was said last counts, none
// ever has two children (anthropics/claude-code#95821), and nothing is left
// behind, also where the manager closes in the middle of it.
func TestServersInAnyOrder(t *testing.T) {
	const sides, steps = 4, 50
	for round := range 2 {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			c := newChaos(t)
			seed := rand.Uint64()
			defer func() {
				if t.Failed() {
					t.Logf("seed %d: %q", seed, c.done)
				}
			}()
			c.TrustFolder(true)
			stop := make(chan struct{})
			var watching, acting sync.WaitGroup
			watching.Go(func() { c.watch(stop) })
			for side := range sides {
				random := rand.New(rand.NewPCG(seed, uint64(side))) //nolint:gosec // no secret
				acting.Go(func() {
					for range steps {
						c.step(random)
					}
				})
			}
			if round > 0 { // closed while all of it goes on
				eventually(t, "half of it", func() bool {
					c.mu.Lock()
					defer c.mu.Unlock()
					return len(c.done) >= sides*steps/2
				})
				c.Close()
			}
			acting.Wait()
			if round == 0 {
				c.settle(rand.New(rand.NewPCG(seed, sides))) //nolint:gosec // no secret
			}
			c.Close()
			close(stop)
			watching.Wait()
			for name, log := range c.logs {
				eventually(t, "nothing is left of "+name, func() bool {
					return !slices.ContainsFunc(pids(t, log), alive)
				})
			}
		})
	}
}
