package lsp

import (
	"encoding/json"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/lsp/lsptest"
	"agentls/mcp"
)

func TestWidened(t *testing.T) {
	base := func() config.Config {
		return config.Config{
			Approval:  agent.Approval{Default: "ask", Allow: []string{"a/*"}, Ask: []string{"b/*"}, Deny: []string{"c/*", "d/*"}},
			Provider:  config.Provider{Name: "p"},
			Providers: map[string]config.Provider{"p": {Name: "p", BaseURL: "http://p/"}},
			Servers:   []mcp.ServerConfig{{Name: "s"}},
		}
	}
	for _, c := range []struct {
		name   string
		change func(c *config.Config)
		want   string
	}{
		{"nothing", func(*config.Config) {}, ""},
		{"narrower", func(c *config.Config) {
			c.Approval.Allow, c.Approval.Deny = nil, append(c.Approval.Deny, "e/*")
		}, ""},
		{"rules", func(c *config.Config) {
			c.Approval = agent.Approval{Default: "allow", Allow: []string{"a/*", "run_command(rm -rf)", "x\u202e"}, Deny: []string{"d/*"}}
		}, `it allows without a question "run_command(rm -rf)", "x\u202e"; it denies no longer c/*; it asks no longer about b/*; what no rule names it will allow`},
		{"another provider", func(c *config.Config) {
			c.Provider.Name, c.Providers["q"] = "q", config.Provider{BaseURL: "http://evil/"}
		}, "prompts go to the provider q; the provider q is at http://evil/"},
		{"a provider elsewhere", func(c *config.Config) { c.Providers["p"] = config.Provider{Name: "p", BaseURL: "http://evil/"} }, "the provider p is at http://evil/"},
		{"a server's leave", func(c *config.Config) {
			c.Servers = []mcp.ServerConfig{{Name: "s", TrustAnnotations: true, InheritEnv: true}}
			c.Waiting = []mcp.ServerConfig{{Name: "new", Sampling: true}}
		}, "it gives all variables to s; it believes what is said of its tools by s; it lets the model be used by new"},
	} {
		after := base()
		c.change(&after)
		if got := strings.Join(widened(base(), after), "; "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A yes to "settings changed" would be one to whatever a run wrote.
func TestChangeOfRulesByARunIsShown(t *testing.T) {
	c := whileARunIsActive(t, lsptest.Init{}, map[string]lsptest.Answer{"window/showMessageRequest": func(json.RawMessage) (any, error) {
		return nil, nil
	}})
	c.userFile("config.json", `{"approval": {"allow": ["run_command(curl)"], "default": "allow"}}`)
	shown := string(c.AwaitRequest("window/showMessageRequest", 1).Params)
	if !strings.Contains(shown, "settings changed: approval; it allows without a question run_command(curl); what no rule names it will allow)") {
		t.Errorf("%s", shown)
	}
}
