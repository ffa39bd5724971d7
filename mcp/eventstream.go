package mcp

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"
)

// serverEvent is one server-sent event that has data, which is valid until
// the next one is read.
type serverEvent struct {
	name string // "message" where the server gave none
	data []byte
	tail []byte // not nil: the data was over the limit, and these are its edges
}

// eventStream reads server-sent events (WHATWG HTML, 9.2.6). It keeps what is
// needed to go on where a stream ended: the last id, and how long the server
// asks to wait.
type eventStream struct {
	lines *frames
	max   int
	begun bool

	name, id string
	hasID    bool
	data     []byte
	tail     []byte

	lastID string
	retry  time.Duration // negative: the server did not say
}

// maxRetry bounds how long a server may ask to wait.
const maxRetry = 5 * time.Minute

func newEventStream(r io.Reader, max int) *eventStream {
	return &eventStream{lines: newFrames(r, max, nil), max: max, retry: -1}
}

// next returns the next event with data, io.EOF after the last, or what the
// reader fails with. The last event counts without the blank line that should
// follow it, but not its id: to ask for it again is the lesser fault.
func (s *eventStream) next() (serverEvent, error) {
	s.name, s.hasID, s.data, s.tail = "", false, s.data[:0], nil
	if cap(s.data) > 1<<20 {
		s.data = nil
	}
	for {
		line, tail, err := s.lines.line()
		if !s.begun {
			line, s.begun = bytes.TrimPrefix(line, []byte("\ufeff")), true
		}
		switch {
		case len(line) > 0:
			s.field(line, tail)
		case err == nil:
			if s.hasID {
				s.lastID, s.hasID = s.id, false
			}
			if len(s.data) > 0 {
				return s.event(), nil
			}
			s.name = ""
		}
		if err != nil {
			if err == io.EOF && len(s.data) > 0 { //nolint:errorlint // as io.Reader has it
				return s.event(), nil
			}
			return serverEvent{}, err
		}
	}
}

func (s *eventStream) event() serverEvent {
	name := s.name
	if name == "" {
		name = "message"
	}
	return serverEvent{name: name, data: s.data, tail: s.tail}
}

// field takes in one line, of which only the edges are there if tail is not nil.
func (s *eventStream) field(line, tail []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		s.add(value, tail)
	case "event":
		s.name = clip(strings.TrimSpace(string(value)), 100)
	case "id":
		// Sent back in a header, so what cannot stand in one is no id.
		if len(value) <= 1024 && headerValue(string(value)) {
			s.id, s.hasID = string(value), true
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			s.retry = min(time.Duration(ms)*time.Millisecond, maxRetry)
		}
	}
}

func (s *eventStream) add(value, tail []byte) {
	if s.tail != nil {
		s.tail = append(s.tail, value...)
		s.tail = append(s.tail, tail...)
		s.tail = append([]byte(nil), s.tail[max(0, len(s.tail)-frameEdge):]...)
		return
	}
	if len(s.data) > 0 {
		s.data = append(s.data, '\n')
	}
	s.data = append(s.data, value...)
	switch {
	case tail != nil:
		s.tail = bytes.Clone(tail)
	case len(s.data) > s.max:
		s.tail = bytes.Clone(s.data[len(s.data)-frameEdge:])
	default:
		return
	}
	s.data = s.data[:min(len(s.data), frameEdge)]
}
