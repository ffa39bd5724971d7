package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

func TestCompleteArgumentIsCached(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Values: map[string][]string{"a": {"x1", "x2"}, "a b=1": {"x3"}, "v": {"y"}}}})
	eventually(t, "its first lists", func() bool { return h.status("fake").Prompts != nil })
	ask := func(ref CompletionRef, argument, value string, others map[string]string, want ...string) {
		t.Helper()
		got, more, err := h.CompleteArgument(t.Context(), "fake", ref, argument, value, others)
		if err != nil || more || !slices.Equal(got, want) {
			t.Errorf("%v %s=%s: %q %v %v", ref, argument, value, got, more, err)
		}
	}
	prompt, template := CompletionRef{Prompt: "p"}, CompletionRef{Template: "t://{v}"}
	all := func() {
		t.Helper()
		ask(prompt, "a", "x", nil, "x1", "x2")
		ask(prompt, "a", "x1", nil, "x1")
		ask(prompt, "a", "x", map[string]string{"b": "1"}, "x3")
		ask(template, "v", "", nil, "y")
	}
	all()
	all()
	if got := asked(t, log); len(got) != 4 {
		t.Errorf("%q", got)
	}
	// A list that changes takes its answers with it, and no others.
	h.mustCall("fake", "notify", args{"method": "notifications/prompts/list_changed"})
	log.AwaitMethod(t, 2, "prompts/list")
	all()
	if got := asked(t, log); len(got) != 7 {
		t.Errorf("%q", got)
	}
	h.mustCall("fake", "notify", args{"method": "notifications/resources/list_changed"})
	log.AwaitMethod(t, 2, "resources/list")
	all()
	if got := asked(t, log); len(got) != 8 {
		t.Errorf("%q", got)
	}
	for _, ref := range []CompletionRef{{}, {Prompt: "a", Template: "b"}} {
		if _, _, err := h.CompleteArgument(t.Context(), "fake", ref, "a", "", nil); err == nil {
			t.Errorf("%+v is taken", ref)
		}
	}
	if _, _, err := h.CompleteArgument(t.Context(), "none", prompt, "a", "", nil); !errors.Is(err, ErrUnknownServer) {
		t.Error(err)
	}
}

func TestCompleteArgumentOfServersWithoutValues(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{
		"without": {Log: string(log), Without: []string{"completions"}},
		"missing": {Log: string(log), Missing: []string{"completion/complete"}},
		"broken":  {Log: string(log), Broken: []string{"completion/complete"}},
	})
	for range 2 {
		for _, server := range []string{"without", "missing"} {
			if got, more, err := h.CompleteArgument(t.Context(), server, CompletionRef{Prompt: "p"}, "a", "", nil); got != nil || more || err != nil {
				t.Errorf("%s: %v %v %v", server, got, more, err)
			}
		}
	}
	if got := asked(t, log); len(got) != 1 {
		t.Errorf("a refusal was not remembered: %q", got)
	}
	// Another failure is no word about the argument.
	for range 2 {
		if _, _, err := h.CompleteArgument(t.Context(), "broken", CompletionRef{Prompt: "p"}, "a", "", nil); err == nil || !strings.Contains(err.Error(), "broken as asked") {
			t.Error(err)
		}
	}
	if got := asked(t, log); len(got) != 3 {
		t.Errorf("%q", got)
	}
	if _, err := h.Disable("broken"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.CompleteArgument(t.Context(), "broken", CompletionRef{Prompt: "p"}, "a", "", nil); !errors.Is(err, ErrNotReady) {
		t.Error(err)
	}
}

