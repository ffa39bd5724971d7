package openai

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// writer writes the history as a provider takes it, with what go-openai leaves
// out: a content in each message, the reasoning where the provider wants it, and
// the marks that the provider put beside its answers.
type writer struct {
	llm *LLM
	c   concessions
}

func (w writer) messages(list []openai.ChatCompletionMessage) (json.RawMessage, error) {
	if w.c.has(noSystem) {
		list = withoutSystem(list)
	}
	out := []byte{'['}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if len(m.MultiContent) > 0 && w.c.has(noImages) {
			m.Content, m.MultiContent = withoutImages(m.MultiContent), nil
		}
		more, err := w.missing(&m)
		if err != nil {
			return nil, err
		}
		raw, err := m.MarshalJSON()
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, '{'), more...), raw[1:]...) // a role follows in any case
	}
	return append(out, ']'), nil
}

// missing writes fields that go-openai has no way to write, each with a comma
// behind it. It takes the calls out of m when it writes them. The content of
// an assistant that only calls tools is null, as OpenAI writes it, or "" where
// that is refused.
func (w writer) missing(m *openai.ChatCompletionMessage) (out []byte, err error) {
	if m.Content == "" && len(m.MultiContent) == 0 {
		if len(m.ToolCalls) > 0 && !w.c.has(noNull) {
			out = append(out, `"content":null,`...)
		} else {
			out = append(out, `"content":"",`...)
		}
	}
	if m.Role != openai.ChatMessageRoleAssistant {
		m.ToolCallID = w.id(m.ToolCallID)
		return out, nil
	}
	th := w.llm.thoughts.about(m.ToolCalls)
	if w.c.has(withThoughts) || w.llm.o.Reasons && th.reasoning != "" && !w.c.has(noThoughts) {
		raw, err := json.Marshal(th.reasoning)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, `"reasoning_content":`...), raw...), ',')
	}
	if th.parts != nil && !w.c.has(noMarks) {
		out = append(append(append(out, `"`+th.field+`":`...), th.parts...), ',')
	}
	return w.calls(m, th.marks, out)
}

// dummyMark is what Gemini takes for a call that another model made.
const dummyMark = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`

// calls writes the calls that have marks; others go-openai can write.
func (w writer) calls(m *openai.ChatCompletionMessage, marks []json.RawMessage, out []byte) ([]byte, error) {
	switch {
	case len(m.ToolCalls) == 0:
		return out, nil
	case w.c.has(dummyMarks) && (marks == nil || marks[0] == nil): // the first of a message is looked at
		marks = append([]json.RawMessage{json.RawMessage(dummyMark)}, make([]json.RawMessage, len(m.ToolCalls)-1)...)
	case w.c.has(noMarks):
		marks = nil
	}
	m.ToolCalls = slices.Clone(m.ToolCalls) // a further try writes them anew
	for i := range m.ToolCalls {
		m.ToolCalls[i].ID = w.id(m.ToolCalls[i].ID)
	}
	if marks == nil {
		return out, nil
	}
	type marked struct {
		openai.ToolCall
		Extra json.RawMessage `json:"extra_content,omitempty"`
	}
	calls := make([]marked, len(m.ToolCalls))
	for i := range calls {
		calls[i] = marked{m.ToolCalls[i], marks[i]}
	}
	raw, err := json.Marshal(calls)
	if err != nil {
		return nil, err
	}
	m.ToolCalls = nil
	return append(append(append(out, `"tool_calls":`...), raw...), ','), nil
}

// id is a call's id in the form that this provider takes: that of another one,
// whose calls the history has, may be refused.
func (w writer) id(id string) string {
	if id == "" || !w.c.has(shortIDs) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return base32.StdEncoding.EncodeToString(sum[:])[:9]
}

// withoutSystem moves the instructions into the user's first message.
func withoutSystem(list []openai.ChatCompletionMessage) []openai.ChatCompletionMessage {
	var said []string
	out := make([]openai.ChatCompletionMessage, 0, len(list))
	for _, m := range list {
		if m.Role == openai.ChatMessageRoleSystem {
			said = append(said, m.Content)
			continue
		}
		out = append(out, m)
	}
	if len(said) == 0 {
		return list
	}
	text := strings.Join(said, "\n\n")
	first := slices.IndexFunc(out, func(m openai.ChatCompletionMessage) bool { return m.Role == openai.ChatMessageRoleUser })
	switch {
	case first < 0:
		return append([]openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: text}}, out...)
	case len(out[first].MultiContent) > 0:
		out[first].MultiContent = append([]openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: text}}, out[first].MultiContent...)
	default:
		out[first].Content = strings.TrimSpace(text + "\n\n" + out[first].Content)
	}
	return out
}

func withoutImages(parts []openai.ChatMessagePart) string {
	var b strings.Builder
	for _, p := range parts {
		if p.ImageURL == nil {
			b.WriteString(p.Text)
			continue
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(p.ImageURL.URL, "data:"), ";")
		b.WriteString("\n[an image (" + kind + ") was left out: this model takes no images]")
	}
	return strings.TrimSpace(b.String())
}
