package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentls/agent/agenttest"
	"agentls/lsp/lspclient"
	"agentls/mcp/mcptest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == holdArgument { // what it becomes may be a fake server
		os.Exit(run(program{args: os.Args[1:], environ: os.Environ()}))
	}
	mcptest.Main() // the test binary is also the fake MCP server
	testscript.Main(m, map[string]func(){"agentls": main})
}

// TestScripts runs the binary as a person at a shell does; each file of
// testdata/script is one story.
func TestScripts(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(provide))
	t.Cleanup(provider.Close)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(provide))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo) // of those that do not trust it
	secure.StartTLS()
	t.Cleanup(secure.Close)
	locked := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	locked.Break(mcptest.Any, mcptest.Unauthorized("Bearer"))
	remote := map[string]string{
		"REMOTE": mcptest.ServeHTTP(t, mcptest.HTTPOptions{}).URL, "REMOTE_SSE": mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.SSE}).URL,
		"REMOTE_OAUTH": protected(t), "REMOTE_MODERN": mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Modern}).URL, "REMOTE_LOCKED": locked.URL,
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			for _, name := range []string{"CONFIG", "STATE", "CACHE", "DATA"} {
				e.Setenv("XDG_"+name+"_HOME", filepath.Join(home, strings.ToLower(name)))
			}
			e.Setenv("PROVIDER", provider.URL+"/v1")
			e.Setenv("PROVIDER_HOST", strings.TrimPrefix(provider.URL, "http://")) // see provideModels
			for name, url := range remote {
				e.Setenv(name, url)
			}
			e.Setenv("PROVIDER_TLS", secure.URL+"/v1")
			authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
			if err := os.WriteFile(filepath.Join(e.WorkDir, "authority.pem"), authority, 0o600); err != nil {
				return err
			}
			// The fake server is given as JSON, to stand in a configuration.
			b, err := json.Marshal(fakeServer(t, mcptest.Options{Log: filepath.Join(e.WorkDir, "fake.log")}))
			e.Setenv("FAKE", string(b))
			for variable, name := range map[string]string{"EVERYTHING": "everything", "HELLO": "hello-world"} {
				command, args := mcptest.RealServer(t, name)
				real, _ := json.Marshal(map[string]any{"command": command, "args": args})
				e.Setenv(variable, string(real))
			}
			e.Setenv("GO_SDK", mcptest.GoServer(t, "everything"))
			e.Setenv("D", "$") // for a dollar that expand leaves
			e.Defer(func() {
				checkAudit(t, filepath.Join(home, "state", "agentls"), filepath.Join(e.WorkDir, "fake.log"), false)
			})
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"expand": expandFile, "execute": execute, "login": loginByBrowser},
	})
}

// checkAudit holds the audit of a state directory against the log beside it
// and against what reached the fake server. It is done at the end of every
// story; killed: the process was, in the middle of calls.
func checkAudit(tb testing.TB, state, fake string, killed bool) {
	tb.Helper()
	told := agenttest.Evidence{SomeRuns: true, Killed: killed, Secrets: []string{"sk-script-secret", "sk-session-test"}}
	if err := told.LogFile(filepath.Join(state, "log", "agentls.log")); err != nil {
		tb.Error(err)
	}
	for _, m := range mcptest.Log(fake).Method(tb, "tools/call") {
		told.Served("fake", m.Tool())
	}
	if err := agenttest.CheckAudit(state, &told); err != nil {
		tb.Error(err)
	}
}

// fakeServer is the configuration of one fake MCP server.
func fakeServer(tb testing.TB, o mcptest.Options) map[string]any {
	command, args, env := mcptest.Command(tb, o)
	return map[string]any{"command": command, "args": args, "env": env}
}

// expandFile replaces $NAME in a file of the script.
func expandFile(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		file := ts.MkAbs(name)
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(file, []byte(text), 0o600))
	}
}

