package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// offers adds tools of a server.
func (s *servers) offers(server string, tools ...mcptest.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.infos, func(i mcp.ServerInfo) bool { return i.Name == server }) {
		s.infos = append(s.infos, mcp.ServerInfo{Name: server, Status: mcp.StatusReady, Fingerprint: "f1"})
	}
	for _, t := range tools {
		s.tools = append(s.tools, mcp.Tool{Server: server, Name: t.Name, Description: t.Description, Schema: t.Schema})
		s.call[server+"/"+t.Name] = func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
			return mcp.ToolResult{Content: []mcp.Content{{Type: "text", Text: t.Answer}}}, nil
		}
	}
}

// offered are the names of a request's tools of a server, in their order.
func offered(req agent.Request, server string) (names []string) {
	for _, t := range req.Tools {
		if name, ok := strings.CutPrefix(t.Name, "mcp__"+server+"__"); ok && !strings.HasSuffix(name, "_resource") && !strings.HasSuffix(name, "_resources") {
			names = append(names, name)
		}
	}
	return names
}

// hints are what was told that is no fault.
func hints(h *agenttest.Host) (list []string) {
	for _, e := range h.Events() {
		if e.Kind == agent.EventHint {
			list = append(list, e.Delta)
		}
	}
	return list
}

func toolBytes(req agent.Request, server string) (n int) {
	for _, t := range req.Tools {
		if strings.HasPrefix(t.Name, "mcp__"+server+"__") {
			n += len(t.Name) + len(t.Description) + len(t.Schema)
		}
	}
	return n
}

// 198 tools, as mcp-linear has them (MCP.md row 51, VS Code's HARD_TOOL_LIMIT):
// those that the prompt is about are offered, the others are found, what was
// offered stays in its place, and a person hears of it once.
func TestManyToolsAreOfferedByNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.servers.offers("linear", mcptest.ManyTools(198)...)
		w.servers.offers("small", mcptest.ManyTools(3)...)
		whole := 0
		for _, tool := range w.servers.tools {
			whole += len(tool.Name) + len(tool.Description) + len(tool.Schema)
		}
		_, llm := w.must("Please assign the milestone of my project to the team",
			agenttest.Call(call("a", "find_tools", `{"query":"rotate the secret of a webhook"}`)),
			agenttest.Call(call("b", "mcp__linear__linear_rotateWebhookSecret", `{}`)))
		reqs := llm.Requests()
		first := offered(reqs[0], "linear")
		t.Logf("%d of %d tools, %d of %d bytes", len(first), 198, toolBytes(reqs[0], "linear"), whole)
		if n := toolBytes(reqs[0], "linear") + toolBytes(reqs[0], "small"); n/3 > 16_000 || len(reqs[0].Tools) > 128 {
			t.Errorf("%d tools, %d bytes", len(reqs[0].Tools), n)
		}
		for _, want := range []string{"linear_assignMilestone", "linear_assignProject", "linear_assignTeam", "linear_getMilestone"} {
			if !slices.Contains(first, want) {
				t.Errorf("%s is not offered: %v", want, first)
			}
		}
		if slices.Contains(first, "linear_rotateWebhookSecret") {
			t.Fatalf("the test is none: %v", first)
		}
		equal(t, "a small server whole", offered(reqs[0], "small"), []string{"linear_createIssue", "linear_deleteIssue", "linear_updateIssue"})
		contains(t, reqs[0].Messages[0].Text, "Not all tools of these MCP servers are offered to you at once: linear. find_tools finds the others", "\n- linear: linear_archiveAttachment, ")
		contains(t, results(reqs[1])[0], "- mcp__linear__linear_rotateWebhookSecret: Use it to rotate one webhook secret of the workspace.", "They can be called from your next turn on.")
		second := offered(reqs[1], "linear")
		if len(second) <= len(first) || !slices.Equal(second[:len(first)], first) || !slices.Contains(second[len(first):], "linear_rotateWebhookSecret") {
			t.Errorf("what was found does not stand at the end:\n%v\n%v", first, second)
		}
		equal(t, "the text of the system", []string{reqs[1].Messages[0].Text}, []string{reqs[0].Messages[0].Text})
		equal(t, "the call", results(reqs[2])[1:], []string{"rotate webhook secret done"})
		told := hints(w.host)
		equal(t, "told", told, []string{"The 208 tools of the MCP servers do not all find room in a request: those of linear are offered by need, and found by the model. enabledTools in a server's configuration chooses them for good."})

		// Another prompt of the session: what was used stays, what it needs comes.
		_, llm = w.must("Get this customer and list the reactions of it. Export the roadmap.")
		third := offered(llm.Last(), "linear")
		for _, want := range []string{"linear_rotateWebhookSecret", "linear_exportRoadmap", "linear_getCustomer", "linear_listReaction"} {
			if !slices.Contains(third, want) {
				t.Errorf("%s is not offered: %v", want, third)
			}
		}
		// After a restart the history says what was used.
		w.restart()
		all := w.servers.tools
		w.servers.tools = nil // the server starts slowly
		w.must("wait")
		w.servers.tools = all
		_, llm = w.must("go on")
		if again := offered(llm.Last(), "linear"); !slices.Contains(again, "linear_rotateWebhookSecret") {
			t.Errorf("what was used is not offered: %v", again)
		}
		w.task.Session = "another"
		_, llm = w.must("Use linear_deleteCustomer of mcp__linear__linear_searchCycle")
		if named := offered(llm.Last(), "linear"); !slices.Contains(named, "linear_deleteCustomer") || !slices.Contains(named, "linear_searchCycle") || slices.Contains(named, "linear_rotateWebhookSecret") {
			t.Errorf("offered %v", named)
		}
		if n := len(hints(w.host)); n != 2 { // once for each agent
			t.Errorf("told %d times", n)
		}
	})
}

