package main

import (
	"cmp"
	"context"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"agentls/mcp"
)

// servers says what became of each server that was begun at a time.
func (d *doctor) servers(ctx context.Context, began time.Time) {
	var each sync.WaitGroup
	var mu sync.Mutex
	took := map[string]time.Duration{}
	for _, s := range d.parts.manager.Servers() {
		each.Go(func() {
			_, _ = d.parts.manager.WaitServer(ctx, s.Name) // its line tells it
			mu.Lock()
			defer mu.Unlock()
			took[s.Name] = time.Since(began).Round(10 * time.Millisecond)
		})
	}
	list := d.parts.settled(ctx)
	each.Wait()
	for _, s := range list {
		d.server(s, took[s.Name])
	}
	d.runners(ctx, list)
}

func (d *doctor) server(s mcp.ServerInfo, took time.Duration) {
	const about = "MCP server"
	switch s.Status {
	case mcp.StatusReady:
		d.say(good, about, s.Name, "ready %s, %s tools, %s resources, %s prompts", inTime(took), count(s.Tools), count(s.Resources), count(s.Prompts))
	case mcp.StatusDisabled:
		d.say(absent, about, s.Name, "disabled in %s", s.Source)
	case mcp.StatusNeedsLogin:
		d.say(tooBad, about, s.Name, "%s: %s; run `agentls mcp login %s` here", s.Status, s.Error, word(s.Name))
	case mcp.StatusUntrusted:
		d.say(absent, about, s.Name, "from %s, not trusted; `agentls mcp trust %s` shows what it would start", s.Source, word(s.Name))
	default:
		if s.Needs != "" {
			d.say(absent, about, s.Name, "it needs %s, which is asked for when an editor or `agentls ask` starts it", s.Needs)
			return
		}
		after := ""
		if took >= time.Second {
			after = " after " + took.String()
		}
		d.say(tooBad, about, s.Name, "%s%s: %s; look at its entry in %s", s.Status, after, s.Error, cmp.Or(map[string]string{"user": d.parts.paths.config}[s.Source], s.Source))
	}
}

func inTime(took time.Duration) string {
	if took == 0 {
		return "at once"
	}
	return "in " + took.String()
}

// runner is a program that starts servers which others wrote.
type runner struct {
	major int    // below it many servers do not start; 0: any will do
	get   string // how it is got
}

// runners are those that most servers are started by, and what is behind them.
//
//nolint:gochecknoglobals // a constant table
var runners = map[string]runner{
	"node":   {20, "install Node.js 20 or later"},
	"npx":    {0, "install Node.js 20 or later, which has it"},
	"bunx":   {0, "install Bun"},
	"uvx":    {0, "install uv"},
	"uv":     {0, "install it"},
	"docker": {0, "install it"},
}

// runners says which versions the programs have that servers of this folder are
// started by. What a server names by a path is not asked, and nothing is where
// only servers need it that are not trusted.
func (d *doctor) runners(ctx context.Context, list []mcp.ServerInfo) {
	const about = "program"
	started := map[string]bool{} // by a server that may start
	for _, s := range list {
		name := strings.TrimSuffix(s.Command, ".cmd")
		if _, known := runners[name]; !known || s.Status == mcp.StatusDisabled {
			continue
		}
		if started[name] = started[name] || s.Status != mcp.StatusUntrusted; name == "npx" {
			started["node"] = started["node"] || started[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(started)) {
		r := runners[name]
		path, err := exec.LookPath(name)
		switch {
		case err != nil && !started[name]:
			d.say(absent, about, name, "it is not in the PATH, and only servers need it that are not trusted")
		case err != nil:
			d.say(poor, about, name, "it is not in the PATH, and servers need it: %s, and start the editor anew", r.get)
		case !started[name]:
			d.say(good, about, name, "%s", path)
		default:
			d.runner(ctx, name, path, r)
		}
	}
}

var leadingNumber = regexp.MustCompile(`\d+`)

// runner asks a program for its version. It is done outside of the folder,
// whose files must not have a say.
func (d *doctor) runner(ctx context.Context, name, path string, r runner) {
	const about = "program"
	ctx, cancel := context.WithTimeout(ctx, probing)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Dir, cmd.WaitDelay = filepath.Dir(path), time.Second
	out, err := cmd.Output()
	said := oneLine(string(out), 60)
	major, _ := strconv.Atoi(leadingNumber.FindString(said)) // none is 0
	switch {
	case err != nil:
		d.say(poor, about, name, "%s does not tell its version (%v): look whether it works", path, err)
	case major < r.major:
		d.say(poor, about, name, "%s is %s, and many servers want %d or later: get that, and start the editor anew", path, said, r.major)
	default:
		d.say(good, about, name, "%s, %s", said, path)
	}
}
