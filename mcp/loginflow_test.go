package mcp

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// Who logs in: only what is remote, started and without an Authorization
// header; a project's server not before it is trusted. MCP.md 71.
func TestServersWithoutALogin(t *testing.T) {
	t.Parallel()
	h, as, srv := protected(t, mcptest.HTTPOptions{}, mcptest.AuthOptions{}, mcptest.Protection{})
	h.person(nil)
	h.login()
	configured := remoteConfig("header", srv.URL)
	configured.Headers = map[string]string{"authorization": "Bearer configured-token"}
	project := remoteConfig("project", srv.URL)
	project.Project = true
	broken := remoteConfig("broken", "http://127.0.0.1:1/mcp")
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL), configured, project, broken, fakeConfig(t, "program", mcptest.Options{})})
	h.started()
	for name, want := range map[string]error{"header": ErrNoLogin, "program": ErrNoLogin, "project": ErrNotReady, "nobody": ErrUnknownServer} {
		if _, err := h.Login(t.Context(), name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := h.FinishLogin(t.Context(), name, "http://127.0.0.1:1/callback?code=a&state=b"); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, _, err := h.Logout(t.Context(), name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		if h.LoginWanted(name) {
			t.Errorf("%s wants a login", name)
		}
	}
	if i := h.status("header"); i.Status != StatusNeedsLogin || !strings.Contains(i.Error, `"headers"`) || strings.Contains(i.Error, "agentls.mcp.login") {
		t.Errorf("%+v", i)
	}
	for _, r := range srv.Requests() {
		if r.Header.Get("Authorization") == "Bearer configured-token" && r.Status == http.StatusOK {
			t.Error("the header was replaced by the login")
		}
	}
	if n := len(as.Requests("/authorize")); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// Whoever gives up a login ends it, unless another one waits for it too.
func TestLoginsThatAreGivenUp(t *testing.T) {
	t.Parallel()
	h, as, _ := protected(t, mcptest.HTTPOptions{}, mcptest.AuthOptions{}, mcptest.Protection{})
	pages := make(chan LoginRequest, 10)
	h.person(func(l LoginRequest) { pages <- l })
	enough := errors.New("enough")
	type outcome struct {
		ServerInfo
		error
	}
	begin := func() (context.CancelCauseFunc, chan outcome) {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan outcome, 1)
		go func() {
			info, err := h.Login(ctx, "fake")
			done <- outcome{info, err}
		}()
		return cancel, done
	}
	first, firstDone := begin()
	page := <-pages
	second, secondDone := begin()
	if again := <-pages; again.URL != page.URL {
		t.Errorf("another page: %s", again.URL)
	}
	first(enough)
	if o := <-firstDone; !errors.Is(o.error, enough) {
		t.Errorf("%v", o.error)
	}
	mcptest.Browse(t, page.URL)
	if o := <-secondDone; o.error != nil || o.Status != StatusReady {
		t.Errorf("%+v", o)
	}
	second(nil)
	if _, was, _, _ := h.Logout(t.Context(), "fake"); !was {
		t.Error("there was no login")
	}
	last, lastDone := begin()
	page = <-pages
	last(enough)
	if o := <-lastDone; !errors.Is(o.error, enough) {
		t.Errorf("%v", o.error)
	}
	before := len(as.Requests("/token"))
	if _, err := h.FinishLogin(t.Context(), "fake", mcptest.Elsewhere(t, page.URL)); err == nil {
		t.Error("a login that was given up was finished")
	}
	if n := len(as.Requests("/token")) - before; n != 0 {
		t.Errorf("%d codes were sent", n)
	}
}

// A login whose page nobody can be shown, or a person refuses, ends at once;
// and so does one when the manager ends.
func TestLoginsThatNobodySees(t *testing.T) {
	t.Parallel()
	h, _, _ := protected(t, mcptest.HTTPOptions{}, mcptest.AuthOptions{}, mcptest.Protection{})
	if _, err := h.Login(t.Context(), "fake"); !errors.Is(err, errLoginUnseen) {
		t.Errorf("%v", err)
	}
	go func() { r := <-h.Requests(); r.Reply(RequestAnswer{Decline: true}) }()
	if _, err := h.Login(t.Context(), "fake"); !errors.Is(err, errLoginDeclined) {
		t.Errorf("%v", err)
	}
	taken := make(chan Request, 1)
	go func() { r := <-h.Requests(); r.Reply(RequestAnswer{Accept: true}); taken <- r }()
	ended := make(chan error, 1)
	go func() {
		_, err := h.Login(t.Context(), "fake")
		ended <- err
	}()
	r := <-taken
	within(t, 2*time.Second, "the end", h.Close)
	if err := <-ended; !errors.Is(err, errStopped) {
		t.Errorf("%v", err)
	}
	select {
	case <-r.Done:
	default:
		t.Error("the question is still open")
	}
	if _, err := h.Login(t.Context(), "fake"); err == nil {
		t.Error("a login after the end")
	}
}

// A login that cannot be kept holds, and is told of.
func TestLoginThatCannotBeKept(t *testing.T) {
	t.Parallel()
	h, _, _ := protected(t, mcptest.HTTPOptions{}, mcptest.AuthOptions{}, mcptest.Protection{})
	h.person(nil)
	const newer = `{"version":99}`
	if err := os.WriteFile(h.logins.File(), []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	h.login()
	h.await("fake", EventProblem)
	if e := h.kind("fake", EventProblem)[0]; !strings.Contains(e.Text, "until agentls ends") || !strings.Contains(e.Text, "newer version") {
		t.Errorf("%+v", e)
	}
	if data, _ := os.ReadFile(h.logins.File()); string(data) != newer {
		t.Errorf("%s", data)
	}
}

// A call that is refused for want of a login has done nothing: it is made once
// more on the next connection, and its outcome is known.
func TestCallThatWantsALogin(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		h, srv := remote(t, o)
		eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
		srv.Break(mcptest.Call("echo"), mcptest.Unauthorized("Bearer"))
		if _, err := h.call("fake", "echo", nil); !errors.Is(err, ErrNeedsLogin) || errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("%v", err)
		}
		if n := len(srv.Requests(mcptest.Call("echo"))); n != 2 {
			t.Errorf("called %d times", n)
		}
	})
}

