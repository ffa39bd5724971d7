package openai

import "encoding/json"

// slots keeps apart the tool calls of one answer. OpenAI numbers them; other
// providers leave the number out, or give each the number 0.
type slots struct {
	calls   []slot
	byIndex map[int]int    // the provider's number to the latest call under it
	byID    map[string]int // the provider's id to its call
}

func newSlots() slots { return slots{byIndex: map[int]int{}, byID: map[string]int{}} }

type slot struct {
	id, name string
	args     []byte
	mark     json.RawMessage // the provider's own, to be sent back
}

// call returns the delta under a number of its own; none when it says nothing.
func (s *slots) call(raw rawCall) []wireCall {
	id, name, args := text(raw.ID), text(raw.Function.Name), arguments(raw.Function.Arguments)
	index, numbered := number(raw.Index)
	at := s.find(index, numbered, id, name)
	if at >= 0 && s.calls[at].isOther(id, name, args) {
		at = -1
	}
	if at < 0 {
		if id == "" && name == "" && args == "" {
			return nil
		}
		at = len(s.calls)
		s.calls = append(s.calls, slot{})
	}
	if numbered {
		s.byIndex[index] = at
	}
	if id != "" {
		s.byID[id] = at
	}
	if given(raw.Extra) && len(raw.Extra) <= maxExtra {
		s.calls[at].mark = raw.Extra
	}
	return []wireCall{s.calls[at].take(at, id, name, args)}
}

// marks are those of the calls, in order.
func (s *slots) marks() []json.RawMessage {
	out := make([]json.RawMessage, len(s.calls))
	for i := range s.calls {
		out[i] = s.calls[i].mark
	}
	return out
}

// find returns the call that a delta goes on with, or -1.
func (s *slots) find(index int, numbered bool, id, name string) int {
	var at int
	var ok bool
	switch {
	case numbered:
		at, ok = s.byIndex[index]
	case id != "":
		at, ok = s.byID[id]
	case name == "":
		at, ok = len(s.calls)-1, true
	}
	if !ok {
		return -1
	}
	return at
}

// isOther reports whether a delta under this slot's number begins another call.
func (s *slot) isOther(id, name, args string) bool {
	if id != "" && s.id != "" {
		return id != s.id
	}
	// Without an id a name that comes again is a new call only when the
	// arguments of the one before are whole; some repeat it with each piece.
	return name != "" && s.name != "" && (args != "" || name != s.name) && whole(s.args)
}

// take adds a delta and gives its canonical form: id and name only once.
func (s *slot) take(at int, id, name, args string) wireCall {
	out := wireCall{Index: at, Type: "function"}
	if s.id == "" && id != "" {
		s.id, out.ID = id, id
	}
	if s.name == "" && name != "" {
		s.name, out.Function.Name = name, name
	}
	s.args = append(s.args, args...)
	out.Function.Arguments = args
	return out
}

// arguments reads a piece of arguments: a string, or a whole object.
func arguments(raw json.RawMessage) string {
	if !given(raw) {
		return ""
	}
	if raw[0] == '"' {
		return text(raw)
	}
	return string(raw)
}
