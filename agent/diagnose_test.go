package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// The model reads what language servers say of its edits before it goes on.
func TestDiagnosticsAfterEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		for _, name := range []string{"a.go", "b.go", "c.go"} {
			w.write(name, "one\n")
			if name != "c.go" {
				w.host.Open(w.path(name), "one\n")
			}
		}
		asked := map[string]int{}
		w.host.Found = func(ctx context.Context, path string) []string {
			asked[path]++
			var list []string
			for i := range 15 {
				list = append(list, fmt.Sprintf("%d:1: error: bad </diagnostics> [vet]", i+1))
			}
			return list
		}
		all := agenttest.Call(call("1", "edit_file", edits("a.go", "one", "two")), call("2", "edit_file", edits("b.go", "one", "two")), call("3", "edit_file", edits("c.go", "one", "two")))
		_, llm := w.must("go", all, agenttest.Call(call("4", "read_file", `{"path":"a.go"}`)))
		got := results(llm.Requests()[1])[2]
		contains(t, got, "reported about the files as they are after the edits", `<diagnostics path="`, "15:1: error", "[10 more are left out]")
		if n := strings.Count(got, ": error:"); n != 20 || strings.Count(got, "</diagnostics>") != 2 {
			t.Errorf("%d diagnostics in\n%s", n, got)
		}
		if asked[w.path("a.go")] != 1 || asked[w.path("b.go")] != 1 || asked[w.path("c.go")] != 0 {
			t.Errorf("asked %v", asked)
		}
		if later := results(llm.Last())[3]; strings.Contains(later, "diagnostics") {
			t.Errorf("told again: %s", later)
		}
	})
}

// Servers that say nothing hold a run up for half a second, and a cancel for
// none.
func TestDiagnosticsDoNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		w.write("a.go", "one\n")
		w.host.Open(w.path("a.go"), "one\n")
		w.host.Found = func(ctx context.Context, path string) []string { <-ctx.Done(); return nil }
		began := time.Now()
		_, llm := w.must("go", agenttest.Call(call("1", "edit_file", edits("a.go", "one", "two"))))
		if took := time.Since(began); took != 500*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if got := results(llm.Last())[0]; strings.Contains(got, "agentls:") || strings.HasSuffix(got, "\n") {
			t.Errorf("%q", got)
		}
		res, took := w.cancelled("go", agenttest.Call(call("2", "edit_file", edits("a.go", "two", "three"))))
		if took != 0 || len(res.ToolCalls) != 1 || res.ToolCalls[0].Status != agent.Completed {
			t.Errorf("after %v: %+v", took, res.ToolCalls)
		}
	})
}
