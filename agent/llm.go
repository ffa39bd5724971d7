package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// LLM is a language model behind some provider.
//
// Complete streams one answer: on is called for each delta, on the caller's
// goroutine, before Complete returns. When it fails, the Response holds what
// had arrived. A cancelled ctx closes the provider's connection and returns
// context.Cause(ctx) or an error that wraps ctx.Err(); every other failure is
// a [*ProviderError].
type LLM interface {
	Complete(ctx context.Context, req Request, on func(Delta)) (Response, error)
}

// Preparing is an [LLM] that finds out how its model is served before a request
// is put together for it; what [Described] tells may be another thing then.
// Prepare returns soon after ctx ends.
type Preparing interface {
	Prepare(ctx context.Context, on func(Delta))
}

// Request is one call of the model.
type Request struct {
	Messages []Message
	Tools    []ToolSpec
	// What follows is of a server's sampling. A provider may not heed it.
	MaxTokens   int      // of the answer, reasoning included; 0: the provider's own
	Temperature *float64 // nil: likewise
	Stop        []string
}

// Role of a message, as OpenAI names them.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of a history.
type Message struct {
	Role       Role       `json:"role"`
	Text       string     `json:"text,omitempty"`
	Images     []Image    `json:"images,omitempty"` // user messages only
	ToolCalls  []ToolCall `json:"toolCalls,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"` // tool messages: the call that this answers
	Stored     string     `json:"stored,omitempty"`     // likewise: read_result's id of the whole, where Text is cut
}

// Image is an image for the model.
type Image struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"` // base64
}

// ToolCall is a call that the model asks for.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`      // as given in ToolSpec
	Arguments string `json:"arguments"` // as the model wrote it; may be no JSON
}

// ToolSpec offers a tool to the model.
type ToolSpec struct {
	Name        string          // [A-Za-z0-9_-]{1,64}
	Description string          // never empty
	Schema      json.RawMessage // a JSON Schema of type object
}

// Delta is a piece of a streamed answer, or tells that there is none yet.
type Delta struct {
	Text      string
	Reasoning string
	// Waits says that the provider failed and when it is asked again: a few
	// words for a person, no secret in them.
	Waits string
	// Notice is a sentence that the person should know of the answer, or of how
	// the model is served; no secret in it.
	Notice string
}

// Response is a finished answer.
type Response struct {
	Text         string
	Reasoning    string
	ToolCalls    []ToolCall // each with an ID that is unique in the answer
	FinishReason string     // stop, length, tool_calls, content_filter …
	Usage        Usage
}

// Usage counts tokens; zero where the provider does not tell.
type Usage struct {
	PromptTokens     int `json:"promptTokens"`
	CompletionTokens int `json:"completionTokens"`
	TotalTokens      int `json:"totalTokens"`
	CachedTokens     int `json:"cachedTokens,omitempty"` // of the prompt's, those that the provider had from before
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.PromptTokens + v.PromptTokens, u.CompletionTokens + v.CompletionTokens, u.TotalTokens + v.TotalTokens, u.CachedTokens + v.CachedTokens}
}

// ErrorKind sorts the failures of a run (CONTRACT §4, data.kind).
type ErrorKind string

// The kinds.
const (
	KindProvider  ErrorKind = "provider"
	KindAuth      ErrorKind = "auth"
	KindRateLimit ErrorKind = "rateLimit"
	KindContext   ErrorKind = "context"
	KindNetwork   ErrorKind = "network"
	KindConfig    ErrorKind = "config"
	KindInternal  ErrorKind = "internal"
)

// ProviderError is a failure of a provider, in words that a user can act on.
type ProviderError struct {
	Kind      ErrorKind
	Message   string // a sentence, no secret in it
	Retryable bool
	Window    int   // of a KindContext: the context window that the provider tells, in tokens; 0: it does not
	Began     bool  // the answer had begun when it broke off
	Err       error // the cause, may be nil
}

func (e *ProviderError) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *ProviderError) Unwrap() error { return e.Err }

// lasts reports whether every further request would fail likewise, until a
// person changes something.
func (e *ProviderError) lasts() bool { return e.Kind == KindAuth || e.Kind == KindConfig }

// AsProviderError gives err as a [*ProviderError], made of an unknown one as
// an internal failure.
func AsProviderError(err error) *ProviderError {
	if pe, ok := errors.AsType[*ProviderError](err); ok {
		return pe
	}
	return &ProviderError{Kind: KindInternal, Message: fmt.Sprintf("internal error: %v", err), Err: err}
}