// With room for all there is no search, and a tool that comes late stands last:
// providers cache by prefix (MCP.md row 49).
func TestFewToolsAreAllOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.servers.offers("linear", mcptest.ManyTools(12)...)
		rand.Shuffle(len(w.servers.tools), func(i, j int) { w.servers.tools[i], w.servers.tools[j] = w.servers.tools[j], w.servers.tools[i] })
		w.host.On = func(e agent.Event) {
			if e.ToolCall != nil && e.ToolCall.State == agent.ToolRunning && e.ToolCall.ID == "a" {
				w.servers.offers("aaa", mcptest.ManyTools(1)...)
			}
		}
		_, llm := w.must("go", agenttest.Call(call("a", "mcp__fake__echo", "{}")))
		first, second := llm.Requests()[0].Tools, llm.Requests()[1].Tools
		names := offered(llm.Requests()[0], "linear")
		if len(names) != 12 || !slices.IsSorted(names) {
			t.Errorf("offered %v", names)
		}
		if len(second) != len(first)+1 || second[len(first)].Name != "mcp__aaa__linear_createIssue" {
			t.Fatalf("%d tools, then %d", len(first), len(second))
		}
		for i := range first {
			if first[i].Name != second[i].Name || first[i].Name == "find_tools" {
				t.Errorf("%s, then %s", first[i].Name, second[i].Name)
			}
		}
		if n := hints(w.host); len(n) > 0 {
			t.Errorf("told %v", n)
		}
	})
}

// A name that a model knows from earlier is called, offered or not; the gate
// stands before it all the same. A search that finds nothing says so.
func TestToolsThatAreNotOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.servers.offers("linear", mcptest.ManyTools(198)...)
		res, llm := w.must("hello",
			agenttest.Call(call("a", "mcp__linear__linear_rotateWebhookSecret", `{}`), call("b", "find_tools", `{"query":"xylophone"}`), call("c", "find_tools", `{}`), call("d", "mcp__linear__linear_rotateWebhookSecrets", `{}`)))
		outcomes := map[string]agent.Outcome{}
		for _, c := range res.ToolCalls {
			outcomes[c.ID] = c.Status
		}
		equal(t, "outcomes", []agent.Outcome{outcomes["a"], outcomes["b"], outcomes["c"], outcomes["d"]}, []agent.Outcome{"completed", "completed", "failed", "failed"})
		got := results(llm.Last())
		equal(t, "result", got[:1], []string{"rotate webhook secret done"})
		contains(t, got[1], "None of the 205 tools of the MCP servers has these words.")
		contains(t, got[2], "the argument query is missing")
		contains(t, got[3], "Near names: mcp__linear__linear_rotateWebhookSecret,")
		if q := w.host.Questions(); len(q) != 1 || q[0].Tool != "linear_rotateWebhookSecret" {
			t.Errorf("asked %+v", q)
		}
		if again := offered(llm.Last(), "linear"); !slices.Contains(again, "linear_rotateWebhookSecret") {
			t.Error("what was called is not offered from then on")
		}
	})
}

// The choice depends on the tools and the dialogue alone, and never exceeds
// what a provider takes, whatever is found.
func TestChoiceOfToolsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 70 { // whose virtual tools alone are more than a request takes
			w.servers.offers(fmt.Sprintf("server%d", i), mcptest.ManyTools(3+i%20)...)
			w.servers.resources[fmt.Sprintf("server%d", i)] = map[string][]mcp.Content{}
		}
		var steps []agenttest.Step
		for i, words := range []string{"create an issue", "delete a project", "comments", "search documents", "rotate", "export roadmaps", "team", "label", "cycle"} {
			steps = append(steps, agenttest.Call(call(fmt.Sprint(i), "find_tools", fmt.Sprintf(`{"query":%q}`, words))))
		}
		var runs [][]string
		for i := range 2 {
			w.task.Session = fmt.Sprint(i)
			w.servers.mu.Lock()
			rand.Shuffle(len(w.servers.tools), func(i, j int) { w.servers.tools[i], w.servers.tools[j] = w.servers.tools[j], w.servers.tools[i] })
			w.servers.mu.Unlock()
			_, llm := w.must("Archive what is done", steps...)
			var names []string
			for _, req := range llm.Requests() {
				size := 0
				for _, tool := range req.Tools {
					names = append(names, tool.Name)
					size += len(tool.Name) + len(tool.Description) + len(tool.Schema)
				}
				if !slices.ContainsFunc(req.Tools, func(t agent.ToolSpec) bool { return t.Name == "find_tools" }) {
					t.Error("find_tools is not offered")
				}
				if len(req.Tools) > 128 || size/3 > 16_000+24_000 {
					t.Errorf("%d tools, %d bytes", len(req.Tools), size)
				}
			}
			runs = append(runs, names)
		}
		equal(t, "the same choice", runs[0], runs[1])
	})
}

// A small window has room for a few tools.
func TestToolsInASmallWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.servers.offers("linear", mcptest.ManyTools(198)...)
		w.window = 16000
		_, llm := w.must("Export a roadmap")
		n := toolBytes(llm.Last(), "linear")
		if names := offered(llm.Last(), "linear"); n/3 > 12000/3 || !slices.Contains(names, "linear_exportRoadmap") {
			t.Errorf("%d bytes, %v", n, names)
		}
	})
}
