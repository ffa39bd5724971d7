package lsp

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// Each command of the grammar does something, and nothing else is one.
func TestEverySlashCommandIsServed(t *testing.T) {
	var names []string
	for _, c := range agent.SlashCommands() {
		if c.Mode == "" {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	if got := slices.Sorted(maps.Keys(slashCommands())); !slices.Equal(got, names) {
		t.Errorf("served are %v, the grammar has %v", got, names)
	}
}

// slashed is what an answer looks like below a prompt of one line.
func slashed(line, answer string) string {
	return "## You\n\n" + line + "\n\n## Agent\n\n" + answer + "\n\n## You\n"
}

// noModel fails a test in which a model is asked.
func noModel(t testing.TB) *agenttest.LLM {
	return agenttest.NewScript(t, func(int, agent.Request) agenttest.Step {
		t.Error("the model was asked")
		return agenttest.Text("")
	})
}

func TestSlashCommandsAnswerInTheBuffer(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: noModel(t), servers: map[string]mcptest.Options{"fake": {}}}, "")
	w.awaitStatus("workspace", mcp.StatusReady)
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 1 })
	for _, c := range []struct {
		line  string
		holds []string
	}{
		{"/help", []string{"- `/model [provider] [model]` — show the model", "- `/fake:review focus=…` — Review a pull request"}},
		{"/cancel", []string{"Nothing runs in this session."}},
		{"/clear", []string{"This session is empty already."}},
		{"/compact", []string{"There is nothing new in this session to summarise."}},
		{"/context", []string{"The model takes 128000 tokens. About ", "| instructions | ", "| tools (", "The session has 0 messages."}},
		{"/mcp", []string{"- `fake` — ready, ", " tools, 3 resources, 1 prompt\n", "- `workspace` — ready"}},
		{"/mcp list", []string{"- `fake` — ready"}},
		{"/mcp tools fake", []string{"- `echo` — "}},
		{"/mcp resources fake", []string{"- `@fake:file://doc0.md` — ", "Templates of further ones:\n\n- `file://{name}.md`"}},
		{"/mcp prompts fake", []string{"- `/fake:review focus=…` — Review a pull request"}},
		{"/mcp prompts workspace", []string{"`workspace` offers no prompts."}},
		{"/mcp logs workspace", []string{"```text\n", " agentls info: ready, with 0 tools\n```"}},
		{"/mcp login fake", []string{"fake is a program and wants no login; what it must know stands in \"env\" of the editor's settings."}},
		{"/mcp logout workspace", []string{"workspace is part of agentls and wants no login."}},
		{"/audit", []string{"No tool was called yet."}},
		{"/undo", []string{"No run of this session is known that changed files"}},
		{"/model", []string{"The model is `offline`.", "- `offline`"}},
	} {
		w.Edit(uri, lsptest.TextEdit{NewText: "## You\n\n" + c.line + "\n"})
		r := result[agent.Result](t, w.send(uri, nil))
		if r.Steps != 0 || r.Status != "completed" || r.StopReason != "end_turn" || r.Mentions == nil || r.ToolCalls == nil {
			t.Errorf("%s: the result is %+v", c.line, r)
		}
		got := w.Text(uri)
		if want := slashed(c.line, r.Text) + "\n"; got != want {
			t.Errorf("%s: the buffer is %q\nwant %q", c.line, got, want)
		}
		for _, part := range c.holds {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is not in\n%s", c.line, part, got)
			}
		}
	}
	if list := commandAs[[]agent.SessionInfo](w, "agentls.session.list", nil); len(list) != 0 {
		t.Errorf("commands made sessions: %+v", list)
	}
}

