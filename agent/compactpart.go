package agent

import (
	"fmt"
	"slices"
	"strings"
)

// Bytes of one message in what a model summarises, at most and at least.
const (
	mostOfMessage  = 8000
	leastOfMessage = 200
)

// boundedConversation is a conversation as text of at most about limit bytes:
// each message is cut as much as is needed for that; where that is not enough the
// oldest behind the first go.
func boundedConversation(part []Message, limit int) string {
	each := mostOfMessage
	text := conversationText(part, each)
	for len(text) > limit && each > leastOfMessage {
		each /= 2
		text = conversationText(part, each)
	}
	if len(text) <= limit {
		return text
	}
	first := conversationText(part[:1], limit/4)
	rest := clipStart(text[len(text)-limit*3/4:])
	return first + fmt.Sprintf("\n[%d bytes left out by agentls]\n", len(text)-len(rest)) + rest
}

// conversationText writes messages for a reader, each text cut in its middle to
// at most each bytes; 0: none is cut.
func conversationText(part []Message, each int) string {
	cut := func(text string) string {
		if each > 0 {
			return truncate(text, each)
		}
		return text
	}
	var b strings.Builder
	names := map[string]string{} // of the tools, by the calls' ids
	for _, m := range part {
		switch m.Role {
		case ToolRole:
			fmt.Fprintf(&b, "### Result of %s\n\n%s\n\n", names[m.ToolCallID], cut(m.Text))
			if m.Stored != "" && each == 0 {
				fmt.Fprintf(&b, "[all of it: read_result with id %q]\n\n", m.Stored)
			}
			continue
		case User:
			b.WriteString("## User\n\n")
		default:
			b.WriteString("## Agent\n\n")
		}
		if m.Text != "" {
			b.WriteString(cut(m.Text) + "\n\n")
		}
		if len(m.Images) > 0 {
			fmt.Fprintf(&b, "[%d images]\n\n", len(m.Images))
		}
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
			fmt.Fprintf(&b, "### Call of %s\n\n%s\n\n", c.Name, cut(c.Arguments))
		}
	}
	return b.String()
}

func messagesOf(entries []entry) []Message {
	out := make([]Message, len(entries))
	for i, e := range entries {
		out[i] = e.Message
	}
	return out
}

// summarised is the beginning of the history of the run that has the turn, and
// what stands for some of it.
func (s *session) summarised(upto int) (part []entry, before summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said.summary.fits(s.said.entries) {
		before = *s.said.summary
	}
	return slices.Clone(s.said.entries[:min(upto, len(s.said.entries))]), before
}

// promptText is the prompt of the run that has the turn, as typed; "": none runs.
func (s *session) promptText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := &s.said; t.running && t.prompt < len(t.entries) {
		if e := t.entries[t.prompt]; e.Asked != "" {
			return e.Asked
		}
		return withoutAttachments(t.entries[t.prompt].Text)
	}
	return ""
}
