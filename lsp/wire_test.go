package lsp

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// TestWire runs the scripts in testdata/wire, which say what goes over the
// wire. Each begins with what it is about, and a line `rule: NAME…` that names
// what it proves of testdata/rules.txt. Its sections; first what there is
// before the server starts, then steps, in order:
//
//	model        answers of the model, an object a line, see [modelStep]
//	servers      fake MCP servers, a line each: its name and mcptest.Options
//	protected    fake MCP servers that want a login, a line each: the name that
//	             binds its URL, and mcptest.AuthOptions of who gives it
//
//	file NAME    writes a file: ws/… is the folder, config/… the user's
//	start        initialize and initialized of a stock client on the folder,
//	             which is trusted and has the servers; the line is merged into
//	             the params, null removes. Then all lists of the servers are
//	             awaited
//	in           messages to send, one a line
//	raw          bytes to send, one quoted Go string a line
//	answers      how requests of the server are answered from now on, a line
//	             each: {"METHOD":{"result":…}}, or "error", or null: the script
//	             answers. Without a word see wireAnswers
//	out          answers and messages that must have come, one a line, in any
//	             order; each line takes one
//	order        likewise, in this order on the wire, and taken again
//	asked        requests to the model that must have come, in any order
//	called NAME  messages that must have reached a fake server
//	disk NAME    what a file must hold in the end
//	never        what no message of the server may be, from the start to the end
//	echoes       methods whose answers hold what the script put in, LSP or not
//	browser      opens pages of logins, a line each, as a person does
//	elsewhere    likewise on another machine: the page, and the name that binds
//	             the address that the browser cannot reach
//	end          the input ends here; the line is the exit code
//
// What is expected is a pattern, see [pattern]. At the end no answer may be left
// that no line took, and all that came must have been LSP.
func TestWire(t *testing.T) {
	for name, script := range wireScripts(t) {
		t.Run(name, func(t *testing.T) { runWire(t, script) })
	}
}

// wireScripts reads all scripts, by their names.
func wireScripts(t testing.TB) map[string]*txtar.Archive {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	scripts := map[string]*txtar.Archive{}
	for _, file := range files {
		script, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scripts[strings.TrimSuffix(filepath.Base(file), ".txtar")] = script
	}
	return scripts
}

// runWire runs one script.
func runWire(t *testing.T, script *txtar.Archive) {
	w := &wire{t: t, servers: map[string]mcptest.Options{}, answers: wireAnswers(), vars: map[string]any{}, echoes: map[string]bool{}}
	var steps []txtar.File
	var model []modelStep
	for _, f := range script.Files {
		switch f.Name {
		case "model":
			for _, line := range linesOf(f) {
				model = append(model, strictly[modelStep](t, line))
			}
		case "servers":
			for _, line := range linesOf(f) {
				name, options, _ := strings.Cut(line, " ")
				w.servers[name] = strictly[mcptest.Options](t, options)
			}
		case "protected":
			for _, line := range linesOf(f) {
				name, options, _ := strings.Cut(line, " ")
				srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
				mcptest.ServeAuth(t, strictly[mcptest.AuthOptions](t, options)).Protect(srv, mcptest.Protection{})
				w.vars[name] = srv.URL
			}
		default:
			steps = append(steps, f)
		}
	}
	w.connect(wireModel(t, model))
	for _, f := range steps {
		w.step(f)
	}
	w.finish()
}

