package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"agentls/agent/config"
	"agentls/mcp"
)

// helpWait is how long what stands beside a server may take to listen.
const helpWait = 90 * time.Second

// place is where the servers are installed.
type place struct {
	setup string // what `make setup` installs: node_modules and bin
	more  string // what `make servers` installs: npm/node_modules and bin
}

func places(root string) place {
	return place{setup: filepath.Join(root, "mcp", "mcptest", "servers"), more: filepath.Join(root, ".deps", "servers")}
}

// home is one server's own folder, which ends with the visit.
type home struct {
	at     place
	server *server
	dir    string // holds work, where it runs, and home, which is its HOME
	port   string // of what stands beside it; empty: nothing does
}

func newHome(at place, s *server) (*home, error) {
	dir, err := os.MkdirTemp("", "agentls-server-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	h := &home{at: at, server: s, dir: dir}
	if err := h.fill(); err != nil {
		h.remove()
		return nil, err
	}
	return h, nil
}

func (h *home) work() string { return filepath.Join(h.dir, "work") }

// remove takes the folder away. What a server still writes there as it ends
// comes back, so that the first time may fail.
func (h *home) remove() {
	for range 3 {
		if os.RemoveAll(h.dir) == nil {
			return
		}
	}
}

func (h *home) fill() error {
	for _, dir := range []string{h.work(), filepath.Join(h.dir, "home"), filepath.Join(h.dir, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	for name, text := range h.server.Files {
		file := filepath.Join(h.work(), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// before runs what has to have run before the server starts.
func (h *home) before(ctx context.Context) error {
	for _, line := range h.server.Before {
		cmd, err := h.command(ctx, line)
		if err != nil {
			return err
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(line, " "), err, out)
		}
	}
	return nil
}

// command is a command line of the list in the server's folder.
func (h *home) command(ctx context.Context, line []string) (*exec.Cmd, error) {
	vars, err := h.variables()
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(line))
	for i, part := range line {
		parts[i] = os.Expand(part, func(name string) string { return vars[name] })
	}
	cmd := exec.CommandContext(ctx, parts[0], parts[1:]...)
	cmd.Dir, cmd.Env = h.work(), h.environ()
	return cmd, nil
}

// environ is what the process of the manager would have as its environment: a
// home of its own, so that no server finds or leaves anything in the user's.
func (h *home) environ() []string {
	env := []string{"HOME=" + filepath.Join(h.dir, "home"), "TMPDIR=" + filepath.Join(h.dir, "tmp"), "USERPROFILE=" + filepath.Join(h.dir, "home")}
	for _, name := range []string{"PATH", "LANG", "TZ", "USER", "SHELL", "SYSTEMROOT", "COMSPEC", "PATHEXT"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// variables are what the fields of a configuration may use.
func (h *home) variables() (map[string]string, error) {
	vars := map[string]string{"WORK": h.work(), "NPM": filepath.Join(h.at.more, "npm"), "PORT": h.port}
	if h.server.Npm != "" {
		node, err := exec.LookPath("node")
		if err != nil {
			return nil, fmt.Errorf("%w: see `make setup`", err)
		}
		entry, err := h.entry()
		if err != nil {
			return nil, err
		}
		vars["NODE"], vars["ENTRY"] = node, entry
	}
	vars["BIN"] = filepath.Join(h.at.setup, "bin")
	if !h.server.CI {
		vars["BIN"] = filepath.Join(h.at.more, "bin")
	}
	return vars, nil
}

// entry returns the script of a server from npm. The version that is installed
// has to be the list's.
func (h *home) entry() (string, error) {
	at := strings.LastIndexByte(h.server.Npm, '@')
	name, version := h.server.Npm[:at], h.server.Npm[at+1:]
	modules, target := filepath.Join(h.at.more, "npm"), "make servers-install"
	if h.server.CI {
		modules, target = h.at.setup, "make setup"
	}
	dir := filepath.Join(modules, "node_modules", filepath.FromSlash(name))
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", fmt.Errorf("it is not installed, run `%s`: %w", target, err)
	}
	var p struct {
		Version string          `json:"version"`
		Main    string          `json:"main"`
		Bin     json.RawMessage `json:"bin"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return "", err
	}
	if p.Version != version {
		return "", fmt.Errorf("version %s is installed and %s is listed: run `%s`", p.Version, version, target)
	}
	var script string
	if json.Unmarshal(p.Bin, &script) != nil {
		var scripts map[string]string
		_ = json.Unmarshal(p.Bin, &scripts)
		if script = scripts[filepath.Base(name)]; script == "" && len(scripts) > 0 {
			for _, first := range sorted(scripts) {
				script = scripts[first]
				break
			}
		}
	}
	if script == "" {
		script = p.Main
	}
	return filepath.Join(dir, filepath.FromSlash(script)), nil
}

// config reads the server's configuration as agentls reads a user's.
func (h *home) config(ctx context.Context, secrets *mcp.Secrets) (mcp.ServerConfig, error) {
	vars, err := h.variables()
	if err != nil {
		return mcp.ServerConfig{}, err
	}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]json.RawMessage{h.server.Name: h.server.Config}})
	if err != nil {
		return mcp.ServerConfig{}, err
	}
	dir := filepath.Join(h.dir, "config")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return mcp.ServerConfig{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), text, 0o600); err != nil {
		return mcp.ServerConfig{}, err
	}
	loaded := config.Load(ctx, config.Source{
		Dir: dir, Home: filepath.Join(h.dir, "home"), Secrets: secrets,
		Getenv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	}, config.Request{Folders: []string{h.work()}})
	switch {
	case len(loaded.Problems) > 0:
		return mcp.ServerConfig{}, fmt.Errorf("its configuration: %s", loaded.Problems[0].Message)
	case len(loaded.Servers) != 1:
		return mcp.ServerConfig{}, errors.New("its configuration gives no server")
	}
	c := loaded.Servers[0]
	c.Env = maps.Clone(c.Env)
	c.Env[markName] = h.dir
	return c, nil
}

// beside starts what has to be there before the server, and returns what ends
// it.
func (h *home) beside(ctx context.Context) (stop func(), err error) {
	if len(h.server.Beside) == 0 {
		return func() {}, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, h.port, _ = net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	line := h.server.Beside
	cmd, err := h.command(ctx, line)
	if err != nil {
		return nil, err
	}
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() { // ends with the process, which stop kills
		_ = cmd.Wait()
		close(ended)
	}()
	stop = func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	for deadline := time.Now().Add(helpWait); time.Now().Before(deadline); {
		select {
		case <-ended:
			return nil, fmt.Errorf("%s ended: %s", line[0], output.String())
		case <-time.After(20 * time.Millisecond):
		}
		d := net.Dialer{Timeout: time.Second}
		if conn, err := d.DialContext(ctx, "tcp", "127.0.0.1:"+h.port); err == nil {
			_ = conn.Close()
			return stop, nil
		}
	}
	stop()
	return nil, fmt.Errorf("%s does not listen after %v: %s", line[0], helpWait, output.String())
}

// traced reports whether this system tells of processes what [marked] needs.
func traced() bool { return runtime.GOOS == "linux" }
