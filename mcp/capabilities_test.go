package mcp

import (
	"encoding/json"
	"slices"
	"testing"

	"agentls/mcp/mcptest"
)

// 2025-11-25, lifecycle, "Operation": only what was negotiated is asked for.
func TestOnlyWhatAServerHasIsAskedFor(t *testing.T) {
	t.Parallel()
	all := []string{"tools", "resources", "prompts", "logging", "completions"}
	for _, modern := range []bool{false, true} {
		log := mcptest.NewLog(t)
		h := open(t, map[string]mcptest.Options{"fake": {Modern: modern, Without: all, Log: string(log)}})
		if _, err := h.ListResources(t.Context(), "fake"); err != nil {
			t.Error(err)
		}
		if _, err := h.ListPrompts(t.Context(), "fake"); err != nil {
			t.Error(err)
		}
		_, _, _ = h.CompleteArgument(t.Context(), "fake", CompletionRef{Prompt: "review"}, "focus", "s", nil)
		if _, err := h.GetPrompt(t.Context(), "fake", "review", nil); err == nil {
			t.Error("a prompt of a server without prompts")
		}
		if _, err := h.call("fake", "echo", nil); err == nil {
			t.Error("a tool of a server without tools")
		}
		h.Close()
		allowed := []string{"initialize", "notifications/initialized", "server/discover", "subscriptions/listen", "notifications/cancelled"}
		for _, e := range log.Entries(t) {
			if e.Method != "" && !slices.Contains(allowed, e.Method) {
				t.Errorf("modern %v: %s was sent", modern, e.Method)
			}
		}
	}
}

// 2026-07-28, "Extension Negotiation": none is declared, nor are the tasks and
// experiments of 2025-11-25, so servers use none.
func TestNoExtensionIsDeclared(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		log := mcptest.NewLog(t)
		h := open(t, map[string]mcptest.Options{"fake": {Modern: modern, Log: string(log)}})
		h.mustCall("fake", "echo", nil)
		declared := 0
		for _, e := range log.Entries(t) {
			var p struct {
				Capabilities map[string]json.RawMessage `json:"capabilities"`
				Meta         struct {
					Capabilities map[string]json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
				} `json:"_meta"`
			}
			_ = json.Unmarshal(e.Params, &p)
			for _, c := range []map[string]json.RawMessage{p.Capabilities, p.Meta.Capabilities} {
				if c == nil {
					continue
				}
				declared++
				for _, name := range []string{"extensions", "experimental", "tasks"} {
					if c[name] != nil {
						t.Errorf("modern %v: %s declares %s", modern, e.Method, name)
					}
				}
			}
		}
		if declared == 0 {
			t.Error("nothing was declared at all")
		}
	}
}
