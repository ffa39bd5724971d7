package lsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/agent/config"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// userFile writes a file of <config>, as editors do: another file takes its
// place.
func (w *world) userFile(name, text string) string {
	w.t.Helper()
	file := filepath.Join(filepath.Dir(w.root), "config", name)
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file+".tmp", []byte(text), 0o600), os.Rename(file+".tmp", file))
	if err != nil {
		w.t.Fatal(err)
	}
	return file
}

// mcpFile is what stands in a file of servers, "mcpServers" or "servers".
func mcpFile(t testing.TB, key string, servers obj) string {
	t.Helper()
	text, err := json.Marshal(obj{key: servers})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// save tells that the editor saved a file.
func (w *world) save(file string) {
	w.Notify("textDocument/didSave", obj{"textDocument": obj{"uri": lsptest.FileURI(file)}})
}

// children gives the processes of a log that live, the oldest first.
func children(t testing.TB, log mcptest.Log) (pids []int) {
	for _, e := range log.Events(t, "start") {
		if p, err := os.FindProcess(e.PID); err == nil && p.Signal(syscall.Signal(0)) == nil {
			pids = append(pids, e.PID)
		}
	}
	return pids
}

func (w *world) awaitRunning(log mcptest.Log, n int) (pids []int) {
	w.t.Helper()
	poll(w.t, fmt.Sprintf("%d children", n), func() bool { pids = children(w.t, log); return len(pids) == n })
	return pids
}

// fileDiagnostic is a published diagnostic.
type fileDiagnostic struct {
	Message  string
	Severity int
	Range    lsptest.Range
}

// fileDiagnostics are the last ones that were published for a file.
func (w *world) fileDiagnostics(file string) (list []fileDiagnostic) {
	for _, raw := range w.Notifications("textDocument/publishDiagnostics") {
		p := decodeAs[struct {
			URI         string
			Diagnostics json.RawMessage
		}](w.t, raw)
		if p.URI == lsptest.FileURI(file) {
			list = nil
			_ = json.Unmarshal(p.Diagnostics, &list)
		}
	}
	return list
}

// The whole life of a file: it comes, changes, breaks, is mended and goes, and
// only the servers that it is about notice.
func TestConfigurationFileIsFollowed(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	logA, logB := mcptest.NewLog(t), mcptest.NewLog(t)
	a, b := serverEntries(t, map[string]mcptest.Options{"a": {Log: string(logA)}}), serverEntries(t, map[string]mcptest.Options{"b": {Log: string(logB)}})
	file := w.userFile("mcp.json", mcpFile(t, "mcpServers", a)) // with the directory
	w.awaitStatus("a", mcp.StatusReady)
	pid := w.awaitRunning(logA, 1)[0]

	both := obj{"a": a["a"], "b": b["b"]}
	w.userFile("mcp.json", mcpFile(t, "mcpServers", both))
	w.awaitStatus("b", mcp.StatusReady)
	if got := w.awaitRunning(logA, 1)[0]; got != pid {
		t.Errorf("a server that did not change was started anew: %d, %d", pid, got)
	}
	w.Await("line in the log", func() bool {
		return slices.ContainsFunc(w.messages("window/logMessage"), func(m string) bool { return strings.HasSuffix(m, "servers added: b") })
	})

	broken := mcpFile(t, "mcpServers", both)
	w.userFile("mcp.json", strings.Replace(broken, ":", ":\n", 1)[:len(broken)-1]) // the last brace is not there yet
	w.Await("diagnostic", func() bool { return len(w.fileDiagnostics(file)) == 1 })
	if d := w.fileDiagnostics(file)[0]; d.Severity != 1 || d.Range.Start.Line != 1 || !strings.Contains(d.Message, "is no JSON") || !strings.Contains(d.Message, "stays in force") {
		t.Errorf("%+v", d)
	}
	if got := slices.Concat(children(t, logA), children(t, logB)); len(got) != 2 || got[0] != pid {
		t.Errorf("one brace is missing, and the children are %v", got)
	}

	renamed := obj{"a": a["a"], "c": b["b"]}
	w.userFile("mcp.json", mcpFile(t, "mcpServers", renamed))
	w.awaitStatus("c", mcp.StatusReady)
	w.Await("no diagnostic", func() bool { return len(w.fileDiagnostics(file)) == 0 })
	if w.awaitRunning(logB, 1); w.serverInfo("b").Name != "" {
		t.Error("the old name is still there")
	}

	off := b["b"].(obj)
	off["disabled"] = true
	w.userFile("mcp.json", mcpFile(t, "mcpServers", renamed))
	w.awaitStatus("c", mcp.StatusDisabled)
	w.awaitRunning(logB, 0)
	delete(off, "disabled")
	w.userFile("mcp.json", mcpFile(t, "mcpServers", renamed))
	w.awaitStatus("c", mcp.StatusReady)
	w.awaitRunning(logB, 1)

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.awaitRunning(logA, 0)
	w.awaitRunning(logB, 0)
	if n := len(logA.Events(t, "start")); n != 1 {
		t.Errorf("a was started %d times", n)
	}
}

// anthropics/claude-code#79740: an old server lived on when its configuration
// changed.
func TestTwentyQuickEditsLeaveOneChild(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	log := mcptest.NewLog(t)
	servers := serverEntries(t, map[string]mcptest.Options{"s": {Log: string(log), IgnoreEOF: true}}) // it ends slowly
	for i := range 20 {
		servers["s"].(obj)["args"] = []string{fmt.Sprint("edit-", i)}
		file := w.userFile("mcp.json", mcpFile(t, "mcpServers", servers))
		w.save(file) // or the edits would be one
	}
	poll(t, "last edit in force", func() bool {
		s := w.serverInfo("s")
		return s.Status == mcp.StatusReady && slices.Equal(s.Args, []string{"edit-19"})
	})
	w.awaitRunning(log, 1)
	if n := len(log.Events(t, "start")); n > 10 {
		t.Errorf("%d children were started for edits that were made before the first one had ended", n)
	}
}

// A call in flight ends with its server, at once and with the reason; the run
// goes on.
func TestCallEndsWithTheServerThatIsReconfigured(t *testing.T) {
	log := mcptest.NewLog(t)
	llm := agenttest.NewLLM(t, agenttest.Call(agent.ToolCall{ID: "1", Name: "mcp__s__never", Arguments: "{}"}), agenttest.Text("went on"))
	w := newWorld(t, setup{llm: llm, options: obj{"approval": obj{"allow": []string{"s/*"}}}})
	servers := serverEntries(t, map[string]mcptest.Options{"s": {Log: string(log)}})
	w.userFile("mcp.json", mcpFile(t, "mcpServers", servers))
	w.awaitStatus("s", mcp.StatusReady)
	p := w.ask("call", nil)
	log.AwaitCall(t, "never")
	servers["s"].(obj)["args"] = []string{"other"}
	w.save(w.userFile("mcp.json", mcpFile(t, "mcpServers", servers)))
	r := result[agent.Result](t, p) // within lsptest.Deadline, not the call's 60 s
	if r.Text != "went on" || len(r.ToolCalls) != 1 || r.ToolCalls[0].Status != agent.Unknown {
		t.Errorf("%+v", r)
	}
	if m := llm.Last().Messages; !strings.Contains(m[len(m)-1].Text, "the server was stopped") {
		t.Errorf("the model was told %+v", m[len(m)-1])
	}
	w.awaitStatus("s", mcp.StatusReady)
	w.awaitRunning(log, 1)
}

// 1jehuang/jcode#1176: the configuration of a project's server changes, and it
// runs again only when a person trusts what it is now.
func TestChangedProjectServerIsAskedAboutAgain(t *testing.T) {
	log, marker := mcptest.NewLog(t), filepath.Join(t.TempDir(), "PWNED")
	servers := serverEntries(t, map[string]mcptest.Options{"theirs": {Log: string(log)}})
	answer := make(chan string, 2)
	answer <- "Trust and start"
	w := newWorld(t, setup{
		llm: agenttest.NewLLM(t), files: map[string]string{".mcp.json": mcpFile(t, "mcpServers", servers)},
		answers: map[string]lsptest.Answer{"window/showMessageRequest": actions(func(int, string) string { return <-answer })},
	})
	w.awaitStatus("theirs", mcp.StatusReady)
	servers["theirs"] = obj{"command": "sh", "args": []string{"-c", "touch " + marker}}
	w.write(".mcp.json", mcpFile(t, "mcpServers", servers))
	w.awaitStatus("theirs", mcp.StatusUntrusted)
	w.awaitRunning(log, 0)
	answer <- "Not now"
	poll(t, "answered question", func() bool { return len(w.server.asks.waiting()) == 0 })
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) || w.serverInfo("theirs").Status != mcp.StatusUntrusted {
		t.Errorf("%v, %+v", err, w.serverInfo("theirs"))
	}
	if asked := string(w.AwaitRequest("window/showMessageRequest", 2).Params); !strings.Contains(asked, "touch "+marker) {
		t.Errorf("asked %s", asked)
	}
}