// A login ends with its server: nobody is kept waiting for a page of what was
// taken out, or is another one by now.
func TestLoginOfAServerThatIsTakenOut(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(*house, ServerConfig){
		"taken out": func(h *house, _ ServerConfig) { h.Configure(nil) },
		"moved":     func(h *house, c ServerConfig) { c.URL += "?other"; h.Configure([]ServerConfig{c}) },
		"disabled": func(h *house, _ ServerConfig) {
			if _, err := h.Disable("fake"); err != nil {
				h.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _, srv := protected(t, mcptest.HTTPOptions{}, mcptest.AuthOptions{}, mcptest.Protection{})
			pages := make(chan LoginRequest, 10)
			h.person(func(l LoginRequest) { pages <- l })
			done := make(chan error, 1)
			go func() {
				_, err := h.Login(t.Context(), "fake")
				done <- err
			}()
			<-pages
			then(h, remoteConfig("fake", srv.URL))
			within(t, 10*time.Second, "the end of the login", func() {
				if err := <-done; !errors.Is(err, errLoginGone) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// A login that is ending is not joined: the next one waits for its end, or as
// long as it likes.
func TestLoginAfterOneThatIsGivenUp(t *testing.T) {
	t.Parallel()
	h, _, _ := protected(t, mcptest.HTTPOptions{}, mcptest.AuthOptions{}, mcptest.Protection{})
	h.person(nil)
	_, g, err := h.loginOf("fake")
	if err != nil {
		t.Fatal(err)
	}
	ending := &loginFlow{guard: g, left: true, done: make(chan struct{})}
	h.Manager.mu.Lock()
	h.flows["fake"] = ending
	h.Manager.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Login(ctx, "fake"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := h.Login(t.Context(), "fake")
		done <- err
	}()
	h.Manager.mu.Lock()
	delete(h.flows, "fake")
	h.Manager.mu.Unlock()
	close(ending.done)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A login is forgotten also where its server was not asked since we run.
func TestLogoutOfADisabledServer(t *testing.T) {
	t.Parallel()
	h, as, srv := protected(t, mcptest.HTTPOptions{}, mcptest.AuthOptions{}, mcptest.Protection{})
	h.person(nil)
	h.login()
	next := newHouse(t, Options{LoginsFile: h.logins.File()}, fast())
	cfg := remoteConfig("fake", srv.URL)
	cfg.Disabled = true
	next.Configure([]ServerConfig{cfg})
	info, was, rest, err := next.Logout(t.Context(), "fake")
	if !was || rest != nil || err != nil || info.Status != StatusDisabled {
		t.Errorf("%+v, %v, %v, %v", info, was, rest, err)
	}
	if n := len(as.Requests("/revoke")); n != 2 {
		t.Errorf("%d tokens revoked", n)
	}
	if kept, err := os.ReadFile(h.logins.File()); err != nil || strings.Contains(string(kept), "accessToken") {
		t.Errorf("%s, %v", kept, err)
	}
}
