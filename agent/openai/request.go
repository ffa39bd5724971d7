package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sashabaranov/go-openai"

	"agentls/agent"
)

// standIn is the model that go-openai gets to see: it refuses tools and
// parameters by the prefix of a model's name, also where the model is a local
// one of that name. amend puts the true name in.
const standIn = "agentls"

// translate makes the request as far as go-openai can express it. It holds no
// messages: amend puts them in, so that a long history is written only once.
func translate(req agent.Request) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{Model: standIn, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: schema(t.Schema),
		}})
	}
	return out
}

// amend puts into the body what go-openai cannot say: the model's true name,
// messages that all have a content, the provider's extra fields; and it leaves
// out what this provider was found not to take.
func amend(plain []byte, history []openai.ChatCompletionMessage, l *LLM, c concessions) ([]byte, error) {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(plain, &body); err != nil {
		return nil, err
	}
	model, err := json.Marshal(l.o.Model)
	if err != nil {
		return nil, err
	}
	body["model"] = model
	if body["messages"], err = writeMessages(history, c, l.thoughts); err != nil {
		return nil, err
	}
	if c.noUsage {
		delete(body, "stream_options")
	}
	if c.plain && given(body["tools"]) {
		body["tools"] = plainTools(body["tools"])
	}
	for k, v := range l.o.ExtraBody {
		switch {
		case k == "messages" || k == "stream":
		case !given(v):
			delete(body, k)
		case !json.Valid(v):
			return nil, fmt.Errorf("%s is no JSON", k)
		default:
			body[k] = v
		}
	}
	return object(body)
}

// object writes values that are known to be JSON. json.Marshal would read
// them all once more, which takes long for a long history.
func object(m map[string]json.RawMessage) ([]byte, error) {
	out := []byte{'{'}
	for i, k := range slices.Sorted(maps.Keys(m)) {
		key, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), m[k]...)
	}
	return append(out, '}'), nil
}