// CherryHQ/cherry-studio#18648: a secret that comes with a change is known
// before anything of the change is told.
func TestSecretOfAChangedFileIsNotTold(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	const secret = "brand-new-secret-value"
	w.userFile("key", secret+"\n")
	file := w.userFile("config.json", `{"notifications": "`+secret+`", "providers": {"p": {"apiKey": "${file:key}", "baseURL": "http://127.0.0.1:1", "model": "m"}}}`)
	w.Await("diagnostic", func() bool { return len(w.fileDiagnostics(file)) == 1 })
	told := w.fileDiagnostics(file)[0].Message + strings.Join(w.messages("window/logMessage"), "\n") + strings.Join(w.messages("window/showMessage"), "\n")
	if strings.Contains(told, secret) || !strings.Contains(told, mcp.Redacted) {
		t.Errorf("%s", told)
	}
}

// What changes counts for the next run; a running one keeps what it began with.
func TestRunKeepsItsProvider(t *testing.T) {
	release := make(chan struct{})
	var mu sync.Mutex
	var models []string
	first := agenttest.NewLLM(t, agenttest.Step{Wait: release, Text: []string{"first"}})
	w := newWorld(t, setup{unset: true, before: func(s *Server) {
		s.o.NewLLM = func(p config.Provider) (agent.LLM, error) {
			mu.Lock()
			defer mu.Unlock()
			if models = append(models, p.Model); len(models) == 1 {
				return first, nil
			}
			return agenttest.NewLLM(t, agenttest.Text("second")), nil
		}
	}})
	provider := func(model string) {
		w.save(w.userFile("config.json", `{"providers": {"p": {"baseURL": "http://127.0.0.1:1/v1", "model": "`+model+`"}}}`))
		poll(t, "model "+model, func() bool { return w.server.cfg.Load().Provider.Model == model })
	}
	provider("one")
	p := w.ask("a", nil)
	first.Await(1)
	provider("two")
	if r := result[agent.Result](t, w.ask("b", nil)); r.Text != "second" {
		t.Errorf("%+v", r)
	}
	close(release)
	if r := result[agent.Result](t, p); r.Text != "first" {
		t.Errorf("%+v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(models, []string{"one", "two"}) {
		t.Errorf("models %q", models)
	}
}

func TestFilesAreWatchedByTheClientAsWell(t *testing.T) {
	caps := lsptest.Capabilities()
	caps["workspace"].(obj)["didChangeWatchedFiles"] = obj{"dynamicRegistration": true, "relativePatternSupport": true}
	e, s := served(t, testOptions(t), nil)
	e.Initialize(lsptest.Init{Capabilities: caps})
	got := string(e.AwaitRequest("client/registerCapability", 1).Params)
	for _, want := range []string{`"workspace/didChangeConfiguration"`, `"workspace/didChangeWatchedFiles"`, `**/.mcp.json`, `**/.vscode/mcp.json`, `**/.agentls/config.json`, `"baseUri":"` + lsptest.FileURI(s.o.Config.Dir)} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	quiet := New(testOptions(t))
	quiet.stage = running
	quiet.notified("workspace/didChangeWatchedFiles", []byte(`{"changes":[{"uri":"file:///w/.mcp.json","type":2}]}`))
	if len(quiet.settings.files.look) != 1 {
		t.Error("nobody looks at what the client told of")
	}
}

// A file that is open shows its problems itself, and the places are counted as
// the client counts.
func TestProblemOfAnOpenFile(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	text := "{\"mcpServers\": {\"😀\": {\"command\": \"x\", \"env\": {\"A\": \"${NOT_SET_ANYWHERE}\"}}, \"b\": {\"command\": 5}}}\n"
	file := filepath.Join(w.root, ".mcp.json")
	w.Notify("textDocument/didOpen", obj{"textDocument": obj{"uri": lsptest.FileURI(file), "languageId": "json", "version": 1, "text": text}})
	w.write(".mcp.json", text)
	w.save(file)
	w.Await("diagnostics", func() bool { return len(w.fileDiagnostics(file)) == 3 })
	units := func(s string) uint32 { return uint32(unitsIn(text[:strings.Index(text, s)], w.server.docs.encoding)) }
	for _, d := range w.fileDiagnostics(file) {
		want := map[string][3]uint32{
			"NOT_SET_ANYWHERE is not set":  {units(`"${NOT`), units(`}}, "b"`), 1},
			"must be a text, not a number": {units("5}}}"), units("}}}"), 2},
			"needs a command or a url":     {units(`{"command": 5`), units("}}") + 0, 1},
		}
		for says, at := range want {
			if !strings.Contains(d.Message, says) {
				continue
			}
			if d.Range.Start.Character != int(at[0]) || d.Severity != int(at[2]) {
				t.Errorf("%+v, want %v", d, at)
			}
			if says != "needs a command or a url" && d.Range.End.Character != int(at[1]) {
				t.Errorf("%+v, want %v", d, at)
			}
		}
	}
	if popups := w.messages("window/showMessage"); slices.ContainsFunc(popups, func(m string) bool { return strings.Contains(m, "passed over") }) {
		t.Errorf("popups %q", popups)
	}
}
