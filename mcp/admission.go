package mcp

import (
	"context"
	"fmt"
)

// Trust stores the user's word about a project server and starts or stops it.
// A non-empty fingerprint that is no longer the file's gives ErrFingerprint.
func (m *Manager) Trust(server string, trust bool, fingerprint string) (ServerInfo, error) {
	s, err := m.find(server)
	switch {
	case err != nil:
		return ServerInfo{}, err
	case fingerprint != "" && fingerprint != s.cfg.Fingerprint:
		return s.info(), fmt.Errorf("%w: %q", ErrFingerprint, server)
	case !s.cfg.Project:
		return s.info(), nil
	case trust && !m.folderTrusted():
		return s.info(), fmt.Errorf("%w: trust the folder of %q first", ErrUntrustedFolder, server)
	}
	if err := m.trust.set(s.cfg, trust); err != nil {
		return s.info(), fmt.Errorf("cannot remember the trust in %q: %w", server, err)
	}
	m.admit()
	if s, err = m.find(server); err != nil {
		return ServerInfo{}, err
	}
	return s.info(), nil
}

// FolderTrusted reports whether the user has trusted the folder before, as
// RememberFolder stored it.
func (m *Manager) FolderTrusted(path string) bool {
	f, err := m.trust.load()
	if err != nil {
		m.log.Error("trusted folders are not known", "err", err)
	}
	_, ok := f.Folders[path]
	return ok
}

// RememberFolder stores that the user trusts the folder at an absolute path.
// TrustFolder puts it into force.
func (m *Manager) RememberFolder(path string) error { return m.trust.setFolder(path) }

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
	stored := m.storedInputs()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.inputs.wanted = map[string]bool{}
	for name, s := range m.sessions {
		_, known := trusted.Servers[s.cfg.Fingerprint]
		allowed := !s.cfg.Project || m.folder && known && s.cfg.Fingerprint != ""
		s.trusted.Store(allowed)
		switch {
		case allowed:
			m.launch(s, stored)
		case s.launched:
			// It ran with a trust that was taken back.
			m.replace(s.given)
			m.distrust(m.sessions[name])
		default:
			m.distrust(s)
		}
	}
	m.closeInputs()
	m.reorder()
}

// launch starts a session, or says why it cannot run as configured. One that
// waits for its inputs comes here again with each answer.
func (m *Manager) launch(s *session, stored map[string]string) {
	s.answered()
	if !s.launched && len(s.cfg.Inputs) > 0 && !m.off(s) && s.cfg.Err == "" {
		if s = m.fill(s, stored); s == nil {
			return
		}
	}
	if !s.launched {
		s.secrets.learn(s.cfg)
	}
	switch {
	case s.launched || s.cfg.Name == workspaceName:
	case m.off(s):
		s.set(StatusDisabled, "", true)
	case s.cfg.Err != "":
		m.refuse(s, s.cfg.Err)
	default:
		s.start(m.ctx, &m.wg, s.after)
	}
	s.launched = true
}

func (m *Manager) refuse(s *session, why string) {
	why = m.secrets.Redact(why)
	s.set(StatusFailed, why, true)
	m.events.put(Event{Server: s.cfg.Name, Kind: EventFailed, Err: why})
}

// askedKey is how it is remembered that a server's trust was asked for.
func askedKey(s *session) string { return s.cfg.Name + "\x00" + s.cfg.Fingerprint }

// distrust leaves a project server waiting, and asks about it once.
func (m *Manager) distrust(s *session) {
	if m.off(s) {
		s.set(StatusDisabled, "", true)
		return
	}
	s.set(StatusUntrusted, "", false)
	told := askedKey(s)
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
