package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// opener answers window/showDocument as an editor that opens the page, and gives
// what it was asked to open.
func opener(open func(page string)) (answer lsptest.Answer, pages chan string) {
	pages = make(chan string, 10)
	return func(params json.RawMessage) (any, error) {
		var p struct {
			URI      string
			External bool
		}
		_ = json.Unmarshal(params, &p)
		if p.External {
			pages <- p.URI
			if open != nil {
				go open(p.URI) // ends with the login
			}
		}
		return obj{"success": true}, nil
	}, pages
}

func loginWorld(t *testing.T, o mcptest.AuthOptions, p mcptest.Protection, open bool) (*world, *mcptest.AuthServer, *mcptest.HTTPServer, chan string) {
	t.Helper()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	as := mcptest.ServeAuth(t, o)
	as.Protect(srv, p)
	var browse func(string)
	if open {
		browse = func(page string) { mcptest.Browse(t, page) }
	}
	answer, pages := opener(browse)
	w := newWorld(t, setup{
		llm: agenttest.NewLLM(t), answers: map[string]lsptest.Answer{"window/showDocument": answer},
		options: obj{"mcpServers": obj{"remote": obj{"url": srv.URL}}},
	})
	w.awaitStatus("remote", mcp.StatusNeedsLogin)
	return w, as, srv, pages
}

// A login that goes wrong says so in words, and holds no secret.
func TestLoginThatFails(t *testing.T) {
	for says, o := range map[string]mcptest.AuthOptions{
		"the login was refused, by you or by http://127.0.0.1": {Error: "access_denied"},
		"mix up two logins":      {Iss: "https://evil.example"},
		`give "oauth":`:          {Closed: true},
		"does not do PKCE":       {Metadata: map[string]any{"code_challenge_methods_supported": []string{"plain"}}},
		"did not let you log in": {Error: "x](command:evil)"},
	} {
		w, _, _, _ := loginWorld(t, o, mcptest.Protection{}, true)
		err := failure(t, w.StartCommand("agentls.mcp.login", "remote", nil), -32803)
		if !strings.Contains(err.Message, says) || strings.Contains(err.Message, "code-") || strings.Contains(err.Message, "](") {
			t.Errorf("%q does not say %q", err.Message, says)
		}
	}
}

// A cancelled login ends at once; its page is of no use any more.
func TestLoginThatIsCancelled(t *testing.T) {
	w, as, _, pages := loginWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, false)
	p := w.StartCommand("agentls.mcp.login", "remote", nil)
	page := <-pages
	p.Cancel()
	failure(t, p, -32800)
	address := mcptest.Elsewhere(t, page)
	failure(t, w.StartCommand("agentls.mcp.login", obj{"server": "remote", "redirectUrl": address}, nil), -32803)
	if n := len(as.Requests("/token")); n != 0 {
		t.Errorf("%d codes were sent", n)
	}
	outcomes := ""
	for _, line := range commandAs[[]struct{ Tool, Outcome, Reason string }](w, "agentls.audit", nil) {
		outcomes += line.Tool + " " + line.Outcome + "\n"
	}
	if !strings.Contains(outcomes, "login cancelled") {
		t.Errorf("the audit: %s", outcomes)
	}
}

// Two commands for one login are one login; both are answered.
func TestLoginThatIsAskedForTwice(t *testing.T) {
	w, as, _, pages := loginWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, false)
	first := w.StartCommand("agentls.mcp.login", "remote", nil)
	page := <-pages
	second := w.StartCommand("agentls.mcp.login", "remote", nil)
	if again := <-pages; again != page {
		t.Errorf("another page: %s", again)
	}
	mcptest.Browse(t, page)
	for _, p := range []*lsptest.Pending{first, second} {
		if r := result[loginResult](t, p); r.Status != mcp.StatusReady {
			t.Errorf("%+v", r)
		}
	}
	if n := len(as.Requests("/token")); n != 1 {
		t.Errorf("%d codes were sent", n)
	}
}

