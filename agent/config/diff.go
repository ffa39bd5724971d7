package config

import (
	"reflect"
	"slices"

	"agentls/mcp"
)

// Changes is what two configurations differ in.
type Changes struct {
	Added, Removed, Changed []string // servers
	Settings                []string // keys beside mcpServers
}

// None reports that nothing differs.
func (c Changes) None() bool {
	return len(c.Added)+len(c.Removed)+len(c.Changed)+len(c.Settings) == 0
}

// Diff tells what becomes of before with after. A ${cmd:…} counts as it is
// written where a Load left it out.
func Diff(before, after Config) Changes {
	var c Changes
	old, now := byName(before), byName(after)
	for name, s := range now {
		was, known := old[name]
		switch {
		case !known:
			c.Added = append(c.Added, name)
		case !reflect.DeepEqual(was, s):
			c.Changed = append(c.Changed, name)
		}
	}
	for name := range old {
		if _, stays := now[name]; !stays {
			c.Removed = append(c.Removed, name)
		}
	}
	for _, list := range [][]string{c.Added, c.Removed, c.Changed} {
		slices.Sort(list)
	}
	setting := func(key string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			c.Settings = append(c.Settings, key)
		}
	}
	setting("provider", before.Provider, after.Provider)
	setting("providers", before.Providers, after.Providers)
	setting("approval", before.Approval, after.Approval)
	setting("limits", before.Limits, after.Limits)
	setting("notifications", before.Notifications, after.Notifications)
	setting("answers", before.Answers, after.Answers)
	setting("detached", before.Detached, after.Detached)
	return c
}

func byName(c Config) map[string]mcp.ServerConfig {
	out := map[string]mcp.ServerConfig{}
	for _, s := range slices.Concat(c.Servers, c.Waiting) {
		s.Withheld = nil // a provider's
		out[s.Name] = s
	}
	return out
}
