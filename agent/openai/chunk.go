package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
)

// wireChunk is the one form of a chunk that go-openai gets to see.
type wireChunk struct {
	Choices []wireChoice `json:"choices"`
	Usage   *wireUsage   `json:"usage,omitempty"`
}

type wireChoice struct {
	Delta        wireDelta `json:"delta"`
	FinishReason string    `json:"finish_reason,omitempty"`
}

type wireDelta struct {
	Content          string     `json:"content,omitempty"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []wireCall `json:"tool_calls,omitempty"`
}

type wireCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments,omitempty"`
	} `json:"function"`
}

type wireUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	Details          struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// rawChunk is a chunk as providers send it: only what is certain has a type.
type rawChunk struct {
	Choices []rawChoice     `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Object  json.RawMessage `json:"object"`
	Type    json.RawMessage `json:"type"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
}

type rawChoice struct {
	Index        json.RawMessage `json:"index"`
	Delta        *rawDelta       `json:"delta"`
	Message      *rawDelta       `json:"message"` // of a completion that is no stream
	FinishReason json.RawMessage `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
	Usage        json.RawMessage `json:"usage"` // Kimi
}

type rawDelta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          json.RawMessage `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	Thinking         json.RawMessage `json:"thinking"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"` // OpenRouter
	ThinkingBlocks   json.RawMessage `json:"thinking_blocks"`   // LiteLLM, of Anthropic
	ToolCalls        []rawCall       `json:"tool_calls"`
	FunctionCall     *rawFunction    `json:"function_call"`
}

type rawCall struct {
	Index    json.RawMessage `json:"index"`
	ID       json.RawMessage `json:"id"`
	Function rawFunction     `json:"function"`
	Extra    json.RawMessage `json:"extra_content"`
}

