package mcptest

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// variable holds the options of a process that is to be a fake server.
const variable = "AGENTLS_MCPTEST"

// Options script a fake server, on stdio or over HTTP. The zero value is a well-behaved one with
// tools, three resources, a template and a prompt, that speaks the protocol up
// to 2025-11-25. Its tools are listed in tools.go.
type Options struct {
	Log       string              // a file for [Log]; empty: none
	Resources *int                // how many doc<n>.md there are at first, as [Int]; nil: 3
	Tree      uint64              // not 0: they are named as the files of a source tree that is made from it
	Scheme    string              // of their URIs; "file" if empty
	Listed    []string            // URIs of further ones, each with a title behind a tab if it has one
	Text      string              // the body of each; empty: "# Content of <uri> v<changes>"
	Times     int                 // how often Text stands there; 0: once
	Page      int                 // items a page of a list; 0: all
	Tools     []Tool              // besides its own
	Templates []string            // of URIs, besides its own
	Prompts   []json.RawMessage   // besides its own
	Values    map[string][]string // what completion/complete knows by argument, or by "argument other=value" (nil: -32602); none: of the argument focus
	ReadAny   bool                // resources/read knows every URI
	Without   []string            // capabilities that are not announced
	Says      string              // its instructions

	// The start.
	Junk      bool          // prints lines that are no messages first
	Banner    bool          // prints text without a line end first
	Stderr    string        // written to stderr first
	Chatty    int           // sends so many log messages before it reads anything, each text an object of its characters
	ExitCode  int           // ends at once with it
	SlowInit  time.Duration // before initialize is answered
	Once      bool          // a second start with the same Log answers nothing
	Early     bool          // list_changed directly after initialize is answered
	EarlyOnly bool          // and answers tools/list only after those were sent
	Modern    bool          // speaks 2026-07-28 only: no initialize
	Versions  []string      // of the protocol that it speaks in its era, if not all: others are refused with this list
	NoAck     bool          // and does not acknowledge subscriptions/listen
	Child     bool          // starts a grandchild that lives on and holds stdout
	Hints     object        // fields of every list and read beside their own: ttlMs, cacheScope

	// Methods that go wrong.
	Silent      bool                       // answers nothing at all
	Unanswered  []string                   // methods never answered
	Missing     []string                   // methods answered with -32601, whatever is advertised
	Broken      []string                   // methods answered with -32603
	Answers     map[string]json.RawMessage // methods answered with a result as given
	Needs       map[string]json.RawMessage // methods answered first with an input_required that has these inputRequests
	Delays      map[string]time.Duration   // before a method is answered
	Reports     map[string]int             // methods before whose answer so many steps of progress are reported, 0.1 s apart
	ExitOn      []string                   // methods at which it ends
	ExitFirst   []string                   // methods at which the first process to receive them ends, by the Log
	ExitOnOther string                     // ends at a first message that is not this method

	// Lists that go wrong.
	EmptyCursor  bool // the second page's cursor is ""
	RepeatCursor bool // each page names the second one as the next
	BadItems     bool // malformed items among the good ones, and doubles

	// The end.
	IgnoreEOF bool // and SIGTERM

	idle bool
}

// Tool is a tool that always gives the same answer.
type Tool struct {
	Name, Title, Description string
	Schema                   json.RawMessage // nil: an empty object's
	OutputSchema             json.RawMessage // nil: none; likewise Annotations
	Annotations              json.RawMessage
	Answer                   string          // a text
	Result                   json.RawMessage // instead of Answer: the whole result
}

// Command returns how to start a fake server: command, args and env of a
// server's configuration.
func Command(tb testing.TB, o Options) (command string, args []string, env map[string]string) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return self, nil, Environment(o)
}

// Environment makes a process of a binary that calls [Main] a fake server.
func Environment(o Options) map[string]string {
	// A binary with the race detector would take a second to exit.
	return map[string]string{variable: encode(o), "GORACE": "atexit_sleep_ms=0"}
}

// Main is the whole of a process that was started as a fake server, which it
// then ends; in others it does nothing. TestMain calls it first.
func Main() {
	script := os.Getenv(variable)
	if script == "" {
		return
	}
	var o wireOptions
	if err := json.Unmarshal([]byte(script), &o); err != nil {
		os.Exit(97)
	}
	o.idle = o.Idle
	os.Exit(serve(o.Options))
}

// wireOptions are Options in the environment.
type wireOptions struct {
	Options
	Idle bool
}

func encode(o Options) string {
	data, err := json.Marshal(wireOptions{o, o.idle})
	if err != nil {
		panic(err) // Options always marshal
	}
	return string(data)
}

// Int returns a pointer to n, for [Options.Resources].
func Int(n int) *int { return new(n) }
