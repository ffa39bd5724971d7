package openai

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentls/agent"
)

func TestHTTP2(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("spoke %s", r.Proto)
		}
		answerHello(w)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	l, err := New(Options{BaseURL: srv.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	if r, err := l.Complete(t.Context(), prompt, nil); err != nil || r.Text != "Hello there" {
		t.Errorf("%q, %v", r.Text, err)
	}
}

func TestRedirectsStayAtTheOrigin(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the other origin was asked, Authorization %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	for _, c := range []struct {
		name   string
		status int
		to     string
		ok     bool
	}{
		{"307 within", 307, "/v2/chat/completions", true},
		{"308 within", 308, "/v2/chat/completions", true},
		{"302 within makes a GET of it", 302, "/v2/chat/completions", false},
		{"307 elsewhere", 307, other.URL + "/v1/chat/completions", false},
		{"301 elsewhere", 301, other.URL, false},
		{"in a circle", 307, "/v1/chat/completions", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v2/chat/completions" {
					if s := readSent(t, r); s.Model != "m" || r.Method != "POST" {
						t.Errorf("%s of %v", r.Method, s)
					}
					answerHello(w)
					return
				}
				w.Header().Set("Location", c.to)
				w.WriteHeader(c.status)
			})
			_, err := l.Complete(t.Context(), prompt, nil)
			if c.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if pe := providerError(t, err); pe.Kind != agent.KindConfig || !strings.Contains(pe.Message, c.to) {
				t.Errorf("%s: %s", pe.Kind, pe.Message)
			}
		})
	}
}
