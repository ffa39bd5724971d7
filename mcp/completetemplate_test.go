package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// searchable waits until the n resources of a server can be completed.
func (h *house) searchable(server string, n int) {
	h.t.Helper()
	eventually(h.t, "the resources of "+server, func() bool {
		s, err := h.find(server)
		if err != nil {
			h.t.Fatal(err)
		}
		x := s.cache.index.Load()
		return x != nil && len(x.resources) == n
	})
}

// asked returns the values that completion/complete was asked for, by the log.
func asked(t testing.TB, log mcptest.Log) (values []string) {
	t.Helper()
	for _, e := range log.Method(t, "completion/complete") {
		var p struct {
			Ref      struct{ Type, Name, URI string }
			Argument struct{ Name, Value string }
			Context  struct{ Arguments map[string]string }
		}
		if err := json.Unmarshal(e.Params, &p); err != nil {
			t.Fatal(err)
		}
		values = append(values, strings.TrimSpace(p.Ref.Name+p.Ref.URI+" "+p.Argument.Name+"="+p.Argument.Value+" "+pairs(p.Context.Arguments)))
	}
	return values
}

// anthropics/claude-code#4110, #38460, #41860: templates were not offered, and
// nobody asked for their values.
func TestCompleteTemplateVariable(t *testing.T) {
	for _, modern := range []bool{false, true} {
		log := mcptest.NewLog(t)
		h := open(t, map[string]mcptest.Options{"fake": {
			Modern: modern, Log: string(log), Scheme: "docs", Templates: []string{"page://{lang}/{page}", "page://{lang}/{page}/raw", "find://{+q}{?n}"},
			Values: map[string][]string{"lang": {"go", "gleam", "c"}, "page": {"x"}, "page lang=go": {"a b", "abc"}, "q": {"a/b?"}, "n": {"10"}, "name": {"doc0", "new"}},
		}})
		h.searchable("fake", 3)
		check := func(prefix string, incomplete bool, want ...string) {
			t.Helper()
			eventually(t, fmt.Sprintf("%q completes to %q", prefix, want), func() bool { // the answer may take longer than is waited for
				items, more := h.Complete(t.Context(), "fake:"+prefix, 100)
				got := inserts(items)
				for i := range got {
					got[i] = strings.TrimPrefix(got[i], "fake:")
				}
				return len(got) >= len(want) && slices.Equal(got[:len(want)], want) && more == incomplete
			})
		}
		check("page://g", true, "page://go/", "page://gleam/")
		check("<page://g", true, "<page://go/", "<page://gleam/")
		check("page://go/a", true, "page://go/a%20b", "page://go/abc", "page://go/a%20b/raw", "page://go/abc/raw")
		check("page://c/", true, "page://c/x", "page://c/x/raw")
		check("page://c/nothing", true, "page://c/nothing", "page://c/nothing")
		check("page://c/x/r", false, "page://c/x/raw")
		check("find://a", true, "<find://a/b?>")
		check("find://a?n=1", true, "find://a?n=10")
		check("docs://", true, "docs://doc0.md", "docs://doc1.md", "docs://doc2.md", "docs://new.md") // doc0 is listed
		check("pag", false, "page://", "page://")
		for _, want := range []string{"page://{lang}/{page} lang=g", "page://{lang}/{page} page=a lang=go", "find://{+q}{?n} n=1 q=a", "docs://{name}.md name="} {
			if got := asked(t, log); !slices.Contains(got, want) {
				t.Errorf("not asked: %q; asked: %q", want, got)
			}
		}
		items, _ := h.Complete(t.Context(), "fake:page://g", 100)
		if items[0].Label != "go" || items[0].Template == nil || items[0].Resource != nil || items[0].Server != "fake" {
			t.Errorf("%+v", items[0])
		}
	}
}

