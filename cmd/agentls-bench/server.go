package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"agentls/lsp/lspclient"
	"agentls/mcp/mcptest"
)

// server is a running agentls with a client on its pipes.
type server struct {
	*lspclient.Client
	taker atomic.Pointer[func(frame []byte) bool]
}

// take gives the frames that come to f from now on; true keeps one from the
// client, undecoded.
func (s *server) take(f func(frame []byte) bool) { s.taker.Store(&f) }

// setup is what a server is started with.
type setup struct {
	servers  map[string]mcptest.Options
	provider *provider
	features []string // of the client
	loud     bool     // every notification of a server is shown
	root     string   // the workspace folder; empty: none
	home     string   // where the state is; empty: a new folder
	limits   map[string]int
	tools    []string // the only ones of each server that are on; none: all are
}

// scratch makes a new folder.
func (b *bench) scratch() (string, error) {
	b.folder++
	dir := filepath.Join(b.dir, strconv.Itoa(b.folder))
	return dir, os.Mkdir(dir, 0o700)
}

// process starts a binary in a home of its own, or in the one given. It is
// killed when ctx ends.
func (b *bench) process(ctx context.Context, binary, home string, env ...string) (*server, error) {
	var err error
	if home == "" {
		if home, err = b.scratch(); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, binary)
	cmd.Dir = home
	cmd.WaitDelay = time.Second
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OPENAI_") && !strings.HasPrefix(v, "XDG_") && !strings.HasPrefix(v, "HOME=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, append(env, "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home)...)
	s := &server{}
	s.Client, err = lspclient.Start(cmd, lspclient.Options{Take: func(frame []byte) bool {
		f := s.taker.Load()
		return f != nil && (*f)(frame)
	}})
	return s, err
}

// start starts agentls and initializes it.
func (b *bench) start(ctx context.Context, u setup) (*server, error) {
	s, err := b.process(ctx, b.binary, u.home)
	if err != nil {
		return nil, err
	}
	if err := s.initialize(ctx, u.root, b.options(u), u.features); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *server) initialize(ctx context.Context, root string, options map[string]any, features []string) error {
	announced := map[string]bool{}
	for _, f := range features {
		announced[f] = true
	}
	var rootURI any
	if root != "" {
		rootURI = (&url.URL{Scheme: "file", Path: filepath.ToSlash(root)}).String()
	}
	err := s.Call(ctx, "initialize", map[string]any{
		"processId": nil, "rootUri": rootURI, "clientInfo": map[string]string{"name": "agentls-bench"}, "initializationOptions": options,
		"capabilities": map[string]any{"window": map[string]any{"workDoneProgress": true}, "experimental": map[string]any{"agentls": announced}},
	}, nil)
	if err == nil {
		s.Notify("initialized", struct{}{})
	}
	return err
}

// options are the initializationOptions.
func (b *bench) options(u setup) map[string]any {
	servers := map[string]any{}
	for name, o := range u.servers {
		one := map[string]any{"command": b.self, "env": mcptest.Environment(o)}
		if u.tools != nil {
			one["enabledTools"] = u.tools
		}
		servers[name] = one
	}
	notifications := "off"
	if u.loud {
		notifications = "all"
	}
	o := map[string]any{"workspaceTrusted": true, "notifications": notifications, "mcpServers": servers, "approval": map[string]string{"default": "allow"}}
	if u.limits != nil {
		o["limits"] = u.limits
	}
	if u.provider != nil {
		o["provider"] = "bench"
		o["providers"] = map[string]any{"bench": map[string]string{"baseURL": u.provider.url, "model": "bench"}}
	}
	return o
}

// listed waits until so many resources of all servers are in the cache.
func (s *server) listed(ctx context.Context, n int) error {
	return eventually(ctx, fmt.Sprintf("%d resources are not listed", n), func() (bool, error) {
		var servers []struct {
			Name, Status, Error string
			Resources           *int
		}
		err := s.Execute(ctx, "agentls.mcp.servers", struct{}{}, &servers)
		sum := 0
		for _, one := range servers {
			if one.Status == "failed" {
				return false, fmt.Errorf("the server %s failed: %s", one.Name, one.Error)
			}
			if one.Resources != nil && one.Name != "workspace" {
				sum += *one.Resources
			}
		}
		return sum >= n, err
	})
}

var residentLine = regexp.MustCompile(`VmRSS:\s*(\d+) kB`)

// resident is the server's resident memory in MB.
func (s *server) resident(ctx context.Context) (float64, error) {
	var kb string
	if runtime.GOOS == "linux" {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
		if err != nil {
			return 0, err
		}
		if m := residentLine.FindSubmatch(data); m != nil {
			kb = string(m[1])
		}
	} else {
		out, err := exec.CommandContext(ctx, "ps", "-o", "rss=", "-p", strconv.Itoa(s.PID())).Output()
		if err != nil {
			return 0, err
		}
		kb = strings.TrimSpace(string(out))
	}
	n, err := strconv.ParseFloat(kb, 64)
	return n / 1024, err
}

// idle is a server's resident memory after some time in which nothing happens.
func (b *bench) idle(ctx context.Context, s *server) (float64, error) {
	if err := pause(ctx, b.wait(5*time.Second)); err != nil {
		return 0, err
	}
	return s.resident(ctx)
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// eventually looks again and again until there is what is waited for, for a
// minute at most.
func eventually(ctx context.Context, otherwise string, look func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if there, err := look(); there || err != nil {
			return err
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", otherwise, err)
		}
	}
}

// ask starts a run; with session "" in a new one.
func (s *server) ask(prompt, session string) (id json.RawMessage, wait func(context.Context, any) error) {
	argument := map[string]string{"prompt": prompt}
	if session != "" {
		argument["session"] = session
	}
	return s.Request("workspace/executeCommand", lspclient.Command("agentls.ask", argument))
}

// cancel ends a run and gives the time to its answer.
func (s *server) cancel(ctx context.Context, id json.RawMessage, wait func(context.Context, any) error) (time.Duration, error) {
	start := time.Now()
	s.Notify("$/cancelRequest", map[string]json.RawMessage{"id": id})
	err := wait(ctx, nil)
	d := time.Since(start)
	if e, ok := err.(*lspclient.Error); ok && e.Code == -32800 { //nolint:errorlint // as wait gives it
		return d, nil
	}
	return d, fmt.Errorf("a run was not cancelled: %w", err)
}

// isText tells whether a message is a run event with text.
func isText(m lspclient.Message) bool {
	var e struct{ Kind string }
	return m.Method == "agentls/runEvent" && json.Unmarshal(m.Params, &e) == nil && e.Kind == "text"
}

// names of n servers.
func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("s", i)
	}
	return slices.Clip(out)
}
