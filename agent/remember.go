package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// rememberVersion is the version of the file that this program writes.
const rememberVersion = 1

// allowance is what an answer covers (CONTRACT §7): a tool of a server as it
// was configured, in a folder. Empty Server: a built-in tool, which the file
// names with what it was about: run_command(git status).
type allowance struct {
	Folder      string `json:"folder"`
	Server      string `json:"server,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Tool        string `json:"tool"`
}

// coverage is what an answer that is remembered would cover.
type coverage struct {
	allowance
	text string // for a person; empty: nothing is remembered
}

func (c coverage) none() bool { return c.text == "" }

// coverage says what an answer about a call covers (CONTRACT §7): of a server,
// its tool as it is defined now; of a command, its program and subcommand,
// else just this one; of a fetch the host; else the tool.
func (a *Agent) coverage(r *run, t *tool, c *looked) coverage {
	if t.plan {
		return coverage{} // each is another one
	}
	what := allowance{Folder: cmp.Or(r.task.Workspace, r.task.Folder), Server: t.server, Tool: t.name}
	text := t.name
	if t.server != "" {
		text = t.server + "/" + t.name
	}
	for _, s := range a.manager.Servers() {
		if s.Name == t.server {
			what.Fingerprint = s.Fingerprint
		}
	}
	if t.virtual {
		what.Tool += " (resources)" // the server may have a tool of the same name
	}
	switch {
	case c.secret.reason != "":
		what.Tool += "(" + c.secret.path + ")" // an answer about one secret is none about another
		text += " of " + quote(c.secret.path)
	case c.command != nil:
		key, words := c.command.covered()
		if key == "" {
			return coverage{}
		}
		what.Tool += "(" + key + ")"
		text = words
	case c.host != nil && !c.host.plain:
		return coverage{}
	case c.host != nil:
		what.Tool += "(" + c.host.name + ")"
		text += " of " + c.host.name
	case t.definition != "":
		text += " as it is defined now"
	}
	return coverage{what, text + ", in this folder"}
}

// remembered says how the person allowed it before, "" for not; changed tells
// of an answer for another definition, which counts no more
// (Puliczek/awesome-mcp-security#289).
func (a *Agent) remembered(r *run, what allowance, definition string) (how string, changed bool) {
	if what == (allowance{}) {
		return "", false
	}
	if given, ok := r.s.allows(what); ok {
		if given == definition {
			return "for this session", false
		}
		changed = true
	}
	if given, ok := a.remember.lookup(what); ok {
		if given == definition {
			return "for always", false
		}
		changed = true
	}
	return "", changed
}

func (s *session) allows(what allowance) (definition string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	definition, ok = s.allowed[what]
	return definition, ok
}

func (s *session) allow(what allowance, definition string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowed[what] = definition
}

// remember keeps what was allowed for always, in a file that several
// processes share.
type remember struct {
	file string
	log  *slog.Logger

	mu     sync.Mutex
	memory map[allowance]string // without a file
	told   string               // the last failure, told once
}

type rememberFile struct {
	Version int             `json:"version"`
	Entries []rememberEntry `json:"entries"`
}

type rememberEntry struct {
	allowance
	Definition string    `json:"definition,omitempty"` // of [mcp.Tool.Definition]
	At         time.Time `json:"at"`
}

func newRemember(file string, log *slog.Logger) *remember {
	return &remember{file: file, log: log, memory: map[allowance]string{}}
}

// lookup returns the definition that something was allowed for. A file that
// cannot be read allows nothing, and is told once.
func (m *remember) lookup(what allowance) (definition string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == "" {
		definition, ok = m.memory[what]
		return definition, ok
	}
	f, err := m.read()
	if err != nil {
		if err.Error() != m.told {
			m.told = err.Error()
			m.log.Warn("remembered approvals cannot be read: every call is asked about", "error", err)
		}
		return "", false
	}
	for _, e := range f.Entries {
		if e.allowance == what {
			return e.Definition, true
		}
	}
	return "", false
}

// store keeps an answer in the place of an earlier one about the same.
func (m *remember) store(what allowance, definition string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == "" {
		m.memory[what] = definition
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(m.file), 0o700); err != nil {
		return err
	}
	unlock, err := LockFile(m.file + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	f, err := m.read()
	if err != nil {
		return err
	}
	entry := rememberEntry{allowance: what, Definition: definition, At: time.Now().UTC().Truncate(time.Second)}
	kept := []rememberEntry{}
	for _, e := range f.Entries {
		if e.allowance != what {
			kept = append(kept, e)
		}
	}
	data, err := json.MarshalIndent(rememberFile{rememberVersion, append(kept, entry)}, "", "  ")
	if err != nil {
		return err
	}
	return ReplaceFile(m.file, append(data, '\n'))
}

// read reads the file; one that is missing is empty. A file of a newer version
// is refused, and kept.
func (m *remember) read() (rememberFile, error) {
	var f rememberFile
	data, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("%s: %w", m.file, err)
	}
	if f.Version != rememberVersion {
		return f, fmt.Errorf("%s: version %d is not known to this program, which knows %d; it is left as it is", m.file, f.Version, rememberVersion)
	}
	return f, nil
}
