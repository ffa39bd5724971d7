package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// onTool is a model that calls a tool of the server "fake" for a prompt that
// starts with "call", and else answers with what it was told last.
func onTool(t testing.TB, tool, arguments string) *agenttest.LLM {
	return agenttest.NewScript(t, func(n int, req agent.Request) agenttest.Step {
		m := req.Messages[len(req.Messages)-1]
		if m.Role == agent.User && strings.HasPrefix(m.Text, "call") {
			return agenttest.Call(agent.ToolCall{ID: fmt.Sprint("c", n), Name: "mcp__fake__" + tool, Arguments: arguments})
		}
		return agenttest.Text("saw: " + m.Text)
	})
}

// allowed lets the tools of the fake run unasked.
func allowed() map[string]any { return obj{"approval": obj{"allow": []string{"fake/*"}}} }

func fake(o mcptest.Options) map[string]mcptest.Options { return map[string]mcptest.Options{"fake": o} }

func TestCommandsOfServers(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), servers: fake(mcptest.Options{Resources: mcptest.Int(1200), Tools: []mcptest.Tool{{Name: "déjà vu", Description: "odd"}}})})
	poll(t, "all resources and prompts", func() bool {
		info := w.serverInfo("fake")
		return info.Resources != nil && *info.Resources == 1200 && info.Prompts != nil
	})

	t.Run("resources are paged", func(t *testing.T) {
		var uris []string
		sizes, cursor := []int{}, any(nil)
		for {
			r := commandAs[resourcesResult](w, "agentls.mcp.resources", obj{"server": "fake", "cursor": cursor})
			if (len(r.Templates) == 1) != (cursor == nil) {
				t.Errorf("%d templates on page %d", len(r.Templates), len(sizes)+1)
			}
			sizes = append(sizes, len(r.Resources))
			for _, e := range r.Resources {
				uris = append(uris, e.URI)
			}
			if r.NextCursor == "" {
				break
			}
			cursor = r.NextCursor
		}
		slices.Sort(uris)
		if !slices.Equal(sizes, []int{500, 500, 200}) || len(slices.Compact(uris)) != 1200 {
			t.Errorf("pages of %v, %d resources", sizes, len(uris))
		}
	})
	t.Run("resources are searched", func(t *testing.T) {
		r := commandAs[resourcesResult](w, "agentls.mcp.resources", obj{"server": "fake", "query": "DOC119", "limit": 3})
		if len(r.Resources) != 3 || r.NextCursor == "" || !strings.Contains(r.Resources[0].URI, "doc119") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("tools", func(t *testing.T) {
		r := commandAs[toolsResult](w, "agentls.mcp.tools", "fake")
		names := map[string]string{}
		for _, tool := range r.Tools {
			names[tool.Name] = tool.Model
			if len(tool.Schema) == 0 || tool.Schema[0] != '{' || tool.Description == "" {
				t.Errorf("tool %+v", tool)
			}
		}
		if names["echo"] != "mcp__fake__echo" || !strings.HasPrefix(names["déjà vu"], "mcp__fake__") || r.Stale {
			t.Errorf("names %v, stale %v", names, r.Stale)
		}
	})
	t.Run("prompts", func(t *testing.T) {
		if r := commandAs[promptsResult](w, "agentls.mcp.prompts", "fake"); len(r.Prompts) != 1 || r.Prompts[0].Name != "review" || len(r.Prompts[0].Arguments) != 1 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("read", func(t *testing.T) {
		r := commandAs[struct{ Contents []contentInfo }](w, "agentls.mcp.read", obj{"server": "fake", "uri": "file://doc7.md"})
		if len(r.Contents) != 1 || r.Contents[0].URI != "file://doc7.md" || r.Contents[0].MIMEType != "text/markdown" || !strings.Contains(*r.Contents[0].Text, "Content of file://doc7.md") {
			t.Errorf("%+v", r)
		}
		failure(t, w.StartCommand("agentls.mcp.read", obj{"server": "fake", "uri": "file://nosuch.md"}, nil), -32602)
		if err := failure(t, w.StartCommand("agentls.mcp.read", obj{"server": "fake", "uri": "file://dco7.md"}, nil), -32602); !strings.Contains(err.Message, "did you mean file://doc7.md?") {
			t.Errorf("%+v", err)
		}
		lines := commandAs[[]agent.AuditEntry](w, "agentls.audit", obj{"tool": "read_resource"})
		if len(lines) != 3 || lines[0].DecidedBy != "command" || lines[0].Outcome != agent.Completed || lines[1].Outcome != agent.Failed || string(lines[0].Arguments) != `{"uri":"file://doc7.md"}` {
			t.Errorf("audit %+v", lines)
		}
	})
	t.Run("restart", func(t *testing.T) {
		r := commandAs[mcp.ServerInfo](w, "agentls.mcp.restart", "fake")
		if r.Name != "fake" || r.Status == mcp.StatusFailed {
			t.Errorf("%+v", r)
		}
		w.awaitStatus("fake", mcp.StatusReady)
	})
}

func TestReadThatIsCancelled(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), servers: fake(mcptest.Options{Unanswered: []string{"resources/read"}})})
	p := w.StartCommand("agentls.mcp.read", obj{"server": "fake", "uri": "file://doc1.md"}, nil)
	p.Cancel()
	if err := failure(t, p, -32800); err.Data != nil {
		t.Errorf("data %s", err.Data)
	}
}

