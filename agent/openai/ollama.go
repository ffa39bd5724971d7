package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"agentls/agent"
)

// ollama knows what Ollama does with a model that it serves. Ollama loads each
// with a context window of its own choice, 4096 tokens for most, and drops from
// the front what is longer, without a word; its OpenAI-compatible API neither
// tells the window nor sets it.
type ollama struct {
	turn chan struct{} // one at a time asks

	mu     sync.Mutex
	window int  // in tokens, that the model is loaded with; 0: not known
	most   int  // that the model itself could take; 0: not known
	shown  bool // /api/show has answered
	blind  bool // the model takes no images
	loaded bool // its loading was asked for
}

// ollamaPort is where Ollama listens where nothing else is said.
const ollamaPort = "11434"

func newOllama(o Options, u *url.URL) *ollama {
	if !o.Ollama && u.Port() != ollamaPort {
		return nil
	}
	return &ollama{turn: make(chan struct{}, 1)}
}

// The bounds of asking: it may run elsewhere, and what is not told in time is
// not known. Loading a model takes as long as the answer would wait for it.
const ollamaTime = 2 * time.Second

// look asks how the model is served. With load the model is loaded where it is
// not, as the answer would do in any case: only then its window is known.
func (l *LLM) look(ctx context.Context, load bool) {
	o := l.ollama
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return
	}
	l.show(ctx)
	running := l.running(ctx)
	o.mu.Lock()
	load = load && !running && !o.loaded && !strings.HasSuffix(l.o.Model, "cloud")
	o.loaded = o.loaded || load
	o.mu.Unlock()
	if load && l.askOllama(ctx, "/api/generate", map[string]any{"model": l.o.Model, "stream": false}, l.o.IdleTimeout, nil) {
		l.running(ctx)
	}
}

// show asks once what the model could do.
func (l *LLM) show(ctx context.Context) {
	o := l.ollama
	o.mu.Lock()
	shown := o.shown
	o.mu.Unlock()
	var told struct {
		Parameters   string                     `json:"parameters"`
		Info         map[string]json.RawMessage `json:"model_info"`
		Capabilities []string                   `json:"capabilities"`
	}
	if shown || !l.askOllama(ctx, "/api/show", map[string]any{"model": l.o.Model}, ollamaTime, &told) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shown = true
	o.blind = len(told.Capabilities) > 0 && !slices.Contains(told.Capabilities, "vision")
	for key, value := range told.Info {
		if strings.HasSuffix(key, ".context_length") {
			o.most, _ = number(value)
		}
	}
	if m := ownWindow().FindStringSubmatch(told.Parameters); m != nil {
		o.window, _ = strconv.Atoi(m[1])
	}
}

// ownWindow is the window that a Modelfile sets.
//
//nolint:gochecknoglobals // compiled once, at its first use
var ownWindow = pattern(`(?m)^num_ctx\s+"?(\d{1,9})"?\s*$`)

// running asks with which window the model is loaded, and reports whether it is.
func (l *LLM) running(ctx context.Context) bool {
	var told struct {
		Models []struct {
			Name, Model string
			Window      json.RawMessage `json:"context_length"`
		}
	}
	if !l.askOllama(ctx, "/api/ps", nil, ollamaTime, &told) {
		return false
	}
	for _, m := range told.Models {
		if !isModel(m.Name, l.o.Model) && !isModel(m.Model, l.o.Model) {
			continue
		}
		if n, _ := number(m.Window); n > 0 { // older versions do not tell
			l.ollama.mu.Lock()
			l.ollama.window = n
			l.ollama.mu.Unlock()
		}
		return true
	}
	return false
}

func isModel(name, want string) bool {
	return strings.EqualFold(name, want) || strings.EqualFold(name, want+":latest")
}

// askOllama makes one request of Ollama's own API and reports whether it was
// answered. ask is the body of a POST; nil: a GET.
func (l *LLM) askOllama(ctx context.Context, path string, ask any, limit time.Duration, into any) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	u := url.URL{Scheme: l.url.Scheme, Host: l.url.Host, User: l.url.User, Path: strings.TrimSuffix(l.url.Path, "/v1") + path}
	method, body := http.MethodGet, []byte(nil)
	if ask != nil {
		method, body = http.MethodPost, encoded(ask)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	l.header(req.Header)
	resp, err := l.client.Do(req)
	if err != nil {
		return false
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(l.limits.event)))
	_ = resp.Body.Close()
	return err == nil && resp.StatusCode == http.StatusOK && (into == nil || json.Unmarshal(data, into) == nil)
}

// smallWindow is what an agent can hardly work with: its instructions and tools
// alone take some thousands of tokens.
const smallWindow = 16384

// served is the window that the model is loaded with, and what to say about
// one that is small; 0 and "" where it is not known.
func (l *LLM) served() (window int, advice string) {
	o := l.ollama
	if o == nil {
		return 0, ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.window == 0 || o.window >= smallWindow || o.most > 0 && o.most <= o.window {
		return o.window, ""
	}
	better := 32768
	could := ""
	if o.most > 0 {
		better = min(better, o.most)
		could = fmt.Sprintf(", of the %d that it could take", o.most)
	}
	return o.window, fmt.Sprintf("Ollama at %s has loaded the model %q with a context window of %d tokens%s: set OLLAMA_CONTEXT_LENGTH=%d where Ollama starts and start it anew, or make a model with `PARAMETER num_ctx %d` in its Modelfile",
		l.url.Host, l.o.Model, o.window, could, better, better)
}

// Prepare implements [agent.Preparing].
func (l *LLM) Prepare(ctx context.Context, on func(agent.Delta)) {
	if l.ollama == nil {
		return
	}
	l.look(ctx, true)
	if _, advice := l.served(); advice != "" {
		l.notice("window", on, advice)
	}
}
