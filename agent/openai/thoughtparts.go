package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// thoughtParts gathers what providers stream beside their reasoning as lists of
// typed parts, and want to see again as a whole: signatures, encrypted
// reasoning.
type thoughtParts struct {
	field string // of a message, that they came in
	parts []thoughtPart
	size  int
}

// thoughtPart is one part: members that come in pieces, and others, of which the
// last one counts.
type thoughtPart struct {
	pieces map[string]*strings.Builder
	rest   map[string]json.RawMessage
}

// maxThoughtParts bounds the parts of an answer, in bytes; each costs partCost
// beside what is in it, for its maps and for being looked through.
const (
	maxThoughtParts = 1 << 20
	partCost        = 512
)

// take adds the parts of a delta and gives what a person can read of them.
func (t *thoughtParts) take(field string, raw json.RawMessage) (told string) {
	for _, p := range list(raw) {
		var part map[string]json.RawMessage
		if json.Unmarshal(p, &part) != nil || part == nil {
			continue
		}
		told += text(part["text"]) + text(part["summary"]) + text(part["thinking"])
		if t.field == "" || t.field == field {
			t.field = field
			t.add(part)
		}
	}
	return told
}

// add adds one part, or goes on with the one of its number; without a number
// with the last one, as long as that has the same type and no signature.
func (t *thoughtParts) add(part map[string]json.RawMessage) {
	if t.size > maxThoughtParts {
		return
	}
	for i, p := range slices.Backward(t.parts) {
		was := p.rest
		same := bytes.Equal(was["type"], part["type"]) && bytes.Equal(was["index"], part["index"])
		if same && (given(part["index"]) || i == len(t.parts)-1 && !given(was["signature"])) {
			p.join(part, &t.size)
			return
		}
	}
	p := thoughtPart{map[string]*strings.Builder{}, map[string]json.RawMessage{}}
	p.join(part, &t.size)
	t.size += partCost
	t.parts = append(t.parts, p)
}

func (p thoughtPart) join(more map[string]json.RawMessage, size *int) {
	for key, value := range more {
		*size += len(value)
		switch key {
		case "text", "summary", "thinking", "data":
			if p.pieces[key] == nil {
				p.pieces[key] = &strings.Builder{}
			}
			p.pieces[key].WriteString(text(value))
		default:
			if _, has := p.rest[key]; !has || given(value) {
				p.rest[key] = value
			}
		}
	}
}

// whole are the parts as they are to be sent back; nil: there are none, or too
// many to be kept.
func (t *thoughtParts) whole() json.RawMessage {
	if len(t.parts) == 0 || t.size > maxThoughtParts {
		return nil
	}
	out := make([]map[string]json.RawMessage, len(t.parts))
	for i, p := range t.parts {
		out[i] = p.rest
		for key, b := range p.pieces {
			out[i][key] = encoded(b.String())
		}
	}
	return encoded(out)
}
