package oauth

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// anthropics/claude-code#59460, aaif-goose/goose#12016, can1357/oh-my-pi#1908:
// 20 calls at the end of a token, in two processes, renew it once; nobody logs
// in or registers again; and each refresh token is used once.
func TestTokensAreRenewedOnce(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"before the end": true, "when it is refused": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
			w.mustLogin()
			w.as.Expire(false)
			if ends {
				l, _ := w.guard.login()
				l.Obtained, l.Expires = time.Now().Add(-time.Hour), time.Now().Add(time.Second)
				if err := w.guard.keep(l); err != nil {
					t.Fatal(err)
				}
			}
			guards := []*Guard{w.guard}
			w.again()
			guards = append(guards, w.guard)
			var calls sync.WaitGroup
			statuses := make([]int, 20)
			for i := range statuses {
				calls.Go(func() {
					u := world{t: t, url: w.url, guard: guards[i%2]}
					statuses[i], _ = u.try(t.Context(), ping)
				})
			}
			calls.Wait()
			for i, status := range statuses {
				if status != 200 {
					t.Errorf("call %d: HTTP %d", i, status)
				}
			}
			if n := len(w.as.Renewals()); n != 1 {
				t.Errorf("renewed %d times", n)
			}
			if len(w.as.Requests("/register")) != 1 || len(w.as.Requests("/authorize")) != 1 {
				t.Error("logged in again")
			}
			for _, r := range w.as.Renewals() {
				if r.Form.Get("resource") != w.url {
					t.Errorf("%v", r.Form)
				}
			}
		})
	}
}

// invalid_grant clears the login: the dead refresh token is not used again,
// and the server is asked without, once.
func TestDeadRefreshToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.mustLogin()
	l, _ := w.guard.login()
	w.as.Expire(true)
	for range 3 {
		w.want(ping, 401)
	}
	if n := len(w.as.Renewals()); n != 1 {
		t.Errorf("%d renewals", n)
	}
	data, err := os.ReadFile(w.file)
	if err != nil || strings.Contains(string(data), l.Refresh) || strings.Contains(string(data), l.Access) {
		t.Errorf("%s, %v", data, err)
	}
	if err := w.login(); err != nil {
		t.Fatal(err)
	}
	w.want(ping, 200)
	if n := len(w.as.Requests("/register")); n != 1 {
		t.Errorf("registered %d times", n)
	}
}

// An authorization server that is away takes nothing from a login.
func TestRenewalThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{Life: 20 * time.Second}, mcptest.Protection{}, Client{})
	w.mustLogin()
	w.as.Break("/token", func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusBadGateway)
		_, _ = rw.Write([]byte("access_token=leaked"))
	})
	w.want(ping, 200) // it is still good
	w.as.Expire(false)
	w.want(ping, 401)
	w.as.Break("/token", nil)
	w.want(ping, 200)

	w = newWorld(t, mcptest.AuthOptions{Life: time.Second}, mcptest.Protection{}, Client{})
	w.mustLogin()
	w.as.Break("/token", func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusBadGateway)
		_, _ = rw.Write([]byte("access_token=leaked"))
	})
	l, _ := w.guard.login()
	<-time.After(time.Until(l.Expires))
	_, err := w.try(t.Context(), ping)
	if err == nil || !strings.Contains(err.Error(), "502") || strings.Contains(err.Error(), "leaked") {
		t.Errorf("%v", err)
	}
	w.hidesAll(err.Error())
}

// A caller that gives up does not lose the new refresh token for all.
func TestRenewalOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.mustLogin()
	w.as.Expire(false)
	asked, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.as.Break("/token", func(rw http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(asked) })
		<-goOn
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"access_token":"later-access","token_type":"bearer","refresh_token":"later-refresh"}`))
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = w.try(ctx, ping)
	}()
	<-asked
	cancel()
	<-ended
	close(goOn)
	w.logins.Close() // waits for it
	if l, _ := w.guard.login(); l.Access != "later-access" || l.Refresh != "later-refresh" {
		t.Errorf("%+v", l)
	}
	if _, err := w.guard.renew(t.Context(), login{}); !errors.Is(err, errClosed) {
		t.Errorf("%v", err)
	}
}

// A file that is broken, or a newer version's, is left as it is, and a login
// holds for the process.
func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"broken": `{"version": 1, "logins": {`, "newer": `{"version": 99, "logins": {}}`, "of another kind": `[]`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
			if err := os.WriteFile(w.file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			w.want(ping, 401)
			if err := w.login(); !errors.Is(err, ErrNotKept) {
				t.Errorf("%v", err)
			}
			w.want(ping, 200)
			w.as.Expire(false)
			w.want(ping, 200)
			if data, _ := os.ReadFile(w.file); string(data) != text {
				t.Errorf("%s", data)
			}
			if was, err := w.guard.Logout(t.Context()); !was || err == nil || !strings.Contains(err.Error(), w.file) {
				t.Errorf("%v, %v", was, err)
			}
			w.want(ping, 401)
		})
	}
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.file = ""
	w.again()
	w.mustLogin()
	w.want(ping, 200)
}

// What could not be written is written with the next change that can: a moment
// in which the disk is full, or the lock held, costs nobody a login.
func TestLoginIsKeptAsSoonAsItCanBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	if err := os.WriteFile(w.file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.want(ping, 401)
	if err := w.login(); !errors.Is(err, ErrNotKept) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	w.as.Expire(false)
	w.want(ping, 200)
	before := len(w.as.Requests(""))
	w.again()
	w.want(ping, 200)
	if n := len(w.as.Requests("")) - before; n != 0 {
		t.Errorf("%d requests of the next process", n)
	}
	if clients := w.guard.logins.store.read().Clients; len(clients) != 1 {
		t.Errorf("the registration is not kept: %+v", clients)
	}
}

// What another process did counts: a login, a renewal, a logout.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.want(ping, 401)
	first := w.guard
	w.again()
	w.mustLogin()
	second := w.guard
	as := func(g *Guard) *world { return &world{t: t, url: w.url, guard: g} }
	as(first).want(ping, 200)
	w.as.Expire(false)
	as(first).want(ping, 200)
	as(second).want(ping, 200)
	if n := len(w.as.Renewals()); n != 1 {
		t.Errorf("renewed %d times", n)
	}
	if was, err := first.Logout(t.Context()); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	as(second).want(ping, 401)
	if n := len(w.as.Renewals()); n != 1 {
		t.Errorf("renewed %d times after the logout", n)
	}
}
