package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

func TestServerIsListedReadAndCalled(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log)}})
	if got := h.mustCall("fake", "echo", args{"text": "hello"}); got != "hello" {
		t.Errorf("echo: %q", got)
	}
	eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
	contents, err := h.Read(t.Context(), "fake", "file://doc1.md")
	if err != nil || len(contents) != 1 || contents[0].Text != "# Content of file://doc1.md v0\n" || contents[0].MIMEType != "text/markdown" {
		t.Errorf("read: %+v, %v", contents, err)
	}
	if _, err := h.Read(t.Context(), "fake", "file://none.md"); !errors.Is(err, ErrUnknownResource) {
		t.Errorf("a missing resource: %v", err)
	}
	if _, err := h.call("fake", "nothere", nil); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("an unknown tool: %v", err)
	}
	if _, err := h.call("nobody", "echo", nil); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("an unknown server: %v", err)
	}
	eventually(t, "prompts", func() bool { return h.status("fake").Prompts != nil })
	prompts, stale, err := h.Prompts("fake")
	if err != nil || stale || len(prompts) != 1 || prompts[0].Name != "review" || !prompts[0].Arguments[0].Required {
		t.Errorf("prompts: %+v %v %v", prompts, stale, err)
	}
	i := h.status("fake")
	if i.Status != StatusReady || !i.Trusted || *i.Tools != len(h.tools("fake")) || *i.Resources != 3 || *i.Prompts != 1 {
		t.Errorf("info: %+v", i)
	}
	if !h.HasResources("fake") || h.HasResources("nobody") {
		t.Error("HasResources")
	}
	if len(h.kind("fake", EventReady)) != 1 {
		t.Errorf("events: %+v", h.seen())
	}
	init := log.AwaitMethod(t, 1, "initialize")[0]
	if p := string(init.Params); !strings.Contains(p, `"roots":{"listChanged":true}`) || strings.Contains(p, "sampling") || !strings.Contains(p, `"elicitation":{"form":{},"url":{}}`) {
		t.Errorf("declared more, or less, than what is supported: %s", p)
	}
}

// A tool of which the server has told, but whose list is still on its way, can
// be called.
func TestCallOfAToolThatIsBeingListed(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"fake": {}})
	h.mustCall("fake", "add_tool", nil)
	if _, err := h.call("fake", "late_tool", nil); err != nil {
		t.Error(err)
	}
	if _, err := h.call("fake", "nothere", nil); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("a tool that there is not: %v", err)
	}
}

func TestListChangedIsFetchedAndTold(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"fake": {}})
	eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
	h.mustCall("fake", "add_tool", nil)
	// editor: github/copilot-cli#3125, a tool added in a call is there at the
	// next model call.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	h.Settle(ctx)
	if !slices.Contains(h.tools("fake"), "late_tool") {
		t.Fatalf("after Settle: %v", h.tools("fake"))
	}
	if e := h.await("fake", EventTools); !slices.Equal(e.Added, []string{"late_tool"}) || e.AddedN != 1 || e.RemovedN != 0 {
		t.Errorf("%+v", e)
	}
	h.mustCall("fake", "mutate", nil)
	eventually(t, "a changed definition is told", func() bool { return len(h.kind("fake", EventTools)) == 2 })
	h.mustCall("fake", "add_resource", nil)
	if list, err := h.ListResources(t.Context(), "fake"); err != nil || list.Stale || len(list.Resources) != 4 {
		t.Errorf("a stale list is fetched on use: %d %v %v", len(list.Resources), list.Stale, err)
	}
	if e := h.await("fake", EventResources); !slices.Equal(e.Added, []string{"file://late0.md"}) {
		t.Errorf("%+v", e)
	}
}