// MCP.md 68: a call that the login does not reach fails at once with what to
// do; the next login asks for it as well, and the server goes on meanwhile.
func TestLoginThatReachesFurther(t *testing.T) {
	w, as, _, _ := loginWorld(t, mcptest.AuthOptions{}, mcptest.Protection{Scopes: []string{"read"}, Of: map[string][]string{"echo": {"write"}}}, true)
	commandAs[loginResult](w, "agentls.mcp.login", "remote")
	_, err := w.server.o.Manager.CallTool(t.Context(), "remote", "echo", json.RawMessage(`{"text":"x"}`), nil)
	if err == nil || !strings.Contains(err.Error(), "lacks the scope write") || !strings.Contains(err.Error(), "agentls.mcp.login") {
		t.Fatalf("%v", err)
	}
	if i := w.serverInfo("remote"); i.Status != mcp.StatusReady {
		t.Errorf("%+v", i)
	}
	if r := commandAs[loginResult](w, "agentls.mcp.login", "remote"); r.Status != mcp.StatusReady {
		t.Errorf("%+v", r)
	}
	if _, err := w.server.o.Manager.CallTool(t.Context(), "remote", "echo", json.RawMessage(`{"text":"x"}`), nil); err != nil {
		t.Error(err)
	}
	all := as.Requests("/authorize")
	if got := all[len(all)-1].Form.Get("scope"); len(all) != 2 || got != "read write" {
		t.Errorf("%d pages, the last for %q", len(all), got)
	}
}

// Nothing that a login is made of comes to a log, the audit or a message.
func TestLoginsKeepTheirSecrets(t *testing.T) {
	w, as, _, _ := loginWorld(t, mcptest.AuthOptions{Methods: []string{"client_secret_post"}}, mcptest.Protection{}, true)
	commandAs[loginResult](w, "agentls.mcp.login", "remote")
	as.Expire(false)
	if _, err := w.server.o.Manager.CallTool(t.Context(), "remote", "echo", json.RawMessage(`{"text":"x"}`), nil); err != nil {
		t.Fatal(err)
	}
	commandAs[loginResult](w, "agentls.mcp.logout", "remote")
	var secrets []string
	for _, r := range as.Requests("") {
		for _, name := range []string{"code", "code_verifier", "client_secret", "refresh_token", "token"} {
			if v := r.Form.Get(name); v != "" {
				secrets = append(secrets, v)
			}
		}
	}
	if len(secrets) < 6 {
		t.Fatalf("%q", secrets)
	}
	var said strings.Builder
	for _, n := range w.All() {
		said.WriteString(string(n.Params))
	}
	files, _ := filepath.Glob(filepath.Join(w.state, "audit", "*"))
	if len(files) == 0 {
		t.Fatal("no audit")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said.Write(data)
	}
	for _, v := range secrets {
		if strings.Contains(said.String(), v) {
			t.Errorf("%q was told", v)
		}
	}
}

// A host that reads as another one is not opened unasked, and warned about.
func TestLoginAtALookalike(t *testing.T) {
	l, err := mcp.ParseLink("https://аррӏе.example/authorize?x=](y")
	if err != nil {
		t.Fatal(err)
	}
	answer, pages := opener(nil)
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), answers: map[string]lsptest.Answer{"window/showDocument": answer}})
	if a := w.server.showLogin(t.Context(), mcp.Request{Server: "evil](x)", Login: mcp.LoginRequest{Link: l, Scopes: []string{"a", "b\u202e"}}}); !a.Accept {
		t.Errorf("%+v", a)
	}
	w.Await("the message", func() bool { return len(w.messages("window/showMessage")) > 0 })
	text := w.messages("window/showMessage")[0]
	for _, part := range []string{"xn--80ak6aa92e.example", "https://xn--80ak6aa92e.example/authorize?x=]%28y", "it was not opened", "It asks for: a, b."} {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
	if strings.Contains(text, "](") || len(pages) != 0 {
		t.Errorf("%q, %d opened", text, len(pages))
	}
}

// A `/` line logs in and out as the commands do.
func TestSlashLogin(t *testing.T) {
	w, _, _, _ := loginWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, true)
	ask := func(line string) string { return result[agent.Result](t, w.ask(line, nil)).Text }
	for _, c := range []struct{ line, says string }{
		{"/mcp login remote", "remote: you are logged in, and it is ready."},
		{"/mcp login remote", "remote is ready and wants no login."},
		{"/mcp logout remote", "agentls keeps no login of remote any more."},
		{"/mcp logout remote", "agentls keeps no login of remote."},
	} {
		if got := ask(c.line); got != c.says {
			t.Errorf("%s: %q", c.line, got)
		}
	}
}

// Where the browser is on another machine, the address that it ended on is given
// behind the server's name.
func TestLoginByALineAndItsAddress(t *testing.T) {
	w, as, _, pages := loginWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, false)
	first := w.ask("/mcp login remote", nil)
	address := mcptest.Elsewhere(t, <-pages)
	second := result[agent.Result](t, w.ask("/mcp login remote "+address, nil))
	r := result[agent.Result](t, first)
	for _, text := range []string{r.Text, second.Text} {
		if !strings.Contains(text, "you are logged in") || strings.Contains(text, "code") {
			t.Errorf("answered %q", text)
		}
	}
	if n := len(as.Requests("/token")); n != 1 {
		t.Errorf("%d codes were sent", n)
	}
}
