package openai

import (
	"encoding/json"
	"strings"

	"github.com/sashabaranov/go-openai"

	"agentls/agent"
)

// noText stands where a tool gave nothing: half the providers refuse a tool
// message without content, others an empty one.
const noText = "(empty)"

// messages makes the history as far as go-openai can express it.
func messages(history []agent.Message) []openai.ChatCompletionMessage {
	var out []openai.ChatCompletionMessage
	for _, m := range history {
		if m.Role == agent.Assistant && m.Text == "" && len(m.ToolCalls) == 0 {
			continue // says nothing, and some providers refuse it
		}
		out = append(out, message(m))
	}
	return out
}

func message(m agent.Message) openai.ChatCompletionMessage {
	out := openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Text, ToolCallID: m.ToolCallID}
	if m.Role == agent.ToolRole && strings.TrimSpace(m.Text) == "" {
		out.Content = noText
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{ID: c.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{
			Name: sentName(c.Name), Arguments: sentArguments(c.Arguments),
		}})
	}
	if len(m.Images) == 0 {
		return out
	}
	out.Content = ""
	if m.Text != "" {
		out.MultiContent = append(out.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: m.Text})
	}
	for _, i := range m.Images {
		out.MultiContent = append(out.MultiContent, openai.ChatMessagePart{
			Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: "data:" + i.MIMEType + ";base64," + i.Data},
		})
	}
	return out
}

//nolint:gochecknoglobals // compiled once, at its first use
var nameChars = pattern(`[^A-Za-z0-9_-]`)

// sentName makes the name of a tool that a model invented one that providers
// take: a name that they refuse would spoil the history for good.
func sentName(name string) string {
	name = nameChars().ReplaceAllString(name, "_")
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), 64)]
}

// maxBroken bounds what is sent back of arguments that are no JSON.
const maxBroken = 1000

// sentArguments makes of what a model wrote the JSON object that providers
// ask for in a history.
func sentArguments(args string) string {
	args = strings.TrimSpace(args)
	if args == "" || args == "null" {
		return "{}"
	}
	if args[0] == '{' && json.Valid([]byte(args)) {
		return args
	}
	var inner string // the object as a string in a string
	if json.Unmarshal([]byte(args), &inner) == nil {
		if inner = strings.TrimSpace(inner); strings.HasPrefix(inner, "{") && json.Valid([]byte(inner)) {
			return inner
		}
	}
	args = strings.ToValidUTF8(args[:min(len(args), maxBroken)], "")
	out, err := json.Marshal(map[string]string{"malformed_arguments": args})
	if err != nil {
		return "{}"
	}
	return string(out)
}

// writeMessages writes the history. Each message gets what go-openai leaves
// out: a content, the reasoning where the provider asks for it, and the marks
// that the provider put on its calls.
func writeMessages(list []openai.ChatCompletionMessage, c concessions, t *thoughts) (json.RawMessage, error) {
	out := []byte{'['}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if len(m.MultiContent) > 0 && c.noImages {
			m.Content, m.MultiContent = withoutImages(m.MultiContent), nil
		}
		more, err := missing(&m, c, t)
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
func missing(m *openai.ChatCompletionMessage, c concessions, t *thoughts) (out []byte, err error) {
	if m.Content == "" && len(m.MultiContent) == 0 {
		if len(m.ToolCalls) > 0 && !c.noNull {
			out = append(out, `"content":null,`...)
		} else {
			out = append(out, `"content":"",`...)
		}
	}
	if m.Role != openai.ChatMessageRoleAssistant {
		return out, nil
	}
	reasoning, marks := t.about(m.ToolCalls)
	if c.thoughts {
		raw, err := json.Marshal(reasoning)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, `"reasoning_content":`...), raw...), ',')
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
