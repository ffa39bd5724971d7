package openai

import (
	"fmt"
	"strings"

	"agentls/agent"
)

// notice tells a person something about the provider, once for each key.
func (l *LLM) notice(key string, on func(agent.Delta), text string) {
	l.mu.Lock()
	again := l.noticed[key]
	if l.noticed == nil {
		l.noticed = map[string]bool{}
	}
	l.noticed[key] = true
	l.mu.Unlock()
	if again {
		return
	}
	text = oneLine(l.failures.redact(text), 4*maxShown)
	l.o.Log.Info("provider", "host", l.url.Host, "model", l.o.Model, "notice", text)
	on(agent.Delta{Notice: text})
}

// noticeImages tells that images were left out of a request.
func (l *LLM) noticeImages(c *call) {
	if c.tried.has(noImages) && c.hasImages() {
		l.notice("images", c.on, fmt.Sprintf("the model %q at %s takes no images: it is asked without them", l.o.Model, l.url.Host))
	}
}

// What a provider counted may be this much less than the bytes that it was
// sent, or it did not read all of them.
const (
	mostBytes  = 12 // of a token, where a text is all white space and words of code
	fewestTold = 500
)

// noticeCut tells that a provider seems to have cut a request: servers of local
// models drop the front of what does not fit, and say so only by the count. One
// that leaves out of its count what it has cached counted more before.
func (l *LLM) noticeCut(req agent.Request, used agent.Usage, on func(agent.Delta)) {
	l.mu.Lock()
	most := l.mostTold
	l.mostTold = max(most, used.PromptTokens)
	l.mu.Unlock()
	if window, _ := l.served(); window > 0 || used.PromptTokens < max(fewestTold, most) || used.CachedTokens > 0 {
		return
	}
	if n := bytesOf(req); n > mostBytes*used.PromptTokens {
		l.notice("cut", on, fmt.Sprintf("%s counted %d tokens of a request of %d kB for the model %q: it seems to have dropped the rest; start its server with a larger context window, or set contextWindow in the provider's settings to the one that it has",
			l.url.Host, used.PromptTokens, n/1000, l.o.Model))
	}
}

// blind are the beginnings of models' names that take no images. Of others it is
// found out.
//
//nolint:gochecknoglobals // a constant table
var blind = []string{"deepseek-chat", "deepseek-reasoner", "gpt-3.5-turbo", "gpt-4-0613", "gpt-4-32k", "o1-mini", "o3-mini"}

// takesNoImages reports whether that is known of the model.
func (l *LLM) takesNoImages() bool {
	if o := l.ollama; o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.shown {
			return o.blind
		}
	}
	name := strings.ToLower(l.o.Model[strings.LastIndexByte(l.o.Model, '/')+1:])
	for _, b := range blind {
		if rest, ok := strings.CutPrefix(name, b); ok && (rest == "" || rest[0] == '-' || rest[0] == ':') {
			return true
		}
	}
	return name == "gpt-4"
}

// bytesOf is the text of a request, in bytes.
func bytesOf(req agent.Request) (n int) {
	for _, m := range req.Messages {
		n += len(m.Text)
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}
