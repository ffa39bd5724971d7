package mcp

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// workspaceName is reserved for the server in this process.
const workspaceName = "workspace"

// Configure makes the running servers those of list: starts what is new,
// restarts what changed, stops what is gone. It returns at once; the servers
// start beside each other, each with its own deadline.
func (m *Manager) Configure(list []ServerConfig) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return
	}
	wanted := m.wanted(list)
	m.keepSwitches(wanted)
	for name, s := range m.sessions {
		if _, ok := wanted[name]; !ok && name != workspaceName {
			m.leaving[name] = s.halt()
			delete(m.sessions, name)
		}
	}
	for name, cfg := range wanted {
		if old := m.sessions[name]; old == nil || !reflect.DeepEqual(old.given, cfg) {
			m.replace(cfg)
		}
	}
	maps.DeleteFunc(m.leaving, func(_ string, gone <-chan struct{}) bool { return closed(gone) })
	m.reorder()
	m.mu.Unlock()
	m.admit()
	m.changes.tell() // also where servers are only gone
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wanted returns the servers of list by name, without those whose name is
// taken: a project's server never stands in for a user's.
func (m *Manager) wanted(list []ServerConfig) map[string]ServerConfig {
	wanted := map[string]ServerConfig{}
	for _, cfg := range list {
		refuse := func(why string) {
			m.events.put(Event{Server: cfg.Name, Kind: EventProblem, Text: fmt.Sprintf("the server of %s is not started: %s", cfg.Source, why)})
		}
		have, taken := wanted[cfg.Name]
		switch {
		case cfg.Name == workspaceName:
			refuse(`the name "workspace" is reserved`)
		case !taken || have.Project && !cfg.Project:
			wanted[cfg.Name] = cfg
		default:
			refuse("another server has its name")
		}
	}
	return wanted
}

// replace puts a new session in place of one whose configuration changed. It
// starts when the old one is gone: there is never more than one child.
func (m *Manager) replace(cfg ServerConfig) {
	s := newSession(&m.hub, cfg)
	if old := m.sessions[cfg.Name]; old != nil {
		s.after = old.halt()
		s.logs = old.logs
	} else {
		s.after = m.leaving[cfg.Name] // it was taken out a moment ago
	}
	delete(m.leaving, cfg.Name)
	m.sessions[cfg.Name] = s
}

// reorder sorts the sessions and gives them their mention names; m.mu is held.
func (m *Manager) reorder() {
	m.order = slices.SortedFunc(maps.Values(m.sessions), func(a, b *session) int {
		if a.cfg.Name == workspaceName {
			return -1
		}
		if b.cfg.Name == workspaceName {
			return 1
		}
		return strings.Compare(a.cfg.Name, b.cfg.Name)
	})
	names := mentionNames(slices.Collect(maps.Keys(m.sessions)))
	for name, s := range m.sessions {
		s.cache.rename(names[name])
	}
}