// execute starts the server as an editor does, runs one command with its JSON
// argument, and prints the answer and what popped up.
func execute(ts *testscript.TestScript, fails bool, args []string) {
	agentls, env := binary(ts)
	cmd := exec.Command(agentls)
	cmd.Dir, cmd.Env = ts.MkAbs("."), env
	var popups []string // of the client's reader, until Close
	client, err := lspclient.Start(cmd, lspclient.Options{Take: func(frame []byte) bool {
		var m struct {
			Method string
			Params struct{ Message string }
		}
		if json.Unmarshal(frame, &m) == nil && m.Method == "window/showMessage" {
			popups = append(popups, m.Params.Message)
		}
		return false
	}})
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err = client.Call(ctx, "initialize", map[string]any{
		"processId": os.Getpid(), "clientInfo": map[string]string{"name": "a script"}, "rootUri": "file://" + filepath.ToSlash(cmd.Dir), "capabilities": struct{}{},
	}, nil)
	ts.Check(err)
	client.Notify("initialized", struct{}{})
	var argument, result json.RawMessage
	if len(args) > 1 {
		argument = json.RawMessage(args[1])
	}
	failure := client.Execute(ctx, args[0], argument, &result)
	ts.Check(client.Close())
	for _, text := range popups {
		fmt.Fprintln(ts.Stdout(), "message: "+text)
	}
	if fmt.Fprintf(ts.Stdout(), "result: %s\n", result); failure != nil {
		fmt.Fprintln(ts.Stdout(), "error:", failure)
	}
	if fails != (failure != nil) {
		ts.Fatalf("%s: %v, %s", args[0], failure, result)
	}
}

// binary is agentls as a script runs it, and its environment.
func binary(ts *testscript.TestScript) (path string, env []string) {
	dirs := filepath.SplitList(ts.Getenv("PATH"))
	i := slices.IndexFunc(dirs, func(dir string) bool { _, err := os.Stat(filepath.Join(dir, "agentls")); return err == nil })
	if i < 0 {
		ts.Fatalf("no agentls in %q", dirs)
	}
	for _, name := range []string{"HOME", "PATH", "TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "MY_KEY"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return filepath.Join(dirs[i], "agentls"), env
}

// protected is a server that wants a login.
func protected(t *testing.T) string {
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	mcptest.ServeAuth(t, mcptest.AuthOptions{}).Protect(srv, mcptest.Protection{})
	return srv.URL
}

// loginByBrowser logs in as a person at a shell does whose browser is there;
// with the word elsewhere, from another machine: the address that the browser
// cannot reach is given to another shell.
func loginByBrowser(ts *testscript.TestScript, _ bool, args []string) {
	agentls, env := binary(ts)
	cmd := exec.Command(agentls, "mcp", "login", args[0])
	cmd.Dir, cmd.Env = ts.MkAbs("."), env
	cmd.Stdout = ts.Stdout()
	told, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	var second bytes.Buffer // what the other shell says: the first one writes to ours meanwhile
	lines := bufio.NewScanner(told)
	for lines.Scan() {
		fmt.Fprintln(ts.Stderr(), lines.Text())
		page := strings.TrimSpace(lines.Text())
		if !strings.HasPrefix(page, "http") {
			continue
		}
		if len(args) == 1 {
			mcptest.Browse(scriptTB{nil, ts}, page)
			continue
		}
		other := exec.Command(agentls, "mcp", "login", args[0], "--redirect-url", mcptest.Elsewhere(scriptTB{nil, ts}, page))
		other.Dir, other.Env, other.Stdout, other.Stderr = cmd.Dir, cmd.Env, &second, ts.Stderr()
		ts.Check(other.Run())
	}
	ts.Check(cmd.Wait())
	fmt.Fprint(ts.Stdout(), second.String())
}

// scriptTB is a script as a test, as far as a browser needs one.
type scriptTB struct {
	testing.TB
	ts *testscript.TestScript
}

func (b scriptTB) Helper()                           {}
func (b scriptTB) Errorf(format string, args ...any) { b.ts.Fatalf(format, args...) }

// provide is an OpenAI-compatible endpoint that answers by the last word of
// the prompt: a status, a hang, a broken stream, or a sentence.
func provide(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/models"):
		provideModels(w, r)
		return
	case strings.HasSuffix(r.URL.Path, "/api/show"): // Ollama's own
		fmt.Fprint(w, `{"model_info":{"tiny.context_length":40960},"capabilities":["completion","tools"]}`)
		return
	case strings.HasSuffix(r.URL.Path, "/api/ps"):
		fmt.Fprint(w, `{"models":[{"name":"tiny","context_length":4096}]}`)
		return
	}
	var body struct {
		Model    string
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	last := body.Messages[len(body.Messages)-1]
	switch text := string(last.Content); {
	case body.Model == "handy" && last.Role == "user":
		stream(w, `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"note","arguments":"{\"word\":\"agentls\"}"}}]}`, "tool_calls")
	case strings.Contains(text, "unauthorized") || body.Model == "unauthorized":
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"message":"Incorrect API key provided: sk-script-secret-1","type":"invalid_request_error"}}`)
	case last.Role != "tool" && strings.Contains(text, "read the env"):
		stream(w, `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\".env\"}"}}]}`, "tool_calls")
	case last.Role == "user" && called(last.Content) != nil:
		stream(w, fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":%s}]}`, called(last.Content)), "tool_calls")
	case last.Role == "user" && strings.Contains(text, "then call submit_review."):
		stream(w, fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":%s}]}`, called(reviewOf(body.Messages[1].Content, last.Content))), "tool_calls")
	case strings.Contains(text, "how many") && len(body.Messages) > 2:
		stream(w, fmt.Sprintf(`{"content":"I know %d messages"}`, len(body.Messages)-1), "stop")
	case last.Role == "tool":
		stream(w, fmt.Sprintf(`{"content":%q}`, "the tool said: "+text), "stop")
	default:
		stream(w, `{"content":"Hello from the model."}`, "stop")
	}
}