func TestCallReachesTheServer(t *testing.T) {
	w := newWorld(t, setup{llm: onTool(t, "echo", `{"text":"pong"}`), servers: fake(mcptest.Options{})})
	w.On("window/showMessageRequest", title("Allow once"))
	r := result[agent.Result](t, w.ask("call", nil))
	if !strings.Contains(r.Text, "pong") || r.ToolCalls[0].Tool != "echo" || r.ToolCalls[0].Server != "fake" {
		t.Errorf("result %+v", r)
	}
	q := decodeAs[struct{ Message string }](t, w.AwaitRequest("window/showMessageRequest", 1).Params)
	for _, want := range []string{"fake", "echo", "pong"} {
		if !strings.Contains(q.Message, want) {
			t.Errorf("the question %q lacks %q", q.Message, want)
		}
	}
}

// charmbracelet/crush#2492: after a cancel in a tool call the history is one
// that providers take. The model of the test checks each request.
// openai/codex#26956, anomalyco/opencode#24312: the server is told, once.
func TestCancelInAToolCall(t *testing.T) {
	log := mcptest.NewLog(t)
	llm := onTool(t, "sleep", `{"seconds":60}`)
	w := newWorld(t, setup{llm: llm, servers: fake(mcptest.Options{Log: string(log)}), options: allowed(), init: lsptest.Init{Features: []string{"runEvents"}}})
	p := w.ask("call", obj{"session": "s", "runId": "r"})
	poll(t, "call of the tool", func() bool { return len(log.Method(t, "tools/call")) == 1 })
	p.Cancel()
	failure(t, p, -32800)
	if r := result[agent.Result](t, w.ask("after", obj{"session": "s"})); r.Text != "saw: after" {
		t.Errorf("after the cancel: %+v", r)
	}
	messages := llm.Last().Messages
	if !slices.ContainsFunc(messages, func(m agent.Message) bool { return m.Role == agent.User && m.Text == "call" }) {
		t.Error("the context did not survive the cancel")
	}
	poll(t, "notifications/cancelled", func() bool { return len(log.Method(t, "notifications/cancelled")) == 1 })
	list := w.events("r")
	if e := list[len(list)-1]; e.Kind != "finished" || e.Status != "cancelled" {
		t.Errorf("last event %+v", e)
	}
}

// agentclientprotocol/claude-agent-acp#680, with a tool.
func TestToolThatNeverReactsToACancel(t *testing.T) {
	log := mcptest.NewLog(t)
	w := newWorld(t, setup{llm: onTool(t, "stubborn", `{"seconds":2}`), servers: fake(mcptest.Options{Log: string(log)}), options: allowed()})
	p := w.ask("call", obj{"session": "s"})
	poll(t, "call of the tool", func() bool { return len(log.Method(t, "tools/call")) == 1 })
	start := time.Now()
	p.Cancel()
	failure(t, p, -32800)
	if took := time.Since(start); took > 5*time.Second/10*3 {
		t.Errorf("answered after %v", took)
	}
	if r := result[agent.Result](t, w.ask("after", obj{"session": "s"})); r.Text != "saw: after" {
		t.Errorf("after the cancel: %+v", r)
	}
}

