package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentls/agent"
	"agentls/mcp/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main() // the test binary is also the fake MCP server
	goleak.VerifyTestMain(m)
}

// serve starts a provider on loopback and gives an LLM that talks to it, with
// waits between tries short enough for a test.
func serve(t testing.TB, h http.HandlerFunc, change ...func(*Options)) *LLM {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Only a server that has read the request sees the client hang up.
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	o := Options{BaseURL: srv.URL + "/v1", APIKey: "sk-test-secret-0123456789", Model: "m"}
	for _, f := range change {
		f(&o)
	}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l.limits.wait = time.Millisecond
	t.Cleanup(l.Close)
	return l
}

// sent is the body of a request as a provider reads it.
type sent struct {
	Model         string           `json:"model"`
	Stream        bool             `json:"stream"`
	StreamOptions map[string]any   `json:"stream_options"`
	Messages      []map[string]any `json:"messages"`
	Tools         []map[string]any `json:"tools"`
	Extra         json.RawMessage  `json:"thinking"`
	Effort        string           `json:"reasoning_effort"`
}

func readSent(t testing.TB, r *http.Request) (s sent) {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		t.Errorf("request body: %v\n%s", err, data)
	}
	return s
}

func say(w http.ResponseWriter, lines ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, l := range lines {
		_, _ = io.WriteString(w, "data: "+l+"\n\n")
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}

const (
	hello = `{"choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}`
	there = `{"choices":[{"index":0,"delta":{"content":"there"},"finish_reason":"stop"}]}`
	done  = `[DONE]`
)

func answerHello(w http.ResponseWriter) { say(w, hello, there, done) }

var prompt = agent.Request{Messages: []agent.Message{{Role: agent.User, Text: "hi"}}}

func providerError(t testing.TB, err error) *agent.ProviderError {
	t.Helper()
	pe, ok := errors.AsType[*agent.ProviderError](err)
	if !ok {
		t.Fatalf("error %v (%T), want a ProviderError", err, err)
	}
	return pe
}

func TestNewRefusesBadBaseURLs(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:11434/v1", "localhost", "ftp://x/v1", "http://", "http://[::1/v1", "::"} {
		l, err := New(Options{BaseURL: base, Model: "m"})
		if err == nil {
			t.Errorf("%q: accepted as %v", base, l.url)
			continue
		}
		if pe := providerError(t, err); pe.Kind != agent.KindConfig || !strings.Contains(pe.Message, "baseURL") {
			t.Errorf("%q: %s: %s", base, pe.Kind, pe.Message)
		}
	}
}

func TestBaseURLIsWhatUsersWrite(t *testing.T) {
	for base, want := range map[string]string{
		"/v1":                                 "/v1/chat/completions",
		"/v1/":                                "/v1/chat/completions",
		"":                                    "/chat/completions",
		"/v1/chat/completions":                "/v1/chat/completions",
		"/openai/deployments/d?api-version=1": "/openai/deployments/d/chat/completions?api-version=1",
	} {
		var got string
		l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.URL.String()
			answerHello(w)
		}, func(o *Options) { o.BaseURL = strings.TrimSuffix(o.BaseURL, "/v1") + base })
		if _, err := l.Complete(t.Context(), prompt, nil); err != nil || got != want {
			t.Errorf("base %q: asked %q, want %q (%v)", base, got, want, err)
		}
	}
}

func TestDeltasComeOnTheCallersGoroutineInOrder(t *testing.T) {
	gate := make(chan struct{})
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		say(w, hello)
		<-gate // the first delta must be through before the second is sent
		say(w, there, done)
	})
	var got []string
	r, err := l.Complete(t.Context(), prompt, func(d agent.Delta) {
		if got = append(got, d.Text); len(got) == 1 {
			close(gate)
		}
	})
	if err != nil || r.Text != "Hello there" || strings.Join(got, "|") != "Hello |there" {
		t.Errorf("%q %v: %v", r.Text, got, err)
	}
}

func TestHeadersAndKey(t *testing.T) {
	var got http.Header
	var host string
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, host = r.Header.Clone(), r.Host
		answerHello(w)
	}, func(o *Options) { o.Headers = map[string]string{"X-Title": "agentls", "user-agent": "me"} })
	if _, err := l.Complete(t.Context(), prompt, nil); err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]string{"Authorization": "Bearer sk-test-secret-0123456789", "X-Title": "agentls", "User-Agent": "me", "Content-Type": "application/json", "Accept": "text/event-stream"} {
		if got.Get(k) != want {
			t.Errorf("%s: %q, want %q", k, got.Get(k), want)
		}
	}
	if host != l.url.Host {
		t.Errorf("Host %q", host)
	}
	l = serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		answerHello(w)
	}, func(o *Options) { o.APIKey = "" })
	if _, err := l.Complete(t.Context(), prompt, nil); err != nil || got.Get("Authorization") != "" {
		t.Errorf("without a key: Authorization %q, %v", got.Get("Authorization"), err)
	}
}

func TestNoModel(t *testing.T) {
	l := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") }, func(o *Options) { o.Model = "" })
	_, err := l.Complete(t.Context(), prompt, nil)
	if pe := providerError(t, err); pe.Kind != agent.KindConfig || !strings.Contains(pe.Message, "no model is set") {
		t.Errorf("%s: %s", pe.Kind, pe.Message)
	}
}

// The prefixes that go-openai refuses tools or parameters for.
func TestModelNamesAreTheProvidersMatter(t *testing.T) {
	req := agent.Request{Messages: prompt.Messages, Tools: []agent.ToolSpec{{Name: "t", Description: "d"}}}
	for _, model := range []string{"o1", "o3-local:7b", "o4-mini", "gpt-5", "gpt-6-sol", "gpt-6.1-sol", "gpt-6-astra", "gpt-3.5-turbo-instruct", "davinci-002", `odd "name" <7b>`} {
		var got sent
		l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = readSent(t, r)
			answerHello(w)
		}, func(o *Options) { o.Model = model })
		if _, err := l.Complete(t.Context(), req, nil); err != nil || got.Model != model || len(got.Tools) != 1 || !got.Stream {
			t.Errorf("%s: sent %q with %d tools, %v", model, got.Model, len(got.Tools), err)
		}
	}
}

func TestConcurrentCompletions(t *testing.T) {
	l := serve(t, func(w http.ResponseWriter, r *http.Request) { answerHello(w) })
	errs := make(chan error)
	for range 8 {
		go func() { // ends with its completion, which is waited for below
			r, err := l.Complete(context.Background(), prompt, nil)
			if err == nil && r.Text != "Hello there" {
				err = errors.New("got " + r.Text)
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
