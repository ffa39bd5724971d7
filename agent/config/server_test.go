package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp"
)

// Each field of a server reaches who starts it, and one of a wrong type is told
// by its place and leaves the rest in force.
func TestServerFields(t *testing.T) {
	type of = mcp.ServerConfig
	const program, remote = `"command": "x"`, `"url": "https://x/mcp"`
	w := newWorld(t)
	w.write(filepath.Join(w.folder, "env"), "FROM_FILE=1\n")
	fields := map[string]struct {
		base, value, wrong string
		get                func(of) any
		want               any
	}{
		"type":                  {remote, `"sse"`, `5`, func(c of) any { return c.Type }, "sse"},
		"command":               {remote, `""`, `["x"]`, func(c of) any { return c.Command }, ""},
		"args":                  {program, `["-y", "a b"]`, `"-y"`, func(c of) any { return c.Args }, []string{"-y", "a b"}},
		"env":                   {program, `{"A": "b", "N": 1}`, `["A=b"]`, func(c of) any { return c.Env }, map[string]string{"A": "b", "N": "1"}},
		"envFile":               {program, `"env"`, `{}`, func(c of) any { return c.Env }, map[string]string{"FROM_FILE": "1"}},
		"cwd":                   {program, `"sub"`, `1`, func(c of) any { return c.Cwd }, filepath.Join(w.folder, "sub")},
		"url":                   {program, `""`, `{}`, func(c of) any { return c.URL }, ""},
		"headers":               {remote, `{"A": "b"}`, `"A: b"`, func(c of) any { return c.Headers }, map[string]string{"A": "b"}},
		"oauth":                 {remote, `{"clientId": "me", "redirectPort": 8000}`, `true`, func(c of) any { return fmt.Sprint(c.OAuth.ClientID, c.OAuth.RedirectPort) }, "me8000"},
		"disabled":              {program, `true`, `"yes"`, func(c of) any { return c.Disabled }, true},
		"inheritEnv":            {program, `true`, `1`, func(c of) any { return c.InheritEnv }, true},
		"trustAnnotations":      {program, `true`, `"true"`, func(c of) any { return c.TrustAnnotations }, true},
		"sampling":              {program, `true`, `{}`, func(c of) any { return c.Sampling }, true},
		"timeoutSeconds":        {program, `1.5`, `"60"`, func(c of) any { return c.Timeout }, 1500 * time.Millisecond},
		"startupTimeoutSeconds": {program, `5`, `0`, func(c of) any { return c.StartupTimeout }, 5 * time.Second},
		"protocol":              {program, `"modern"`, `"newest"`, func(c of) any { return c.Protocol }, "modern"},
		"enabledTools":          {program, `["a", "b"]`, `"a"`, func(c of) any { return c.EnabledTools }, []string{"a", "b"}},
		"disabledTools":         {program, `["c"]`, `{"c": true}`, func(c of) any { return c.DisabledTools }, []string{"c"}},
	}
	for _, key := range keysIn["mcpServers.NAME"] {
		f, ok := fields[key]
		if !ok {
			t.Errorf("%s: no test", key)
			continue
		}
		w.user(fmt.Sprintf(`{"mcpServers": {"s": {%s, %q: %s}, "other": {"command": "y"}}}`, f.base, key, f.value))
		c := w.load()
		problems(t, c)
		if got := f.get(server(t, c, "s")); !reflect.DeepEqual(got, f.want) {
			t.Errorf("%s: %#v, want %#v", key, got, f.want)
		}
		w.user(fmt.Sprintf(`{"mcpServers": {"s": {%s, %q: %s}, "other": {"command": "y"}}}`, f.base, key, f.wrong))
		c = w.load()
		problems(t, c, "config.json: mcpServers.s."+key)
		if got := server(t, c, "other").Command; got != "y" {
			t.Errorf("%s: the other server's command is %q", key, got)
		}
		if s := server(t, c, "s"); reflect.DeepEqual(f.get(s), f.want) && f.value != `""` {
			t.Errorf("%s: %#v in spite of %s", key, f.want, f.wrong)
		}
	}
	if got, want := slices.Sorted(maps.Keys(fields)), slices.Sorted(slices.Values(keysIn["mcpServers.NAME"])); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What only the user may widen a project's file does not.
func TestServerFieldsOfAProjectAreNarrowed(t *testing.T) {
	for field, widened := range map[string]func(mcp.ServerConfig) bool{
		"inheritEnv":       func(c mcp.ServerConfig) bool { return c.InheritEnv },
		"trustAnnotations": func(c mcp.ServerConfig) bool { return c.TrustAnnotations },
		"sampling":         func(c mcp.ServerConfig) bool { return c.Sampling },
	} {
		for _, file := range []string{".agentls/config.json", ".mcp.json", ".vscode/mcp.json"} {
			w := newWorld(t)
			key := "mcpServers"
			if strings.HasPrefix(file, ".vscode") {
				key = "servers"
			}
			w.project(file, fmt.Sprintf(`{%q: {"s": {"command": "x", %q: true}}}`, key, field))
			c := w.load()
			problems(t, c, file+": "+key+".s."+field)
			if s := server(t, c, "s"); widened(s) || !s.Project {
				t.Errorf("%s in %s: %+v", field, file, s)
			}
		}
		w := newWorld(t)
		w.user(fmt.Sprintf(`{"mcpServers": {"s": {"command": "x", %q: true}}}`, field))
		c := w.load()
		problems(t, c)
		if !widened(server(t, c, "s")) {
			t.Errorf("%s of the user does not count", field)
		}
	}
}
