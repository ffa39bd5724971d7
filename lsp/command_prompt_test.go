package lsp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// promptWorld is a world with prompts of a fake server's and an open buffer.
func promptWorld(t testing.TB, llm agent.LLM, text string) (w *world, uri string) {
	t.Helper()
	w, uri = sendWorld(t, setup{llm: llm, servers: map[string]mcptest.Options{"my fake": {Prompts: []json.RawMessage{
		json.RawMessage(`{"name":"two words","description":"d","arguments":[{"name":"repo name","required":true},{"name":"branch","required":true},{"name":"note"}]}`),
	}}}}, text)
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 2 })
	return w, uri
}

func TestPromptOfAServerInTheBuffer(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Text("Fine."))
	line := `/my-fake:"two words" "a b" note="say \"x\"" main`
	w, uri := promptWorld(t, llm, "## You\n\n"+line+"\n\nBe short, @my-fake:file://doc1.md\nand quick.\n")
	r := result[agent.Result](t, w.send(uri, nil))
	if r.Text != "Fine." || r.Steps != 1 || len(r.Mentions) != 1 || r.Mentions[0].Status != "expanded" {
		t.Errorf("the result is %+v", r)
	}
	want := "Review it, branch main, note say \"x\", repo name a b\n\nBe short, @my-fake:file://doc1.md\nand quick.\n\n<resource server=\"my fake\""
	if got := last(llm.Last()); !strings.HasPrefix(got, want) {
		t.Errorf("the model got %q\nwant %q", got, want)
	}
	if got := w.Text(uri); !strings.HasSuffix(got, "and quick.\n\n## Agent\n\nFine.\n\n## You\n\n") {
		t.Errorf("the buffer is %q", got)
	}
	shown := commandAs[agent.SessionText](w, "agentls.session.show", obj{"session": r.Session})
	if text := shown.Messages[0].Text; !strings.HasPrefix(text, line+"\nBe short") || shown.Title == "" {
		t.Errorf("the session shows %q, title %q", text, shown.Title)
	}
	lines := commandAs[[]agent.AuditEntry](w, "agentls.audit", obj{"tool": "prompts/get"})
	if len(lines) != 1 || lines[0].RunID != r.RunID || lines[0].Server != "my fake" || lines[0].DecidedBy != "command" || lines[0].Outcome != "completed" {
		t.Errorf("the audit has %+v", lines)
	}
}

// What an error names of a server's is clean, and not all of thousands.
func TestForeignNamesInErrorsOfPrompts(t *testing.T) {
	prompts := []json.RawMessage{json.RawMessage(`{"name":"odd","arguments":[{"name":"a\u202e](command:evil)"},{"name":"other"}]}`)}
	for i := range 100 {
		prompts = append(prompts, json.RawMessage(fmt.Sprintf(`{"name":"prompt-number-%d"}`, i)))
	}
	w, _ := sendWorld(t, setup{servers: map[string]mcptest.Options{"fake": {Prompts: prompts}}}, "")
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) > 100 })
	for line, want := range map[string]string{
		"/fake:odd foo=1": "there are a] (command:evil), other;", "/fake:": "prompt-number-37 and 62 more",
	} {
		if e := failure(t, w.ask(line, nil), -32602); !strings.Contains(e.Message, want) {
			t.Errorf("%s: %q", line, e.Message)
		}
	}
}

// A mention in the arguments is a value for the server.
func TestPromptArgumentsAreNoMentions(t *testing.T) {
	llm := agenttest.NewLLM(t)
	w, _ := promptWorld(t, llm, "")
	r := result[agent.Result](t, w.ask("/my-fake:review @my-fake:file://doc1.md", nil))
	if got := last(llm.Last()); got != "Review it, focus @my-fake:file://doc1.md" || len(r.Mentions) != 0 {
		t.Errorf("the model got %q", got)
	}
}

func TestUsePrompt(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Text("Fine."))
	w, _ := promptWorld(t, llm, "")
	args := obj{"server": "my fake", "name": "review", "arguments": obj{"focus": "speed"}}
	got, _ := json.Marshal(commandAs[promptInfo](w, "agentls.mcp.usePrompt", args))
	if want := `{"description":"review","messages":[{"role":"user","contents":[{"type":"text","text":"Review it, focus speed"}]}]}`; string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	args["run"], args["session"] = true, "s1"
	r := commandAs[agent.Result](w, "agentls.mcp.usePrompt", args)
	if r.Session != "s1" || r.Text != "Fine." || last(llm.Last()) != "Review it, focus speed" {
		t.Errorf("the run: %+v", r)
	}
	shown := commandAs[agent.SessionText](w, "agentls.session.show", obj{"session": "s1"})
	if shown.Messages[0].Text != "/my-fake:review focus=speed" {
		t.Errorf("the session shows %q", shown.Messages[0].Text)
	}
	for arg, says := range map[string]string{
		`{"name":"review"}`:                                            "server is missing",
		`{"server":"nope","name":"review"}`:                            `no server is named "nope"`,
		`{"server":"my fake"}`:                                         "name is missing",
		`{"server":"my fake","name":"rewiev"}`:                         `no prompt "rewiev"; did you mean review?`,
		`{"server":"my fake","name":"review"}`:                         "needs focus",
		`{"server":"my fake","name":"review","arguments":[1]}`:         "arguments must be an object",
		`{"server":"my fake","name":"review","arguments":{"focus":1}}`: "must be a string",
		`{"server":"my fake","name":"review","arguments":{"x":"1"}}`:   `no argument "x"`,
		`{"server":"my fake","name":"review","session":"\u0000"}`:      "session must be",
	} {
		if err := failure(t, w.StartCommand("agentls.mcp.usePrompt", json.RawMessage(arg), nil), -32602); !strings.Contains(err.Message, says) {
			t.Errorf("%s: %s", arg, err.Message)
		}
	}
}

