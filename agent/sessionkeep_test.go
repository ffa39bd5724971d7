package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// What was left out of a session's history for the model was left out of that
// history: once it is cleared, or another process began it anew, the model sees
// the results that it asks for.
func TestClearedSessionShowsItsResults(t *testing.T) {
	for name, empty := range map[string]func(w *world, id string) error{
		"here":    func(w *world, id string) error { return w.agent.ClearSession([]string{w.dir}, id) },
		"deleted": func(w *world, id string) error { return w.agent.DeleteSession([]string{w.dir}, id) },
		"elsewhere": func(w *world, id string) error {
			return keeper(filepath.Join(w.state, "sessions")).ClearSession([]string{w.dir}, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.servers.call["fake/echo"] = func(_ context.Context, args json.RawMessage, _ func(mcp.Progress)) (mcp.ToolResult, error) {
					return mcp.ToolResult{Content: []mcp.Content{{Type: "text", Text: textOf(len(args), 20000)}}}, nil
				}
				work := func(rounds int) (seen []string) {
					llm := agenttest.NewScript(t, func(n int, req agent.Request) agenttest.Step {
						if seen = results(req); n > rounds {
							return agenttest.Text("done")
						}
						return agenttest.Call(call(fmt.Sprintf("c%d", n), "mcp__fake__echo", fmt.Sprintf(`{"n":%d}`, n)))
					})
					llm.Of.ContextWindow = 30000
					task := w.task
					task.Prompt, task.LLM = "look", llm
					if _, err := w.work(t.Context(), task); err != nil {
						t.Fatal(err)
					}
					return seen
				}
				work(30)
				if err := empty(w, w.task.Session); err != nil {
					t.Fatal(err)
				}
				for range 2 { // a request that mixes both histories would be refused
					for _, text := range work(1) {
						contains(t, text, "row")
					}
				}
			})
		})
	}
}

// The title stands far behind in the file of a fork, before its end.
func TestForkOfALongSessionHasItsTitle(t *testing.T) {
	a := keeper(t.TempDir())
	said(t, a, "one", strings.Repeat("long ", 2000))
	to, err := a.ForkSession(t.Context(), inF, "one")
	if err != nil {
		t.Fatal(err)
	}
	said(t, a, to, "go on")
	all := list(t, a, "/f")
	if len(all) != 2 || all[0].Session != to || all[0].Title != "title" || all[0].Turns != 2 {
		t.Errorf("%+v", all)
	}
}

// Who looks at a session while another one loads it sees all of it.
func TestLooksAtASessionBesideEachOther(t *testing.T) {
	dir := t.TempDir()
	d := begin(t, keeper(dir), "one")
	const turns = 2000
	for i := range turns {
		d.Ask("q", "q")
		d.Add(agent.Message{Role: agent.Assistant, Text: textOf(i, 1000)})
		d.End()
	}
	finish(t, d)
	a := keeper(dir)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := a.ShowSession(t.Context(), inF, "one")
			if err != nil || s.Turns != turns || len(s.Messages) == 0 {
				t.Errorf("%v, %d turns, %d messages", err, s.Turns, len(s.Messages))
			}
		})
	}
	wg.Wait()
}

// A line that is too long to be read would be the loss of the whole.
func TestForkOfManyImagesHasShortLines(t *testing.T) {
	a := keeper(t.TempDir())
	d := begin(t, a, "one")
	img := agent.Image{MIMEType: "image/png", Data: strings.Repeat("A", 6<<20)} // about the largest
	for range 8 {
		d.Ask("see", "see")
		d.Add(agent.Message{Role: agent.Assistant, Text: "ok"}, agent.Message{Role: agent.User, Text: "this", Images: []agent.Image{img}})
		d.End()
	}
	finish(t, d)
	to, err := a.ForkSession(t.Context(), inF, "one")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(a.SessionPath("/f", to))
	if err != nil {
		t.Fatal(err)
	}
	for l := range bytes.Lines(data) {
		if len(l) > 20<<20 {
			t.Errorf("a line of %d bytes", len(l))
		}
	}
	equal(t, "the fork", shown(t, a, to), shown(t, a, "one"))
}