// razzmatazz/csharp-language-server#217
func TestFloodOfAServer(t *testing.T) {
	w := newWorld(t, setup{llm: onTool(t, "flood", `{"n":1000,"level":"warning"}`), servers: fake(mcptest.Options{}), options: allowed()})
	result[agent.Result](t, w.ask("call", nil))
	w.Await("last line in the log", func() bool {
		return slices.ContainsFunc(w.messages("window/logMessage"), func(m string) bool { return strings.Contains(m, "line 999") })
	})
	w.AwaitNotification("window/showMessage", 1)
	if n := len(w.messages("window/showMessage")); n > popupsMost+1 {
		t.Errorf("%d popups", n)
	}
	n := 0 // lines in the log, with those that one stands for because they came too fast
	for _, m := range w.messages("window/logMessage") {
		if !strings.Contains(m, "fake: [warning] line ") {
			continue
		}
		n++
		if _, more, ok := strings.Cut(m, " (and "); ok {
			var merged int
			if _, err := fmt.Sscanf(more, "%d more like it)", &merged); err != nil {
				t.Errorf("line %q", m)
			}
			n += merged
		}
	}
	if n != 1000 {
		t.Errorf("%d of 1000 lines are accounted for in the log", n)
	}
}

func TestNewToolIsTold(t *testing.T) {
	w := newWorld(t, setup{llm: onTool(t, "add_tool", `{}`), servers: fake(mcptest.Options{}), options: allowed()})
	result[agent.Result](t, w.ask("call", nil))
	w.AwaitNotification("window/showMessage", 1)
	if got := w.messages("window/showMessage"); !strings.Contains(got[0], "fake: tools: 1 new (late_tool)") {
		t.Errorf("popups %q", got)
	}
}

func TestLostServerIsTold(t *testing.T) {
	w := newWorld(t, setup{llm: onTool(t, "die", `{}`), servers: fake(mcptest.Options{}), options: allowed()})
	result[agent.Result](t, w.ask("call", nil))
	w.Await("popup of the lost server", func() bool {
		return slices.ContainsFunc(w.messages("window/showMessage"), func(m string) bool { return strings.HasPrefix(m, "fake: connection lost") })
	})
	w.awaitStatus("fake", mcp.StatusReady)
}

// trustWorld has a project server that is a fake.
func trustWorld(t *testing.T, trusted bool, init lsptest.Init, answer func(method string, params json.RawMessage) any) (*world, mcptest.Log) {
	t.Helper()
	log := mcptest.NewLog(t)
	file, err := json.Marshal(obj{"mcpServers": serverEntries(t, map[string]mcptest.Options{"evil": {Log: string(log)}})})
	if err != nil {
		t.Fatal(err)
	}
	u := setup{llm: agenttest.NewLLM(t), init: init, options: obj{"workspaceTrusted": trusted}, files: map[string]string{".mcp.json": string(file)}}
	u.answers = map[string]lsptest.Answer{}
	for _, method := range []string{"window/showMessageRequest", "agentls/approve"} {
		u.answers[method] = func(p json.RawMessage) (any, error) { return answer(method, p), nil }
	}
	return newWorld(t, u), log
}

func TestProjectServerWaitsForTrust(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	w, log := trustWorld(t, false, lsptest.Init{}, func(_ string, p json.RawMessage) any {
		q := decodeAs[struct {
			Message string
			Actions []struct{ Title string }
		}](t, p)
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q.Message)
		if len(q.Actions) != 2 || q.Actions[0].Title != "Not now" {
			t.Errorf("actions %+v", q.Actions)
			return nil
		}
		return q.Actions[1]
	})
	w.awaitStatus("evil", mcp.StatusReady)
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 2 || !strings.Contains(asked[0], "trust the folder "+w.root) || !strings.Contains(asked[1], "evil") || !strings.Contains(asked[1], ".mcp.json") || !strings.Contains(asked[1], "AGENTLS_MCPTEST") {
		t.Errorf("asked %q", asked)
	}
	if len(log.Entries(t)) == 0 {
		t.Error("the trusted server was not started")
	}
	// Both answers are remembered: nothing is asked the next time.
	w.Close()
	if _, err := w.Wait(); err != nil {
		t.Fatal(err)
	}
	again := newWorld(t, setup{dir: filepath.Dir(w.root), llm: agenttest.NewLLM(t), options: obj{"workspaceTrusted": false}})
	again.awaitStatus("evil", mcp.StatusReady)
	if n := len(again.Requests("window/showMessageRequest")); n > 0 {
		t.Errorf("%d questions about what was trusted before", n)
	}
}

