package agent

import (
	"encoding/json"
	"fmt"
	"strings"
)

// What may be left of what a view leaves out, in bytes.
const (
	shortText = 300  // shorter texts are left alone
	oldText   = 4000 // of an earlier prompt or answer
	oldValue  = 100  // of an argument of an earlier call
)

const toSaveRoom = "left out by agentls to save room"

// withoutResult is a message without the result of a tool, or images, in it.
func (s *sketch) withoutResult(i int, m Message, shelf shelf) Message {
	if len(m.Images) > 0 {
		m = withoutImages([]Message{m}, toSaveRoom)[0]
	}
	if m.Role != ToolRole || len(m.Text) <= shortText {
		return m
	}
	what := fmt.Sprintf("[agentls left this result out to save room: %d bytes, %d lines; ", len(m.Text), lineCount(m.Text))
	switch id := m.Stored; {
	case s.caller(i) == readResultName:
		m.Text = what + "call read_result again to see it]"
	case id != "":
		m.Text = what + fmt.Sprintf("read_result with id %q shows all of it]", id)
	default:
		m.Text = what + keptAs(shelf, m.Text)
	}
	return m
}

// keptAs keeps a text and says how to see it again.
func keptAs(shelf shelf, text string) string {
	if id := shelf.put(text); id != "" {
		return fmt.Sprintf("read_result with id %q shows it]", id)
	}
	return "it is not kept]"
}

// caller returns the name of the tool whose result the i-th message is.
func (s *sketch) caller(i int) string {
	at := i
	for at > 0 && s.history[at].Role == ToolRole {
		at--
	}
	for _, c := range s.history[at].ToolCalls {
		if c.ID == s.history[i].ToolCallID {
			return c.Name
		}
	}
	return ""
}

// attachments begin the blocks that stand below a prompt.
//
//nolint:gochecknoglobals // a constant table
var attachments = []string{"\n\n<resource ", "\n\n<resource_error ", "\n\n<document ", "\n\n<diagnostics "}

// withoutTexts is an earlier message without its attachments, its long
// arguments and the middle of a long text.
func withoutTexts(m Message, shelf shelf) Message {
	if m.Role == User {
		at := len(m.Text)
		for _, begin := range attachments {
			if i := strings.Index(m.Text[:at], begin); i >= 0 {
				at = i
			}
		}
		if blocks := m.Text[at:]; len(blocks) > shortText {
			m.Text = m.Text[:at] + fmt.Sprintf("\n\n[agentls left out what was attached here to save room: %d bytes; ", len(blocks)) + keptAs(shelf, blocks)
		}
	}
	if m.Role != ToolRole && len(m.Text) > oldText {
		k := shelf.keep(oldText)
		k.add(m.Text)
		k.Close()
		m.Text = k.String()
	}
	calls := make([]ToolCall, len(m.ToolCalls))
	for i, c := range m.ToolCalls {
		calls[i] = ToolCall{c.ID, c.Name, shortArguments(c.Arguments)}
	}
	if len(calls) > 0 {
		m.ToolCalls = calls
	}
	return m
}

// shortArguments is a JSON object without its long values.
func shortArguments(args string) string {
	if len(args) <= shortText {
		return args
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &fields) != nil {
		return "{}"
	}
	for name, raw := range fields {
		if len(raw) <= oldValue {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		begin, _ := clip(text, oldValue/2)
		fields[name] = marshal(fmt.Sprintf("%s… [%d bytes, %s]", begin, len(text), toSaveRoom))
	}
	if short := string(marshal(fields)); len(short) < len(args) {
		return short
	}
	return "{}"
}
