package mcp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
)

func TestParametersAreSentAsHeaders(t *testing.T) {
	t.Parallel()
	tool := func(name, property string) mcptest.Tool {
		return mcptest.Tool{Name: name, Answer: "done", Schema: json.RawMessage(`{"type":"object","oneOf":[true],"properties":{"region":` + property + `,"n":{"type":["integer","null"],"minimum":1}}}`)}
	}
	o := mcptest.HTTPOptions{Mode: mcptest.Modern}
	o.Tools = []mcptest.Tool{
		tool("good", `{"type":"string","description":"where","x-mcp-header":"Region"}`),
		tool("object", `{"type":"object","x-mcp-header":"Region"}`),
		tool("space", `{"type":"string","x-mcp-header":"Re gion"}`),
	}
	h, srv := remote(t, o)
	// 2026-07-28, SEP-2243: a tool that names headers wrongly is not used, and
	// the others are.
	names := h.tools("fake")
	if !slices.Contains(names, "good") || !slices.Contains(names, "echo") || slices.Contains(names, "object") || slices.Contains(names, "space") {
		t.Errorf("%v", names)
	}
	eventually(t, "both are told", func() bool { return len(h.kind("fake", EventProblem)) == 2 })
	for _, tool := range h.Tools() { // the schema is the server's own
		if tool.Name == "good" && !strings.Contains(string(tool.Schema), `"oneOf"`) {
			t.Errorf("%s", tool.Schema)
		}
	}
	h.mustCall("fake", "good", args{"region": "eu", "n": 1})
	h.mustCall("fake", "good", args{"region": "Zürich"})
	calls := srv.Requests(mcptest.Call("good"))
	if len(calls) != 2 || calls[0].Header.Get("Mcp-Param-Region") != "eu" || !strings.HasPrefix(calls[1].Header.Get("Mcp-Param-Region"), "=?base64?") {
		t.Errorf("%v", calls)
	}
}

// A tool whose parameter is no header any more is called without it.
func TestParametersAreHeadersNoMore(t *testing.T) {
	t.Parallel()
	o := mcptest.HTTPOptions{Mode: mcptest.Modern}
	o.Tools = []mcptest.Tool{{Name: "moved", Answer: "done", Schema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)}}
	h, srv := remote(t, o)
	h.mustCall("fake", "moved", args{"region": "eu"})
	srv.Break(mcptest.Method("tools/list"), mcptest.Answer(http.StatusOK, "application/json",
		`{"jsonrpc":"2.0","id":{id},"result":{"tools":[{"name":"moved","description":"new","inputSchema":{"type":"object","properties":{"region":{"type":"string"}}}}]}}`))
	srv.Notify("notifications/tools/list_changed", nil)
	h.await("fake", EventTools)
	h.mustCall("fake", "moved", args{"region": "us"})
	calls := srv.Requests(mcptest.Call("moved"))
	if len(calls) != 2 || calls[0].Header.Get("Mcp-Param-Region") != "eu" || calls[1].Header.Values("Mcp-Param-Region") != nil {
		t.Errorf("%v", calls)
	}
}

func FuzzParamHeaders(f *testing.F) {
	f.Add(`{"tools":[{"name":"a","inputSchema":{"properties":{"b":{"type":"string","x-mcp-header":"C"}}}}],"nextCursor":"x"}`)
	f.Add(`{"tools":[{"name":1,"inputSchema":{"x-mcp-header":null}},{"inputSchema":[]},7]}`)
	f.Add(`{"tools":{"x-mcp-header":{}}}`)
	f.Fuzz(func(t *testing.T, page string) {
		rest, forClient := paramHeaders(json.RawMessage(page), map[string]bool{"a": true}, func(string) {})
		if !json.Valid(forClient) || json.Valid([]byte(page)) != json.Valid(rest) {
			t.Errorf("%s, %s", rest, forClient)
		}
	})
}
