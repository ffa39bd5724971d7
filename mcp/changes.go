package mcp

// changes tells one reader that something of the servers differs: a state, a
// list, a name. It says no more than that, so that it can be told from
// anywhere, however often.
type changes chan struct{} // capacity 1

func (c changes) tell() {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Changes holds a value after the state, a list or the mention name of a server
// became another one, or a resource was said to have changed, to one reader; more of them before it is taken are one.
// Never closed.
func (m *Manager) Changes() <-chan struct{} { return m.changes }