// What is wrong with a line is told before anything is done, and the buffer
// stays as it is.
func TestSlashLinesThatAreRefused(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: noModel(t), servers: map[string]mcptest.Options{"fake": {Prompts: []json.RawMessage{
		json.RawMessage(`{"name":"two","arguments":[{"name":"a","required":true},{"name":"b","required":true},{"name":"c"}]}`),
	}}}}, "")
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 2 })
	for _, c := range []struct{ text, says string }{
		{"/hlep", "there is no command /hlep; did you mean /help?; /help lists all; to send the line as text, indent it by a space or put it into backticks"},
		{"/zzzzzzzz", "there is no command /zzzzzzzz; /help lists all"},
		{"/review", "there is no command /review; did you mean /fake:review?"},
		{"/plan", "/plan needs a task; write it behind /plan, or below"},
		{"/plan \n\n ", "/plan needs a task"},
		{"/help\nand more", "/help takes nothing below its line"},
		{"/help me", "/help takes nothing behind its name"},
		{"hi\n/cancel", `the line "/cancel" begins like a command, which only the first line of a prompt can be`},
		{"hi\n/tmp is full", "begins like a command"},
		{"/fake:review x\n/fake:review y", "begins like a command"},
		{"/model a b c", "/model takes [provider] [model]"},
		{"/model provider=x", `put provider=x into quotes`},
		{"/model nope", `no provider is named "nope"`},
		{`/model "x`, "a quote that is not closed"},
		{"/mcp lst", `/mcp has no "lst"; did you mean list?`},
		{"/mcp tools", "/mcp tools needs the name of a server"},
		{"/mcp tools fake more", "/mcp tools takes nothing behind the name"},
		{"/mcp tools fkae", `no MCP server is named "fkae"; did you mean fake?`},
		{"/mcp list fake", "/mcp list takes no name"},
		{"/audit many", `/audit takes a number from 1 to 1000, not "many"`},
		{"/nope:review", `no MCP server is named "nope"`},
		{"/fake:", "needs the name of a prompt; there are review, two"},
		{"/fake:reviwe x", `the MCP server fake has no prompt "reviwe"; did you mean review?`},
		{"/fake:review", "/fake:review needs focus: write /fake:review focus=…"},
		{"/fake:two 1", "/fake:two needs b: write /fake:two a=… b=… [c=…]"},
		{"/fake:two", "/fake:two needs a, b"},
		{"/fake:two b=1 x=2 a=3", `has no argument "x"`},
		{"/fake:two a=1 a=2 b=3", "gets a twice"},
		{"/fake:review one two", `has no place for "two": it takes focus=…; put a value of several words into quotes`},
		{`/fake:review focus="one`, "a quote that is not closed"},
	} {
		text := "## You\n\n" + c.text + "\n"
		w.Edit(uri, lsptest.TextEdit{NewText: text})
		err := failure(t, w.send(uri, nil), -32602)
		if !strings.Contains(err.Message, c.says) || !strings.HasPrefix(err.Message, "agentls.send: ") {
			t.Errorf("%s: %q\nwant %q", c.text, err.Message, c.says)
		}
		if got := w.Text(uri); got != text {
			t.Errorf("%s: the buffer became %q", c.text, got)
		}
		if strings.HasPrefix(c.text, "hi\n") {
			continue // text, for agentls.ask
		}
		if err := failure(t, w.ask(c.text, nil), -32602); !strings.Contains(err.Message, c.says) {
			t.Errorf("ask %s: %q", c.text, err.Message)
		}
	}
}

// What looks like a command and is none reaches the model as it was typed.
func TestTextThatOnlyLooksLikeACommand(t *testing.T) {
	llm := agenttest.NewLLM(t)
	w, uri := sendWorld(t, setup{llm: llm}, "")
	for _, text := range []string{"/usr/bin/env runs it", " /help", "`/help`", "// a comment", "```\n/help\n```", "look:\n```\n/cancel\n```\n /clear", "/"} {
		w.Edit(uri, lsptest.TextEdit{NewText: "## You\n\n" + text + "\n"})
		result[agent.Result](t, w.send(uri, nil))
		if got := strings.Trim(last(llm.Last()), "\n"); got != text {
			t.Errorf("%q reached the model as %q", text, got)
		}
	}
	// A prompt of a client's may quote anything below its first line.
	result[agent.Result](t, w.ask("why?\n/tmp is full", nil))
	if got := last(llm.Last()); got != "why?\n/tmp is full" {
		t.Errorf("the model got %q", got)
	}
}

