package mcptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Entry is one thing that a fake server did or received.
type Entry struct {
	PID    int             `json:"pid"`
	Event  string          `json:"event,omitempty"` // start, eof, grandchild; empty: a message
	Method string          `json:"method,omitempty"`
	ID     json.RawMessage `json:"id,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"` // of an answer
	Child  int             `json:"child,omitempty"`  // the grandchild's pid
}

// Tool returns the name of the tool that the message calls.
func (e Entry) Tool() string {
	var p struct{ Name string }
	_ = json.Unmarshal(e.Params, &p)
	return p.Name
}

// Log is the file in which fake servers write what they receive.
type Log string

// NewLog returns a log in a folder of the test's.
func NewLog(tb testing.TB) Log { return Log(filepath.Join(tb.TempDir(), "received.jsonl")) }

// Entries returns all entries so far.
func (l Log) Entries(tb testing.TB) []Entry {
	tb.Helper()
	data, err := os.ReadFile(string(l))
	if err != nil {
		return nil // nothing started yet
	}
	var out []Entry
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err == nil { // the last may be under way
			out = append(out, e)
		}
	}
	return out
}

// Method returns the messages of a method so far.
func (l Log) Method(tb testing.TB, method string) []Entry {
	tb.Helper()
	return l.filter(tb, func(e Entry) bool { return e.Method == method })
}

// Events returns the entries of an event so far.
func (l Log) Events(tb testing.TB, event string) []Entry {
	tb.Helper()
	return l.filter(tb, func(e Entry) bool { return e.Event == event })
}

// Calls returns the calls of a tool so far.
func (l Log) Calls(tb testing.TB, tool string) []Entry {
	tb.Helper()
	return l.filter(tb, func(e Entry) bool { return e.Method == "tools/call" && e.Tool() == tool })
}

func (l Log) filter(tb testing.TB, want func(Entry) bool) (out []Entry) {
	tb.Helper()
	for _, e := range l.Entries(tb) {
		if want(e) {
			out = append(out, e)
		}
	}
	return out
}

// Await waits until get returns n entries or more, and returns them.
func (l Log) Await(tb testing.TB, n int, get func() []Entry) []Entry {
	tb.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if got := get(); len(got) >= n {
			return got
		}
		if time.Now().After(deadline) {
			tb.Fatalf("the fake server did not get there in 10 s: %d of %d entries; all: %+v", len(get()), n, l.Entries(tb))
		}
	}
}

// AwaitMethod waits for n messages of a method.
func (l Log) AwaitMethod(tb testing.TB, n int, method string) []Entry {
	tb.Helper()
	return l.Await(tb, n, func() []Entry { return l.Method(tb, method) })
}

// AwaitEvent waits for n entries of an event.
func (l Log) AwaitEvent(tb testing.TB, n int, event string) []Entry {
	tb.Helper()
	return l.Await(tb, n, func() []Entry { return l.Events(tb, event) })
}

// AwaitCall waits for a call of a tool.
func (l Log) AwaitCall(tb testing.TB, tool string) Entry {
	tb.Helper()
	return l.Await(tb, 1, func() []Entry { return l.Calls(tb, tool) })[0]
}
