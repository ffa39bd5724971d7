package mcp

import (
	"slices"
	"sync"
	"time"
)

// maxLogLines is how many lines of each source are kept of a server.
const maxLogLines = 200

// The sources of a [LogLine].
const (
	logStderr  = "stderr"  // of the server's process
	logMessage = "log"     // notifications/message
	logOwn     = "agentls" // what we saw of it
)

// LogLine is one line of what a server said.
type LogLine struct {
	Time   time.Time `json:"time"`
	Source string    `json:"source" contract:"'stderr' | 'log' | 'agentls'"` // log: notifications/message
	Level  string    `json:"level"`                                          // as MCP has it: debug … emergency; info for stderr
	Text   string    `json:"text"`
}

// serverLog keeps the last lines of each source, so that none drives out the
// others. Its zero value is empty.
type serverLog struct {
	mu    sync.Mutex
	lines map[string][]LogLine
}

func (l *serverLog) add(source, level, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[string][]LogLine{}
	}
	list := append(l.lines[source], LogLine{time.Now(), source, level, clip(text, maxLogText)})
	if len(list) >= 2*maxLogLines {
		list = slices.Clone(list[len(list)-maxLogLines:])
	}
	l.lines[source] = list
}

// all returns what is kept, the oldest first.
func (l *serverLog) all() []LogLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []LogLine{}
	for _, list := range l.lines {
		out = append(out, list[max(0, len(list)-maxLogLines):]...)
	}
	slices.SortStableFunc(out, func(a, b LogLine) int { return a.Time.Compare(b.Time) })
	return out
}

// Logs returns the last lines of a server's stderr, of its notifications/message
// and of what befell it, the oldest first, without secrets. They outlive its
// restarts.
func (m *Manager) Logs(server string) ([]LogLine, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, err
	}
	lines := s.logs.all()
	for i := range lines {
		lines[i].Text = m.secrets.Redact(lines[i].Text)
	}
	return lines, nil
}
