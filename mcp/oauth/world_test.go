package oauth

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentls/mcp/mcptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a protected server, its authorization server, and who logs in.
type world struct {
	t      *testing.T
	as     *mcptest.AuthServer
	server *mcptest.HTTPServer
	url    string
	file   string
	logins *Logins
	guard  *Guard
	client Client

	mu      sync.Mutex
	learned []string
}

func newWorld(t *testing.T, o mcptest.AuthOptions, p mcptest.Protection, c Client) *world {
	w := &world{t: t, as: mcptest.ServeAuth(t, o), server: mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Stateless, JSON: true}), client: c}
	w.as.Protect(w.server, p)
	w.url, w.file = w.server.URL, filepath.Join(t.TempDir(), "mcp-auth.json")
	w.again()
	return w
}

// again is another process of the same person's.
func (w *world) again() {
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	w.logins = New(Options{
		File: w.file, Name: "agentls", Version: "1", Log: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
		HTTP:  func() *http.Transport { return &http.Transport{} },
		Learn: func(values ...string) { w.mu.Lock(); w.learned = append(w.learned, values...); w.mu.Unlock() },
	})
	w.t.Cleanup(w.logins.Close)
	at, err := url.Parse(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	w.guard = w.logins.Guard(at, w.client, transport)
}

// ask sends the server a request, and returns its status.
func (w *world) ask(message string) int {
	w.t.Helper()
	status, err := w.try(w.t.Context(), message)
	if err != nil {
		w.t.Fatal(err)
	}
	return status
}

func (w *world) try(ctx context.Context, message string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(message))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := w.guard.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil
}

const (
	ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	echo = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`
)

// browse is a person who opens the page here.
func (w *world) browse(p Page) error {
	go mcptest.Browse(w.t, p.URL) // ends with the listener
	return nil
}

// login logs in after the server has said what it wants.
func (w *world) login() error {
	w.t.Helper()
	return w.loginBy(w.browse)
}

func (w *world) loginBy(show func(Page) error) error {
	ctx, cancel := context.WithTimeoutCause(w.t.Context(), 20*time.Second, errors.New("the test waited long enough"))
	defer cancel()
	return w.guard.Login(ctx, show)
}

func (w *world) mustLogin() {
	w.t.Helper()
	w.ask(ping)
	if err := w.login(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) want(message string, status int) {
	w.t.Helper()
	if got := w.ask(message); got != status {
		w.t.Errorf("%s: HTTP %d, not %d", message, got, status)
	}
}

func (w *world) knows(value string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.learned, value)
}

// asked is the query of the last login's page.
func (w *world) asked() url.Values {
	w.t.Helper()
	all := w.as.Requests("/authorize")
	if len(all) == 0 {
		w.t.Fatal("no page was opened")
	}
	return all[len(all)-1].Form
}