// linesOf are the lines of a section that hold something.
func linesOf(f txtar.File) (list []string) {
	for line := range strings.Lines(string(f.Data)) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// strictly decodes a line of a script.
func strictly[T any](t testing.TB, line string) (v T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return v
}

// modelStep is one answer of the model. Those with For are for each prompt that
// holds it; the others are given in turn, then "done".
type modelStep struct {
	For    string   `json:"for"`
	Text   []string `json:"text"` // a delta each
	Calls  []modelCall
	Block  bool // then it hangs until the run is cancelled
	Finish string
	Error  *struct {
		Kind      agent.ErrorKind
		Message   string
		Retryable bool
	}
	Usage agent.Usage
}

type modelCall struct {
	Name      string
	Arguments json.RawMessage
}

func wireModel(t testing.TB, steps []modelStep) *agenttest.LLM {
	next := 0
	return agenttest.NewScript(t, func(n int, req agent.Request) agenttest.Step {
		prompt := req.Messages[len(req.Messages)-1].Role == agent.User
		for i, s := range steps {
			if s.For != "" && prompt && strings.Contains(last(req), s.For) || s.For == "" && i >= next {
				if s.For == "" {
					next = i + 1
				}
				return s.step(n)
			}
		}
		return agenttest.Text("done")
	})
}

func (s modelStep) step(n int) agenttest.Step {
	step := agenttest.Step{Text: s.Text, Block: s.Block, Finish: s.Finish, Usage: s.Usage}
	for i, c := range s.Calls {
		step.Calls = append(step.Calls, agent.ToolCall{ID: fmt.Sprintf("c%d.%d", n, i), Name: c.Name, Arguments: string(c.Arguments)})
	}
	if s.Error != nil {
		step.Err = &agent.ProviderError{Kind: s.Error.Kind, Message: s.Error.Message, Retryable: s.Error.Retryable}
	}
	return step
}

// requestOf is a request to the model as a pattern sees it.
func requestOf(req agent.Request) any {
	messages, tools := []any{}, []any{}
	for _, m := range req.Messages {
		messages = append(messages, map[string]any{"role": string(m.Role), "text": m.Text})
	}
	for _, t := range req.Tools {
		tools = append(tools, t.Name)
	}
	return map[string]any{"messages": messages, "tools": tools}
}

// step does what a section says.
func (w *wire) step(f txtar.File) {
	name, arg, _ := strings.Cut(f.Name, " ")
	switch name {
	case "file":
		w.writeFile(arg, f.Data)
		return
	case "disk":
		poll(w.t, arg+" on disk", func() bool {
			got, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(arg)))
			return err == nil && string(got) == string(f.Data)
		})
		return
	}
	at := 0 // of order
	for _, line := range linesOf(f) {
		switch name {
		case "start":
			w.start(w.decode(line))
		case "in":
			w.sendLine(w.fill(line))
		case "raw":
			raw, err := strconv.Unquote(line)
			if err != nil {
				w.t.Fatalf("%s: %v", line, err)
			}
			w.write(raw)
		case "answers":
			w.mu.Lock()
			maps.Copy(w.answers, strictly[map[string]json.RawMessage](w.t, w.fill(line)))
			w.mu.Unlock()
		case "out":
			w.take(line)
		case "order":
			at = w.follow(at, line)
		case "asked":
			w.await(line, func() (list []any) {
				for _, req := range w.llm.Requests() {
					list = append(list, requestOf(req))
				}
				return list
			})
		case "called":
			w.await(line, func() (list []any) {
				for _, e := range mcptest.Log(w.servers[arg].Log).Entries(w.t) {
					list = append(list, decodeAs[any](w.t, mustEncode(e)))
				}
				return list
			})
		case "echoes":
			w.mu.Lock()
			w.echoes[line] = true
			w.mu.Unlock()
		case "never":
			w.never = append(w.never, line)
		case "browser":
			page, _ := w.vars[strings.TrimPrefix(line, "$")].(string)
			go mcptest.Browse(w.t, page) // ends with the login
		case "elsewhere":
			from, to, _ := strings.Cut(line, " ")
			page, _ := w.vars[strings.TrimPrefix(from, "$")].(string)
			w.vars[strings.TrimPrefix(to, "$")] = mcptest.Elsewhere(w.t, page)
		case "end":
			w.end(line)
		default:
			w.t.Fatalf("unknown section %q", f.Name)
		}
	}
}

func mustEncode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // of what was decoded
	}
	return raw
}

func (w *wire) writeFile(name string, data []byte) {
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(w.fill(string(data))), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// start is a stock client that says hello.
func (w *wire) start(change any) {
	stock := obj{
		"processId": os.Getpid(), "clientInfo": obj{"name": "wire", "version": "1"}, "rootUri": lsptest.FileURI(w.root),
		"workspaceFolders": []any{obj{"uri": lsptest.FileURI(w.root), "name": "ws"}}, "capabilities": lsptest.Capabilities(),
		"initializationOptions": obj{"workspaceTrusted": true, "mcpServers": w.vars["servers"]},
	}
	params := merged(decodeAs[any](w.t, mustEncode(stock)), change)
	w.sendLine(string(mustEncode(obj{"jsonrpc": "2.0", "id": "start", "method": "initialize", "params": params})))
	w.take(`{"id":"start","result":{"serverInfo":{"name":"agentls"}}}`)
	w.sendLine(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	for _, name := range slices.Sorted(keysOf(w.servers)) {
		poll(w.t, name+" ready", func() bool {
			return slices.ContainsFunc(w.server.o.Manager.Servers(), func(i mcp.ServerInfo) bool {
				return i.Name == name && i.Status == mcp.StatusReady && i.Resources != nil && i.Prompts != nil
			})
		})
	}
	poll(w.t, "the folder's resources", func() bool {
		return len(w.server.o.State.Folders()) == 0 || slices.ContainsFunc(w.server.o.Manager.Servers(), func(i mcp.ServerInfo) bool {
			return i.Name == "workspace" && i.Resources != nil && *i.Resources > 0
		})
	})
}

// await waits until something matches a pattern.
func (w *wire) await(line string, list func() []any) {
	w.t.Helper()
	want := w.decode(line)
	for end := time.Now().Add(lsptest.Deadline); ; time.Sleep(5 * time.Millisecond) {
		now := list()
		if slices.ContainsFunc(now, func(got any) bool { return w.matches(want, got) }) {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("no %s in:\n%s", line, show(now))
		}
	}
}
