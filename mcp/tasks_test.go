package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
)

// Row 60: tasks are not declared, and what can only be run as one is not
// offered; but where the server does not say that it has tasks, a tool's word
// about them does not count.
func TestToolsThatOnlyRunAsTasks(t *testing.T) {
	t.Parallel()
	list := `{"tools":[{"name":"long","execution":{"taskSupport":"required"}},{"name":"both","execution":{"taskSupport":"optional"}},{"name":"plain"},{"name":"odd","execution":"required"}]}`
	for capability, want := range map[string][]string{
		`{"requests":{"tools":{"call":{}}}}`: {"both", "odd", "plain"},
		`{"list":{}}`:                        {"both", "long", "odd", "plain"},
		`7`:                                  {"both", "long", "odd", "plain"},
	} {
		log := mcptest.NewLog(t)
		h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Answers: map[string]json.RawMessage{
			"initialize": json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":` + capability + `},"serverInfo":{"name":"x","version":"1"}}`),
			"tools/list": json.RawMessage(list),
		}}})
		if got := h.tools("fake"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", capability, got, want)
		}
		if len(want) == 3 {
			if e := h.await("fake", EventProblem); !strings.HasSuffix(e.Text, "left out: long") {
				t.Errorf("%+v", e)
			}
		} else if lines, err := h.Logs("fake"); err != nil || slices.ContainsFunc(lines, func(l LogLine) bool { return strings.Contains(l.Text, "left out") }) {
			t.Errorf("%+v %v", lines, err)
		}
		if p := string(log.Method(t, "initialize")[0].Params); strings.Contains(p, "tasks") {
			t.Error(p)
		}
	}
}