func TestTrustThatIsNotGiven(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		t.Run(fmt.Sprint("folder ", trusted), func(t *testing.T) {
			w, log := trustWorld(t, trusted, lsptest.Init{}, func(string, json.RawMessage) any { return nil })
			w.AwaitRequest("window/showMessageRequest", 1)
			poll(t, "dismissed question", func() bool { return len(w.server.asks.waiting()) == 0 })
			w.awaitStatus("evil", mcp.StatusUntrusted)
			if n := len(log.Entries(t)); n > 0 {
				t.Errorf("the server was started untrusted")
			}
			if n := len(w.Requests("window/showMessageRequest")); n != 1 {
				t.Errorf("%d questions", n)
			}
			p := w.StartCommand("agentls.mcp.trust", obj{"server": "evil", "trust": true}, nil)
			if trusted {
				result[mcp.ServerInfo](t, p)
				w.awaitStatus("evil", mcp.StatusReady)
				return
			}
			if err := failure(t, p, -32602); !strings.Contains(err.Message, "trust the folder first") {
				t.Errorf("%v", err)
			}
			w.AwaitRequest("window/showMessageRequest", 2) // the folder is asked about anew
		})
	}
}

func TestTrustByAnOwnClient(t *testing.T) {
	w, _ := trustWorld(t, true, lsptest.Init{Features: []string{"approvals"}}, func(method string, p json.RawMessage) any {
		q := decodeAs[approveParams](t, p)
		if method != "agentls/approve" || q.Kind != "trust" || q.Server != "evil" || !strings.Contains(string(q.Arguments), `"command"`) {
			t.Errorf("asked %s %s", method, p)
		}
		return obj{"decision": "once"}
	})
	w.awaitStatus("evil", mcp.StatusReady)
}

func TestTrustByCommand(t *testing.T) {
	w, _ := trustWorld(t, true, lsptest.Init{}, func(string, json.RawMessage) any {
		return json.RawMessage(`{"title":1}`) // never an answer
	})
	w.awaitStatus("evil", mcp.StatusUntrusted)
	info := w.serverInfo("evil")
	bad := obj{"server": "evil", "trust": true, "fingerprint": "old"}
	failure(t, w.StartCommand("agentls.mcp.trust", bad, nil), -32602)
	result[mcp.ServerInfo](t, w.StartCommand("agentls.mcp.trust", obj{"server": "evil", "trust": true, "fingerprint": info.Fingerprint}, nil))
	w.awaitStatus("evil", mcp.StatusReady)
}

func TestTrustIsAmongTheApprovals(t *testing.T) {
	silent := make(chan struct{})
	w, _ := trustWorld(t, true, lsptest.Init{}, func(string, json.RawMessage) any {
		<-silent
		return nil
	})
	t.Cleanup(func() { close(silent) }) // before the editor waits for its answers
	w.AwaitRequest("window/showMessageRequest", 1)
	open := commandAs[[]approvalInfo](w, "agentls.approvals", nil)
	if len(open) != 1 || open[0].Kind != "trust" || open[0].Server != "evil" {
		t.Fatalf("approvals %+v", open)
	}
	commandAs[map[string]bool](w, "agentls.approve", obj{"id": open[0].ID, "decision": "once"})
	w.awaitStatus("evil", mcp.StatusReady)
}

