package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// What stands in a history where nothing else does: providers refuse empty
// messages and calls without a result.
const (
	noOutput = "(no output)"
	noResult = "The call was interrupted. Whether it had an effect is unknown."
)

// repair returns a history that every provider takes, whatever was loaded: a
// call without a result gets a synthetic one, a result without its call goes,
// and so do empty messages (charmbracelet/crush#2622). A valid history comes
// back unchanged, in a slice of its own.
func repair(history []Message) []Message {
	out := make([]Message, 0, len(history)+1)
	for i := 0; i < len(history); i++ {
		m := history[i]
		m.Text = strings.ToValidUTF8(m.Text, "\uFFFD")
		switch m.Role {
		case User:
			if strings.TrimSpace(m.Text) != "" || len(m.Images) > 0 {
				out = append(out, Message{Role: User, Text: m.Text, Images: m.Images})
			}
		case Assistant:
			end := i + 1
			for end < len(history) && history[end].Role == ToolRole {
				end++
			}
			results := history[i+1 : end]
			i = end - 1
			if isRound(m, results) {
				out = append(append(out, m), results...)
				continue
			}
			m = Message{Role: Assistant, Text: m.Text, ToolCalls: validCalls(m.ToolCalls)}
			if strings.TrimSpace(m.Text) == "" && len(m.ToolCalls) == 0 {
				continue
			}
			out = append(append(out, m), answers(m.ToolCalls, results)...)
		}
		// A system message is no part of a history, a result that stands here
		// answers no call.
	}
	return out
}

// isRound reports whether an answer and what follows it need no repair. A whole
// history is looked through at each step, in half the time.
func isRound(m Message, results []Message) bool {
	if len(results) != len(m.ToolCalls) || strings.TrimSpace(m.Text) == "" && len(results) == 0 || len(m.Images) > 0 || m.ToolCallID != "" || m.Stored != "" {
		return false
	}
	for i, c := range m.ToolCalls {
		r := results[i]
		twice := slices.ContainsFunc(m.ToolCalls[:i], func(other ToolCall) bool { return other.ID == c.ID })
		if c.ID == "" || twice || !validName(c.Name) || !isObject(c.Arguments) ||
			r.ToolCallID != c.ID || strings.TrimSpace(r.Text) == "" || !utf8.ValidString(r.Text) || len(r.Images) > 0 || len(r.ToolCalls) > 0 {
			return false
		}
	}
	return true
}

// answers gives each call its result, in the order of the calls.
func answers(calls []ToolCall, results []Message) []Message {
	given := make(map[string]Message, len(results))
	for _, m := range results {
		if _, ok := given[m.ToolCallID]; !ok {
			given[m.ToolCallID] = m
		}
	}
	out := make([]Message, 0, len(calls))
	for _, c := range calls {
		m, ok := given[c.ID]
		text := validText(m.Text)
		if !ok {
			text = noResult
		}
		if strings.TrimSpace(text) == "" {
			text = noOutput
		}
		out = append(out, Message{Role: ToolRole, ToolCallID: c.ID, Text: text, Stored: m.Stored})
	}
	return out
}

// validCalls returns calls as a provider takes them back: unique ids, names of
// the allowed form, arguments that are a JSON object. What the model wrote
// wrong it reads in the result (charmbracelet/crush 21a457d5e).
func validCalls(calls []ToolCall) []ToolCall {
	var out []ToolCall
	seen := make(map[string]bool, len(calls))
	for _, c := range calls {
		if c.ID == "" || seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		if !validName(c.Name) {
			c.Name = shorten(cleanName(c.Name))
		}
		if !isObject(c.Arguments) {
			args, err := object(c.Arguments)
			if err != nil {
				args = []byte("{}")
			}
			c.Arguments = string(args)
		}
		out = append(out, c)
	}
	return out
}

// isObject reports whether arguments need no repair. A whole history is looked
// through at each step: this is a fifth of the cost of [object].
func isObject(arguments string) bool {
	return strings.HasPrefix(arguments, "{") && json.Valid([]byte(arguments))
}

// withoutImages returns a history whose images are lines that tell of them,
// and why they are not there.
func withoutImages(history []Message, why string) []Message {
	out := make([]Message, len(history))
	for i, m := range history {
		for _, img := range m.Images {
			m.Text += "\n" + imageLine(img.MIMEType, decodedLen(img.Data), why)
		}
		m.Images = nil
		out[i] = m
	}
	return out
}

// hasImages reports whether any message holds an image.
func hasImages(history []Message) bool {
	for _, m := range history {
		if len(m.Images) > 0 {
			return true
		}
	}
	return false
}
