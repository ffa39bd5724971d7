package openai

import (
	"strings"
)

// concessions are what some providers refuse in a request, or ask for. One is
// made when the provider names it in a refusal, and kept for the calls to come
// once it helped.
type concessions struct {
	noUsage  bool // no stream_options
	noNull   bool // "" in place of null content beside tool calls
	noImages bool // a line of text in place of an image
	thoughts bool // reasoning_content with each message of the model
	plain    bool // tools' schemas in plain words
	// newLimit: max_completion_tokens in place of max_tokens.
	newLimit, noTemperature, noStop bool
}

func (c concessions) or(d concessions) concessions {
	return concessions{
		c.noUsage || d.noUsage, c.noNull || d.noNull, c.noImages || d.noImages, c.thoughts || d.thoughts, c.plain || d.plain,
		c.newLimit || d.newLimit, c.noTemperature || d.noTemperature, c.noStop || d.noStop,
	}
}

// refusal is an HTTP status of 300 and above with what the provider said, in
// lower case.
type refusal struct {
	status int
	text   string
}

//nolint:gochecknoglobals // compiled once, at its first use
var (
	namesUsage  = pattern(`stream_options|include_usage`)
	namesLimit  = pattern(`max_tokens.{0,200}max_completion_tokens|max_completion_tokens.{0,200}max_tokens`)
	namesStop   = pattern(`['"` + "`" + `.]stop['"` + "`" + `]`)
	namesNull   = pattern(`content.{0,200}(null|none|valid string|expected a string|must be a string|required|missing)|(null|none).{0,60}(content|expected a string)|missing.{0,20}content`)
	namesImages = pattern(`image_url|image.{0,60}(not supported|unsupported|not support|not allowed)|(not support|unsupported|no support for|does not accept).{0,40}(image|vision|multimodal)|no endpoints.{0,40}image|at most 0 image|mmproj`)
	// Of llama.cpp, OpenAI, Anthropic, Gemini, vLLM.
	namesSchema = pattern(`json schema|jsonschema|invalid schema|input_schema|function_declarations|grammar|(tools?|functions?)\b.{0,60}(schema|parameters)`)
)

// concede makes one concession more and reports whether there was one to make.
func (c *call) concede(r *refusal) bool {
	client := r.status == 400 || r.status == 422
	switch {
	case client && !c.tried.thoughts && strings.Contains(r.text, "reasoning_content"):
		c.tried.thoughts = true
	case client && !c.tried.newLimit && c.wishes.maxTokens > 0 && namesLimit().MatchString(r.text):
		c.tried.newLimit = true
	case client && !c.tried.noTemperature && c.wishes.temperature != nil && strings.Contains(r.text, "temperature"):
		c.tried.noTemperature = true
	case client && !c.tried.noStop && len(c.wishes.stop) > 0 && namesStop().MatchString(r.text):
		c.tried.noStop = true
	case client && !c.tried.noUsage && namesUsage().MatchString(r.text):
		c.tried.noUsage = true
	case (client || r.status == 404 || r.status == 500) && !c.tried.noImages && c.hasImages() && namesImages().MatchString(r.text):
		c.tried.noImages = true
	case (client || r.status == 500) && !c.tried.noNull && c.hasNull() && namesNull().MatchString(r.text):
		c.tried.noNull = true
	case (client || r.status == 500) && !c.tried.plain && c.tools && namesSchema().MatchString(r.text):
		c.tried.plain = true
	default:
		return false
	}
	return true
}

func (c *call) hasImages() bool {
	for _, m := range c.history {
		if len(m.MultiContent) > 0 {
			return true
		}
	}
	return false
}

func (c *call) hasNull() bool {
	for _, m := range c.history {
		if m.Content == "" && len(m.ToolCalls) > 0 {
			return true
		}
	}
	return false
}