// A person types faster than the server answers: it hears of few of the keys,
// one at a time, and of the last one.
func TestCompleteArgumentOfFastTyping(t *testing.T) {
	log := mcptest.NewLog(t)
	whole := strings.Repeat("x", 40)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Delays: map[string]time.Duration{"completion/complete": 100 * time.Millisecond}, Values: map[string][]string{"a": {whole}}}})
	var wg sync.WaitGroup
	superseded := make(chan error, len(whole)) // nil: with what an older answer left
	var last []string
	var more bool
	start := time.Now()
	for i := range len(whole) {
		wg.Go(func() {
			got, open, err := h.CompleteArgument(t.Context(), "fake", CompletionRef{Prompt: "p"}, "a", whole[:i+1], nil)
			if err != nil || open {
				superseded <- err
			}
			if i == len(whole)-1 {
				last, more = got, open
			}
		})
		time.Sleep(10 * time.Millisecond) // the person
	}
	wg.Wait()
	took := time.Since(start)
	close(superseded)
	n := 0
	for err := range superseded {
		n++
		if err != nil && !errors.Is(err, ErrSuperseded) {
			t.Error(err)
		}
	}
	if most := int(took/(100*time.Millisecond)) + 1; len(asked(t, log)) > most || n < len(whole)-most {
		t.Errorf("in %v it was asked %d times, %d were superseded: %q", took, len(asked(t, log)), n, asked(t, log))
	}
	if !slices.Equal(last, []string{whole}) || more {
		t.Errorf("the last key: %q %v", last, more)
	}
}

// A request that hangs gives way to a newer one, and is cancelled.
func TestCompleteArgumentGivesWay(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Delays: map[string]time.Duration{"completion/complete": time.Minute}}})
	first := make(chan error, 1)
	ask := func(ctx context.Context, value string) error {
		_, _, err := h.CompleteArgument(ctx, "fake", CompletionRef{Prompt: "p"}, "a", value, nil)
		return err
	}
	go func() { first <- ask(t.Context(), "1") }()
	log.AwaitMethod(t, 1, "completion/complete")
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() { second <- ask(ctx, "2") }()
	if err := <-first; !errors.Is(err, ErrSuperseded) {
		t.Error(err)
	}
	log.AwaitMethod(t, 1, "notifications/cancelled")
	log.AwaitMethod(t, 2, "completion/complete")
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// The connection's end ends what waits.
	third := make(chan error, 1)
	go func() { third <- ask(t.Context(), "2") }() // joins the second
	if _, err := h.Disable("fake"); err != nil {
		t.Fatal(err)
	}
	if err := <-third; err == nil {
		t.Error("it has an answer")
	}
}

func TestCompleteArgumentOverHTTP(t *testing.T) {
	for _, modern := range []bool{false, true} {
		var values []string
		for i := range 150 {
			values = append(values, fmt.Sprintf("v%03d", i))
		}
		h, _ := remote(t, mcptest.HTTPOptions{Options: mcptest.Options{Modern: modern, Values: map[string][]string{"a": values}}})
		got, more, err := h.CompleteArgument(t.Context(), "fake", CompletionRef{Prompt: "p"}, "a", "v", map[string]string{"b": "1"})
		if err != nil || !more || !slices.Equal(got, values[:100]) {
			t.Errorf("%d values, %v %v", len(got), more, err)
		}
	}
}

func TestParseCompletion(t *testing.T) {
	check := func(raw string, more bool, want ...string) {
		t.Helper()
		if got, m := parseCompletion(json.RawMessage(raw)); m != more || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v", raw, got, m)
		}
	}
	check(`{"completion":{"values":["a","b","a"]}}`, false, "a", "b")
	check(`{"completion":{"values":["a",5,null,"",{"x":1},"b\nc","d"],"total":7}}`, false, "a", "d")
	check(`{"completion":{"values":["a"],"total":2}}`, true, "a")
	check(`{"completion":{"values":["a"],"hasMore":true}}`, true, "a")
	check(`{"completion":{"values":["a"],"hasMore":"yes","total":[]}}`, false, "a")
	check(`{"completion":{"values":["`+strings.Repeat("x", maxValue+1)+`","a"]}}`, false, "a")
	for _, raw := range []string{``, `null`, `5`, `[]`, `{}`, `{"completion":null}`, `{"completion":{}}`, `{"completion":{"values":"a"}}`} {
		check(raw, false)
	}
}

