package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"agentls/agent"
	"agentls/mcp"
)

// Options says which model of which provider, and how to reach it.
type Options struct {
	// BaseURL is everything before /chat/completions, such as
	// http://127.0.0.1:11434/v1. A query in it stays (Azure's api-version).
	BaseURL string
	APIKey  string // may be empty
	// KeyHeader is the header that takes the key as it is; empty: Authorization,
	// as a bearer token, or Azure's own at an address of Azure.
	KeyHeader string
	Model     string // may be empty where only Models is called
	// ContextWindow in tokens is named when a conversation does not fit; 0: unknown.
	ContextWindow int
	Headers       map[string]string // added to each request, over our own
	// ExtraBody is merged into the body of each completion over what agentls
	// sends; null takes a field out. messages and stream cannot be changed.
	ExtraBody map[string]json.RawMessage
	// Reasons: the provider wants the reasoning before a tool call back with it.
	Reasons bool
	// Ollama: it is one, which is also known by its port.
	Ollama bool
	// IdleTimeout is the longest silence of the provider, before the headers
	// and between two reads of the answer. 0: two minutes.
	IdleTimeout time.Duration
	// HTTP is cloned for the connections to the provider: its proxy and its
	// certificates count. Nil: those of net/http.
	HTTP *http.Transport
	// Secrets are kept out of errors and the log, and so are the key and the
	// headers given here; may be nil.
	Secrets *mcp.Secrets
	Log     *slog.Logger // retries are told here; may be nil
}

const defaultIdle = 2 * time.Minute

// LLM is one model of one provider. It is safe for concurrent use.
type LLM struct {
	o        Options
	url      *url.URL // BaseURL without what New takes off
	client   *http.Client
	failures failures
	limits   limits

	thoughts *thoughts
	ollama   *ollama // nil: it is none

	mu       sync.Mutex
	learned  concessions     // what this provider was found not to take
	noticed  map[string]bool // of what a person was told
	mostTold int             // tokens, that it counted of a request
}

// New returns the LLM that o describes. It makes no connection; an error is a
// [*agent.ProviderError] of kind config.
func New(o Options) (*LLM, error) {
	f := newFailures(o)
	u, err := url.Parse(strings.TrimSpace(o.BaseURL))
	switch {
	case err != nil:
		return nil, f.config("the provider's baseURL %q is no URL: give something like http://127.0.0.1:11434/v1", o.BaseURL)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, f.config("the provider's baseURL %q is no http or https URL: give something like http://127.0.0.1:11434/v1", o.BaseURL)
	}
	u.Path = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"), "/")
	u.RawPath, u.Fragment = "", ""
	if isAzure(u) {
		o.KeyHeader = cmp.Or(o.KeyHeader, azureKeyHeader)
		settleAzure(u, o.Model)
	}
	f.host = u.Host
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = defaultIdle
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &LLM{o: o, url: u, client: newHTTPClient(o.HTTP), failures: f, limits: defaultLimits(), thoughts: newThoughts(), ollama: newOllama(o, u)}, nil
}

// Close closes the connections that no completion uses. The LLM can still be
// used afterwards.
func (l *LLM) Close() { l.client.CloseIdleConnections() }

// Complete implements [agent.LLM]. Tool calls are given whole or not at all:
// the Response of a failure has none.
func (l *LLM) Complete(ctx context.Context, req agent.Request, on func(agent.Delta)) (agent.Response, error) {
	if on == nil {
		on = func(agent.Delta) {}
	}
	if l.o.Model == "" {
		return agent.Response{}, l.failures.config("no model is set for %s: set the provider's model", l.url.Host)
	}
	a := answer{limit: l.limits.answer}
	norm, err := l.stream(ctx, req, &a, on)
	switch {
	case err == nil:
		r := a.response()
		l.thoughts.keep(r, norm)
		l.noticeCut(req, r.Usage, on)
		return r, nil
	case ctx.Err() != nil:
		return a.partial(), context.Cause(ctx)
	}
	err = l.failures.wrap(err)
	if e, ok := errors.AsType[*noModelError](err); ok {
		err = l.nearestModel(ctx, e.said, err)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return a.partial(), err
}

// stream makes the call and reads its answer into a. It gives what knows the
// marks that the provider put beside its answer.
func (l *LLM) stream(ctx context.Context, req agent.Request, a *answer, on func(agent.Delta)) (*normaliser, error) {
	c := &call{llm: l, history: messages(req.Messages), tools: len(req.Tools) > 0, wishes: wishes{req.MaxTokens, req.Temperature, req.Stop}, tried: l.concessions(), on: on}
	cfg := openai.DefaultConfig("") // the key is put on with the other headers
	cfg.BaseURL = l.url.String()    // for go-openai only; call.Do sets the URL
	cfg.HTTPClient = c
	s, err := openai.NewClientWithConfig(cfg).CreateChatCompletionStream(ctx, translate(req))
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // it drains; nothing is left to be told
	for {
		chunk, err := s.Recv()
		if err != nil {
			if c.body.finished() {
				l.noticeImages(c)
				return &c.body.norm, nil
			}
			pe := *agent.AsProviderError(l.failures.wrap(err))
			pe.Began = true
			return nil, &pe
		}
		if !a.add(chunk, on) {
			return nil, l.failures.provider("%s sent an answer of model %q over %d MiB: it was cut off; ask for less at once", l.url.Host, l.o.Model, a.limit>>20)
		}
	}
}

// endpoint is the URL of a path below the base.
func (l *LLM) endpoint(path string) string {
	u := *l.url
	u.Path += path
	return u.String()
}

// header puts on h what each request to the provider carries.
func (l *LLM) header(h http.Header) {
	switch {
	case l.o.APIKey == "":
	case l.o.KeyHeader != "":
		h.Set(l.o.KeyHeader, l.o.APIKey)
	default:
		h.Set("Authorization", "Bearer "+l.o.APIKey)
	}
	h.Set("User-Agent", "agentls")
	for k, v := range l.o.Headers {
		h.Set(k, v)
	}
}

func (l *LLM) concessions() concessions {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.takesNoImages() {
		return l.learned | noImages
	}
	return l.learned
}

func (l *LLM) learn(c concessions) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.learned |= c
}

// limits bound what a provider may send, and how long it is waited for.
type limits struct {
	event  int           // bytes of one event, or of an answer that is no stream
	stream int64         // bytes of a whole stream
	answer int           // bytes of text, reasoning and arguments
	failed int64         // bytes read of an error's body
	tail   time.Duration // silence after the finish reason that ends an answer
	wait   time.Duration // before the second try; it doubles
	drain  time.Duration // wait for the end of the body, so that the connection can be used again
}

func defaultLimits() limits {
	return limits{
		event: 8 << 20, stream: 256 << 20, answer: 16 << 20, failed: 64 << 10,
		wait: 500 * time.Millisecond, tail: 3 * time.Second, drain: 100 * time.Millisecond,
	}
}
