package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
)

// The elicitation tools of MCP's own test server: every kind of property, a
// link by request, and one by error -32042.
func TestRealServerEverythingElicits(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"stdio", "everything", "sse"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			c := ServerConfig{Name: "real", Source: "user", Type: "stdio"}
			if way == "stdio" {
				c.Command, c.Args = mcptest.RealServer(t, "everything")
			} else {
				c = remoteConfig("real", mcptest.RealHTTP(t, way).URL)
			}
			h := newHouse(t, Options{}, defaultTiming())
			h.Configure([]ServerConfig{c})
			h.started()
			everythingElicits(t, h)
		})
	}
}

func everythingElicits(t *testing.T, h *house) {
	t.Helper()
	end := h.callingOf("real", "trigger-elicitation-request", nil)
	r := h.asked()
	if len(r.Elicit.Form.Fields) != 13 || r.Elicit.Form.Fields[0].Name != "name" || r.Elicit.Form.Fields[12].Options[0].Title != "Cats" {
		t.Errorf("%+v", r.Elicit.Form)
	}
	for _, f := range r.Elicit.Form.Fields {
		if f.Secret {
			t.Errorf("%s is no secret", f.Name)
		}
	}
	r.Reply(RequestAnswer{Accept: true, Content: json.RawMessage(`{"name":"Ada","check":true,"titledMultipleSelectEnum":["fish-3"]}`)})
	got, err := end()
	if err != nil || !strings.Contains(got, "- Name: Ada") || !strings.Contains(got, "- Favorite Integer: 42") || !strings.Contains(got, `"fish-3"`) || !strings.Contains(got, `"pet-1"`) {
		t.Errorf("%s %v", got, err)
	}
	for want, a := range map[string]RequestAnswer{"User declined": {Decline: true}, "User cancelled": {}} {
		end = h.callingOf("real", "trigger-elicitation-request", nil)
		h.asked().Reply(a)
		if got, err := end(); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s %v", got, err)
		}
	}

	link := args{"url": "https://example.com/flow", "message": "Go there"}
	end = h.callingOf("real", "trigger-url-elicitation", link)
	if r = h.asked(); r.Elicit.Link.URL != "https://example.com/flow" || r.Elicit.Message != "Go there" {
		t.Errorf("%+v", r.Elicit)
	}
	r.Reply(RequestAnswer{Accept: true})
	if got, err := end(); err != nil || !strings.Contains(got, "User completed the URL elicitation flow") {
		t.Errorf("%s %v", got, err)
	}
	link["errorPath"] = true
	end = h.callingOf("real", "trigger-url-elicitation", link)
	for i, want := range []string{"https://modelcontextprotocol.io", "https://modelcontextprotocol.io", "https://example.com/flow"} { // open it, it is done, and the call again
		if r = h.asked(); r.Elicit.Link.URL != want || r.Elicit.Opened != (i == 1) {
			t.Errorf("%d: %+v", i, r.Elicit)
		}
		r.Reply(RequestAnswer{Accept: true})
	}
	if got, err := end(); err != nil || !strings.Contains(got, "User completed the URL elicitation flow") {
		t.Errorf("%s %v", got, err)
	}
}

// The test server of the official Go SDK.
func TestRealServerOfGoSDKElicits(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"legacy", "http"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			c := ServerConfig{Name: "go", Source: "user", Type: "stdio", Protocol: way}
			if way == "http" {
				c = remoteConfig("go", mcptest.RealHTTP(t, "go-sdk").URL)
			} else {
				c.Command = mcptest.GoServer(t, "everything")
			}
			h := newHouse(t, Options{}, defaultTiming())
			h.Configure([]ServerConfig{c})
			h.started()
			end := h.callingOf("go", "elicit (form)", nil)
			r := h.asked()
			if r.Elicit.Message != "provide a random string" || len(r.Elicit.Form.Fields) != 1 {
				t.Errorf("%+v", r.Elicit)
			}
			r.Reply(RequestAnswer{Accept: true, Content: json.RawMessage(`{"random":"4"}`)})
			if got, err := end(); err != nil || got != "4" {
				t.Errorf("%q %v", got, err)
			}
			end = h.callingOf("go", "elicit (url)", nil)
			if r = h.asked(); !strings.HasPrefix(r.Elicit.Link.URL, "http://localhost:6062?id=") || r.Elicit.Link.Host != "localhost:6062" {
				t.Errorf("%+v", r.Elicit)
			}
			r.Reply(RequestAnswer{Accept: true})
			if got, err := end(); err != nil || got != "(elicitation pending)" {
				t.Errorf("%q %v", got, err)
			}
		})
	}
}
