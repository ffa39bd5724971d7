package config

import (
	"reflect"
	"testing"

	"agentls/mcp"
)

// CONTRACT §2: oauth is the person's own, and passed over elsewhere.
func TestLoginsAreConfigured(t *testing.T) {
	w := newWorld(t)
	w.env["CLIENT_SECRET"] = "the client's secret"
	w.user(`{"mcpServers": {
		"a": {"url": "https://a.example/mcp", "oauth": {"clientId": "me", "clientSecret": "${CLIENT_SECRET}", "scopes": ["x", "y"], "redirectPort": 3118}},
		"b": {"url": "https://b.example/mcp", "oauth": {"clientMetadataUrl": "https://c.example/me.json"}},
		"c": {"url": "https://c.example/mcp", "oauth": {"clientSecret": "alone"}},
		"d": {"url": "https://d.example/mcp", "oauth": {"clientMetadataUrl": "http://c.example/me.json", "redirectPort": 70000, "clientID": "x"}},
		"e": {"command": "e", "oauth": {"clientId": "me"}},
		"f": {"url": "https://f.example/mcp", "oauth": {"clientId": "${NOT_SET}"}},
		"g": {"url": "https://g.example/mcp", "oauth": "yes"}
	}}`)
	w.project(".agentls/config.json", `{"mcpServers": {"p": {"url": "https://p.example/mcp", "oauth": {"clientId": "evil"}}}}`)
	w.project(".mcp.json", `{"mcpServers": {"q": {"url": "https://q.example/mcp", "oauth": {"clientId": "evil", "callbackPort": 1}}}}`)
	c := w.load()
	problems(t, c, "c.oauth: clientSecret is of a clientId", "d.oauth.redirectPort: must be a port", `d.oauth.clientID: unknown key; did you mean "clientId"?`,
		"d.oauth: clientMetadataUrl must be", "e.oauth: passed over", "f.oauth.clientId: the variable NOT_SET is not set", "g.oauth: must be an object",
		"p.oauth: counts in the user's files and the editor's settings only")
	for name, want := range map[string]mcp.OAuthConfig{
		"a": {ClientID: "me", ClientSecret: "the client's secret", Scopes: []string{"x", "y"}, RedirectPort: 3118},
		"b": {ClientMetadata: "https://c.example/me.json"}, "c": {}, "d": {}, "e": {}, "p": {}, "q": {},
	} {
		if got := server(t, c, name).OAuth; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := w.source.Secrets.Redact("the client's secret"); got != mcp.Redacted {
		t.Errorf("%q", got)
	}
	if server(t, c, "f").Err == "" {
		t.Error("f starts")
	}
}
