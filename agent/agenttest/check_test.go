package agenttest

import (
	"testing"

	"agentls/agent"
)

func TestCheckThreads(t *testing.T) {
	system := agent.Message{Role: agent.System, Text: "-"}
	user := func(s string) agent.Message { return agent.Message{Role: agent.User, Text: s} }
	said := agent.Message{Role: agent.Assistant, Text: "said"}
	req := func(m ...agent.Message) agent.Request {
		return agent.Request{Messages: append([]agent.Message{system}, m...)}
	}
	for name, c := range map[string]struct {
		requests []agent.Request
		ok       bool
	}{
		"one goes on":       {[]agent.Request{req(user("a")), req(user("a"), said, user("b"))}, true},
		"asked again":       {[]agent.Request{req(user("a")), req(user("a"))}, true},
		"two by turns":      {[]agent.Request{req(user("a")), req(user("x")), req(user("a"), said, user("b")), req(user("x"), said, user("y"))}, true},
		"of a session":      {[]agent.Request{req(user("0"), said, user("a")), req(user("0"), said, user("a"), said, user("b"))}, true},
		"something is lost": {[]agent.Request{req(user("a"), user("b")), req(user("a"), said, user("c"))}, false},
		"another's answer":  {[]agent.Request{req(user("a")), req(user("x"), said, user("y"))}, false},
		"one that changed":  {[]agent.Request{req(user("a"), said, user("b")), req(user("a"), said, user("B"))}, false},
	} {
		if err := CheckThreads(c.requests); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
