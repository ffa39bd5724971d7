package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"agentls/lsp/lsptest"
	"agentls/mcp/mcptest"
)

// nodeClient is where the client library of others is driven from.
const nodeClient = "../../lsp/lsptest/node"

// TestProtocolClient runs the contract against the binary over stdio, from
// vscode-languageserver-protocol: the tests are lsp/lsptest/node/*.test.mjs.
// All that the server says there is held against the meta model of LSP, and
// each audit against what came.
func TestProtocolClient(t *testing.T) {
	if _, err := os.Stat(filepath.Join(nodeClient, "node_modules", "vscode-languageserver-protocol")); err != nil {
		t.Fatal("vscode-languageserver-protocol is not installed: make setup (npm ci --prefix lsp/lsptest/node --ignore-scripts)")
	}
	files, err := filepath.Glob(filepath.Join(nodeClient, "*.test.mjs"))
	if err != nil || len(files) == 0 {
		t.Fatal("no tests", err)
	}
	binary, err := exec.LookPath("agentls") // this test binary, by TestMain
	if err != nil {
		t.Fatal(err)
	}
	provider := httptest.NewServer(http.HandlerFunc(provideForClients))
	t.Cleanup(provider.Close)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".test.mjs")
		t.Run(name, func(t *testing.T) {
			setup, err := json.Marshal(map[string]any{
				"binary": binary, "dir": filepath.Join(dir, name), "traces": traces,
				"provider": map[string]string{"OPENAI_API_KEY": "sk-script-secret-client-1", "OPENAI_BASE_URL": provider.URL + "/v1", "OPENAI_MODEL": "tiny"},
				"servers":  map[string]any{"fake": fakeServer(t, mcptest.Options{Scheme: "docs"})},
			})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("node", "--test", "--test-reporter=spec", file)
			cmd.Env = append(demoEnvironment(os.Environ(), dir), "AGENTLS_SETUP="+string(setup), "GORACE=atexit_sleep_ms=0")
			cmd.WaitDelay = time.Second
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			counts := map[string]string{}
			for _, m := range regexp.MustCompile(`(?m)^ℹ (pass|skipped|todo) (\d+)$`).FindAllStringSubmatch(string(out), -1) {
				counts[m[1]] = m[2]
			}
			if counts["pass"] == "" || counts["pass"] == "0" || counts["skipped"] != "0" || counts["todo"] != "0" {
				t.Errorf("not all tests ran: %v\n%s", counts, out)
			}
			t.Logf("%s tests", counts["pass"])
		})
	}
	if !t.Failed() {
		checkTraces(t, traces)
		checkAudits(t, dir)
	}
}

// checkTraces holds what servers said against the meta model.
func checkTraces(t *testing.T, dir string) {
	model, err := lsptest.LoadMetaModel()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal("no traces", err)
	}
	messages := 0
	for _, file := range files {
		n, err := checkTrace(model, file)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
		messages += n
	}
	t.Logf("%d messages of %d servers are LSP", messages, len(files))
}

func checkTrace(model *lsptest.MetaModel, file string) (n int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	sent := map[string]string{} // methods of the client's requests, by id
	var faults []error
	for ; lines.Scan(); n++ {
		var line struct {
			From    string
			Message struct {
				ID             json.RawMessage
				Method         string
				Params, Result json.RawMessage
				Error          *struct{ Code int }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return n, err
		}
		m := line.Message
		switch {
		case line.From == "client" && m.Method != "":
			sent[string(m.ID)] = m.Method
		case line.From == "client":
		case m.Method != "":
			err = model.Message(m.Method, m.Params)
		case m.Error == nil:
			err = model.Result(sent[string(m.ID)], m.Result)
		}
		if err != nil {
			faults = append(faults, err)
			err = nil
		}
	}
	return n, errors.Join(append(faults, lines.Err())...)
}

// checkAudits holds the audit of each world against its log.
func checkAudits(t *testing.T, dir string) {
	states, err := filepath.Glob(filepath.Join(dir, "*", "world*", "state", "agentls"))
	if err != nil || len(states) == 0 {
		t.Fatal("no states", err)
	}
	for _, state := range states {
		checkAudit(t, state, "", false)
	}
}

// provideForClients is provide, and by the last prompt beside that: "repeat"
// gives back what the model was asked, "stream" some words and then nothing
// more, "drip" words now and then.
func provideForClients(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		provide(w, r)
		return
	}
	var body struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil || len(body.Messages) == 0 {
		http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
		return
	}
	last := body.Messages[len(body.Messages)-1]
	var text string
	_ = json.Unmarshal(last.Content, &text) // parts hold none of our words
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	flush := http.NewResponseController(w).Flush
	switch {
	case last.Role == "user" && word == "repeat":
		stream(w, fmt.Sprintf(`{"content":%s}`, last.Content), "stop")
	case last.Role == "user" && word == "stream":
		w.Header().Set("Content-Type", "text/event-stream")
		say(w, "some words ")
		_ = flush()
		<-r.Context().Done()
	case last.Role == "user" && word == "drip":
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 8 {
			say(w, fmt.Sprintf("word%d\n", i))
			_ = flush()
			select {
			case <-time.After(120 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprint(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	default:
		r.Body = io.NopCloser(bytes.NewReader(raw))
		provide(w, r)
	}
}

// say streams a piece of text.
func say(w io.Writer, text string) {
	fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
}
