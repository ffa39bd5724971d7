package openai

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
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

// ravitemer/mcphub.nvim#87, charmbracelet/crush#2065: the proxy of the
// environment broke loopback, or was not used at all. net/http reads the
// environment once, so the test runs itself again with the proxy set.
func TestProxyIsUsedButNotForLoopback(t *testing.T) {
	if os.Getenv("HTTP_PROXY") != "" && os.Getenv("AGENTLS_TEST_LOOPBACK") != "" {
		for _, base := range []string{os.Getenv("AGENTLS_TEST_LOOPBACK"), strings.Replace(os.Getenv("AGENTLS_TEST_LOOPBACK"), "127.0.0.1", "localhost", 1), "http://provider.invalid/v1"} {
			l, err := New(Options{BaseURL: base, Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			if r, err := l.Complete(t.Context(), prompt, nil); err != nil || r.Text != "Hello there" {
				t.Errorf("%s: %q, %v", base, r.Text, err)
			}
			l.Close()
		}
		return
	}
	var proxied, direct []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied = append(proxied, r.URL.Host)
		answerHello(w)
	}))
	defer proxy.Close()
	loopback := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		direct = append(direct, r.Host)
		answerHello(w)
	}))
	defer loopback.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyIsUsedButNotForLoopback$")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(strings.ToUpper(kv), "NO_PROXY=") || strings.HasPrefix(kv, "http_proxy=")
	}), "HTTP_PROXY="+proxy.URL, "AGENTLS_TEST_LOOPBACK="+loopback.URL+"/v1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !slices.Equal(proxied, []string{"provider.invalid"}) || len(direct) != 2 {
		t.Errorf("through the proxy %v, directly %v", proxied, direct)
	}
}