// reviewOf is what the reviewer says of a step, whose case is its first prompt:
// sloppy work goes back once, hopeless work always.
func reviewOf(first, last json.RawMessage) json.RawMessage {
	_, task, _ := strings.Cut(string(first), "step_task")
	task, _, _ = strings.Cut(task, "step_task")
	if strings.Contains(task, "hopeless") || strings.Contains(task, "sloppy") && !strings.Contains(string(last), "after round") {
		return json.RawMessage(`"call submit_review {\"verdict\":\"revise\",\"notes\":\"mend it\"}"`)
	}
	return json.RawMessage(`"call submit_review {\"verdict\":\"approve\",\"notes\":\"seen\"}"`)
}

// provideModels lists the models of one of the endpoints: of /many 2,000, of
// /locked with a key alone, of /none nothing; the one of /handy calls tools.
func provideModels(w http.ResponseWriter, r *http.Request) {
	models := []string{"tiny"}
	switch strings.TrimSuffix(r.URL.Path, "/v1/models") {
	case "/many":
		models = nil
		for i := range 2000 {
			models = append(models, fmt.Sprintf("maker%d/model-%04d", i%3, i))
		}
	case "/locked":
		if r.Header.Get("Authorization") != "Bearer sk-script-secret-9" {
			http.Error(w, `{"error":{"message":"Incorrect API key provided"}}`, http.StatusUnauthorized)
			return
		}
	case "/handy":
		models = []string{"handy"}
	case "/silent":
		models = []string{"unauthorized"}
	case "/none":
		models = nil
	case "":
	default:
		http.NotFound(w, r)
		return
	}
	data := []map[string]string{}
	for _, id := range models {
		data = append(data, map[string]string{"id": id, "object": "model"})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data}) // of strings
}

// called is the function of a prompt "call name arguments", or of a step with
// that task; nil for another prompt.
func called(content json.RawMessage) []byte {
	var text string
	_ = json.Unmarshal(content, &text) // "" calls nothing
	if step, task, _ := strings.Cut(text, "\n\n"); strings.HasPrefix(step, "Carry out step ") {
		text, _, _ = strings.Cut(task, "\n\n")
	}
	rest, ok := strings.CutPrefix(text, "call ")
	if !ok {
		return nil
	}
	name, arguments, _ := strings.Cut(rest, " ")
	function, err := json.Marshal(map[string]string{"name": name, "arguments": arguments})
	if err != nil {
		panic(err) // strings
	}
	return function
}

func stream(w http.ResponseWriter, delta, finish string) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
	fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
}
