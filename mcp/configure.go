package mcp

import (
	"context"
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
	for name, s := range m.sessions {
		if _, ok := wanted[name]; !ok && name != workspaceName {
			s.halt()
			delete(m.sessions, name)
		}
	}
	for name, cfg := range wanted {
		if old := m.sessions[name]; old == nil || !reflect.DeepEqual(old.given, cfg) {
			m.replace(cfg)
		}
	}
	m.reorder()
	m.mu.Unlock()
	m.admit()
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
	}
	for name, value := range cfg.Env {
		if IsSecretKey(name) {
			m.secrets.Add(value)
		}
	}
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

// TrustFolder says whether the workspace folder is trusted; before that,
// project servers stay untrusted and cannot be trusted.
func (m *Manager) TrustFolder(trusted bool) {
	m.mu.Lock()
	m.folder = trusted
	m.mu.Unlock()
	m.admit()
}

func (m *Manager) folderTrusted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.folder
}

// admit starts every session that may run and stops those that may not any
// more.
func (m *Manager) admit() {
	m.admitting.Lock() // what was read from the file is acted on before it is read again
	defer m.admitting.Unlock()
	trusted, err := m.trust.load()
	if err != nil {
		m.log.Error("trusted servers are not known", "err", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	for name, s := range m.sessions {
		_, known := trusted.Servers[s.cfg.Fingerprint]
		allowed := !s.cfg.Project || m.folder && known && s.cfg.Fingerprint != ""
		switch {
		case allowed:
			m.launch(s)
		case s.launched:
			// It ran with a trust that was taken back.
			m.replace(s.given)
			m.distrust(m.sessions[name])
		default:
			m.distrust(s)
		}
	}
	m.reorder()
}

// launch starts a session, or says why it cannot run as configured.
func (m *Manager) launch(s *session) {
	switch {
	case s.launched || s.cfg.Name == workspaceName:
	case s.cfg.Disabled:
		s.set(StatusDisabled, "", true)
	case s.cfg.Err != "":
		m.refuse(s, s.cfg.Err)
	case s.cfg.Type == "http" || s.cfg.Type == "sse":
		m.refuse(s, fmt.Sprintf("remote servers (type %q) are not supported in this version yet", s.cfg.Type))
	default:
		s.start(m.ctx, &m.wg, s.after)
	}
	s.launched = true
	s.answered()
}

func (m *Manager) refuse(s *session, why string) {
	why = m.secrets.Redact(why)
	s.set(StatusFailed, why, true)
	m.events.put(Event{Server: s.cfg.Name, Kind: EventFailed, Err: why})
}

// distrust leaves a project server waiting, and asks about it once.
func (m *Manager) distrust(s *session) {
	if s.cfg.Disabled {
		s.set(StatusDisabled, "", true)
		return
	}
	s.set(StatusUntrusted, "", false)
	told := s.cfg.Name + "\x00" + s.cfg.Fingerprint
	if !m.asked[told+"\x00told"] {
		m.asked[told+"\x00told"] = true
		m.events.put(Event{Server: s.cfg.Name, Kind: EventUntrusted})
	}
	if !m.folder || m.asked[told] {
		return
	}
	m.asked[told] = true
	ctx, cancel := context.WithCancelCause(m.ctx)
	s.question = cancel
	m.requests.ask(ctx, Request{Server: s.cfg.Name, Kind: RequestTrust, Info: s.info()}, func(a RequestAnswer) {
		if !a.Accept {
			return
		}
		if _, err := m.Trust(s.cfg.Name, true, s.cfg.Fingerprint); err != nil {
			m.events.put(Event{Server: s.cfg.Name, Kind: EventProblem, Text: m.secrets.Redact(err.Error())})
		}
	})
}
