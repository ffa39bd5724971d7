package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/openai"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

func environment(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// recorder is a proxy that answers itself, by handler, and notes for whom.
type recorder struct {
	mu    sync.Mutex
	hosts []string
	auth  []string
}

func (p *recorder) serve(t *testing.T, handler http.Handler) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.hosts = append(p.hosts, r.URL.Host+r.URL.Path)
		p.auth = append(p.auth, r.Header.Get("Proxy-Authorization"))
		p.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func (p *recorder) asked(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.hosts, func(h string) bool { return strings.Contains(h, host) })
}

// ready starts one remote server and returns what became of it.
func ready(t *testing.T, transport *http.Transport, url string) mcp.ServerInfo {
	t.Helper()
	m := mcp.NewManager(mcp.Options{Name: "agentls", Version: "test", HTTP: func() *http.Transport { return transport }})
	defer m.Close()
	m.Configure([]mcp.ServerConfig{{Name: "remote", Source: "user", Type: "http", URL: url, StartupTimeout: 20 * time.Second}})
	m.WaitStarted(t.Context())
	return m.Servers()[0]
}

// ravitemer/mcphub.nvim#87, charmbracelet/crush#2065: the proxy of the
// environment broke loopback, or was not used at all.
func TestProxyIsUsedButNotForLoopback(t *testing.T) {
	fake := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	model := httptest.NewServer(http.HandlerFunc(provide))
	t.Cleanup(model.Close)
	for _, name := range []string{"HTTP_PROXY", "http_proxy"} {
		t.Run(name, func(t *testing.T) {
			var p recorder
			proxy := p.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/mcp") {
					fake.ServeHTTP(w, r)
					return
				}
				provide(w, r)
			}))
			secrets := mcp.NewSecrets()
			transport, problems := newTransport(environment(map[string]string{name: strings.Replace(proxy.URL, "//", "//me:proxy-password@", 1)}), secrets)
			if problems != nil {
				t.Fatal(problems)
			}
			t.Cleanup(transport.CloseIdleConnections)
			localhost := strings.Replace(fake.URL, "127.0.0.1", "localhost", 1)
			for _, url := range []string{fake.URL, localhost, "http://mcp.invalid/mcp"} {
				if i := ready(t, transport, url); i.Status != mcp.StatusReady {
					t.Errorf("%+v", i)
				}
			}
			for _, base := range []string{model.URL + "/v1", "http://model.invalid/v1"} {
				l, err := openai.New(openai.Options{BaseURL: base, Model: "m", HTTP: transport})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				r, err := l.Complete(t.Context(), agent.Request{Messages: []agent.Message{{Role: agent.User, Text: "hello"}}}, nil)
				if err != nil || r.Text != "Hello from the model." {
					t.Errorf("%s: %q, %v", base, r.Text, err)
				}
			}
			if p.asked("127.0.0.1") || p.asked("localhost") || !p.asked("mcp.invalid/mcp") || !p.asked("model.invalid/v1") {
				t.Errorf("through the proxy: %v", p.hosts)
			}
			if slices.Contains(p.auth, "") {
				t.Errorf("%v", p.auth)
			}
			if got := secrets.Redact("proxy-password"); got == "proxy-password" {
				t.Error("the proxy's password is not secret")
			}
		})
	}
}

