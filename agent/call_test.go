package agent_test

import (
	"testing"
	"testing/synctest"

	"agentls/agent/agenttest"
)

func TestUnknownToolAndBrokenArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, llm := w.must("go", agenttest.Call(
			call("1", "mcp__fake__ecko", "{}"), call("2", "mcp__other__echo", "{}"), call("3", "weird name!", "{}"),
			call("8", "mcp__fake__echo", `{"a":[{"text":"x","te\u0078t":"y"}]}`), call("9", "run_command", `{"command":"true","Command":"exit 3"}`), call("10", "mcp__fake__echo", `{"Text":"x","text":"y"}`),
			call("4", "mcp__fake__echo", `{"text`), call("5", "mcp__fake__echo", `["x"]`), call("6", "mcp__fake__echo", "null"), call("7", "mcp__fake__echo", " "),
		))
		got := results(llm.Last())
		contains(t, got[0], `no tool "mcp__fake__ecko"`, "mcp__fake__echo")
		contains(t, got[1], "mcp__fake__echo")
		contains(t, got[2], `no tool "weird name!"`)
		// What one reader shows is what another runs.
		contains(t, got[3], `the key "text" twice`, "Nothing was done.")
		contains(t, got[4], `no argument "Command"; write "command"`, "Nothing was done.")
		contains(t, got[5], "echo: ")
		got = got[3:]
		contains(t, got[3], "no valid JSON", "Nothing was done.")
		contains(t, got[4], "no object")
		contains(t, got[5], "echo: ")
		contains(t, got[6], "echo: ")
	})
}
