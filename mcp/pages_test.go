package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	all := func(fetch func(cursor json.RawMessage) (json.RawMessage, error), add func(json.RawMessage) bool) (lifetime, int, error) {
		told = ""
		p := pager{
			key: "things", add: add, problem: func(p string) { told += p },
			fetch: func(_ context.Context, cursor json.RawMessage) (json.RawMessage, error) { return fetch(cursor) },
			life:  func(page json.RawMessage) lifetime { return parseLifetime(page, true, time.Unix(0, 0)) },
		}
		return p.all(t.Context())
	}
	every := func(json.RawMessage) bool { return true }
	_, pages, err := all(func(json.RawMessage) (json.RawMessage, error) {
		n++
		return fmt.Appendf(nil, `{"things":[1],"nextCursor":%d}`, n), nil
	}, every)
	if err != nil || n != maxPages || pages != n || !strings.Contains(told, "was cut at 10000 pages") {
		t.Errorf("%d pages, %v, %q", n, err, told)
	}
	// More items than any list is taken of, in many pages or in one.
	for _, size := range []int{50_000, maxItems + 7} {
		page, taken := `{"nextCursor":%d,"things":[0`+strings.Repeat(",0", size-1)+`]}`, 0
		_, _, err = all(func(json.RawMessage) (json.RawMessage, error) {
			n++
			return fmt.Appendf(nil, page, n), nil
		}, func(json.RawMessage) bool { taken++; return true })
		if err != nil || taken != maxItems || !strings.Contains(told, "was cut at 200000 items") {
			t.Errorf("%d items, %v, %q", taken, err, told)
		}
	}
	// A list that is just as long is whole.
	page := `{"things":[0` + strings.Repeat(",0", maxItems-1) + `]}`
	if _, _, err = all(func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(page), nil }, every); err != nil || told != "" {
		t.Errorf("%v %q", err, told)
	}
	// A cursor is sent back byte for byte, whatever it is.
	var sent []string
	answers := []string{
		`{"things":[],"nextCursor":"a\u0062 "}`, `{"nextCursor":{"k":1}}`, `{"things":null,"nextCursor":""}`, `{"things":5,"nextCursor":0}`, `{"things":[],"nextCursor":null}`,
	}
	_, pages, err = all(func(cursor json.RawMessage) (json.RawMessage, error) {
		sent = append(sent, string(cursor))
		return json.RawMessage(answers[len(sent)-1]), nil
	}, every)
	if want := []string{"", `"a\u0062 "`, `{"k":1}`, `""`, `0`}; err != nil || pages != len(want) || !slices.Equal(sent, want) {
		t.Errorf("%q, %v", sent, err)
	}
	if !strings.Contains(told, "1 items of the server's list of things were dropped") {
		t.Errorf("what stands in the place of the list is passed over in silence: %q", told)
	}
	// The list lasts as long as the page that lasts shortest.
	n = 0
	answers = []string{`{"things":[],"nextCursor":1,"ttlMs":60000,"cacheScope":"public"}`, `{"things":[],"ttlMs":1000,"cacheScope":"public"}`}
	life, _, err := all(func(json.RawMessage) (json.RawMessage, error) { n++; return json.RawMessage(answers[n-1]), nil }, every)
	if err != nil || !life.lasts || !life.public || !life.until.Equal(time.Unix(1, 0)) {
		t.Errorf("%+v %v", life, err)
	}
}

// A server that takes its time over each page of a list that does not end is
// given up: each page has its own bound beside.
func TestAListHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, began := 0, time.Now()
		p := pager{
			key: "things", add: func(json.RawMessage) bool { return true }, problem: func(p string) { t.Error(p) },
			life: func(json.RawMessage) lifetime { return lifetime{} },
			fetch: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				n++
				select {
				case <-time.After(50 * time.Second):
					return fmt.Appendf(nil, `{"things":[1],"nextCursor":%d}`, n), nil
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			},
		}
		_, pages, err := p.all(t.Context())
		if pages != 6 && pages != 5 || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer to the whole list of things within 5m0s") || time.Since(began) != maxListTime {
			t.Errorf("%d pages in %v: %v", pages, time.Since(began), err)
		}
	})
}
