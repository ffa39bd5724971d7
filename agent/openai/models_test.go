package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"agentls/agent"
)

func TestModels(t *testing.T) {
	for body, want := range map[string]string{
		`{"object":"list","data":[{"id":"b","created":1.5},{"id":"a"},{"id":"a"},{"object":"model"},null]}`:                                                                       "b a",
		`{"data":[{"id":"text-embedding-3","created":9},{"id":"old","created":1},{"id":"new","created":5},{"id":"gpt-image-1","created":8},{"id":"odd","created":"2024-01-01"}]}`: "new old odd text-embedding-3 gpt-image-1",
		`{"models":[{"name":"x:7b","model":"x:7b"},{"name":"y"}]}`:                                                                                                                "x:7b y",
		`{"models":[],"data":[{"id":"z"}]}`: "z",
		`[{"id":"q"}]`:                      "q",
		`["one","two"]`:                     "one two",
		`{"data":[]}`:                       "",
	} {
		l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "GET" || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") == "" {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			_, _ = w.Write([]byte(body))
		})
		if names, err := l.Models(t.Context()); err != nil || strings.Join(names, " ") != want {
			t.Errorf("%s: %v, %v", body, names, err)
		}
	}
	for body, kind := range map[string]agent.ErrorKind{`<html>hi</html>`: agent.KindProvider, `{"ok":true}`: agent.KindProvider, ``: agent.KindProvider} {
		l := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(body)) }, func(o *Options) { o.Model = "" })
		_, err := l.Models(t.Context())
		if pe := providerError(t, err); pe.Kind != kind || strings.Contains(pe.Message, `""`) {
			t.Errorf("%q: %s: %s", body, pe.Kind, pe.Message)
		}
	}
	l := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401) })
	if _, err := l.Models(t.Context()); providerError(t, err).Kind != agent.KindAuth {
		t.Error(err)
	}
	l = serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	brief, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := l.Models(brief); !strings.Contains(providerError(t, err).Message, "no answer in time") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	l = serve(t, func(w http.ResponseWriter, r *http.Request) { cancel(errStop); <-r.Context().Done() })
	if _, err := l.Models(ctx); !errors.Is(err, errStop) {
		t.Error(err)
	}
}