// A command does not wait for the runs of its session, and /cancel ends them.
func TestSlashCancelDoesNotQueue(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Step{Text: []string{"partial \n"}, Block: true})
	w, uri := sendWorld(t, setup{llm: llm}, "## You\n\nlong\n")
	first := w.send(uri, obj{"stream": true})
	w.Await("the answer streams", func() bool { return strings.Contains(w.Text(uri), "partial") })
	second := w.ask("waits", obj{"session": commandAs[[]runInfo](w, "agentls.runs", nil)[0].Session})
	end := lsptest.End(w.Text(uri))
	w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: end, End: end}, NewText: "\n\n## You\n\n/mcp list\n"})
	if r := result[agent.Result](t, w.send(uri, nil)); !strings.Contains(r.Text, "`workspace`") {
		t.Errorf("the result is %+v", r)
	}
	for _, line := range []string{"/clear", "/compact", "/undo"} {
		end = lsptest.End(w.Text(uri))
		w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: end, End: end}, NewText: "\n" + line})
		failure(t, w.send(uri, nil), -32602)
		end = lsptest.End(w.Text(uri))
		w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: lsptest.Position{Line: end.Line - 1, Character: 0}, End: end}, NewText: ""})
	}
	end = lsptest.End(w.Text(uri))
	w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: end, End: end}, NewText: "\n/cancel\n"})
	if r := result[agent.Result](t, w.send(uri, nil)); r.Text != "2 runs are cancelled." {
		t.Errorf("the result is %+v", r)
	}
	failure(t, first, -32800)
	failure(t, second, -32800)
	w.Await("both are told", func() bool {
		text := w.Text(uri)
		return strings.Contains(text, "2 runs are cancelled.") && strings.Contains(text, "*(cancelled)*")
	})
	text := w.Text(uri)
	order := []string{"long", "partial", "*(cancelled)*", "/mcp list", "`workspace`", "/cancel", "2 runs are cancelled."}
	at := -1
	for _, part := range order {
		i := strings.Index(text, part)
		if i <= at {
			t.Fatalf("%q stands elsewhere in\n%s", part, text)
		}
		at = i
	}
}

func TestSlashClearEmptiesTheSession(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Text("one"), agenttest.Text("two"))
	w, uri := sendWorld(t, setup{llm: llm}, "## You\n\nfirst\n")
	a := result[agent.Result](t, w.send(uri, nil))
	add := func(text string) {
		end := lsptest.End(w.Text(uri))
		w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: end, End: end}, NewText: text})
	}
	add("/clear\n")
	r := result[agent.Result](t, w.send(uri, nil))
	if r.Session != a.Session || !strings.HasPrefix(r.Text, "The session is empty") {
		t.Errorf("the result is %+v", r)
	}
	add("second\n")
	b := result[agent.Result](t, w.send(uri, nil))
	if n := len(llm.Last().Messages); b.Session != a.Session || n != 2 {
		t.Errorf("the model got %d messages in the session %q", n, b.Session)
	}
}

// Commands of ours are told as any run: events, a progress, a detached start.
func TestSlashCommandIsToldAsARun(t *testing.T) {
	w := newWorld(t, setup{llm: noModel(t), init: lsptest.Init{Capabilities: lsptest.Capabilities("runEvents")}})
	r := result[agent.Result](t, w.ask("/help", obj{"runId": "mine"}))
	if r.RunID != "mine" || !strings.Contains(r.Text, "`/help`") {
		t.Errorf("the result is %+v", r)
	}
	var kinds []string
	for _, raw := range w.Notifications("agentls/runEvent") {
		kinds = append(kinds, string(decodeAs[runEvent](t, raw).Kind))
	}
	if want := []string{"queued", "started", "text", "finished"}; !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
	info := result[startedInfo](t, w.ask("/help", obj{"detached": true}))
	w.Await("it ends", func() bool {
		list := commandAs[[]runInfo](w, "agentls.runs", nil)
		return list[len(list)-1].RunID == info.RunID && list[len(list)-1].Status == runCompleted
	})
}

