package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// maxFile bounds a file that is read, in bytes.
const maxFile = 1 << 20

var (
	errIrregular = errors.New("is no regular file")
	errLarge     = fmt.Errorf("is larger than %d bytes", maxFile)
)

// readFile reads a file whole. A project names files before anybody trusts it:
// a pipe would block, a device or a huge file fill the memory.
func readFile(name string) ([]byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		return nil, errLarge
	}
	return text, err
}

// Files is what the files of a configuration hold as far as it is in force: a
// file is read once, by the first [Load] that needs it, and stays so until
// Take. It also keeps the last text of each file that was good. It belongs to
// one goroutine at a time.
type Files struct {
	held map[string]content // by path
	used map[string]bool    // by the Load at work
	good map[string][]byte  // by path
}

// content is what reading a file gave.
type content struct {
	text []byte
	err  error
}

func (c content) equal(d content) bool {
	switch {
	case c.err == nil && d.err == nil:
		return bytes.Equal(c.text, d.text)
	case c.err == nil || d.err == nil:
		return false
	}
	return c.err.Error() == d.err.Error()
}

// NewFiles returns Files of which nothing is read yet.
func NewFiles() *Files {
	return &Files{held: map[string]content{}, used: map[string]bool{}, good: map[string][]byte{}}
}

// read gives a file as it is in force.
func (f *Files) read(name string) ([]byte, error) {
	c, known := f.held[name]
	if !known {
		c.text, c.err = readFile(name)
		f.held[name] = c
	}
	f.used[name] = true
	return c.text, c.err
}

// parsed notes a text that was good, so that a worse one does not replace it.
func (f *Files) parsed(name string) { f.good[name] = f.held[name].text }

// gone forgets the good text of a file that is no more.
func (f *Files) gone(name string) { delete(f.good, name) }

// before gives the last good text of a file that is not good now.
func (f *Files) before(name string) ([]byte, bool) {
	text, ok := f.good[name]
	return text, ok
}

// loaded drops what the Load that ends has not read.
func (f *Files) loaded() {
	unused := func(name string) bool { return !f.used[name] }
	maps.DeleteFunc(f.held, func(name string, _ content) bool { return unused(name) })
	maps.DeleteFunc(f.good, func(name string, _ []byte) bool { return unused(name) })
	f.used = map[string]bool{}
}

// Names gives the files that the last Load read, or would have read if they
// were there; absolute, sorted.
func (f *Files) Names() []string { return slices.Sorted(maps.Keys(f.held)) }

// Look reads all of them anew, and gives what it found beside what is in
// force, which stays as it is.
func (f *Files) Look() *Files {
	now := f.Clone()
	for name := range now.held {
		text, err := readFile(name)
		now.held[name] = content{text, err}
	}
	return now
}

// Clone returns a copy that later changes do not touch.
func (f *Files) Clone() *Files {
	return &Files{held: maps.Clone(f.held), used: map[string]bool{}, good: maps.Clone(f.good)}
}

// Changed gives the names of the files that differ between f and now, a Look
// at f.
func (f *Files) Changed(now *Files) []string {
	var names []string
	for _, name := range f.Names() {
		if c, ok := now.held[name]; ok && !c.equal(f.held[name]) {
			names = append(names, name)
		}
	}
	return names
}

// Holds reports whether a file holds a text, as an editor has it: line endings,
// a byte order mark and the white space around it do not count.
func (f *Files) Holds(name, text string) bool {
	plain := func(text string) string {
		return strings.TrimSpace(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"))
	}
	c, ok := f.held[name]
	return ok && c.err == nil && plain(string(c.text)) == plain(text)
}

// Is reports whether a file holds just this text; nil: it is not there.
func (f *Files) Is(name string, text []byte) bool {
	c, ok := f.held[name]
	switch {
	case !ok:
		return false
	case text == nil:
		return isMissing(c.err)
	}
	return c.err == nil && bytes.Equal(c.text, text)
}

// Take brings files of now, a Look, into force.
func (f *Files) Take(now *Files, names ...string) {
	for _, name := range names {
		if c, ok := now.held[name]; ok {
			f.held[name] = c
		}
	}
}

// isMissing reports a file that is not there.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
