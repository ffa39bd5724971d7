package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentls/mcp/statefile"
)

// Input is a value that a person gives before a server first starts, VS Code's
// `inputs`. The fields of its server hold it as ${input:ID}.
type Input struct {
	ID          string
	Description string
	Default     string   // offered; may be empty
	Options     []string // one of them is to be picked; nil: any text
	Password    bool     // kept for the life of the process only
}

// inputKey names an answer: a changed definition is another question, and what
// one folder's file was told is none of another's business.
func inputKey(c ServerConfig, in Input) string {
	b, err := json.Marshal([]any{c.Folder, c.Source, in})
	if err != nil {
		panic(err) // strings and a bool
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// inputs is what persons answered, by [inputKey]. It is guarded by the
// manager's lock, except for store.
type inputs struct {
	store   inputStore
	given   map[string]string                  // in this process
	open    map[string]context.CancelCauseFunc // the questions that wait
	wanted  map[string]bool                    // what this round of admit asks for
	refused map[string]bool                    // until a person restarts the server
	again   map[string]bool                    // what was answered is only offered
}

func newInputs(file string) *inputs {
	return &inputs{
		store: inputStore{file}, given: map[string]string{}, open: map[string]context.CancelCauseFunc{},
		refused: map[string]bool{}, again: map[string]bool{},
	}
}

// fill gives the session to start, with its inputs filled in; nil when some
// are missing: the next one is asked for, unless a person refused one. m.mu is held.
func (m *Manager) fill(s *session, stored map[string]string) *session {
	values := map[string]string{}
	var missing []Input
	var names []string
	refused := false
	for _, in := range s.cfg.Inputs {
		key := inputKey(s.cfg, in)
		value, known := m.knownInput(key, in, stored)
		if known && !m.inputs.again[key] && !m.inputs.refused[key] {
			values["${input:"+in.ID+"}"] = value
			m.learnInput(in, value)
			continue
		}
		refused = refused || m.inputs.refused[key]
		missing, names = append(missing, in), append(names, strconv.Quote(in.ID))
	}
	needs := "the input " + strings.Join(names, ", ")
	switch {
	case refused:
		m.refuse(s, needs+" was not given; restart the server (agentls.mcp.restart) to be asked again")
		s.update(func() { s.needs = needs })
		s.launched = true
		return nil
	case len(missing) > 0:
		s.update(func() { s.status, s.err, s.needs = StatusStarting, "", needs })
		// One after the other: who refuses the first is not asked for the next.
		in := missing[0]
		key := inputKey(s.cfg, in)
		m.inputs.wanted[key] = true
		if value, known := m.knownInput(key, in, stored); known && !in.Password {
			in.Default = value
		}
		m.askInput(s.cfg, key, in)
		return nil
	}
	m.replace(s.given)
	s.set(StatusStopped, "", true) // who waits for it looks again
	n := m.sessions[s.cfg.Name]
	n.cfg = n.cfg.filled(values)
	n.trusted.Store(true)
	return n
}

// knownInput gives the answer of now or of before.
func (m *Manager) knownInput(key string, in Input, stored map[string]string) (value string, known bool) {
	if value, known = m.inputs.given[key]; !known {
		value, known = stored[key]
	}
	// Somebody may have edited the file.
	return value, known && (in.Options == nil || slices.Contains(in.Options, value))
}

// learnInput keeps a value out of logs. What is picked from a list stands in
// the file.
func (m *Manager) learnInput(in Input, value string) {
	if in.Options == nil || in.Password || IsSecretKey(in.ID) {
		m.secrets.Add(value)
	}
}

// filled is the configuration with the values in place of their expressions.
func (c ServerConfig) filled(values map[string]string) ServerConfig {
	pairs := make([]string, 0, 2*len(values))
	for expr, value := range values {
		pairs = append(pairs, expr, value)
	}
	fill := strings.NewReplacer(pairs...).Replace
	all := func(in map[string]string) map[string]string {
		out := make(map[string]string, len(in))
		for name, value := range in {
			out[name] = fill(value)
		}
		return out
	}
	c.Command, c.URL, c.Cwd = fill(c.Command), fill(c.URL), fill(c.Cwd)
	if c.Cwd != "" && !filepath.IsAbs(c.Cwd) {
		c.Cwd = filepath.Join(c.Folder, c.Cwd)
	}
	c.Args = slices.Clone(c.Args)
	for i := range c.Args {
		c.Args[i] = fill(c.Args[i])
	}
	c.Env, c.Headers = all(c.Env), all(c.Headers)
	c.OAuth.ClientID, c.OAuth.ClientSecret, c.OAuth.ClientMetadata = fill(c.OAuth.ClientID), fill(c.OAuth.ClientSecret), fill(c.OAuth.ClientMetadata)
	c.Inputs = nil
	return c
}

// askInput asks for an input once, however many servers use it.
func (m *Manager) askInput(c ServerConfig, key string, in Input) {
	if m.inputs.open[key] != nil {
		return
	}
	ctx, cancel := context.WithCancelCause(m.ctx)
	m.inputs.open[key] = cancel
	servers := m.needing(key)
	m.requests.ask(ctx, Request{Server: servers[0], Servers: servers, Kind: RequestInput, Input: in}, func(a RequestAnswer) {
		if err := m.answerInput(c, key, in, a); err != nil {
			m.events.put(Event{Server: c.Name, Kind: EventProblem, Text: m.secrets.Redact(err.Error())})
		}
	})
}

// needing names the servers that use an input, sorted.
func (m *Manager) needing(key string) (names []string) {
	for name, s := range m.sessions {
		if slices.ContainsFunc(s.given.Inputs, func(in Input) bool { return inputKey(s.given, in) == key }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// answerInput takes a person's answer and starts what waited for it.
func (m *Manager) answerInput(c ServerConfig, key string, in Input, a RequestAnswer) (err error) {
	accepted := a.Accept && (in.Options == nil || slices.Contains(in.Options, a.Value))
	m.mu.Lock()
	if cancel := m.inputs.open[key]; cancel != nil {
		cancel(nil)
		delete(m.inputs.open, key)
	}
	if accepted {
		m.inputs.given[key] = a.Value
		m.learnInput(in, a.Value)
		delete(m.inputs.again, key)
	} else {
		m.inputs.refused[key] = true
	}
	m.mu.Unlock()
	if accepted && !in.Password {
		if err = m.inputs.store.set(key, c, in, a.Value); err != nil {
			err = fmt.Errorf("the input %q cannot be remembered: %w", in.ID, err)
		}
	}
	m.admit()
	return err
}

// closeInputs withdraws the questions that no server waits for any more. m.mu
// is held.
func (m *Manager) closeInputs() {
	for key, cancel := range m.inputs.open {
		if !m.inputs.wanted[key] {
			cancel(nil)
			delete(m.inputs.open, key)
		}
	}
}

// askAgain asks anew for the inputs of a server that could not be started: an
// answer may have been wrong. False: it has none, or runs.
func (m *Manager) askAgain(s *session) bool {
	m.mu.Lock()
	failed := len(s.given.Inputs) > 0 && s.launched && m.sessions[s.cfg.Name] == s && s.info().Status == StatusFailed
	if failed {
		for _, in := range s.given.Inputs {
			key := inputKey(s.given, in)
			delete(m.inputs.refused, key)
			m.inputs.again[key] = true
		}
		m.replace(s.given)
	}
	m.mu.Unlock()
	if failed {
		m.admit()
	}
	return failed
}

// storedInputs reads the file of answers where a session may need them.
func (m *Manager) storedInputs() map[string]string {
	m.mu.Lock()
	needed := false
	for _, s := range m.sessions {
		needed = needed || len(s.cfg.Inputs) > 0 && !s.launched
	}
	m.mu.Unlock()
	if !needed {
		return nil
	}
	f, err := m.inputs.store.load()
	if err != nil {
		m.log.Error("answers of before are not known", "err", err)
	}
	values := make(map[string]string, len(f.Inputs))
	for key, e := range f.Inputs {
		values[key] = e.Value
	}
	return values
}

// inputVersion is the version of inputs.json that we write.
const inputVersion = 1

// inputStore remembers answers that are no secrets.
type inputStore struct {
	file string
}

type inputFile struct {
	Version int                   `json:"version"`
	Inputs  map[string]inputEntry `json:"inputs"` // by inputKey
}

// inputEntry is an answer; all but the value is for a person who reads the
// file.
type inputEntry struct {
	Folder string    `json:"folder"`
	Source string    `json:"source"`
	ID     string    `json:"id"`
	Value  string    `json:"value"`
	Time   time.Time `json:"time"`
}

func (t inputStore) state() statefile.File {
	return statefile.File{Path: t.file, Version: inputVersion}
}

func (t inputStore) load() (inputFile, error) {
	var f inputFile
	err := t.state().Read(&f)
	if err != nil {
		f = inputFile{}
	}
	if f.Inputs == nil {
		f.Inputs = map[string]inputEntry{}
	}
	f.Version = inputVersion
	return f, err
}

func (t inputStore) set(key string, c ServerConfig, in Input, value string) error {
	if t.file == "" {
		return errors.New("there is no file to remember answers in")
	}
	return t.state().Locked(func() error {
		f, err := t.load()
		if err != nil {
			return err
		}
		f.Inputs[key] = inputEntry{c.Folder, c.Source, in.ID, value, now()}
		return t.state().Write(f)
	})
}
