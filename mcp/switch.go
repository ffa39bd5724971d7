package mcp

import (
	"errors"
	"fmt"
	"maps"
)

// ErrBuiltIn is given for what only servers of a configuration can do.
var ErrBuiltIn = errors.New("the server is part of agentls")

// switched is a person's word about a server, for as long as the process
// lives. It counts until the configuration says otherwise than it did then.
type switched struct {
	on       bool
	disabled bool // by the configuration, when the word was given
}

// off reports whether a server is disabled; m.mu is held.
func (m *Manager) off(s *session) bool {
	if w, ok := m.switches[s.cfg.Name]; ok {
		return !w.on
	}
	return s.cfg.Disabled
}

// keepSwitches forgets the words about servers of which the configuration says
// something else now; m.mu is held.
func (m *Manager) keepSwitches(wanted map[string]ServerConfig) {
	maps.DeleteFunc(m.switches, func(name string, w switched) bool {
		cfg, ok := wanted[name]
		return !ok || cfg.Disabled != w.disabled
	})
}

// Enable starts a server that is disabled, whether by its configuration or by
// Disable. A project's server still needs trust. It changes no file.
func (m *Manager) Enable(server string) (ServerInfo, error) { return m.turn(server, true) }

// Disable ends a server: its tools, resources and prompts are gone at once,
// and calls under way fail. It changes no file.
func (m *Manager) Disable(server string) (ServerInfo, error) { return m.turn(server, false) }

func (m *Manager) turn(server string, on bool) (ServerInfo, error) {
	m.mu.Lock()
	s := m.sessions[server]
	switch {
	case s == nil:
		m.mu.Unlock()
		return ServerInfo{}, fmt.Errorf("%w: %q", ErrUnknownServer, server)
	case server == workspaceName:
		m.mu.Unlock()
		return s.info(), fmt.Errorf("%w: %q cannot be enabled or disabled", ErrBuiltIn, server)
	}
	was := m.off(s)
	m.switches[server] = switched{on: on, disabled: s.given.Disabled}
	if changes := was == on; changes && !m.closed {
		m.replace(s.given)
		delete(m.asked, askedKey(s)) // about its trust, if it needs that
		m.reorder()
	}
	m.mu.Unlock()
	m.admit()
	if !on && !was {
		m.events.put(Event{Server: server, Kind: EventDisabled})
	}
	s, err := m.find(server)
	if err != nil { // the configuration changed meanwhile
		return ServerInfo{}, err
	}
	return s.info(), nil
}
