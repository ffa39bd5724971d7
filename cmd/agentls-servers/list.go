package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
)

// server is one of servers.json: how to start it, what to do with it, and what
// is to be expected.
type server struct {
	Name string `json:"name"`
	// Npm is package@version, Go is module@version of what is installed. One
	// of them is set.
	Npm string `json:"npm,omitempty"`
	Go  string `json:"go,omitempty"`
	// CI: `make setup` installs it, and TestServers visits it.
	CI bool `json:"ci,omitempty"`
	// Modern: it speaks the protocol since 2026-07-28 too, and is visited once
	// more with that.
	Modern bool `json:"modern,omitempty"`
	// Config is its member of mcpServers in our configuration. Its fields may
	// use the variables of [place.variables].
	Config json.RawMessage `json:"config"`
	// Files are written into its folder before it starts, by path.
	Files map[string]string `json:"files,omitempty"`
	// Before are command lines that run in its folder before it starts, one
	// after another.
	Before [][]string `json:"before,omitempty"`
	// Beside is a command line that has to listen on 127.0.0.1:${PORT} before
	// the server starts, and is ended after it.
	Beside []string `json:"beside,omitempty"`
	// Expect is what has to be seen; Do what has to be tried.
	Expect expectation `json:"expect"`
	Do     deeds       `json:"do"`
	// Note says what is worth knowing of it, for the table.
	Note string `json:"note,omitempty"`
}

// expectation is what a server is known to be like. Counts that are left out
// are 0.
type expectation struct {
	// Fails is part of the error with which it cannot be used; empty: it is
	// ready. Then nothing else is looked at.
	Fails    string `json:"fails,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Tools    int    `json:"tools,omitempty"`
	// More: it offers more tools to a client that can more.
	More      bool `json:"more,omitempty"`
	Resources int  `json:"resources,omitempty"`
	Templates int  `json:"templates,omitempty"`
	Prompts   int  `json:"prompts,omitempty"`
	// Problems are parts of what is told of it as odd; others are faults.
	Problems []string `json:"problems,omitempty"`
	// Logs: it sends log messages unasked.
	Logs bool `json:"logs,omitempty"`
}

// deeds is what is tried with a server that is ready. Each kind of thing that
// it offers needs a deed, or a reason in Not.
type deeds struct {
	Read     []read    `json:"read,omitempty"`
	Complete []values  `json:"complete,omitempty"`
	Prompt   *prompt   `json:"prompt,omitempty"`
	Call     *call     `json:"call,omitempty"`
	Cancel   *call     `json:"cancel,omitempty"` // of a call that would take longer than a second
	Notify   []notify  `json:"notify,omitempty"`
	Not      *excuses  `json:"not,omitempty"`
	Mentions []mention `json:"mentions,omitempty"`
}

// excuses says why a thing is not tried.
type excuses struct {
	Read   string `json:"read,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	Call   string `json:"call,omitempty"`
}

// read reads a resource, which has to contain a text, or to fail.
type read struct {
	URI      string `json:"uri"`
	Contains string `json:"contains,omitempty"`
	Blob     bool   `json:"blob,omitempty"`     // has to hold bytes
	AtLeast  int    `json:"atLeast,omitempty"`  // characters
	Fails    string `json:"fails,omitempty"`    // part of the error
	NoType   bool   `json:"noType,omitempty"`   // the contents come without a MIME type
	Unlisted bool   `json:"unlisted,omitempty"` // a template's, or one that no list has
}

// values completes an argument of a prompt or a variable of a template.
type values struct {
	Prompt   string            `json:"prompt,omitempty"`
	Template string            `json:"template,omitempty"`
	Argument string            `json:"argument"`
	Value    string            `json:"value,omitempty"`
	Others   map[string]string `json:"others,omitempty"`
	Gives    string            `json:"gives"` // has to be among them
}

type prompt struct {
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments,omitempty"`
	Contains  string            `json:"contains"`
}

// call calls a tool that does no harm.
type call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Contains  string          `json:"contains,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
	Fails     string          `json:"fails,omitempty"` // part of the error that the call is answered with
	// Until: it is called again until it gives this: the server asks us for
	// something first.
	Until bool `json:"until,omitempty"`
}

// notify makes the server notify: Call is called, after Read was read, and an
// event of the kind has to come.
type notify struct {
	Read  string `json:"read,omitempty"`
	Call  call   `json:"call"`
	Event string `json:"event"`
}

// mention is what a person may type, which has to mean a URI.
type mention struct {
	Text string `json:"text"` // after "@name:"
	URI  string `json:"uri"`
}

func readList(file string) ([]server, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var list []server
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	names := map[string]bool{}
	for i := range list {
		if err := list[i].check(); err != nil {
			return nil, fmt.Errorf("%s: server %q: %w", file, list[i].Name, err)
		}
		if names[list[i].Name] {
			return nil, fmt.Errorf("%s: two servers are named %q", file, list[i].Name)
		}
		names[list[i].Name] = true
	}
	slices.SortStableFunc(list, func(a, b server) int { return a.group() - b.group() })
	return list, nil
}

func (s *server) check() error {
	switch d, e := &s.Do, &s.Expect; {
	case s.Name == "" || len(s.Config) == 0:
		return errors.New("it needs a name and a config")
	case (s.Npm == "") == (s.Go == ""):
		return errors.New("it is from npm or a Go module: set one of the two")
	case e.Fails != "":
		return nil
	case e.Resources > 0 && len(d.Read) == 0 && s.excuse().Read == "":
		return errors.New(`it has resources: say in "do.read" which to read, or why not in "do.not"`)
	case e.Prompts > 0 && d.Prompt == nil && s.excuse().Prompt == "":
		return errors.New(`it has prompts: say in "do.prompt" which to get, or why not in "do.not"`)
	case e.Tools > 0 && d.Call == nil && s.excuse().Call == "":
		return errors.New(`it has tools: say in "do.call" which to call, or why not in "do.not"`)
	}
	return nil
}

func (s *server) excuse() excuses {
	if s.Do.Not == nil {
		return excuses{}
	}
	return *s.Do.Not
}

// modern returns the server as it is visited once more: spoken to by the
// protocol since 2026-07-28, where nothing is logged unasked.
func (s *server) modern() (*server, error) {
	m := *s
	var config map[string]any
	if err := json.Unmarshal(s.Config, &config); err != nil {
		return nil, err
	}
	config["protocol"] = "modern"
	var err error
	m.Config, err = json.Marshal(config)
	m.Expect.Protocol, m.Expect.Logs = newest, false
	m.Do.Notify = slices.DeleteFunc(slices.Clone(s.Do.Notify), func(n notify) bool { return n.Event == "log" })
	return &m, err
}

// newest is the version of the protocol that server/discover negotiates.
const newest = "2026-07-28"

// group orders the list: those with resources first, those that fail last.
func (s *server) group() int {
	switch {
	case s.Expect.Fails != "":
		return 2
	case s.Expect.Resources == 0:
		return 1
	default:
		return 0
	}
}

// what names what is installed.
func (s *server) what() string {
	if s.Npm != "" {
		return s.Npm
	}
	return s.Go
}