func TestProxyExceptions(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		url  string
		want string
	}{
		{map[string]string{"HTTPS_PROXY": "http://p:1", "HTTP_PROXY": "http://q:2"}, "https://a.example/", "http://p:1"},
		{map[string]string{"https_proxy": "p:1", "HTTP_PROXY": "http://q:2"}, "https://a.example/", "http://p:1"},
		{map[string]string{"https_proxy": "http://p:1"}, "http://a.example/", ""},
		{map[string]string{"HTTP_PROXY": "http://p:1", "NO_PROXY": ".example"}, "http://a.example/", ""},
		{map[string]string{"HTTP_PROXY": "http://p:1", "no_proxy": "10.0.0.0/8, b.example"}, "http://10.1.2.3/", ""},
		{map[string]string{"HTTP_PROXY": "http://p:1", "no_proxy": "b.example"}, "http://a.example/", "http://p:1"},
		{map[string]string{"HTTP_PROXY": "http://p:1"}, "http://127.0.0.1:8080/", ""},
		{map[string]string{"HTTP_PROXY": "http://p:1"}, "http://127.8.8.8/", ""},
		{map[string]string{"HTTP_PROXY": "http://p:1"}, "http://[::1]:8080/", ""},
		{map[string]string{"HTTP_PROXY": "http://p:1"}, "http://localhost/", ""},
		{map[string]string{"HTTP_PROXY": ""}, "http://a.example/", ""},
	} {
		transport, problems := newTransport(environment(c.env), mcp.NewSecrets())
		req := httptest.NewRequest(http.MethodGet, c.url, nil)
		u, err := transport.Proxy(req)
		got := ""
		if u != nil {
			got = u.String()
		}
		if got != c.want || err != nil || problems != nil {
			t.Errorf("%v for %s: %q, %v, %v", c.env, c.url, got, err, problems)
		}
	}
	for _, value := range []string{"ftp://p:1", "http://p:secret-password@%zz", "://"} {
		transport, problems := newTransport(environment(map[string]string{"HTTP_PROXY": value}), mcp.NewSecrets())
		if len(problems) != 1 || !strings.HasPrefix(problems[0], "HTTP_PROXY is not used: ") || strings.Contains(problems[0], "secret-password") {
			t.Errorf("%s: %v", value, problems)
		}
		if u, err := transport.Proxy(httptest.NewRequest(http.MethodGet, "http://a.example/", nil)); u != nil || err != nil {
			t.Errorf("%s: %v, %v", value, u, err)
		}
	}
}

func TestExtraCertificates(t *testing.T) {
	fake := mcptest.ServeHTTP(t, mcptest.HTTPOptions{TLS: true})
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, c := range []struct {
		name, file string
		trusted    bool
		problem    string
	}{
		{"none", "", false, ""},
		{"its own", write("own.pem", "# ours\n"+string(fake.CertPEM())), true, ""},
		{"no certificate in it", write("empty.pem", "nothing"), false, "holds no certificate"},
		{"not there", filepath.Join(dir, "gone.pem"), false, "gone.pem"},
		{"a folder", dir, false, "is no file"},
		{"too long", write("long.pem", strings.Repeat("x", maxCertificates+1)), false, "is over 8 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			transport, problems := newTransport(environment(map[string]string{"NODE_EXTRA_CA_CERTS": c.file}), mcp.NewSecrets())
			t.Cleanup(transport.CloseIdleConnections)
			told := strings.Join(problems, "; ")
			if (told == "") != (c.problem == "") || !strings.Contains(told, c.problem) || len(problems) > 1 {
				t.Errorf("%v", problems)
			}
			i := ready(t, transport, fake.URL)
			switch {
			case c.trusted && i.Status != mcp.StatusReady:
				t.Errorf("%+v", i)
			case !c.trusted && (i.Status != mcp.StatusFailed || !strings.Contains(i.Error, "certificate")):
				t.Errorf("%+v", i)
			}
		})
	}
}

// A file of certificates that cannot be used is said by doctor, and the rest
// goes on.
func TestDoctorTellsOfTheEnvironment(t *testing.T) {
	var out strings.Builder
	d := &doctor{parts: &parts{secrets: mcp.NewSecrets(), network: func() (*http.Transport, []string) {
		return nil, []string{"HTTP_PROXY is not used: it is no URL"}
	}}, out: &out}
	d.environment()
	if got := out.String(); got != "fix   environment: HTTP_PROXY is not used: it is no URL\n" || !d.bad() {
		t.Errorf("%q, %v", got, d.bad())
	}
}
