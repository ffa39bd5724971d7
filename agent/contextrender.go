package agent

import (
	"fmt"
	"slices"
	"strings"
)

// render returns the messages that are shown. A gap is told where it was.
func (s *sketch) render() []Message {
	out := make([]Message, 0, len(s.history))
	calls := 0     // left out since the last message
	begun := false // something behind a summary is shown
	for i, m := range s.history {
		if s.gone(i) {
			if i >= s.turn {
				calls += len(m.ToolCalls)
			}
			continue
		}
		if t := s.thinned(i); t != nil {
			if !t.kept { // now that it is known that this is shown
				t.shown, t.kept = s.leaveOut(t, i, s.shelf), true
			}
			m = t.shown
		}
		first := i >= s.pinned && !begun
		begun = begun || first
		if first && s.turn > s.pinned {
			m.Text = fmt.Sprintf("[agentls left out the %d messages before this one to save room]\n\n", i-s.pinned) + m.Text
		}
		if calls > 0 {
			out = gap(out, calls)
			if calls = 0; m.Role == User { // two of a person's are one
				out[len(out)-1].Text += "\n\n" + m.Text
				out[len(out)-1].Images = slices.Concat(out[len(out)-1].Images, m.Images)
				continue
			}
		}
		out = append(out, m)
	}
	if calls > 0 {
		out = gap(out, calls)
	}
	return s.joined(out)
}

// joined makes one of a summary and the prompt that follows it: some providers
// refuse two messages of a person's.
func (f fit) joined(messages []Message) []Message {
	if f.pinned == 0 || len(messages) < 2 || messages[1].Role != User {
		return messages
	}
	out := slices.Clone(messages[1:])
	out[0].Text = messages[0].Text + "\n\n" + out[0].Text
	return out
}

// noteTokens is more than a note about what is left out has.
const noteTokens = 30

// gap tells of calls that are left out here.
func gap(out []Message, calls int) []Message {
	note := fmt.Sprintf("[agentls left out %d tool calls and their results here to save room]", calls)
	if n := len(out); n > 0 && out[n-1].Role == User {
		out[n-1].Text += "\n\n" + note
		return out
	}
	return append(out, Message{Role: User, Text: note})
}

// fewestShown is the least that is left of a result in the last round, in tokens.
const fewestShown = 100

// squeeze takes over tokens out of the last round, where that alone is too
// long: its images go, then each result is cut to an equal share. It returns
// how many it took, which may be fewer.
func (s *sketch) squeeze(round []Message, over int) (took int) {
	var long []*Message
	spare := -over
	for i := range round {
		m := &round[i]
		switch {
		case m.Role == User && strings.HasPrefix(m.Text, imagesNote):
			took += imageTokens * len(m.Images)
			*m = withoutImages([]Message{*m}, toSaveRoom)[0]
		case m.Role == ToolRole:
			long = append(long, m)
			spare += s.vocabulary.count(m.Text)
		}
	}
	spare += took
	slices.SortFunc(long, func(a, b *Message) int { return len(a.Text) - len(b.Text) })
	for i, m := range long {
		has := s.vocabulary.count(m.Text)
		if share := max(spare/(len(long)-i), fewestShown); has > share {
			k := s.shelf.keep(len(m.Text) * share / has * 9 / 10)
			k.add(m.Text)
			k.Close()
			m.Text = k.String()
			took += has - s.vocabulary.count(m.Text)
			has = s.vocabulary.count(m.Text)
		}
		spare -= has
	}
	return took
}
