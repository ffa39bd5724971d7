package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"agentls/mcp/mcptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// suiteServer is a fake server with the tools that scenarios call.
func suiteServer(t *testing.T, mode mcptest.HTTPMode) *mcptest.HTTPServer {
	t.Helper()
	o := mcptest.HTTPOptions{Mode: mode}
	for _, name := range []string{"add_numbers", "test_client_elicitation_defaults", "test_reconnection", "test-tool", "json_schema_2020_12_tool", "json_schema_echo", "given"} {
		o.Tools = append(o.Tools, mcptest.Tool{Name: name, Answer: "done", Schema: json.RawMessage(`{"type":"object","if":{"minProperties":1}}`)})
	}
	return mcptest.ServeHTTP(t, o)
}

// TestScenarios: what each scenario makes a host send, in the era that it names.
func TestScenarios(t *testing.T) {
	t.Parallel()
	g := given{ToolCalls: []toolCall{{Name: "given", Arguments: json.RawMessage(`{"x":1}`)}}}
	for _, c := range []struct{ name, version, sent string }{
		{"initialize", "", "initialize"},
		{"initialize", "2025-11-25", "tools/list"},
		{"request-metadata", "2026-07-28", "server/discover"},
		{"json-schema-ref-no-deref", "2026-07-28", "tools/list"},
		{"tools_call", "2025-11-25", `"name":"add_numbers"`},
		{"tools_call", "2026-07-28", `{"a":5,"b":3}`},
		{"elicitation-sep1034-client-defaults", "2025-11-25", `"name":"test_client_elicitation_defaults"`},
		{"sse-retry", "2025-11-25", `"name":"test_reconnection"`},
		{"auth/metadata-default", "2026-07-28", `"name":"test-tool"`},
		{"http-standard-headers", "2026-07-28", `"method":"prompts/get"`},
		{"http-standard-headers", "2026-07-28", `"method":"resources/read"`},
		{"http-custom-headers", "2026-07-28", `{"x":1}`},
		{"json-schema-2020-12-preservation", "2025-11-25", `{"schema":{"type":"object","if":{"minProperties":1}}}`},
	} {
		t.Run(c.name+" "+c.version, func(t *testing.T) {
			t.Parallel()
			s := scenario{name: c.name, version: c.version, given: g}
			mode := mcptest.Streamable
			if s.protocol() == "modern" {
				mode = mcptest.Modern
			}
			srv := suiteServer(t, mode)
			s.url = srv.URL
			if err := s.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(srv.Requests(), func(r mcptest.HTTPRequest) bool { return strings.Contains(r.Body, c.sent) }) {
				t.Errorf("nothing with %s was sent:\n%s", c.sent, srv.Transcript())
			}
		})
	}
}

func TestScenariosThatGoWrong(t *testing.T) {
	t.Parallel()
	srv := suiteServer(t, mcptest.Streamable)
	other := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	for _, c := range []struct{ name, version, url, want string }{
		{"tomorrow's", "2025-11-25", srv.URL, "give it its steps"},
		{"tools_call", "2026-07-28", srv.URL, "the server is failed"},
		{"tools_call", "2025-11-25", other.URL, `unknown tool: "add_numbers"`},
		{"http-custom-headers", "2025-11-25", srv.URL, "no toolCalls"},
		{"json-schema-2020-12-preservation", "2025-11-25", other.URL, "lists no tool"},
	} {
		err := scenario{name: c.name, version: c.version, url: c.url}.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestListedScenarios(t *testing.T) {
	t.Parallel()
	listed := "Required for 2025-11-25 (48 scenarios):\n\nServer scenarios (test against a server):\n  - ping\n\n" +
		"Client scenarios (test against a client):\n  - initialize\n  - auth/scope\n\n" +
		"Run and reported, but never scored:\n  extension (1):\n    - auth/dpop [client]\n"
	if got := scenarios(listed); !slices.Equal(got, []string{"initialize", "auth/scope"}) {
		t.Errorf("%q", got)
	}
	if got := scenarios("usage: something else\n  - x\n"); got != nil {
		t.Errorf("%q", got)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	got, checks := outcomes("Executing …\n=== SUITE SUMMARY ===\n\n✓ initialize: 1 passed, 0 failed\n✗ auth/scope: 2 passed, 6 failed\n\nTotal: 3 passed, 6 failed, 0 warnings\n  ✓ x (extension)\n")
	if want := map[string]bool{"initialize": true, "auth/scope": false}; !maps.Equal(got, want) || checks != 3 {
		t.Errorf("%v, %d checks", got, checks)
	}
}

func TestMajor(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{"v22.23.5\n": 22, "v9.0.0": 9, "": 0, "node": 0} {
		if got := major(version); got != want {
			t.Errorf("%q: %d", version, got)
		}
	}
}

func TestSuiteThatIsNotInstalled(t *testing.T) {
	t.Parallel()
	err := runSuite(t.Context(), t.TempDir(), false, t.Output())
	if err == nil || !strings.Contains(err.Error(), "run make conformance") {
		t.Errorf("%v", err)
	}
}

// TestFormIsFilledIn: defaults as they are, and what has to be given.
func TestFormIsFilledIn(t *testing.T) {
	t.Parallel()
	content, err := filledIn(json.RawMessage(`{"type":"object","required":["a","b","c","d","e"],"properties":{
		"a":{"type":"string","minLength":3},"b":{"type":"boolean"},"c":{"type":"integer","minimum":7},"d":{"type":"string","enum":["x","y"]},"e":{"type":"string","oneOf":[{"const":"k","title":"K"}]},
		"f":{"type":"string","default":"as it is"},"g":{"type":"number"},"h":{"type":"boolean","default":false}}}`))
	if want := `{"a":"xxx","b":true,"c":7,"d":"x","e":"k","f":"as it is","h":false}`; err != nil || string(content) != want {
		t.Errorf("%s %v", content, err)
	}
	if _, err := filledIn(json.RawMessage(`7`)); err == nil {
		t.Error("a form that is none is filled in")
	}
}

// TestScenarioOfAServerThatWantsALogin: at the start, and of one tool alone.
func TestScenarioOfAServerThatWantsALogin(t *testing.T) {
	t.Parallel()
	for _, p := range []mcptest.Protection{{}, {Scopes: []string{"mcp:basic"}, Of: map[string][]string{"test-tool": {"mcp:write"}}}} {
		srv, auth := suiteServer(t, mcptest.Modern), mcptest.ServeAuth(t, mcptest.AuthOptions{Iss: "own"})
		auth.Protect(srv, p)
		if err := (scenario{name: "auth/scope-step-up", version: "2026-07-28", url: srv.URL}).run(t.Context()); err != nil {
			t.Fatal(err)
		}
		answered := srv.Requests(mcptest.Call("test-tool"), func(r mcptest.HTTPRequest) bool { return r.Status == http.StatusOK })
		if len(answered) != 1 {
			t.Errorf("the tool was called %d times", len(answered))
		}
	}
}
