package agenttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"agentls/agent"
)

// Told is one tool call as somebody else than the audit knows it.
type Told struct {
	RunID, Server, Tool string
	Outcome             agent.Outcome // empty: not known
}

// Decision is a line of the log about a call at the gate.
type Decision struct {
	RunID, Server, Tool string
	Action, By          string
}

// Evidence is what is known of tool calls from elsewhere than the audit: what
// clients were told, what the log says, what reached the servers.
type Evidence struct {
	runs      map[string]bool // that are known at all
	results   telling
	events    telling
	decisions []Decision
	served    []Told // that reached a server
	// Since is when it began: what was audited before belongs to somebody else.
	Since time.Time
	// SomeRuns: there may be runs that nobody told of.
	SomeRuns bool
	// Killed: the process was, so that calls in flight have no line.
	Killed bool
	// Secrets must stand nowhere in the audit or the log.
	Secrets []string
	log     []byte
}

// telling is what somebody was told.
type telling struct {
	calls []Told          // that ended
	whole map[string]bool // runs all of whose calls were told
}

func (t *telling) all(run string) {
	if t.whole == nil {
		t.whole = map[string]bool{}
	}
	t.whole[run] = true
}

func (e *Evidence) know(run string) {
	if e.runs == nil {
		e.runs = map[string]bool{}
	}
	if run != "" {
		e.runs[run] = true
	}
}

// Result takes a run's result: all its calls are in it.
func (e *Evidence) Result(r agent.Result) {
	e.know(r.RunID)
	e.results.all(r.RunID)
	for _, c := range r.ToolCalls {
		e.results.calls = append(e.results.calls, Told{r.RunID, c.Server, c.Tool, c.Status})
	}
}

// Message takes what a server said on the wire: the params of a run event, the
// result or the error's data of a command. Other messages tell nothing.
func (e *Evidence) Message(raw json.RawMessage) {
	var m struct {
		RunID     string
		Kind      agent.EventKind
		ToolCall  *agent.ToolCallEvent
		ToolCalls *[]agent.ToolCallResult
	}
	if json.Unmarshal(raw, &m) != nil || m.RunID == "" {
		return
	}
	e.know(m.RunID)
	switch {
	case m.ToolCalls != nil:
		e.Result(agent.Result{RunID: m.RunID, ToolCalls: *m.ToolCalls})
	case m.Kind == "finished":
		e.events.all(m.RunID)
	case m.Kind == agent.EventToolCall && m.ToolCall != nil && outcomes[agent.Outcome(m.ToolCall.State)]:
		e.events.calls = append(e.events.calls, Told{m.RunID, m.ToolCall.Server, m.ToolCall.Tool, agent.Outcome(m.ToolCall.State)})
	}
}

// Served takes a call that reached a server.
func (e *Evidence) Served(server, tool string) {
	e.served = append(e.served, Told{Server: server, Tool: tool})
}

// field is one of a line of slog's text handler.
var field = regexp.MustCompile(`([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^ ]*)`)

// Log takes a log as slog's text handler writes it.
func (e *Evidence) Log(text []byte) {
	e.log = append(e.log, text...)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.Contains(line, `msg="tool call decided"`) {
			continue
		}
		fields := map[string]string{}
		for _, m := range field.FindAllStringSubmatch(line, -1) {
			if plain := ""; json.Unmarshal([]byte(m[2]), &plain) == nil {
				m[2] = plain
			}
			if _, twice := fields[m[1]]; !twice {
				fields[m[1]] = m[2]
			}
		}
		e.know(fields["run"])
		e.decisions = append(e.decisions, Decision{fields["run"], fields["server"], fields["tool"], fields["decision"], fields["by"]})
	}
}

// LogFile takes a log file; one that is missing says nothing.
func (e *Evidence) LogFile(name string) error {
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil
	}
	e.Log(data)
	return err
}

// Decisions is how many calls at the gate the log tells of.
func (e *Evidence) Decisions() int { return len(e.decisions) }

// String tells how much is known, for a failed test.
func (e *Evidence) String() string {
	return fmt.Sprintf("%d runs, %d calls in results and %d in events, %d decisions, %d served", len(e.runs), len(e.results.calls), len(e.events.calls), len(e.decisions), len(e.served))
}
