package openai

import (
	"net/http"
	"testing"
)

func TestWindowOfKnownModels(t *testing.T) {
	for model, want := range map[string]int{
		"gpt-4o": 128000, "gpt-4o-mini-2024-07-18": 128000, "openai/gpt-4.1-mini": 1047576, "gpt-4": 8192, "gpt-4-0613": 8192,
		"gpt-4-turbo-2024-04-09": 128000, "gpt-3.5-turbo": 16385, "gpt-5-mini": 272000, "o1-mini": 128000, "o1": 200000, "o3-mini": 200000,
		"anthropic/claude-sonnet-4": 200000, "Claude-3-5-haiku": 200000, "google/gemini-2.5-pro": 1048576, "gemini-3-pro-preview": 1048576, "deepseek-chat": 128000,
		"": 0, "llama3.1:8b": 0, "gpt-oss:20b": 0, "gpt-45": 0, "o100": 0, "qwen2.5-coder": 0, "deepseek-r1:7b": 0,
	} {
		if got := knownWindow(model); got != want {
			t.Errorf("%q: %d, want %d", model, got, want)
		}
	}
	l := serve(t, func(http.ResponseWriter, *http.Request) {}, func(o *Options) { o.Model, o.ContextWindow = "gpt-4o", 5000 })
	if m := l.Model(); m.ContextWindow != 5000 || m.Name != "gpt-4o" || m.Provider != l.url.Host {
		t.Errorf("the configured window: %+v", m)
	}
}

// What providers say of their window, word for word.
func TestWindowOfARefusal(t *testing.T) {
	for body, want := range map[string]int{
		`{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.","code":"context_length_exceeded"}}`: 8192,
		`{"error":{"message":"Bad request","code":"context_length_exceeded"}}`: 0,
		`{"error":{"code":400,"message":"request (25056 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":25056,"n_ctx":2048}}`:              2048,
		`{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":25056,"n_ctx":4096}}`: 4096,
		`{"error":{"message":"Requested tokens (5000) exceed context window of 4096"}}`:                                                                           4096,
		`{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096."}}`:                                               4096,
		`{"message":"The input (5000 tokens) is longer than the model's context length (4096 tokens)."}`:                                                          4096,
		`{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens."}`:      4096,
		`{"error":"prompt too long; exceeded max context length by 1000 tokens"}`:                                                                                 0,
		`{"error":{"message":"prompt is too long: 213462 tokens > 200000 maximum"}}`:                                                                              200000,
		"{\"error\":{\"message\":\"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000\"}}":                                               200000,
		`[{"error":{"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."}}]`:                                       1048575,
		`{"message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}`:                                    32768,
		`{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`:                                                        131072,
		"{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens\"}":                                 4096,
		`{"error":{"message":"Request too large for model in organization on tokens per minute (TPM): Limit 6000, Requested 9000","code":"rate_limit_exceeded"}}`: 6000,
		`{"error":{"message":"context length exceeded: maximum context length is 99999999999999999999999"}}`:                                                      0,
	} {
		l := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(body))
		})
		_, err := l.Complete(t.Context(), prompt, nil)
		if pe := providerError(t, err); pe.Kind != "context" || pe.Window != want {
			t.Errorf("%s: %s with window %d, want %d", body, pe.Kind, pe.Window, want)
		}
	}
}