// The answer to a stock client's ask is shown as any answer is.
func TestSlashAnswerOfAStockClient(t *testing.T) {
	w := newWorld(t, setup{llm: noModel(t)})
	result[agent.Result](t, w.ask("/cancel", obj{"session": "s"}))
	w.AwaitRequest("window/showDocument", 1)
	raw, err := os.ReadFile(filepath.Join(w.state, "answers", "s"+promptExtension))
	if text := string(raw); err != nil || !strings.Contains(text, "## You\n\n/cancel\n\n## Agent\n\nNothing runs in this session.") {
		t.Errorf("the answer document says %q", text)
	}
}

// A link in a popup can run announced commands: it must not change by a line
// what it could not change by a command.
func TestGuardedSlashLines(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: noModel(t), init: lsptest.Init{Capabilities: lsptest.Capabilities("approvals")}}, "## You\n\n/undo\n")
	for _, line := range []string{"/undo", "/model offline", "/mcp enable workspace"} {
		if err := failure(t, w.ask(line, obj{"session": "s"}), -32602); !strings.Contains(err.Message, "write it in a prompt buffer") {
			t.Errorf("%s: %s", line, err.Message)
		}
	}
	result[agent.Result](t, w.ask("/model", nil))
	result[agent.Result](t, w.send(uri, nil))
}

func TestSlashUndo(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Call(agent.ToolCall{ID: "1", Name: "write_file", Arguments: `{"path":"new.txt","content":"x\n"}`}), agenttest.Text("made"))
	w, uri := sendWorld(t, setup{llm: llm, options: map[string]any{"approval": obj{"allow": []string{"write_file"}}}}, "## You\n\nmake it\n")
	result[agent.Result](t, w.send(uri, nil))
	undo := func() string {
		end := lsptest.End(w.Text(uri))
		w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: end, End: end}, NewText: "/undo\n"})
		return result[agent.Result](t, w.send(uri, nil)).Text
	}
	if text := undo(); text != "The run of “make it”:\n\nAs before the run:\n\n- `new.txt`" {
		t.Errorf("undone: %q", text)
	}
	if _, err := os.Stat(filepath.Join(w.root, "new.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the file is still there")
	}
	if text := undo(); !strings.HasPrefix(text, "No run of this session is known") {
		t.Errorf("undone again: %q", text)
	}
}

// What servers say stays inside the answer's lists.
func TestSlashAnswersHoldForeignText(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: noModel(t), servers: map[string]mcptest.Options{"fake": {Prompts: []json.RawMessage{
		json.RawMessage(`{"name":"a` + "`" + `b\u202ec","description":"x\n## You\n/cancel ![i](u) [l](command:x)"}`),
	}}}}, "## You\n\n/mcp prompts fake\n")
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 2 })
	result[agent.Result](t, w.send(uri, nil))
	text := w.Text(uri)
	if !strings.Contains(text, "- ``/fake:a`bc`` — x ## You /cancel !\\[i] (u) [l] (command:x)\n") || len(turns(text)) != 3 {
		t.Errorf("the buffer is %q", text)
	}
}

