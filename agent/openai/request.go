package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

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
func amend(plain []byte, history []openai.ChatCompletionMessage, l *LLM, c concessions, w wishes) ([]byte, error) {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(plain, &body); err != nil {
		return nil, err
	}
	model, err := json.Marshal(l.o.Model)
	if err != nil {
		return nil, err
	}
	body["model"] = model
	if body["messages"], err = (writer{l, c}).messages(history); err != nil {
		return nil, err
	}
	if c.has(noUsage) {
		delete(body, "stream_options")
	}
	if c.has(plainSchemas) && given(body["tools"]) {
		body["tools"] = plainTools(body["tools"])
	}
	w.put(body, c)
	for k, v := range l.o.ExtraBody {
		switch {
		case k == "messages" || k == "stream":
		case !given(v):
			delete(body, k)
		case !json.Valid(v):
			return nil, fmt.Errorf("%s is no JSON", k)
		case (k == fieldMaxTokens || k == fieldNewMaxTokens) && w.maxTokens > 0:
			w.bound(body, k, v)
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

// wishes are what a request asks of its answer beside what each asks. They
// are not go-openai's to write: it leaves out a temperature of 0.
type wishes struct {
	maxTokens   int // 0: none
	temperature *float64
	stop        []string
}

// The two names of the limit of an answer: what all understand, and what
// OpenAI's newer models want.
const (
	fieldMaxTokens    = "max_tokens"
	fieldNewMaxTokens = "max_completion_tokens"
)

// put puts them into the body, less what this provider was found not to take.
func (w wishes) put(body map[string]json.RawMessage, c concessions) {
	set := func(name string, v any) {
		if raw, err := json.Marshal(v); err == nil { // no number that JSON has not
			body[name] = raw
		}
	}
	switch {
	case w.maxTokens > 0 && c.has(newLimit):
		set(fieldNewMaxTokens, w.maxTokens)
	case w.maxTokens > 0:
		set(fieldMaxTokens, w.maxTokens)
	}
	if w.temperature != nil && !c.has(noTemperature) {
		set("temperature", *w.temperature)
	}
	if len(w.stop) > 0 && !c.has(noStop) {
		set("stop", w.stop[:min(len(w.stop), maxStops)])
	}
}

// maxStops is how many sequences providers take.
const maxStops = 4

// bound puts the user's own limit into the body, under the name that the user
// gave it, unless the wish is lower.
func (w wishes) bound(body map[string]json.RawMessage, name string, own json.RawMessage) {
	delete(body, fieldMaxTokens)
	delete(body, fieldNewMaxTokens)
	var n float64
	if json.Unmarshal(own, &n) != nil || n > float64(w.maxTokens) {
		own = json.RawMessage(strconv.Itoa(w.maxTokens))
	}
	body[name] = own
}
