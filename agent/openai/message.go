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
