package mcp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// person answers the requests of a house: the pages of logins are opened, by
// open if it is not nil. Everything else is declined.
func (h *house) person(open func(LoginRequest)) {
	h.t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() { // ends with the manager
		for r := range h.Requests() {
			if r.Kind != RequestLogin {
				r.Reply(RequestAnswer{})
				continue
			}
			r.Reply(RequestAnswer{Accept: true})
			wg.Go(func() {
				if open != nil {
					open(r.Login)
				} else {
					mcptest.Browse(h.t, r.Login.URL)
				}
			})
		}
	})
	h.t.Cleanup(func() {
		h.Close()
		wg.Wait()
	})
}

// protected is a house with one server that wants a login, in a mode.
func protected(t *testing.T, o mcptest.HTTPOptions, a mcptest.AuthOptions, p mcptest.Protection) (*house, *mcptest.AuthServer, *mcptest.HTTPServer) {
	t.Helper()
	as, srv := mcptest.ServeAuth(t, a), mcptest.ServeHTTP(t, o)
	as.Protect(srv, p)
	return protectedHouse(t, srv, filepath.Join(t.TempDir(), "mcp-auth.json")), as, srv
}

// protectedHouse is another process with that server.
func protectedHouse(t *testing.T, srv *mcptest.HTTPServer, file string) *house {
	t.Helper()
	h := newHouse(t, Options{LoginsFile: file}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	return h
}

func (h *house) login() ServerInfo {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	info, err := h.Login(ctx, "fake")
	if err != nil || info.Status != StatusReady {
		h.t.Fatalf("%+v, %v", info, err)
	}
	return info
}

// On every transport and in both eras: a server that wants a login is told of
// once, and asked nothing else; with the login it is used, and so it is by the
// next process, without another login or registration.
func TestLoginOnEveryTransport(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		h, as, srv := protected(t, o, mcptest.AuthOptions{}, mcptest.Protection{})
		h.person(nil)
		for range 3 {
			_, err := h.call("fake", "echo", nil)
			if !errors.Is(err, ErrNeedsLogin) || !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "agentls.mcp.login") {
				t.Errorf("%v", err)
			}
		}
		h.await("fake", EventFailed)
		if n := len(h.kind("fake", EventFailed)); n != 1 {
			t.Errorf("told %d times: %+v", n, h.seen())
		}
		if n := len(as.Requests("")); n != 0 || !h.LoginWanted("fake") {
			t.Errorf("%d requests to the authorization server before anybody wants a login", n)
		}
		h.login()
		if got := h.mustCall("fake", "echo", args{"text": "in"}); got != "in" || h.LoginWanted("fake") {
			t.Errorf("%q", got)
		}
		eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
		before := len(as.Requests(""))
		next := protectedHouse(t, srv, h.logins.File())
		if got := next.mustCall("fake", "echo", args{"text": "again"}); got != "again" || len(as.Requests("")) != before {
			t.Errorf("%q, %d requests", got, len(as.Requests(""))-before)
		}
	})
}

// anthropics/claude-code#59460, aaif-goose/goose#12016, can1357/oh-my-pi#1908:
// 20 calls of two processes when the token has run out: one renewal, all served.
func TestCallsWhenATokenRunsOut(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		h, as, srv := protected(t, o, mcptest.AuthOptions{}, mcptest.Protection{})
		h.person(nil)
		h.login()
		houses := []*house{h, protectedHouse(t, srv, h.logins.File())}
		as.Expire(false)
		var calls sync.WaitGroup
		for i := range 20 {
			calls.Go(func() {
				want := fmt.Sprint("call ", i)
				if got, err := houses[i%2].call("fake", "echo", args{"text": want}); got != want || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
		calls.Wait()
		if n := len(as.Renewals()); n != 1 {
			t.Errorf("renewed %d times", n)
		}
		if n := len(as.Requests("/authorize")) + len(as.Requests("/register")); n != 2 {
			t.Errorf("%d logins and registrations", n)
		}
	})
}

// A login that has ended for good while the server is in use: calls fail at
// once with what to do, and one message says it.
func TestLoginThatEndsInUse(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		h, as, _ := protected(t, o, mcptest.AuthOptions{}, mcptest.Protection{})
		h.person(nil)
		h.login()
		failed := len(h.kind("fake", EventFailed))
		as.Expire(true)
		within(t, 5*time.Second, "the calls", func() {
			for range 3 {
				_, err := h.call("fake", "echo", nil)
				if !errors.Is(err, ErrNeedsLogin) || !strings.Contains(err.Error(), "agentls.mcp.login") {
					t.Errorf("%v", err)
				}
			}
		})
		eventually(t, "what to do", func() bool {
			return h.status("fake").Status == StatusNeedsLogin && len(h.kind("fake", EventFailed)) > failed
		})
		if _, err := h.call("fake", "echo", nil); !errors.Is(err, ErrNeedsLogin) {
			t.Errorf("%v", err)
		}
		if n := len(h.kind("fake", EventFailed)) - failed; n != 1 || len(h.kind("fake", EventLost)) != 0 {
			t.Errorf("told %d times: %+v", n, h.seen())
		}
		if n := len(as.Renewals()); n != 1 {
			t.Errorf("the dead refresh token was used %d times", n)
		}
		h.login()
		if got := h.mustCall("fake", "echo", args{"text": "back"}); got != "back" {
			t.Errorf("%q", got)
		}
	})
}

func TestLogoutOfAServer(t *testing.T) {
	t.Parallel()
	h, as, _ := protected(t, mcptest.HTTPOptions{}, mcptest.AuthOptions{}, mcptest.Protection{})
	h.person(nil)
	if _, was, rest, err := h.Logout(t.Context(), "fake"); was || rest != nil || err != nil {
		t.Errorf("%v, %v, %v", was, rest, err)
	}
	h.login()
	h.searchable("fake", 3)
	if _, err := h.Read(t.Context(), "fake", "file://doc1.md"); err != nil {
		t.Fatal(err)
	}
	info, was, rest, err := h.Logout(t.Context(), "fake")
	if !was || rest != nil || err != nil || info.Status != StatusNeedsLogin {
		t.Errorf("%+v, %v, %v, %v", info, was, rest, err)
	}
	// What it gave was for that user (2026-07-28, server/utilities/caching).
	if info.Tools != nil || info.Prompts != nil || info.Resources != nil || len(h.uris("fake")) != 0 {
		t.Errorf("there is still %+v with %v", info, h.uris("fake"))
	}
	if contents, err := h.Read(t.Context(), "fake", "file://doc1.md"); contents != nil || err == nil {
		t.Errorf("it can still be read: %+v, %v", contents, err)
	}
	if n := len(as.Requests("/revoke")); n != 2 {
		t.Errorf("%d tokens revoked", n)
	}
}

// The official TypeScript SDK's own authorization server and protected server.
func TestRealLogin(t *testing.T) {
	t.Parallel()
	srv := mcptest.RealHTTP(t, "oauth")
	url := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	h := newHouse(t, Options{LoginsFile: filepath.Join(t.TempDir(), "mcp-auth.json")}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", url)})
	h.started()
	h.person(nil)
	h.login()
	if got := h.mustCall("fake", "greet", args{"name": "you"}); !strings.Contains(got, "you") {
		t.Errorf("%q", got)
	}
	// It is known by one name: under another it is another resource.
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	if _, err := h.Login(t.Context(), "fake"); err == nil || !strings.Contains(err.Error(), "another resource") {
		t.Errorf("%v", err)
	}
}
