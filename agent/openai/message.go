package openai

import (
	"encoding/json"
	"regexp"
	"strings"

	"agentls/agent"

	"github.com/sashabaranov/go-openai"
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

var nameChars = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// sentName makes the name of a tool that a model invented one that providers
// take: a name that they refuse would spoil the history for good.
func sentName(name string) string {
	name = nameChars.ReplaceAllString(name, "_")
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

// writeMessages writes the history, each message with a content. Assistants
// that only call tools get null, as OpenAI writes it, or "" where that is
// refused.
func writeMessages(list []openai.ChatCompletionMessage, c concessions) (json.RawMessage, error) {
	out := []byte{'['}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if len(m.MultiContent) > 0 && c.noImages {
			m.Content, m.MultiContent = withoutImages(m.MultiContent), nil
		}
		raw, err := m.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if m.Content == "" && len(m.MultiContent) == 0 { // go-openai leaves the key out
			content := `{"content":"",`
			if len(m.ToolCalls) > 0 && !c.noNull {
				content = `{"content":null,`
			}
			out, raw = append(out, content...), raw[1:] // a role follows in any case
		}
		out = append(out, raw...)
	}
	return append(out, ']'), nil
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