// The answer stands where any answer would, in every kind of buffer.
func TestSlashAnswerInEachKindOfBuffer(t *testing.T) {
	const answer = "Nothing runs in this session."
	for _, c := range []struct {
		name, uri, text, want string
		stream                bool
	}{
		{"without headings", "", "/cancel", "/cancel\n\n## Agent\n\n" + answer + "\n\n## You\n", false},
		{"blank lines before", "", "## You\n\n \n/cancel \n", "## You\n\n \n/cancel\n\n## Agent\n\n" + answer + "\n\n## You\n \n", false},
		{"CRLF", "", "## You\r\n\r\n/cancel\r\n", "## You\r\n\r\n/cancel\r\n\r\n## Agent\r\n\r\n" + answer + "\r\n\r\n## You\r\n\r\n", false},
		{"streamed", "", "## You\n\n/cancel\n", "## You\n\n/cancel\n\n## Agent\n\n" + answer + "\n\n## You\n\n", true},
		{"untitled", "untitled:Untitled-1", "/cancel\n", "/cancel\n\n## Agent\n\n" + answer + "\n\n## You\n\n", false},
		{"before another turn", "", "## You\n/cancel\n## You\nnext\n", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, uri := sendWorld(t, setup{llm: noModel(t)}, "")
			if c.uri != "" {
				uri = c.uri
				w.Open(uri, "agentls", "")
			}
			w.Edit(uri, lsptest.TextEdit{NewText: c.text})
			want, arg := c.want, obj{"stream": c.stream}
			if want == "" {
				want = "## You\n/cancel\n\n## Agent\n\n" + answer + "\n## You\nnext\n"
				arg["position"] = lsptest.Position{Line: 1}
			}
			if r := result[agent.Result](t, w.send(uri, arg)); r.Text != answer {
				t.Errorf("the result is %+v", r)
			}
			if got := w.Text(uri); got != want {
				t.Errorf("the buffer is %q\nwant %q", got, want)
			}
		})
	}
}

// The mode that is asked for is the run's, and that of its own `/` line before
// any other; what asks no model has none.
func TestModesOfRuns(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewScript(t, func(int, agent.Request) agenttest.Step { return agenttest.Text("ok") })})
	modes := []string{}
	for _, c := range []struct{ prompt, mode, want string }{
		{"hi", "", "react"}, {"hi", "react", "react"}, {"hi", "plan", "plan"}, {"/plan it", "", "plan"}, {"/plan it", "react", "plan"}, {"/team it", "plan", "team"}, {"/help", "plan", "react"},
	} {
		more := obj{"session": "s"}
		if c.mode != "" {
			more["mode"] = c.mode
		}
		result[agent.Result](t, w.ask(c.prompt, more))
		modes = append(modes, c.want)
	}
	for i, r := range w.runs() {
		if string(r.Mode) != modes[i] {
			t.Errorf("%d: %+v, want the mode %s", i, r, modes[i])
		}
	}
	var known []string
	for _, m := range agent.Modes() {
		known = append(known, string(m.Mode))
	}
	if err := failure(t, w.ask("hi", obj{"mode": "x"}), -32602); !strings.Contains(err.Message, "mode must be one of "+strings.Join(known, ", ")) {
		t.Error(err.Message)
	}
}

// A line that starts a run in a mode takes all that follows as the prompt.
func TestPlanLine(t *testing.T) {
	llm := agenttest.NewScript(t, func(int, agent.Request) agenttest.Step { return agenttest.Text("done") })
	w, uri := sendWorld(t, setup{llm: llm, files: map[string]string{"a.txt": "the text of a\n"}}, "")
	for _, c := range []struct{ block, prompt string }{
		{"/plan mend it", "mend it"},
		{"/plan  a=1 \"open", "a=1 \"open"},
		{"/plan\nbelow\n\n- more", "below\n\n- more"},
		{"/plan mend @workspace:file://a.txt\nand below", "mend @workspace:file://a.txt\nand below"},
	} {
		w.Edit(uri, lsptest.TextEdit{NewText: "## You\n\n" + c.block + "\n"})
		result[agent.Result](t, w.send(uri, nil))
		var last agent.Message
		for _, m := range llm.Last().Messages {
			if m.Role == agent.User && strings.Contains(m.Text, c.prompt) {
				last = m
			}
		}
		if last.Text == "" || strings.Contains(c.prompt, "@") != strings.Contains(last.Text, "the text of a") {
			t.Errorf("%q: %+v", c.block, llm.Last().Messages)
		}
	}
	list := w.runs()
	if r := list[0]; r.Mode != agent.ModePlan || r.Prompt != "/plan mend it" {
		t.Errorf("%+v", r)
	}
}
