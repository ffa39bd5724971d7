package openai

import (
	"regexp"
	"slices"

	"github.com/sashabaranov/go-openai"
)

// concessions are what some providers refuse in a request, or ask for. One is
// made when the provider names it in a refusal, and kept for the calls to come
// once it helped.
type concessions uint32

const (
	withThoughts concessions = 1 << iota // reasoning_content with each message of the model
	noThoughts                           // none, not even where it is known
	noMarks                              // nothing that the provider put beside its answers
	dummyMarks                           // Gemini's word for a call whose signature is lost
	shortIDs                             // ids of calls of nine letters and digits
	noSystem                             // the instructions in the user's first message
	newLimit                             // max_completion_tokens in place of max_tokens
	noTemperature
	noStop
	noUsage      // no stream_options
	noImages     // a line of text in place of an image
	noNull       // "" in place of null content beside tool calls
	plainSchemas // tools' schemas in plain words
)

func (c concessions) has(what concessions) bool { return c&what != 0 }

// refusal is an HTTP status of 300 and above with what the provider said, in
// lower case.
type refusal struct {
	status int
	text   string
}

// concession is one, and when it is made.
type concession struct {
	what  concessions
	says  func() *regexp.Regexp // the refusal
	also  []int                 // statuses beside 400 and 422
	helps func(*call) bool      // the request has what it is about; nil: always
}

// offers are tried in this order.
//
//nolint:gochecknoglobals // compiled once, at its first use
var offers = []concession{
	{what: noThoughts, says: pattern(`reasoning_content.{0,80}(not permitted|not allowed|unsupported|not supported|unexpected|unknown|unrecognized|extra)|(not permitted|not allowed|unsupported|unexpected|unknown|unrecognized|extra).{0,80}reasoning_content`), helps: (*call).sendsThoughts},
	{what: withThoughts, says: pattern(`reasoning_content`)},
	{what: dummyMarks, says: pattern(`missing.{0,20}thought_signature|thought_signature.{0,40}(missing|required)`), helps: (*call).hasCalls},
	{what: noMarks, says: pattern(`reasoning_details|thinking_blocks|extra_content|invalid.{0,20}signature`), helps: (*call).hasCalls},
	{what: shortIDs, says: pattern(`tool.?call.?id|tool_use\.id|tool_calls.{0,20}\.id\b`), helps: (*call).hasCalls},
	{what: noSystem, says: pattern(`system role|role.{0,40}(does not support|unsupported).{0,10}system|developer instruction|only user.{0,20}assistant roles`), also: []int{500}},
	{what: newLimit, says: pattern(`max_tokens.{0,200}max_completion_tokens|max_completion_tokens.{0,200}max_tokens`), helps: func(c *call) bool { return c.wishes.maxTokens > 0 }},
	{what: noTemperature, says: pattern(`temperature`), helps: func(c *call) bool { return c.wishes.temperature != nil }},
	{what: noStop, says: pattern(`['"` + "`" + `.]stop['"` + "`" + `]`), helps: func(c *call) bool { return len(c.wishes.stop) > 0 }},
	{what: noUsage, says: pattern(`stream_options|include_usage`)},
	{what: noImages, says: pattern(`image_url|image.{0,60}(not supported|unsupported|not support|not allowed)|(not support|unsupported|no support for|does not accept).{0,40}(image|vision|multimodal)|no endpoints.{0,40}image|at most 0 image|mmproj`), also: []int{404, 500}, helps: (*call).hasImages},
	{what: noNull, says: pattern(`content.{0,200}(null|none|valid string|expected a string|must be a string|required|missing)|(null|none).{0,60}(content|expected a string)|missing.{0,20}content`), also: []int{500}, helps: (*call).hasNull},
	// Of llama.cpp, OpenAI, Anthropic, Gemini, vLLM.
	{what: plainSchemas, says: pattern(`json schema|jsonschema|invalid schema|input_schema|function_declarations|grammar|(tools?|functions?)\b.{0,60}(schema|parameters)`), also: []int{500}, helps: func(c *call) bool { return c.tools }},
}

// concede makes one concession more and reports whether there was one to make.
func (c *call) concede(r *refusal) bool {
	for _, o := range offers {
		status := r.status == 400 || r.status == 422 || slices.Contains(o.also, r.status)
		if status && !c.tried.has(o.what) && (o.helps == nil || o.helps(c)) && o.says().MatchString(r.text) {
			c.tried |= o.what
			return true
		}
	}
	return false
}

func (c *call) any(is func(openai.ChatCompletionMessage) bool) bool {
	return slices.ContainsFunc(c.history, is)
}

func (c *call) hasImages() bool {
	return c.any(func(m openai.ChatCompletionMessage) bool { return len(m.MultiContent) > 0 })
}

func (c *call) hasCalls() bool {
	return c.any(func(m openai.ChatCompletionMessage) bool { return len(m.ToolCalls) > 0 })
}

func (c *call) hasNull() bool {
	return c.any(func(m openai.ChatCompletionMessage) bool { return m.Content == "" && len(m.ToolCalls) > 0 })
}

// sendsThoughts reports whether the request has reasoning that nobody asked for.
func (c *call) sendsThoughts() bool {
	return c.llm.o.Reasons && !c.tried.has(withThoughts) && c.any(func(m openai.ChatCompletionMessage) bool {
		return c.llm.thoughts.about(m.ToolCalls).reasoning != ""
	})
}