// What a person can do about a server that is not ready is said, its name
// once, and nothing of it counts as being of now.
func TestServerThatIsNotReady(t *testing.T) {
	servers := obj{"off": obj{"command": "x", "disabled": true}, "gone": obj{"command": "no-such-program"}}
	theirs := `{"mcpServers": {"theirs": {"command": "x"}}}`
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), options: obj{"mcpServers": servers}, files: map[string]string{".mcp.json": theirs}})
	w.awaitStatus("gone", mcp.StatusFailed)
	w.awaitStatus("theirs", mcp.StatusUntrusted)
	check := func(command string, arg obj, says string) {
		t.Helper()
		server := arg["server"].(string)
		err := failure(t, w.StartCommand(command, arg, nil), -32803)
		if !strings.Contains(err.Message, says) || strings.Count(err.Message, server) != 1 {
			t.Errorf("%s %s: %q does not say %q", command, server, err.Message, says)
		}
	}
	check("agentls.mcp.read", obj{"server": "theirs", "uri": "x://y"}, "trust it with agentls.mcp.trust")
	check("agentls.mcp.restart", obj{"server": "off"}, "enable it with agentls.mcp.enable, or for good in the editor's settings")
	for _, server := range []string{"off", "gone", "theirs"} {
		for _, list := range []string{"resources", "tools", "prompts"} {
			if r := commandAs[struct{ Stale bool }](w, "agentls.mcp."+list, server); !r.Stale {
				t.Errorf("the %s of %s count as being of now", list, server)
			}
		}
	}
	err := failure(t, w.StartCommand("agentls.mcp.trust", obj{"server": "theirs", "trust": true, "fingerprint": "old"}, nil), -32602)
	if !strings.Contains(err.Message, "look at it again with agentls.mcp.servers") {
		t.Errorf("%q", err.Message)
	}
	err = failure(t, w.StartCommand("agentls.mcp.read", obj{"server": "workspace", "uri": "file://none.md"}, nil), -32602)
	if strings.Count(err.Message, "file://none.md") != 1 {
		t.Errorf("%q", err.Message)
	}
}

// Trust in one folder is none in a folder that is added to it.
func TestFolderThatIsAddedIsAskedAboutOnItsOwn(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	w, _ := trustWorld(t, false, lsptest.Init{}, func(_ string, p json.RawMessage) any {
		q := decodeAs[struct {
			Message string
			Actions []struct{ Title string }
		}](t, p)
		mu.Lock()
		defer mu.Unlock()
		if asked = append(asked, q.Message); len(asked) > 2 {
			return q.Actions[0]
		}
		return q.Actions[1]
	})
	w.awaitStatus("evil", mcp.StatusReady)
	other := filepath.Join(t.TempDir(), "other")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, ".mcp.json"), []byte(`{"mcpServers": {"worse": {"command": "worse"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Notify("workspace/didChangeWorkspaceFolders", obj{"event": obj{"added": []obj{{"uri": lsptest.FileURI(other), "name": "other"}}, "removed": []obj{}}})
	w.AwaitRequest("window/showMessageRequest", 3)
	w.awaitStatus("worse", mcp.StatusUntrusted)
	poll(t, "declined question", func() bool { return len(w.server.asks.waiting()) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 3 || !strings.Contains(asked[2], "trust the folder "+other+"?") {
		t.Errorf("asked %q", asked)
	}
	w.awaitStatus("evil", mcp.StatusReady)
}

// What was read before is given where its server is out of reach, and said to
// be old.
func TestReadOfAServerThatIsGone(t *testing.T) {
	log := mcptest.NewLog(t)
	w := newWorld(t, setup{servers: map[string]mcptest.Options{"fake": {Once: true, Log: string(log), ExitOn: []string{"prompts/get"}}}})
	w.fetched("fake", 3)
	type answer struct {
		Contents []contentInfo
		Stale    string
	}
	arg := obj{"server": "fake", "uri": "file://doc1.md"}
	first := commandAs[answer](w, "agentls.mcp.read", arg)
	failure(t, w.StartCommand("agentls.mcp.usePrompt", obj{"server": "fake", "name": "review", "arguments": obj{"focus": "x"}}, nil), -32803)
	got := commandAs[answer](w, "agentls.mcp.read", arg)
	if first.Stale != "" || len(got.Contents) != 1 || *got.Contents[0].Text != *first.Contents[0].Text || !strings.Contains(got.Stale, "cannot be read anew now") {
		t.Errorf("%+v, then %+v", first, got)
	}
}
