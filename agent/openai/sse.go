package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

var errEventSize = errors.New("event too large")

// event is one server-sent event that has data.
type event struct {
	name string
	data []byte // valid until the next call of next
}

// events reads a stream of server-sent events (WHATWG HTML, 9.2.6), as
// providers write it, which is wider than the standard:
//   - an event goes out as soon as its data is a whole JSON value or [DONE],
//     whether a blank line follows, follows late or never;
//   - the last event counts without a blank line or newline behind it;
//   - a line that begins with a brace is data without its field name.
type events struct {
	r      *bufio.Reader
	limit  int
	line   []byte
	data   []byte
	name   string
	skipLF bool   // the last line ended in CR: a LF that follows belongs to it
	lines  int    // lines of data of the event that is being read
	junk   []byte // the start of the first line that is no field of an event
}

// earlyLines bounds how often an event of many lines is looked at for its end
// before the blank line comes.
const earlyLines = 64

// junkSize bounds what is kept of lines that mean nothing.
const junkSize = 200

func newEvents(r io.Reader, limit int) *events {
	return &events{r: bufio.NewReaderSize(r, 32<<10), limit: limit}
}

// next returns the next event with data, io.EOF after the last, errEventSize,
// or what the reader fails with.
func (e *events) next() (event, error) {
	e.data, e.lines = e.data[:0], 0
	for {
		line, err := e.readLine()
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			if errors.Is(err, io.EOF) && len(e.data) > 0 {
				return e.dispatch(), nil
			}
			return event{}, err
		}
		if len(line) == 0 {
			if len(e.data) > 0 {
				return e.dispatch(), nil
			}
			e.name = ""
			continue
		}
		if !e.field(line) {
			continue
		}
		if len(e.data) > e.limit {
			return event{}, errEventSize
		}
		if e.lines++; e.lines <= earlyLines && whole(e.data) {
			return e.dispatch(), nil
		}
	}
}

// field takes in one line and reports whether it brought data.
func (e *events) field(line []byte) bool {
	if line[0] == ':' {
		return false
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
	case "event":
		e.name = string(value)
		return false
	case "id", "retry":
		return false
	default:
		if line[0] != '{' {
			if len(e.junk) == 0 {
				e.junk = append(e.junk, line[:min(len(line), junkSize)]...)
			}
			return false
		}
		value = line
	}
	if len(e.data) > 0 {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, value...)
	return len(bytes.TrimSpace(e.data)) > 0
}

func (e *events) dispatch() event {
	ev := event{name: e.name, data: bytes.TrimSpace(e.data)}
	e.name = ""
	return ev
}

// whole reports whether data needs nothing more. Objects and lists end
// themselves; numbers and words do not.
func whole(data []byte) bool {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return false
	case isDone(data):
		return true
	}
	last := data[len(data)-1]
	return (data[0] == '{' && last == '}' || data[0] == '[' && last == ']') && json.Valid(data)
}

func isDone(data []byte) bool { return string(data) == "[DONE]" }

// readLine returns the next line without its end, which is LF, CR or CR LF.
// The last line may have none: it comes together with io.EOF.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		if _, err := e.r.Peek(1); err != nil {
			return e.line, err
		}
		buf, _ := e.r.Peek(e.r.Buffered())
		if e.skipLF {
			e.skipLF = false
			if buf[0] == '\n' {
				e.discard(1)
				continue
			}
		}
		i := bytes.IndexAny(buf, "\r\n")
		if i < 0 {
			e.line = append(e.line, buf...)
			e.discard(len(buf))
			if len(e.line) > e.limit {
				return nil, errEventSize
			}
			continue
		}
		e.line = append(e.line, buf[:i]...)
		e.skipLF = buf[i] == '\r'
		e.discard(i + 1)
		if len(e.line) > e.limit {
			return nil, errEventSize
		}
		return e.line, nil
	}
}

// discard takes n bytes that were peeked; it cannot fail.
func (e *events) discard(n int) { _, _ = e.r.Discard(n) }
