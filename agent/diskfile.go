package agent

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// diskFile is a file as it was looked at. It is reached by directories that
// were opened one after the other, none of them a link: what becomes of the
// path meanwhile leads nowhere else (veryfront/veryfront-code#2226).
type diskFile struct {
	at   place
	info fs.FileInfo // nil: there was none
	text string
}

// errSwapped is the refusal of a path that is not what it was.
var errSwapped = errors.New("changed while it was opened; try again")

// directory opens a directory below the folder of a place. With made it makes
// what is missing, and tells which directories that were, the outer first.
func (at place) directory(path string, made *[]string) (*os.Root, error) {
	rel, err := filepath.Rel(at.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, errOutside
	}
	dir, err := os.OpenRoot(at.root)
	if err != nil {
		return nil, err
	}
	path = at.root
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if part == "." {
			continue
		}
		path = filepath.Join(path, part)
		next, isNew, err := enter(dir, part, made != nil)
		_ = dir.Close() // only read from
		if err != nil {
			return nil, err
		}
		if dir = next; isNew {
			*made = append(*made, path)
		}
	}
	return dir, nil
}

// enter opens a directory in a directory, and no link to one.
func enter(dir *os.Root, name string, create bool) (next *os.Root, isNew bool, err error) {
	if create {
		switch err := dir.Mkdir(name, 0o777); { // less the umask
		case err == nil:
			isNew = true
		case !errors.Is(err, fs.ErrExist):
			return nil, false, err
		}
	}
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, false, err
	}
	if !before.IsDir() {
		return nil, false, fmt.Errorf("%q is no directory", name)
	}
	if next, err = dir.OpenRoot(name); err != nil {
		return nil, false, err
	}
	if after, err := next.Stat("."); err != nil || !os.SameFile(before, after) {
		_ = next.Close()
		return nil, false, errSwapped
	}
	return next, isNew, nil
}

// look reads a file for an edit: a text file, or none. What it refuses is left
// as it is.
func (at place) look() (diskFile, error) {
	file := diskFile{at: at}
	dir, err := at.directory(filepath.Dir(at.real), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return file, at.failure(err)
	}
	defer func() { _ = dir.Close() }() // only read from
	file.info, file.text, err = lookIn(dir, at)
	return file, err
}

// lookIn reads the file of a place in its directory; info is nil where there
// is none.
func lookIn(dir *os.Root, at place) (info fs.FileInfo, text string, err error) {
	name := filepath.Base(at.real)
	info, err = dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", nil
	case err != nil:
		return nil, "", at.failure(err)
	case info.IsDir():
		return nil, "", fmt.Errorf("%q is a directory", at.shown)
	case !info.Mode().IsRegular():
		return nil, "", fmt.Errorf("%q is no file that can be edited", at.shown)
	case info.Size() > maxFile:
		return nil, "", fmt.Errorf("%q has %d bytes, at most %d are edited", at.shown, info.Size(), maxFile)
	}
	data, err := dir.ReadFile(name)
	if err != nil {
		return nil, "", at.failure(err)
	}
	if isBinary(data) || !utf8.Valid(data) {
		return nil, "", fmt.Errorf("%q is no UTF-8 text and is left as it is", at.shown)
	}
	return info, string(data), nil
}

// diskStep lets tests do something between the steps of a write; an error is
// that step's.
type diskStep func(step string) error

// replace puts a text in the place of the file's, in one step: a crash, a full
// disk or a cancel leave the old text or the new one, whole. made tells the
// directories that it made. It fails with [ErrStale] when the file is not what
// was looked at.
func (file diskFile) replace(text string, step diskStep) (made []string, err error) {
	if file.info != nil && file.info.Mode().Perm()&0o200 == 0 {
		return nil, fmt.Errorf("%q is read-only", file.at.shown)
	}
	defer func() {
		if err != nil {
			file.at.removeEmpty(made)
			made = nil
		}
		if err != nil && !errors.Is(err, ErrStale) {
			err = fmt.Errorf("%q cannot be written: %w. It is as it was", file.at.shown, plain(err))
		}
	}()
	dir, err := file.at.directory(filepath.Dir(file.at.real), &made)
	if err != nil {
		return made, err
	}
	defer func() { _ = dir.Close() }() // only opened to find things in
	if err := step("checked"); err != nil {
		return made, err
	}
	temp, err := file.write(dir, text, step)
	if err != nil {
		return made, err
	}
	if err = step("written"); err == nil {
		err = file.put(dir, temp)
	}
	if err != nil {
		_ = dir.Remove(temp)
		return made, err
	}
	syncDir(dir)
	return made, nil
}

// removeEmpty removes directories that were made, the inner first, as far as
// nothing is in them.
func (at place) removeEmpty(made []string) {
	for _, path := range slices.Backward(made) {
		dir, err := at.directory(filepath.Dir(path), nil)
		if err != nil {
			return
		}
		err = dir.Remove(filepath.Base(path))
		_ = dir.Close() // only opened to find things in
		if err != nil {
			return
		}
	}
}

// write makes a file beside the one that it is for.
func (file diskFile) write(dir *os.Root, text string, step diskStep) (name string, err error) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	name = ".agentls-" + hex.EncodeToString(random[:])
	mode := fs.FileMode(0o666) // less the umask
	if file.info != nil {
		mode = 0o600
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = dir.Remove(name)
		}
	}()
	_, err = f.WriteString(text)
	if err == nil && file.info != nil {
		keepOwner(f, file.info)
		err = f.Chmod(file.info.Mode().Perm())
	}
	if err == nil {
		err = step("writing")
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return name, err
}

// put moves what was written to the file's name, if there is still what was
// looked at.
func (file diskFile) put(dir *os.Root, temp string) error {
	name := filepath.Base(file.at.real)
	now, text, err := lookIn(dir, file.at)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrStale, err)
	case (now == nil) != (file.info == nil), now != nil && text != file.text:
		return ErrStale
	case now == nil:
		// Of two that make a file one fails; where links cannot be made the
		// look has to do.
		switch err := dir.Link(temp, name); {
		case err == nil:
			return dir.Remove(temp)
		case errors.Is(err, fs.ErrExist):
			return ErrStale
		}
	}
	return dir.Rename(temp, name)
}

// remove deletes the file, if it is still what was looked at.
func (file diskFile) remove() error {
	dir, err := file.at.directory(filepath.Dir(file.at.real), nil)
	if err != nil {
		return file.at.failure(err)
	}
	defer func() { _ = dir.Close() }() // only opened to find things in
	now, text, err := lookIn(dir, file.at)
	switch {
	case err != nil:
		return err
	case now == nil || text != file.text:
		return ErrStale
	}
	if err := dir.Remove(filepath.Base(file.at.real)); err != nil {
		return fmt.Errorf("%q cannot be removed: %w", file.at.shown, plain(err))
	}
	return nil
}