// A server that fails in prompts/get ends the run before it begins.
func TestPromptThatTheServerDoesNotGive(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: noModel(t), servers: map[string]mcptest.Options{"fake": {Broken: []string{"prompts/get"}}}}, "## You\n\n/fake:review x\n")
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 1 })
	err := failure(t, w.send(uri, nil), -32803)
	if !strings.Contains(err.Message, "The prompt /fake:review x cannot be used: prompt \"review\" of \"fake\": broken as asked") {
		t.Error(err.Message)
	}
	if got := w.Text(uri); !strings.Contains(got, "## Agent\n\n*(failed: The prompt /fake:review x cannot be used") {
		t.Errorf("the buffer is %q", got)
	}
	if err := failure(t, w.StartCommand("agentls.mcp.usePrompt", obj{"server": "fake", "name": "review", "arguments": obj{"focus": "x"}}, nil), -32803); !strings.Contains(err.Message, "broken as asked") {
		t.Error(err.Message)
	}
}

// A server that is not there says what to do, also to a client that was answered
// already.
func TestPromptOfAServerThatIsOff(t *testing.T) {
	w := newWorld(t, setup{llm: noModel(t), init: lsptest.Init{Features: []string{"runEvents"}}, options: map[string]any{
		"mcpServers": obj{"off": obj{"command": "none", "disabled": true}},
	}})
	w.awaitStatus("off", mcp.StatusDisabled)
	err := failure(t, w.ask("/off:review x", nil), -32803)
	if !strings.Contains(err.Message, "off") || !strings.Contains(err.Message, "disabled") {
		t.Error(err.Message)
	}
	result[startedInfo](t, w.ask("/off:review x", obj{"detached": true, "runId": "later"}))
	var told *failureEvent
	w.Await("the end", func() bool {
		for _, raw := range w.Notifications("agentls/runEvent") {
			if e := decodeAs[runEvent](t, raw); e.RunID == "later" && e.Kind == eventFinished {
				told = e.Error
				return true
			}
		}
		return false
	})
	if told == nil || told.Message != err.Message || told.Kind != agent.KindConfig {
		t.Errorf("told %+v", told)
	}
}

// What a server of others gives reaches the model as blocks and roles.
func TestPromptsOfARealServer(t *testing.T) {
	llm := agenttest.NewLLM(t)
	command, args := mcptest.RealServer(t, "everything")
	w, uri := sendWorld(t, setup{llm: llm, options: map[string]any{"mcpServers": obj{"everything": obj{"command": command, "args": args}}}}, "")
	w.awaitStatus("everything", mcp.StatusReady)
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) >= 4 })
	for line, holds := range map[string][]string{
		"/everything:simple-prompt":                                      {"This is a simple prompt without arguments."},
		`/everything:args-prompt "New York" state=NY`:                    {"New York", "NY"},
		"/everything:resource-prompt resourceType=Text resourceId=1":     {"<resource server=\"everything\" uri=\"demo://resource/dynamic/text/1\"", "</resource>\n\nBe short."},
		"/everything:completable-prompt department=Sales name=\"David\"": {"David", "Sales"},
	} {
		w.Edit(uri, lsptest.TextEdit{NewText: "## You\n\n" + line + "\nBe short.\n"})
		result[agent.Result](t, w.send(uri, nil))
		for _, part := range append(holds, "Be short.") {
			if got := last(llm.Last()); !strings.Contains(got, part) {
				t.Errorf("%s: %q is not in %q", line, part, got)
			}
		}
	}
	if got := w.slashItems(uri, "/everything:completable-prompt department=Sales name=|"); len(got) == 0 || got[0] != "name=David" {
		t.Errorf("names that go with the department: %q", got)
	}
}

// Prompts of a session wait for each other as all do, and can be cancelled.
func TestPromptIsCancelledWhileItIsFetched(t *testing.T) {
	log := mcptest.NewLog(t)
	w, uri := sendWorld(t, setup{llm: noModel(t), servers: map[string]mcptest.Options{"fake": {Log: string(log), Unanswered: []string{"prompts/get"}}}}, "## You\n\n/fake:review x\n")
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 1 })
	p := w.send(uri, nil)
	log.AwaitMethod(t, 1, "prompts/get")
	p.Cancel()
	failure(t, p, -32800)
	log.AwaitMethod(t, 1, "notifications/cancelled")
	w.Await("it is told", func() bool { return strings.Contains(w.Text(uri), "*(cancelled)*") })
}

// CONTRACT §12: what a resource link says of itself goes along.
func TestPromptsResourceLinkIsTold(t *testing.T) {
	size := int64(7)
	got := mustJSON(promptInfoOf(mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: "user", Contents: []mcp.Content{
		{Type: "resource_link", URI: "docs://a", Name: "a", Title: "A", Description: "about a", Size: &size},
	}}}}))
	want := `{"messages":[{"role":"user","contents":[{"type":"resource_link","name":"a","uri":"docs://a","title":"A","description":"about a","size":7}]}]}`
	if string(got) != want {
		t.Errorf("%s", got)
	}
}
