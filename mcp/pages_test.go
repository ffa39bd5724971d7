package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
)

// vercel/ai#19240 and others: only the first page was listed.
func TestListsAreFetchedToTheEnd(t *testing.T) {
	log := mcptest.NewLog(t)
	n := 5000
	h := open(t, map[string]mcptest.Options{
		"paged":  {Resources: &n, Page: 100, Log: string(log)},
		"empty":  {Page: 2, EmptyCursor: true},
		"repeat": {Page: 2, RepeatCursor: true},
	})
	for _, server := range []string{"paged", "empty"} {
		if got := h.tools(server); len(got) < 20 || !slices.Contains(got, "structured") || !slices.Contains(got, "echo") {
			t.Errorf("%s: %v", server, got)
		}
	}
	eventually(t, "5000 resources", func() bool { return len(h.uris("paged")) == n })
	if pages := log.Method(t, "resources/list"); len(pages) != 50 {
		t.Errorf("%d requests for 50 pages", len(pages))
	}
	eventually(t, "the page behind an empty cursor", func() bool { return len(h.uris("empty")) == 3 })
	// A repeated cursor ends the list with a warning, and keeps what came.
	if got := h.tools("repeat"); len(got) != 4 {
		t.Errorf("repeat: %v", got)
	}
	eventually(t, "a repeated cursor is told", func() bool {
		return strings.Contains(fmt.Sprint(h.kind("repeat", EventProblem)), "tools repeats the cursor")
	})
}

func TestBadItemsAreDroppedOneByOne(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"bad": {BadItems: true}})
	tools := h.tools("bad")
	for _, name := range []string{"echo", "noschema", "nullschema", "oddhints", "nullable"} {
		if !slices.Contains(tools, name) {
			t.Errorf("%s is missing in %v", name, tools)
		}
	}
	sorted := slices.Clone(tools)
	slices.Sort(sorted)
	if !slices.Equal(tools, slices.Compact(sorted)) {
		t.Errorf("not sorted or not unique: %v", tools)
	}
	eventually(t, "resources", func() bool {
		return slices.Equal(h.uris("bad"), []string{"file://doc0.md", "file://doc1.md", "file://doc2.md", "odd://size"})
	})
	eventually(t, "prompts", func() bool { i := h.status("bad"); return i.Prompts != nil && *i.Prompts == 3 })
	texts := fmt.Sprint(h.kind("bad", EventProblem))
	for _, want := range []string{"3 items of the server's list of tools", "5 items of the server's list of resources", "2 items of the server's list of resourceTemplates", "1 items of the server's list of prompts"} {
		if !strings.Contains(texts, want) {
			t.Errorf("%q is not told: %s", want, texts)
		}
	}
}

func TestPagesEnd(t *testing.T) {
	// A list whose cursors never repeat and never end.
	n, told := 0, ""
	_, err := pages(t.Context(), "things", func(_ context.Context, cursor json.RawMessage) (json.RawMessage, error) {
		n++
		return fmt.Appendf(nil, `{"things":[1],"nextCursor":%d}`, n), nil
	}, func(json.RawMessage) bool { return true }, func(p string) { told = p })
	if err != nil || n != maxPages || !strings.Contains(told, "cut") {
		t.Errorf("%d pages, %v, %q", n, err, told)
	}
	// A cursor is sent back byte for byte, whatever it is.
	var sent []string
	answers := []string{`{"things":[],"nextCursor":"a\u0062 "}`, `{"nextCursor":{"k":1}}`, `{"things":5,"nextCursor":""}`, `{"things":[],"nextCursor":null}`}
	_, err = pages(t.Context(), "things", func(_ context.Context, cursor json.RawMessage) (json.RawMessage, error) {
		sent = append(sent, string(cursor))
		return json.RawMessage(answers[len(sent)-1]), nil
	}, func(json.RawMessage) bool { return true }, func(p string) { t.Error(p) })
	if want := []string{"", `"a\u0062 "`, `{"k":1}`, `""`}; err != nil || !slices.Equal(sent, want) {
		t.Errorf("%q, %v", sent, err)
	}
}
