package agent

// Manager lets tests put a double in the place of the real one.
type Manager = manager

// NewWith returns an agent on a double of the manager.
func NewWith(o Options, m Manager, ignored func(path string, dir bool) bool) *Agent {
	a := newAgent(o)
	a.manager = m
	if ignored != nil {
		a.ignored = ignored
	}
	return a
}

// SetHistory puts a history in the place of a session's, as if loaded.
func (a *Agent) SetHistory(folder, session string, history []Message) {
	s := a.sessions.enter(sessionKey{folder, session})
	defer a.sessions.leave(s)
	s.change(record{Type: recordReplace})
	s.add(history...)
}

// History returns a session's history.
func (a *Agent) History(folder, session string) []Message {
	s := a.sessions.enter(sessionKey{folder, session})
	defer a.sessions.leave(s)
	return s.messages()
}

// Offered returns the names of the tools that a request would offer.
func (a *Agent) Offered() []string { return a.toolset(true).names() }
