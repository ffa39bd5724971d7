package openai

import (
	"encoding/json"
	"regexp"
	"strings"

	"agentls/agent"

	"github.com/sashabaranov/go-openai"
)

// standIn is the model that go-openai gets to see: it refuses tools and
// parameters by the prefix of a model's name, also where the model is a local
// one of that name. amend puts the true name in.
const standIn = "agentls"

// noText stands where a tool gave nothing: half the providers refuse a tool
// message without content, others an empty one.
const noText = "(empty)"

// translate makes the request as far as go-openai can express it.
func translate(req agent.Request) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{Model: standIn, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	for _, m := range req.Messages {
		if m.Role == agent.Assistant && m.Text == "" && len(m.ToolCalls) == 0 {
			continue // says nothing, and some providers refuse it
		}
		out.Messages = append(out.Messages, message(m))
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: schema(t.Schema),
		}})
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

// schema makes sure that a tool's parameters are an object schema with
// properties; without them some providers refuse the whole request.
func schema(raw json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if string(m["type"]) == `"object"` && given(m["properties"]) {
		return raw
	}
	m["type"] = json.RawMessage(`"object"`)
	if !given(m["properties"]) {
		m["properties"] = json.RawMessage(`{}`)
	}
	out, err := json.Marshal(m)
	if err != nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return out
}

// amend puts into the body what go-openai cannot say: the model's true name,
// content where it leaves the key out, the provider's extra fields, and what
// this provider was found not to take.
func amend(plain []byte, req openai.ChatCompletionRequest, o Options, c concessions) ([]byte, error) {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(plain, &body); err != nil {
		return nil, err
	}
	model, err := json.Marshal(o.Model)
	if err != nil {
		return nil, err
	}
	body["model"] = model
	if body["messages"], err = amendMessages(body["messages"], req.Messages, c); err != nil {
		return nil, err
	}
	if c.noUsage {
		delete(body, "stream_options")
	}
	for k, v := range o.ExtraBody {
		switch {
		case k == "messages" || k == "stream":
		case !given(v):
			delete(body, k)
		default:
			body[k] = v
		}
	}
	return json.Marshal(body)
}

// amendMessages gives each message a content. Assistants that only call tools
// get null, as OpenAI writes it, or "" where that is refused.
func amendMessages(raw json.RawMessage, messages []openai.ChatCompletionMessage, c concessions) (json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	for i, m := range messages {
		content := `""`
		switch {
		case len(m.MultiContent) > 0 && c.noImages:
			text, err := json.Marshal(withoutImages(m.MultiContent))
			if err != nil {
				return nil, err
			}
			list[i] = json.RawMessage(`{"role":"user","content":` + string(text) + `}`)
			continue
		case m.Content != "" || len(m.MultiContent) > 0:
			continue
		case len(m.ToolCalls) > 0 && !c.noNull:
			content = "null"
		}
		// The message is an object with a role, written by go-openai a moment ago.
		list[i] = append(json.RawMessage(`{"content":`+content+`,`), list[i][1:]...)
	}
	if list == nil {
		list = []json.RawMessage{}
	}
	return json.Marshal(list)
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
