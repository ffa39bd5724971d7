package agent

import (
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// What messages cost beside their texts, in tokens.
const (
	messageTokens = 4    // its role and its marks
	callTokens    = 8    // likewise
	imageTokens   = 1200 // a flat cost: providers count by size, 85 to 1600
	toolTokens    = 12   // what a provider writes around a tool
)

// Texts up to exactText bytes are counted whole, of longer ones samples.
const (
	exactText   = 8 << 10
	samples     = 8
	sampleBytes = 1 << 10
)

// vocabulary counts the tokens of a text. Each is loaded when it is first
// needed, in some tens of milliseconds and megabytes: never before a history
// comes near its limit. Safe for concurrent use.
type vocabulary struct {
	load func() *codec.Codec
}

// The vocabularies that OpenAI's models have; what others count by is learned
// from what they tell, see [gauge].
//
//nolint:gochecknoglobals // constant data, loaded once
var (
	o200k  = &vocabulary{sync.OnceValue(codec.NewO200kBase)}
	cl100k = &vocabulary{sync.OnceValue(codec.NewCl100kBase)}
)

// vocabularyOf returns the one of a model, the newest where it is not known.
func vocabularyOf(model string) *vocabulary {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, newer := range []string{"gpt-4o", "gpt-4.1", "gpt-4.5"} {
		if strings.HasPrefix(name, newer) {
			return o200k
		}
	}
	if strings.HasPrefix(name, "gpt-4") || strings.HasPrefix(name, "gpt-3.5") {
		return cl100k
	}
	return o200k
}

// count returns the tokens of a text; of a long one about.
func (v *vocabulary) count(text string) int {
	if len(text) <= exactText {
		return v.exact(text)
	}
	n := 0
	stride := len(text) / samples
	for i := range samples {
		n += v.exact(clipEnd(clipStart(text[i*stride:][:sampleBytes])))
	}
	return int(float64(n) * float64(len(text)) / (samples * sampleBytes))
}

func (v *vocabulary) exact(text string) int {
	if text == "" {
		return 0
	}
	n, err := v.load().Count(text)
	if err != nil { // it counts any text; if not, a byte is a token at most
		return len(text)
	}
	return n
}

// message returns the tokens of a message.
func (v *vocabulary) message(m Message) int {
	n := messageTokens + v.count(m.Text) + imageTokens*len(m.Images)
	for _, c := range m.ToolCalls {
		n += callTokens + v.count(c.Name) + v.count(c.Arguments)
	}
	return n
}

// answer returns the tokens of a model's answer.
func (v *vocabulary) answer(resp Response) int {
	return v.message(Message{Text: resp.Text, ToolCalls: resp.ToolCalls}) + v.count(resp.Reasoning)
}

// atMost bounds the tokens of a message without a vocabulary: a token has a
// byte at least.
func (m Message) atMost() int {
	n := messageTokens + len(m.Text) + imageTokens*len(m.Images)
	for _, c := range m.ToolCalls {
		n += callTokens + len(c.Name) + len(c.Arguments)
	}
	return n
}

// tokens estimates what a tool costs: schemas have three to four bytes a token.
func (t ToolSpec) tokens() int {
	return toolTokens + (len(t.Name)+len(t.Description)+len(t.Schema))/3
}

func toolsTokens(specs []ToolSpec) (n int) {
	for _, t := range specs {
		n += t.tokens()
	}
	return n
}

// counted are the tokens of messages, each counted once: a history that grew
// costs what is new. Comparing equal strings costs nothing where they are the
// same memory, as they are from one request to the next.
type counted struct {
	vocabulary *vocabulary
	messages   []Message
	tokens     []int
}

// of returns the tokens of each message.
func (c *counted) of(v *vocabulary, messages []Message) []int {
	if c.vocabulary != v {
		*c = counted{vocabulary: v}
	}
	known := min(len(c.messages), len(messages))
	c.messages, c.tokens = c.messages[:known], c.tokens[:known]
	for i, m := range messages {
		switch {
		case i == known:
			known++
			c.messages = append(c.messages, m)
			c.tokens = append(c.tokens, v.message(m))
		case !sameTexts(c.messages[i], m):
			c.messages[i], c.tokens[i] = m, v.message(m)
		}
	}
	return c.tokens
}

// sameTexts reports whether two messages cost the same.
func sameTexts(a, b Message) bool {
	if a.Text != b.Text || len(a.Images) != len(b.Images) || len(a.ToolCalls) != len(b.ToolCalls) {
		return false
	}
	for i := range a.ToolCalls {
		if a.ToolCalls[i].Name != b.ToolCalls[i].Name || a.ToolCalls[i].Arguments != b.ToolCalls[i].Arguments {
			return false
		}
	}
	return true
}