func FuzzParseCompletion(f *testing.F) {
	f.Add([]byte(`{"completion":{"values":["a",5],"total":7,"hasMore":true}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, _ := parseCompletion(raw)
		seen := map[string]bool{}
		for _, v := range got {
			if v == "" || len(v) > maxValue || seen[v] || strings.ContainsFunc(v, isControl) {
				t.Fatalf("%q", got)
			}
			seen[v] = true
		}
		if len(got) > maxValues {
			t.Fatal(len(got))
		}
	})
}

func TestCompletionCacheIsBounded(t *testing.T) {
	var k completionCache
	now := time.Now()
	put := func(value string, values ...string) argumentQuery {
		q := argumentQuery{ref: CompletionRef{Prompt: "p"}, argument: "a", value: value}
		k.put(&completion{query: q, key: q.key(), values: values}, false, k.asking(), now)
		return q
	}
	first := put("first")
	for i := range 3 * maxCompletions {
		put(fmt.Sprint(i), "x")
	}
	if a, _ := k.get(first, now); a != nil || k.order.Len() != maxCompletions || len(k.byKey) != maxCompletions {
		t.Errorf("%v, %d answers", a, k.order.Len())
	}
	for i := range 40 {
		put(fmt.Sprint(i), slices.Repeat([]string{strings.Repeat("x", 1000)}, 100)...)
	}
	if k.size > maxCompletionBytes || k.order.Len() > maxCompletionBytes/100_000 {
		t.Errorf("%d bytes, %d answers", k.size, k.order.Len())
	}
	// An old answer is known, and asked for anew.
	q := put("old", "x")
	if a, fresh := k.get(q, now.Add(completionAge)); a == nil || fresh {
		t.Errorf("%v %v", a, fresh)
	}
	// What was asked before a drop is not kept.
	before := k.asking()
	k.drop(true)
	if k.size != 0 || k.order.Len() != 0 {
		t.Errorf("%d bytes, %d answers", k.size, k.order.Len())
	}
	k.put(&completion{query: q, key: q.key()}, false, before, now)
	if a, _ := k.get(q, now); a != nil {
		t.Error("kept")
	}
}

// Keys of different queries differ, whatever stands in them.
func TestArgumentQueryKey(t *testing.T) {
	queries := []argumentQuery{
		{ref: CompletionRef{Prompt: "ab"}},
		{ref: CompletionRef{Template: "ab"}},
		{ref: CompletionRef{Prompt: "a"}, argument: "b"},
		{ref: CompletionRef{Prompt: "a"}, value: "b"},
		{ref: CompletionRef{Prompt: "a"}, others: map[string]string{"b": ""}},
		{ref: CompletionRef{Prompt: "a"}, others: map[string]string{"": "b"}},
		{ref: CompletionRef{Prompt: "a1:b"}},
		{ref: CompletionRef{Prompt: "a"}, argument: "1:b"},
	}
	seen := map[string]bool{}
	for _, q := range queries {
		if seen[q.key()] {
			t.Errorf("%+v", q)
		}
		seen[q.key()] = true
	}
}

// "Missing required arguments" (-32602) holds until they are there.
func TestCompleteArgumentThatNeedsAnother(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Values: map[string][]string{"repo": nil, "repo owner=me": {"mine"}}}})
	for _, c := range []struct {
		value  string
		others map[string]string
		want   []string
	}{{"", nil, nil}, {"m", nil, nil}, {"m", map[string]string{"owner": "who"}, nil}, {"m", map[string]string{"owner": "me"}, []string{"mine"}}} {
		got, more, err := h.CompleteArgument(t.Context(), "fake", CompletionRef{Prompt: "p"}, "repo", c.value, c.others)
		if err != nil || more || !slices.Equal(got, c.want) {
			t.Errorf("%q %v: %q %v %v", c.value, c.others, got, more, err)
		}
	}
	if got := asked(t, log); len(got) != 3 {
		t.Errorf("a refusal was not remembered: %q", got)
	}
}
