package openai

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"agentls/agent"
)

// Model implements [agent.Described]. The window that a model is loaded with
// counts where a larger one is configured.
func (l *LLM) Model() agent.Model {
	m := agent.Model{Provider: l.url.Host, Name: l.o.Model, ContextWindow: cmp.Or(l.o.ContextWindow, knownWindow(l.o.Model))}
	if window, advice := l.served(); window > 0 && (l.o.ContextWindow == 0 || window < l.o.ContextWindow) {
		m.ContextWindow, m.Advice = window, advice
	}
	return m
}

// Look finds out how the model is served without loading it, as far as its
// server tells.
func (l *LLM) Look(ctx context.Context) agent.Model {
	if l.ollama != nil {
		l.look(ctx, false)
	}
	return l.Model()
}

// windows are the context windows of well-known models, by how their names
// begin; a longer beginning stands before a shorter one. Local models are not
// among them: their server sets the window.
//
//nolint:gochecknoglobals // a constant table
var windows = []struct {
	begin  string
	tokens int
}{
	{"gpt-5", 272000}, // of its 400000 the rest is for the answer
	{"gpt-4.1", 1047576},
	{"gpt-4o", 128000},
	{"gpt-4-turbo", 128000},
	{"gpt-4-1106", 128000},
	{"gpt-4-0125", 128000},
	{"gpt-4-32k", 32768},
	{"gpt-4", 8192},
	{"gpt-3.5-turbo", 16385},
	{"o1-mini", 128000},
	{"o1-preview", 128000},
	{"o1", 200000},
	{"o3", 200000},
	{"o4-mini", 200000},
	{"claude", 200000},
	{"gemini-1.5", 1048576},
	{"gemini-2", 1048576},
	{"gemini-3", 1048576},
	{"deepseek-chat", 128000},
	{"deepseek-reasoner", 128000},
}

// knownWindow returns the context window of a model that only its maker
// serves, 0 where it is not known. Some providers put the maker before the
// name.
func knownWindow(model string) int {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, w := range windows {
		rest, ok := strings.CutPrefix(name, w.begin)
		if ok && (rest == "" || strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, ".") || w.begin == "gpt-4o") {
			return w.tokens
		}
	}
	return 0
}

// tellsWindow are the ways in which providers say how much a model takes, in
// lower case: OpenAI and vLLM, llama.cpp, llama-cpp-python, SGLang, LM Studio,
// Anthropic, Gemini, Mistral, xAI, TGI, Cohere, Groq.
//
//nolint:gochecknoglobals // compiled once, at its first use
var tellsWindow = pattern(strings.Join([]string{
	`maximum (?:context|prompt|model|input) length (?:is|of) (\d+)`,
	`context size \((\d+) tokens`,
	`context window of (\d+)`,
	`context length \((\d+) tokens`,
	`context length of only (\d+)`,
	`tokens > (\d+) maximum`,
	`\d+ \+ \d+ > (\d+)`,
	`maximum number of tokens allowed \((\d+)`,
	`model with (\d+) maximum context`,
	`must be <= (\d+)`,
	`cannot exceed (\d+)`,
	`limit (\d+), requested`,
}, "|"))

// windowIn returns the context window that an error tells of; 0: none.
func windowIn(text string) int {
	found := tellsWindow().FindStringSubmatch(text)
	for _, digits := range found[min(1, len(found)):] {
		if n, err := strconv.Atoi(digits); err == nil {
			return n
		}
	}
	return 0
}