type rawFunction struct {
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// normaliser turns the chunks of one answer, and a completion that is no
// stream, into wireChunks.
type normaliser struct {
	slots    slots
	tags     thinkTags
	details  thoughtParts // by the name of the field that they came in
	seen     bool         // a choice came
	finished bool         // a finish reason came
}

// rest is a chunk of what is held back, when no other comes; ok is false when
// there is none.
func (n *normaliser) rest() (out wireChunk, ok bool) {
	var c wireChoice
	c.Delta.Content, c.Delta.ReasoningContent = n.tags.flush()
	return wireChunk{Choices: []wireChoice{c}}, !c.empty()
}

// chunk normalises one chunk. ok is false when there is nothing in it to pass
// on; failed is set when it tells of an error; err means that it is no chunk.
func (n *normaliser) chunk(data []byte) (out wireChunk, ok bool, failed *apiError, err error) {
	var raw rawChunk
	if err := json.Unmarshal(data, &raw); err != nil {
		return out, false, nil, err
	}
	if failed := raw.failure(data); failed != nil {
		return out, false, failed, nil
	}
	out.Choices = []wireChoice{}
	for _, c := range raw.Choices {
		if i, given := number(c.Index); given && i != 0 {
			continue // one answer was asked for
		}
		n.seen = true
		choice := n.choice(c)
		if choice.FinishReason != "" {
			n.finished = true
		}
		out.Choices = append(out.Choices, choice)
		if !given(raw.Usage) {
			raw.Usage = c.Usage
		}
		ok = ok || !choice.empty()
	}
	out.Usage = usage(raw.Usage)
	return out, ok || out.Usage != nil, nil, nil
}

func (c wireChoice) empty() bool {
	return c.FinishReason == "" && c.Delta.Content == "" && c.Delta.ReasoningContent == "" && len(c.Delta.ToolCalls) == 0
}

// failure finds the error that a chunk may hold in place of, or beside, its
// choices.
func (r rawChunk) failure(data []byte) *apiError {
	if given(r.Error) {
		return parseAPIError(data)
	}
	for _, c := range r.Choices {
		if given(c.Error) {
			return parseAPIError(c.Error)
		}
		if text(c.FinishReason) == "error" {
			return &apiError{Message: "it ended the answer with an error that it does not name"}
		}
	}
	if len(r.Choices) == 0 && (text(r.Object) == "error" || text(r.Type) == "error" || given(r.Message) || given(r.Detail)) {
		return parseAPIError(data)
	}
	return nil
}

func (n *normaliser) choice(c rawChoice) wireChoice {
	out := wireChoice{FinishReason: finishReason(text(c.FinishReason))}
	d := c.Delta
	if d == nil {
		d = c.Message
	}
	if d == nil {
		return out
	}
	said, thought := content(d.Content)
	for _, r := range []json.RawMessage{d.ReasoningContent, d.Reasoning, d.Thinking} {
		if thought == "" {
			thought, _ = content(r)
		}
	}
	for _, parts := range []struct {
		field string
		raw   json.RawMessage
	}{{"reasoning_details", d.ReasoningDetails}, {"thinking_blocks", d.ThinkingBlocks}} {
		if told := n.details.take(parts.field, parts.raw); thought == "" {
			thought = told
		}
	}
	said, tagged := n.tags.take(said)
	thought += tagged
	if out.FinishReason != "" || len(d.ToolCalls) > 0 || d.FunctionCall != nil {
		more, held := n.tags.flush()
		said, thought = said+more, thought+held
	}
	out.Delta.Content, out.Delta.ReasoningContent = said+text(d.Refusal), thought
	for _, rc := range d.ToolCalls {
		out.Delta.ToolCalls = append(out.Delta.ToolCalls, n.slots.call(rc)...)
	}
	if d.FunctionCall != nil && len(d.ToolCalls) == 0 {
		out.Delta.ToolCalls = n.slots.call(rawCall{Index: json.RawMessage("0"), Function: *d.FunctionCall})
	}
	return out
}

// finishReason maps the words of other APIs to OpenAI's.
func finishReason(s string) string {
	switch s = strings.ToLower(s); s {
	case "end_turn", "eos", "stop_sequence":
		return "stop"
	case "max_tokens":
		return "length"
	case "tool_use", "function_call":
		return "tool_calls"
	}
	return s
}

// content reads a text that may be a string, null, or a list of parts; parts
// of type thinking are told apart.
func content(raw json.RawMessage) (said, thought string) {
	if !given(raw) {
		return "", ""
	}
	if raw[0] == '"' {
		return text(raw), ""
	}
	if raw[0] == '{' {
		raw = json.RawMessage("[" + string(raw) + "]")
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		var part struct {
			Text     json.RawMessage `json:"text"`
			Refusal  json.RawMessage `json:"refusal"`
			Thinking json.RawMessage `json:"thinking"`
		}
		if len(p) > 0 && p[0] == '"' {
			said += text(p)
		} else if json.Unmarshal(p, &part) == nil {
			said += text(part.Text) + text(part.Refusal)
			if given(part.Thinking) && part.Thinking[0] == '[' {
				inner, _ := content(part.Thinking)
				thought += inner
			} else {
				thought += text(part.Thinking)
			}
		}
	}
	return said, thought
}

func usage(raw json.RawMessage) *wireUsage {
	if !given(raw) {
		return nil
	}
	var u struct {
		Prompt     json.RawMessage `json:"prompt_tokens"`
		Completion json.RawMessage `json:"completion_tokens"`
		Total      json.RawMessage `json:"total_tokens"`
		Details    struct {
			Cached json.RawMessage `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Hit    json.RawMessage `json:"prompt_cache_hit_tokens"` // DeepSeek
		Cached json.RawMessage `json:"cached_tokens"`           // Kimi
	}
	if json.Unmarshal(raw, &u) != nil {
		return nil
	}
	var out wireUsage
	for _, n := range []json.RawMessage{u.Details.Cached, u.Hit, u.Cached} {
		if told, _ := number(n); told > 0 {
			out.Details.CachedTokens = told
		}
	}
	out.PromptTokens, _ = number(u.Prompt)
	out.CompletionTokens, _ = number(u.Completion)
	out.TotalTokens, _ = number(u.Total)
	if out.TotalTokens == 0 {
		out.TotalTokens = out.PromptTokens + out.CompletionTokens
	}
	return &out
}

// given reports whether a field is there and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// text is a JSON string, or "".
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// number is a JSON number from 0 to a billion as an int; floats are cut.
func number(raw json.RawMessage) (int, bool) {
	var f float64
	if !given(raw) || json.Unmarshal(raw, &f) != nil {
		return 0, false
	}
	return int(math.Max(0, math.Min(f, 1e9))), true
}
