package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// SilasMarvin/lsp-ai#82: a key at the wrong place did nothing, without a hint.
func TestUnknownKeys(t *testing.T) {
	for text, want := range map[string]string{
		`{"model": "m"}`:                                       `model: unknown key; it belongs into providers.NAME`,
		`{"deny": []}`:                                         `deny: unknown key; it belongs into approval`,
		`{"headers": {}}`:                                      `headers: unknown key; it belongs into providers.NAME or mcpServers.NAME`,
		`{"approval": {"limits": {}}}`:                         `approval.limits: unknown key; it belongs into the outermost object`,
		`{"providers": {"p": {"baseurl": "x"}}}`:               `providers.p.baseurl: unknown key; did you mean "baseURL"?`,
		`{"mcp_servers": {}}`:                                  `mcp_servers: unknown key; did you mean "mcpServers"?`,
		`{"limits": {"stepz": 1}}`:                             `limits.stepz: unknown key; did you mean "steps"?`,
		`{"mcpServers": {"s": {"cmd": 1, "url": "u"}}}`:        `mcpServers.s.cmd: unknown key; did you mean "command"?`,
		`{"providers": {"p": {"api_key": "x"}}}`:               `providers.p.api_key: unknown key; did you mean "apiKey"?`,
		`{"limits": {"cheese": 1}}`:                            `limits.cheese: unknown key; known are "steps", "tokens", `,
		`{"limits": {"` + strings.Repeat("x", 9999) + `": 1}}`: `unknown key; known are `,
	} {
		w := newWorld(t)
		w.user(text)
		problems(t, w.load(), want)
	}
}

// The table is what is read: no key of it is unknown.
func TestKnownKeysAreRead(t *testing.T) {
	for object, keys := range keysIn {
		for _, key := range keys {
			w := newWorld(t)
			text := fmt.Sprintf(`{%q: null}`, key)
			for _, name := range slices.Backward(strings.Split(object, ".")) {
				if name != "" {
					text = fmt.Sprintf(`{%q: %s}`, name, text)
				}
			}
			w.user(text)
			for _, p := range w.load().Problems {
				if strings.Contains(p.Message, "unknown key") {
					t.Errorf("%s: %v", text, p)
				}
			}
		}
	}
}
