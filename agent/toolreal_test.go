package agent_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// realServer puts a server that others wrote in the place of the fake one.
func (w *real) realServer(name string, args ...string) {
	w.t.Helper()
	command, given := mcptest.RealServer(w.t, name)
	w.manager.Configure([]mcp.ServerConfig{{
		Name: name, Source: "user", Type: "stdio", Command: command, Args: append(given, args...), Cwd: w.dir,
		Timeout: mcp.DefaultTimeout, StartupTimeout: mcp.DefaultStartupTimeout, Protocol: "auto", Fingerprint: "f2",
	}})
	w.eventually(name+" is ready", func() bool {
		return slices.ContainsFunc(w.manager.Servers(), func(s mcp.ServerInfo) bool { return s.Name == name && s.Status == mcp.StatusReady })
	})
}

// What server-everything gives of each kind reaches the provider (MCP.md rows
// 43, 46; agentscope-ai/agentscope#2798, agno-agi/agno#10009,
// stacklok/mecatl#223).
func TestContentOfARealServer(t *testing.T) {
	w := newReal(t, mcptest.Options{})
	w.realServer("everything")
	name := func(tool string) string { return "mcp__everything__" + tool }
	_, llm := w.must("go", agenttest.Call(
		call("1", name("get-resource-links"), `{"count":2}`), call("2", name("get-resource-reference"), `{"resourceType":"Text","resourceId":1}`),
		call("3", name("get-tiny-image"), "{}"), call("4", name("get-structured-content"), `{"location":"Chicago"}`),
		call("5", name("get-annotated-message"), `{"messageType":"success","includeImage":true}`), call("6", name("get-sum"), `{"a":1,"b":"two"}`),
		call("7", name("get-resource-reference"), `{"resourceType":"Blob","resourceId":1}`),
	))
	got := results(llm.Last())
	contains(t, got[0], "[resource link: demo://resource/dynamic/", ", text/plain: ", "[mcp__everything__read_resource reads a linked resource by its URI]")
	contains(t, got[1], "[resource demo://resource/dynamic/text/1, text/plain]\n")
	contains(t, got[2], "[image image/png, ", " shown with this result]")
	if images := lastUser(llm.Last()).Images; len(images) != 2 || images[0].MIMEType != "image/png" {
		t.Errorf("%d images", len(images))
	}
	if n := strings.Count(got[3], "temperature"); n != 1 {
		t.Errorf("the structured content stands there %d times: %s", n, got[3])
	}
	contains(t, got[4], "[for the user: tell them of it] ")
	contains(t, got[5], "the arguments do not fit the tool's schema: /b: got string, want number")
	contains(t, got[6], "[resource demo://resource/dynamic/blob/1, ")
}

// What the model gets of the tools of real servers is what providers take.
func TestToolsOfRealServers(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		least int
	}{{"everything", nil, 10}, {"filesystem", []string{"."}, 10}, {"hello-world", nil, 3}, {"code-runner", nil, 1}, {"gosdk-everything", nil, 8}, {"mcpgo-everything", nil, 5}, {"sequentialthinking", nil, 3}} {
		t.Run(c.name, func(t *testing.T) {
			w := newReal(t, mcptest.Options{})
			w.realServer(c.name, c.args...)
			_, llm := w.must("go")
			n := 0
			for _, tool := range llm.Last().Tools {
				if !strings.HasPrefix(tool.Name, "mcp__"+c.name) {
					continue
				}
				n++
				if err := takenByProviders(tool); err != "" {
					t.Errorf("%s: %s: %s", tool.Name, err, tool.Schema)
				}
			}
			if n < c.least {
				t.Errorf("%d tools", n)
			}
		})
	}
}

// takenByProviders says what providers refuse in a tool; "" for nothing.
func takenByProviders(t agent.ToolSpec) string {
	var schema map[string]any
	switch {
	case !regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`).MatchString(t.Name):
		return "its name"
	case t.Description == "" || len([]rune(t.Description)) > 1024:
		return "its description"
	case json.Unmarshal(t.Schema, &schema) != nil || schema["type"] != "object" || schema["properties"] == nil:
		return "it is no object"
	}
	for _, key := range []string{"$schema", "anyOf", "oneOf", "allOf", "not", "enum"} {
		if schema[key] != nil {
			return key
		}
	}
	return ""
}

// google-gemini/gemini-cli#20987: names that no provider takes lead back to the
// server's own.
func TestNamesOfGoSDKsServer(t *testing.T) {
	w := newReal(t, mcptest.Options{})
	w.realServer("gosdk-everything")
	_, llm := w.must("go", agenttest.Call(call("1", "mcp__gosdk-everything__greet__with_Icons_", `{"name":"you"}`), call("2", "mcp__gosdk-everything__greet__structured_", `{"name":"you"}`)))
	got := results(llm.Last())
	for i, text := range got {
		if !strings.Contains(text, "you") || strings.Contains(text, "There is no tool") {
			t.Errorf("call %d: %s", i, text)
		}
	}
}
