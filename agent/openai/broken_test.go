package openai

import (
	"log/slog"
	"net/http"
	"reflect"
	"sync"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// A connection that drops in an answer costs that answer, and no finished tool
// runs again (editor-code-assistant/eca#224, #563, #547).
func TestRunAsksAgainForABrokenAnswer(t *testing.T) {
	const (
		calls = `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call00001","function":{"name":"list_dir","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
		half  = `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call00002","function":{"name":"list_dir","arguments":"{\"pa"}}]}}]}`
	)
	for name, broken := range map[string]func(w http.ResponseWriter, r *http.Request){
		"reset in a text":   func(w http.ResponseWriter, _ *http.Request) { say(w, hello); panic(http.ErrAbortHandler) },
		"reset in a call":   func(w http.ResponseWriter, _ *http.Request) { say(w, half); panic(http.ErrAbortHandler) },
		"end without a end": func(w http.ResponseWriter, _ *http.Request) { say(w, hello) },
		"error event": func(w http.ResponseWriter, _ *http.Request) {
			say(w, hello, `{"error":{"message":"Overloaded","type":"overloaded_error"}}`)
		},
		"silence": func(w http.ResponseWriter, r *http.Request) { say(w, hello); <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var asked []sent
			l := serve(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked = append(asked, readSent(t, r))
				n := len(asked)
				mu.Unlock()
				switch n {
				case 1:
					say(w, calls, done)
				case 2:
					broken(w, r)
				default:
					answerHello(w)
				}
			}, func(o *Options) { o.IdleTimeout = 500 * time.Millisecond })
			log := slog.New(slog.DiscardHandler)
			manager := mcp.NewManager(mcp.Options{Name: "agentls", Version: "test", Log: log})
			t.Cleanup(manager.Close)
			a := agent.New(agent.Options{Manager: manager, Log: log})
			t.Cleanup(a.Close)
			dir := t.TempDir()
			res, err := a.Run(t.Context(), agent.Task{
				RunID: "r", Session: "s", Folder: dir, Folders: agenttest.Folders(dir), LLM: l, Prompt: "go",
				Host: &agenttest.Host{Answer: agenttest.Always(agent.DecisionOnce)},
			})
			if err != nil || res.Text != "Hello there" || res.Status != agent.StatusCompleted || res.Steps != 3 || len(res.ToolCalls) != 1 {
				t.Errorf("%+v, %v", res, err)
			}
			if len(asked) != 3 || !reflect.DeepEqual(asked[1], asked[2]) {
				t.Errorf("%d requests, the last two differ:\n%+v", len(asked), asked[1:])
			}
		})
	}
}
