package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
)

// The longest lines that are read: a prompt with all images, and what is no
// record anyway.
const (
	maxSessionLine = 128 << 20
	maxOddLine     = 4 << 10
)

// loadedSession is what a file says.
type loadedSession struct {
	transcript
	header sessionHeader
	info   fs.FileInfo
	size   int64  // up to the end of the last whole line
	tail   []byte // what stands behind it; it is part of the transcript if it is a record
}

// errOtherSession is a file that stands in another's place.
var errOtherSession = errors.New("it is the file of another session")

// loadSession reads a session's file. A last line that a crash cut is dropped,
// a damaged one passed over and told in the log; a file that is none of ours,
// or of a newer version, is an error and stays as it is.
func loadSession(ctx context.Context, path string, key sessionKey, log *slog.Logger) (*loadedSession, error) {
	f, info, err := openSession(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read only
	s := &loadedSession{info: info}
	if info.Size() > maxSessionFile {
		return s, fmt.Errorf("%s has %d bytes, at most %d (1 GiB) are read: start a new session", path, info.Size(), maxSessionFile)
	}
	l := sessionReader{into: s, key: key}
	if err := l.read(ctx, f); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	if l.damaged > 0 {
		log.Warn("lines of a session's file cannot be read and are passed over", "file", path, "lines", l.damaged, "first", l.first)
	}
	return s, nil
}

// openSession opens a file for reading, and nothing else than a file.
func openSession(path string) (*os.File, fs.FileInfo, error) {
	info, err := statSession(path)
	if err == nil && info == nil {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(info, now) {
		err = fmt.Errorf("%s was replaced while it was opened", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, now, nil
}

// sessionReader makes a transcript of lines.
type sessionReader struct {
	into    *loadedSession
	key     sessionKey
	n       int // lines read
	damaged int
	first   int    // the first damaged line
	pieces  []byte // lines of an answer that streams: most are void soon
}

func (l *sessionReader) read(ctx context.Context, f io.Reader) error {
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text, size, err := readLongLine(in)
		switch {
		case errors.Is(err, io.EOF):
			return l.end(text)
		case err != nil:
			return err
		}
		if err := l.line(text); err != nil {
			return err
		}
		l.into.size += size
	}
}

// readLongLine reads a line without its end; of one that is too long it gives
// nil. At io.EOF it gives what stands behind the last line.
func readLongLine(in *bufio.Reader) (line []byte, size int64, err error) {
	var long []byte
	most := int64(maxSessionLine)
	for {
		part, err := in.ReadSlice('\n')
		if size == 0 && len(part) > 0 && part[0] != '{' {
			most = maxOddLine
		}
		size += int64(len(part))
		if err == nil && long == nil {
			return part[:len(part)-1], size, nil
		}
		if size <= most {
			long = append(long, part...)
		} else {
			long = append(long[:0], part[:min(len(part), maxOddLine)]...)
		}
		switch {
		case err == nil && size > most:
			return nil, size, nil
		case err == nil:
			return long[:len(long)-1], size, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return long, size, err
		}
	}
}

// line takes a whole line. An error is why the file cannot be used at all.
func (l *sessionReader) line(text []byte) error {
	l.n++
	if l.n == 1 {
		return l.header(text)
	}
	if bytes.HasPrefix(text, []byte(`{"t":"text",`)) {
		l.pieces = append(append(l.pieces, text...), '\n')
		return nil
	}
	var r record
	if r.decode(text) {
		l.apply(r)
	} else {
		l.damage(l.n)
	}
	return nil
}

func (r *record) decode(text []byte) (ok bool) {
	return json.Unmarshal(text, r) == nil && r.Type != ""
}

func (l *sessionReader) damage(n int) {
	if l.damaged == 0 {
		l.first = n
	}
	l.damaged++
}

func (l *sessionReader) header(text []byte) error {
	var h sessionHeader
	switch err := json.Unmarshal(text, &h); {
	case err != nil || h.Version < 1:
		return errors.New("it does not begin as the file of a session does: move it away, or delete the session")
	case h.Version > sessionVersion:
		return unknownVersion(h.Version)
	case h.Session != l.key.id || h.Folder != l.key.folder:
		return errOtherSession
	}
	l.into.header = h
	return nil
}

func unknownVersion(v int) error {
	return fmt.Errorf("version %d is not known to this program, which knows %d; it is left as it is: use a newer agentls, or another session", v, sessionVersion)
}

func (l *sessionReader) apply(r record) {
	switch r.Type {
	case recordStep, recordCalls, recordAdd, recordAnew: // it voids what streamed
	default:
		l.stream()
	}
	l.pieces = l.pieces[:0]
	l.into.apply(r)
}

// stream applies the pieces of an answer that was not told in another way.
func (l *sessionReader) stream() {
	for text := range bytes.Lines(l.pieces) {
		var r record
		if !r.decode(text) {
			l.damage(l.n)
			continue
		}
		l.into.apply(r)
	}
	l.pieces = l.pieces[:0]
}

// end takes what stands behind the last line: a record that only lost its end,
// or half of one.
func (l *sessionReader) end(tail []byte) error {
	l.into.tail = bytes.Clone(tail)
	var r record
	switch start := []byte(`{"version":`); {
	case l.n == 0 && (json.Valid(tail) || !bytes.HasPrefix(tail, start) && !bytes.HasPrefix(start, bytes.TrimRight(tail, "\x00"))):
		return l.header(tail)
	case l.n > 0 && r.decode(tail):
		l.apply(r)
	}
	l.stream()
	return nil
}
