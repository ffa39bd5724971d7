package oauth

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
)

// The browser's answer of another login is sent away; the right one counts.
func TestWrongState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.ask(ping)
	if err := w.guard.Finish("http://127.0.0.1:1/callback?code=a&state=b"); err == nil || !strings.Contains(err.Error(), "start one first") {
		t.Errorf("%v", err)
	}
	err := w.loginBy(func(p Page) error {
		for _, query := range []string{"?code=stolen&state=wrong", "?code=stolen", "?error=access_denied", ""} {
			if at, status, text := mcptest.Browse(t, p.Redirect+query); status != 400 || !strings.Contains(text, "belongs to no login") || at.Path != callback {
				t.Errorf("%s: %d %s", query, status, text)
			}
		}
		if _, status, _ := mcptest.Browse(t, strings.TrimSuffix(p.Redirect, callback)+"/"); status != 404 {
			t.Errorf("another path: %d", status)
		}
		if err := w.guard.Finish(p.Redirect + "?code=stolen&state=wrong"); !errors.Is(err, ErrOtherLogin) {
			t.Errorf("%v", err)
		}
		if err := w.guard.Finish("the page says hello"); err == nil || !strings.Contains(err.Error(), "copy it whole") {
			t.Errorf("%v", err)
		}
		return w.browse(p)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.want(ping, 200)
}

// The page that the browser ends on says how it went.
func TestPageOfALogin(t *testing.T) {
	t.Parallel()
	for says, o := range map[string]mcptest.AuthOptions{"You are logged in": {}, "did not work": {Error: "access_denied"}} {
		w := newWorld(t, o, mcptest.Protection{}, Client{})
		w.ask(ping)
		shown := make(chan string, 1)
		_ = w.loginBy(func(p Page) error {
			go func() {
				_, _, text := mcptest.Browse(t, p.URL)
				shown <- text
			}()
			return nil
		})
		if text := <-shown; !strings.Contains(text, says) || strings.Contains(text, "code-") {
			t.Errorf("%q, not %q", text, says)
		}
	}
}

// A person whose browser is elsewhere pastes the address.
func TestPastedAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.ask(ping)
	err := w.loginBy(func(p Page) error { return w.guard.Finish(" " + mcptest.Elsewhere(t, p.URL) + "\n") })
	if err != nil {
		t.Fatal(err)
	}
	w.want(ping, 200)
}

func TestCancelledLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.ask(ping)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var redirect string
	err := w.guard.Login(ctx, func(p Page) error {
		redirect = p.Redirect
		cancel(why)
		return nil
	})
	if !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	u, _ := url.Parse(redirect)
	if c, err := net.Dial("tcp", u.Host); err == nil {
		c.Close()
		t.Error("its port is still open")
	}
	w.want(ping, 401)
	if err := w.login(); err != nil {
		t.Error(err)
	}
	if n := len(w.as.Requests("/register")); n > 2 {
		t.Errorf("registered %d times", n)
	}
}

// The registration of before needs its port; where another program has that by
// now, agentls registers anew. A configured port is told of.
func TestPortsOfLogins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.mustLogin()
	w.as.Expire(true)
	w.want(ping, 401)
	if err := w.login(); err != nil {
		t.Fatal(err)
	}
	if n := len(w.as.Requests("/register")); n != 1 {
		t.Errorf("registered %d times", n)
	}
	u, _ := url.Parse(w.asked().Get("redirect_uri"))
	busy, err := net.Listen("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	w.as.Expire(true)
	w.want(ping, 401)
	if err := w.login(); err != nil {
		t.Fatal(err)
	}
	if n := len(w.as.Requests("/register")); n != 2 {
		t.Errorf("registered %d times", n)
	}
	port, _ := strconv.Atoi(u.Port())
	w = newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{Port: port})
	w.ask(ping)
	if err := w.login(); err == nil || !strings.Contains(err.Error(), `"redirectPort"`) {
		t.Errorf("%v", err)
	}
}

// An authorization server that has forgotten us shows that in the browser, and
// nobody comes back: the next login registers anew.
func TestForgottenRegistration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.mustLogin()
	w.as.Forget()
	w.as.Expire(true)
	w.want(ping, 401) // the renewal is told that the client is unknown
	if err := w.login(); err != nil {
		t.Fatal(err)
	}
	w.as.Forget()
	w.as.Expire(true)
	ctx, cancel := context.WithCancel(t.Context())
	err := w.guard.Login(ctx, func(p Page) error {
		if _, status, _ := mcptest.Browse(t, p.URL); status != 400 {
			t.Errorf("%d", status)
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := w.login(); err != nil {
		t.Fatal(err)
	}
	w.want(ping, 200)
}
