package config

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"agentls/agent"
)

// Choice is a provider that a person chose, to be written into the user's
// configuration. Empty fields are left as they are there.
type Choice struct {
	Name    string
	BaseURL string // written where the file has none, or with Moves
	Moves   bool   // BaseURL replaces what is there
	// KeyVariable is the variable that holds the key, written where the file
	// says nothing of a key. Keys themselves are never written.
	KeyVariable string
	Model       string
}

// Written is what a file held before and holds now.
type Written struct {
	Before []byte // nil: it was not there
	After  []byte
}

// File is the user's configuration file, <config>/config.json.
func (s Source) File() string { return filepath.Join(s.Dir, "config.json") }

// Write puts a choice into the user's file and chooses it: all else in the file
// stays byte for byte. The file is replaced as a whole, mode 0600; a symlink
// stays one. lock is a file that processes lock which write at the same time.
// A file that cannot be understood is refused with a [*FileError] and kept.
func (s Source) Write(c Choice, lock string) (w Written, err error) {
	if err := c.check(); err != nil {
		return w, err
	}
	for _, dir := range []string{s.Dir, filepath.Dir(lock)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return w, unwritable(err)
		}
	}
	unlock, err := agent.LockFile(lock)
	if err != nil {
		return w, fmt.Errorf("another agentls is writing the configuration: try again (%w)", err)
	}
	defer unlock()
	file, text, err := s.userText()
	if err != nil {
		return w, err
	}
	w.Before = text
	if w.After, err = c.put(file, text); err != nil {
		return w, err
	}
	if w.Before != nil && bytes.Equal(w.Before, w.After) {
		return w, nil
	}
	if err := agent.ReplaceFile(file, w.After); err != nil {
		return w, unwritable(err)
	}
	return w, nil
}

// userText reads the file that stands for the user's; a nil text: there is none.
func (s Source) userText() (file string, text []byte, err error) {
	if file, err = realFile(s.File()); err != nil {
		return "", nil, unwritable(err)
	}
	text, err = readFile(file)
	switch {
	case err == nil:
		return file, append([]byte{}, text...), nil // an empty one is not nil
	case isMissing(err):
		return file, nil, nil
	}
	return "", nil, &FileError{Problem{File: file, Message: "cannot be read: " + err.Error()}}
}

// CheckFile tells before a person is asked for a choice whether it can be put
// into the user's file. exists: there is one.
func (s Source) CheckFile() (exists bool, err error) {
	file, text, err := s.userText()
	if err == nil {
		_, err = Choice{Name: Offline}.put(file, text)
	}
	return text != nil, err
}

// put is the file's text with the choice in it.
func (c Choice) put(file string, text []byte) (_ []byte, err error) {
	key := ""
	if c.KeyVariable != "" {
		key = "${" + c.KeyVariable + ":-}"
	}
	below := func(key string) []string { return []string{"providers", c.Name, key} }
	for _, m := range []struct {
		path  []string
		value string
		keeps bool // what the file has
	}{
		{[]string{"provider"}, c.Name, false}, {below("baseURL"), c.BaseURL, !c.Moves}, {below("apiKey"), key, true}, {below("model"), c.Model, false},
	} {
		if m.value == "" || m.keeps && says(text, m.path) {
			continue
		}
		if u, err := url.Parse(m.value); m.value == c.BaseURL && err == nil && u.User != nil {
			return nil, errors.New("an address with a password in it is not written: put the password into a variable, and write the address with ${VARIABLE} into " + file)
		}
		if text, err = edited(file, text, m.path, m.value); err != nil {
			return nil, err
		}
		if len(text) > maxFile {
			return nil, &FileError{Problem{File: file, Message: fmt.Sprintf("would be larger than %d bytes", maxFile)}}
		}
	}
	return text, nil
}

// says reports whether a document says something at a path of keys.
func says(text []byte, path []string) bool {
	d := &document{problem: func(Problem) {}}
	n, ok := d.parse(text)
	for _, key := range path {
		if !ok || n.value.Value.Kind() != '{' {
			return false
		}
		n, ok = n.member(key)
	}
	return ok && n.value.Value.Kind() != 'n' && string(n.doc.text[n.value.StartOffset:n.value.EndOffset]) != `""`
}

// check refuses what would not mean itself when it is read: a list of models is
// foreign, and "${cmd:…}" in the user's file is run.
func (c Choice) check() error {
	for _, f := range []struct{ name, value string }{{"provider", c.Name}, {"baseURL", c.BaseURL}, {"model", c.Model}} {
		if !Plain(f.value) {
			return fmt.Errorf("the %s %q cannot be written: it holds ${…} or characters that are not seen", f.name, f.value)
		}
	}
	if c.KeyVariable != "" && !IsVariable(c.KeyVariable) {
		return fmt.Errorf("a variable cannot be called %q: give a name such as OPENAI_API_KEY", c.KeyVariable)
	}
	return nil
}

// Plain reports whether a text means itself in the user's file, and can be
// seen whole.
func Plain(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(text, "${") && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// unwritable says what to do about a place that takes no file.
func unwritable(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		dir := filepath.Dir(e.Path)
		return fmt.Errorf("the configuration cannot be written (%w): let yourself write into %s, or set XDG_CONFIG_HOME to a place that you can write to", err, dir)
	}
	return fmt.Errorf("the configuration cannot be written: %w", err)
}

// realFile follows symlinks to the file that is to be replaced, which need not
// be there.
func realFile(file string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(file)
		if err != nil { // no link, or not there
			return file, nil //nolint:nilerr // see above
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(file), to)
		}
		file = to
	}
	return "", &fs.PathError{Op: "open", Path: file, Err: errors.New("too many symlinks")}
}

//go:embed template.jsonc
var template string

// WriteTemplate makes the user's file with everything in comments, unless there
// is one, which is kept. made: it was.
func (s Source) WriteTemplate() (made bool, err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return false, unwritable(err)
	}
	f, err := os.OpenFile(s.File(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, unwritable(err)
	}
	_, err = f.WriteString(template)
	if err = errors.Join(err, f.Close()); err != nil {
		return true, unwritable(err)
	}
	return true, nil
}