// Everything else comes from the cache, whatever the server does.
func TestCompleteWaitsForNothingElse(t *testing.T) {
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{
		fakeConfig(t, "fake", mcptest.Options{Log: string(log), Scheme: "docs", Delays: map[string]time.Duration{"completion/complete": time.Minute}}),
		fakeConfig(t, "silent", mcptest.Options{Silent: true}),
		fakeConfig(t, "dumb", mcptest.Options{Scheme: "docs", Without: []string{"completions"}, Log: string(log)}),
	})
	h.searchable("fake", 3)
	h.searchable("dumb", 3)
	for prefix, least := range map[string]time.Duration{"fake:docs://d": valuesGlance, "fake:docs://n": valuesWait} {
		start := time.Now()
		items, incomplete := h.Complete(t.Context(), prefix, 100)
		if took := time.Since(start); took < least || took > 10*time.Second {
			t.Errorf("%s took %v", prefix, took)
		}
		if got := inserts(items); !incomplete || !slices.Contains(got, prefix) {
			t.Errorf("%s: %q %v", prefix, got, incomplete)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, prefix := range []string{"", "fake:", "fake:do", "fake:docs:/", "do", "dumb:docs://d", "docs://d", "silent:x://"} {
		// Their context has ended: what waited would come back with nothing.
		if items, _ := h.Complete(ctx, prefix, 100); len(items) == 0 && !strings.HasPrefix(prefix, "silent") {
			t.Errorf("%q: nothing", prefix)
		}
	}
	if items, incomplete := h.Complete(t.Context(), "dumb:docs://d", 100); incomplete || !slices.Contains(inserts(items), "dumb:docs://d") {
		t.Errorf("%q %v", inserts(items), incomplete)
	}
	log.AwaitMethod(t, 2, "completion/complete")
	if got := asked(t, log); len(got) != 2 {
		t.Errorf("asked: %q", got)
	}
}

// What was answered for the beginning of a value stands in until the server has
// answered for more of it.
func TestCompleteTemplateVariableOfASlowServer(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Templates: []string{"page://{p}"}, Values: map[string][]string{"p": {"abc", "abd", "x"}}}})
	h.searchable("fake", 3)
	check := func(prefix string, want ...string) {
		t.Helper()
		items, incomplete := h.Complete(t.Context(), "fake:page://"+prefix, 100)
		if got := inserts(items); !slices.Equal(got, want) || !incomplete {
			t.Errorf("%s: %q %v", prefix, got, incomplete)
		}
	}
	eventually(t, "values", func() bool { items, _ := h.Complete(t.Context(), "fake:page://a", 100); return len(items) == 2 })
	s, err := h.find("fake")
	if err != nil {
		t.Fatal(err)
	}
	s.conn.completions.mu.Lock() // nothing is asked from here on
	stopped := &completion{done: make(chan struct{}), round: 1 << 60}
	s.conn.completions.current, s.conn.completions.round = stopped, 1<<60
	s.conn.completions.mu.Unlock()
	check("ab", "fake:page://abc", "fake:page://abd")
	check("abd", "fake:page://abd")
	check("abx", "fake:page://abx") // the template itself
	check("", "fake:page://")
}

// While one completion waits for its values, others are answered.
func TestCompletionsDoNotHoldEachOther(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Scheme: "docs", Unanswered: []string{"completion/complete"}}})
	h.searchable("fake", 3)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = h.CompleteArgument(ctx, "fake", CompletionRef{Prompt: "review"}, "focus", "s", nil)
	}()
	log.AwaitMethod(t, 1, "completion/complete")
	if items, _ := h.Complete(t.Context(), "fake:docs://doc0", 100); len(items) == 0 {
		t.Error("nothing")
	}
	select {
	case <-done:
		t.Error("the first has ended")
	default:
	}
	cancel()
	<-done
}

func TestCompleteWithTemplatesListedOddly(t *testing.T) {
	var odd []string
	for i := range 300 {
		odd = append(odd, fmt.Sprintf("odd://%d/{", i), fmt.Sprintf("odd://%d/{a}", i))
	}
	h := open(t, map[string]mcptest.Options{"fake": {Templates: odd, Values: map[string][]string{"a": {"x"}}}})
	h.searchable("fake", 3)
	eventually(t, "the value of a template among odd ones", func() bool {
		items, incomplete := h.Complete(t.Context(), "fake:odd://7/", 100)
		return incomplete && len(items) > 1 && slices.Contains(inserts(items[:2]), "fake:odd://7/x")
	})
}

func TestMentionsOfTemplates(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"fake": {Templates: []string{"page://{lang}/{page}"}, ReadAny: true}})
	h.searchable("fake", 3)
	got := h.Mentions("see @fake:page://go/a, @fake:file://doc0.md, @fake:page://go and @fake:file://other.md")
	want := []string{"page://go/a false true", "file://doc0.md true false", "page://go false false", "file://other.md false true"}
	for i, m := range got {
		if text := fmt.Sprint(m.URI, " ", m.Known, " ", m.Expands); i >= len(want) || text != want[i] {
			t.Errorf("%s", text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%+v", got)
	}
	// What is not listed is read all the same.
	if c, err := h.Read(t.Context(), "fake", "page://go/a"); err != nil || len(c) != 1 || !strings.Contains(c[0].Text, "page://go/a") {
		t.Errorf("%+v %v", c, err)
	}
}
