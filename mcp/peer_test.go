package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

func TestRemoteAnswersOverTheLimitAreDropped(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]mcptest.Fault{
		"stream": mcptest.Huge(maxWireMessage + 1),
		"json":   mcptest.Answer(200, "application/json", `{"jsonrpc":"2.0","id":{id},"result":"`+strings.Repeat("x", maxWireMessage)+`"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, srv := remote(t, mcptest.HTTPOptions{})
			srv.Break(mcptest.Call("echo"), mcptest.First(1, fault))
			if _, err := h.call("fake", "echo", nil); err == nil || !strings.Contains(err.Error(), "was over 16 MiB and was dropped") {
				t.Errorf("%v", err)
			}
			if got := h.mustCall("fake", "echo", args{"text": "alive"}); got != "alive" {
				t.Errorf("%q", got)
			}
		})
	}
	h, _ := remote(t, mcptest.HTTPOptions{}) // what is long, but not too long
	if got := h.mustCall("fake", "big", args{"bytes": 12 << 20}); len(got) < 12<<20 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestRemoteOddAnswers(t *testing.T) {
	t.Parallel()
	good := `{"jsonrpc":"2.0","id":{id},"result":{"content":[{"type":"text","text":"good"}]}}`
	for _, c := range []struct {
		name  string
		fault mcptest.Fault
		want  string // of the answer, or of the error after "!"
	}{
		{"an id in quotes", mcptest.Answer(200, "application/json", strings.Replace(good, "{id}", `"{id}"`, 1)), "good"},
		{"a batch", mcptest.Answer(200, "application/json", `[{"jsonrpc":"2.0","method":"notifications/foo"},`+good+`]`), "good"},
		{"with a parameter", mcptest.Answer(200, "application/json; charset=utf-8", good), "good"},
		{"garbage before", mcptest.Events("data: garbage\n\n", "event: other\ndata: {}\n\n", ": comment\n\n", "data: "+good+"\n\n"), "good"},
		{"another's answer before", mcptest.Events("data: {\"jsonrpc\":\"2.0\",\"id\":99999,\"result\":{}}\n\n", "data: "+good+"\n\n"), "good"},
		{"twice", mcptest.Events("data: "+good+"\n\n", "data: "+good+"\n\n"), "good"},
		{"many lines", mcptest.Events("data: " + strings.ReplaceAll(good, ",", ",\ndata: ") + "\n\n"), "good"},
		{"slowly", mcptest.Slow(time.Millisecond), ""},
		{"nothing", mcptest.Events(), "!the server ended the stream without an answer"},
		{"an empty body", mcptest.Answer(200, "application/json", ""), "!no answer of MCP"},
		{"an error with a status", mcptest.Answer(500, "application/json", `{"jsonrpc":"2.0","id":{id},"error":{"code":-32000,"message":"no luck"}}`), "!no luck (-32000)"},
		{"a status alone", mcptest.Status(502), "!HTTP 502 Bad Gateway: Bad Gateway"},
		{"a page", mcptest.HTML(), `!"text/html"`},
		{"a secret in an error", mcptest.Answer(500, "text/plain", "bad token header-secret-1"), "!HTTP 500 Internal Server Error: bad token [redacted]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
			h := newHouse(t, Options{}, fast())
			cfg := remoteConfig("fake", srv.URL)
			cfg.Headers = map[string]string{"X-Auth": "header-secret-1"}
			h.Configure([]ServerConfig{cfg})
			h.started()
			srv.Break(mcptest.Call("echo"), mcptest.First(1, c.fault))
			got, err := h.call("fake", "echo", nil)
			if want, wrong := strings.CutPrefix(c.want, "!"); wrong {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			} else if err != nil || got != c.want {
				t.Errorf("%q, %v", got, err)
			}
			if got := h.mustCall("fake", "echo", args{"text": "alive"}); got != "alive" {
				t.Errorf("%q", got)
			}
			if n := len(h.kind("fake", EventLost)); n != 0 {
				t.Errorf("%+v", h.seen())
			}
		})
	}
}

func TestRemoteDuplicatesAreDropped(t *testing.T) {
	t.Parallel()
	for _, mode := range []mcptest.HTTPMode{mcptest.Streamable, mcptest.SSE} {
		h, _ := remote(t, mcptest.HTTPOptions{Mode: mode, Duplicate: true})
		for i := range 20 {
			if got := h.mustCall("fake", "echo", args{"text": fmt.Sprint(i)}); got != fmt.Sprint(i) {
				t.Errorf("%q", got)
			}
		}
	}
}

// CASES of hosts: a cancel of one call leaves the others alone.
func TestRemoteCallsBesideEachOther(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		h, _ := remote(t, o)
		type outcome struct {
			i    int
			text string
			err  error
		}
		results := make(chan outcome)
		for i := range 30 {
			go func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%3 == 0 {
					time.AfterFunc(20*time.Millisecond, cancel)
					_, err := h.callCtx(ctx, "fake", "never", nil)
					results <- outcome{i, "", err}
					return
				}
				text, err := h.callCtx(ctx, "fake", "echo", args{"text": fmt.Sprint(i)})
				results <- outcome{i, text, err}
			}()
		}
		for range 30 {
			r := <-results
			if r.i%3 == 0 != errors.Is(r.err, context.Canceled) || r.i%3 != 0 && (r.err != nil || r.text != fmt.Sprint(r.i)) {
				t.Errorf("%+v", r)
			}
		}
	})
}

// A server that talks nonsense without end does not fill the log.
func TestJunkIsToldOnce(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	p := newPeer(&address{}, slog.New(slog.NewTextHandler(&log, nil)), func(string) {})
	for range 1000 {
		p.take([]byte("junk"))
	}
	p.shut(nil)
	if n := strings.Count(log.String(), "junk"); n != 1 {
		t.Errorf("%d lines", strings.Count(log.String(), "\n"))
	}
}

func TestSecretsOfARemoteServer(t *testing.T) {
	t.Parallel()
	s := NewSecrets()
	s.learn(ServerConfig{
		URL: "https://me:password-of-url@h.example/mcp?api_key=key-of-the-url&x=plain-value",
		Headers: map[string]string{
			"Authorization": "Bearer of-authorization", "X-Api-Key": "value-of-key", "Cookie": "session=of-a-cookie", "X-Team": "blue-and-green",
		},
	})
	s.learn(ServerConfig{URL: "https://token-of-url@h.example/mcp"})
	for text, secret := range map[string]bool{
		"token-of-url":    true,
		"password-of-url": true, "key-of-the-url": true, "plain-value": false, "of-authorization": true, "value-of-key": true, "session=of-a-cookie": true, "blue-and-green": false,
	} {
		if got := s.Redact("x " + text); secret != (got == "x "+Redacted) {
			t.Errorf("%q", got)
		}
	}
}

// CherryHQ/cherry-studio#18648, anthropics/claude-code#80045: the secrets of a
// server are in no log and no event, whatever the server does.
func TestRemoteSecretsAreNotTold(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	secrets := NewSecrets()
	redacting := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		a.Value = slog.StringValue(secrets.Redact(a.Value.String()))
		return a
	}}))
	for i, fault := range []mcptest.Fault{
		mcptest.Status(500), mcptest.HTML(), mcptest.Cut, mcptest.Redirect(307, "http://other.invalid/?token=url-secret-1"),
		mcptest.Answer(200, "application/json", `{"echo":"Bearer header-secret-1 url-secret-1"}`), mcptest.Events("data: header-secret-1 url-secret-1\n\n"),
	} {
		srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
		h := newHouse(t, Options{Log: redacting, Secrets: secrets}, fast())
		cfg := remoteConfig("fake", strings.Replace(srv.URL, "//", "//user:user-secret-1@", 1)+"?token=url-secret-1")
		cfg.Headers = map[string]string{"Authorization": "Bearer header-secret-1"}
		h.Configure([]ServerConfig{cfg})
		h.started()
		if got := srv.Requests()[0].Header.Get("Authorization"); got != "Bearer header-secret-1" {
			t.Errorf("%q", got)
		}
		srv.Break(mcptest.Call("echo"), fault)
		srv.Break(mcptest.Verb(http.MethodGet), fault)
		srv.DropStreams()
		_, err := h.call("fake", "echo", nil)
		if err == nil {
			t.Errorf("%d: no error", i)
			continue
		}
		h.Close()
		told := fmt.Sprint(err, h.seen(), log.String(), h.Servers())
		for _, secret := range []string{"user-secret-1", "header-secret-1", "url-secret-1"} {
			if strings.Contains(told, secret) {
				t.Errorf("%d: %s is told: %s", i, secret, told)
			}
		}
	}
}

// Nothing goes to stderr by itself: an editor shows it as an error.
func TestRemoteSaysNothingOnStderr(t *testing.T) {
	stderr := os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stderr = w
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(w, nil)))
	func() {
		defer func() { os.Stderr = stderr; slog.SetDefault(old); _ = w.Close() }()
		h, srv := remote(t, mcptest.HTTPOptions{})
		srv.Break(mcptest.Call("echo"), mcptest.Events("data: junk\n\n"))
		_, _ = h.call("fake", "echo", nil)
		srv.DropStreams()
		srv.ForgetSessions()
		h.await("fake", EventLost)
		h.recovered(1)
		h.Close()
	}()
	buf := make([]byte, 1024)
	if n, _ := r.Read(buf); n > 0 {
		t.Errorf("%s", buf[:n])
	}
	_ = r.Close()
}
