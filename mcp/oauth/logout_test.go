package oauth

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
)

func TestLogout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{Methods: []string{"client_secret_basic"}}, mcptest.Protection{}, Client{})
	if was, err := w.guard.Logout(t.Context()); was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	w.mustLogin()
	l, _ := w.guard.login()
	if was, err := w.guard.Logout(t.Context()); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	var revoked []string
	for _, r := range w.as.Requests("/revoke") {
		revoked = append(revoked, r.Form.Get("token"))
	}
	if !slices.Equal(revoked, []string{l.Refresh, l.Access}) {
		t.Errorf("%q", revoked)
	}
	w.want(ping, 401)
	data, err := os.ReadFile(w.file)
	if err != nil || strings.Contains(string(data), l.Access) || strings.Contains(string(data), l.Refresh) || strings.Contains(string(data), l.Secret) {
		t.Errorf("%s, %v", data, err)
	}

	w = newWorld(t, mcptest.AuthOptions{Metadata: map[string]any{"revocation_endpoint": nil}}, mcptest.Protection{}, Client{})
	w.mustLogin()
	if was, err := w.guard.Logout(t.Context()); !was || err == nil || !strings.Contains(err.Error(), "takes no token back") {
		t.Errorf("%v, %v", was, err)
	}
	w.want(ping, 401)

	w = newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.mustLogin()
	w.as.Break("/revoke", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) })
	if was, err := w.guard.Logout(t.Context()); !was || err == nil || !strings.Contains(err.Error(), "did not take the refresh token back: HTTP 500") {
		t.Errorf("%v, %v", was, err)
	}
}
