package mcp

import (
	"testing"

	"agentls/mcp/mcptest"
)

// A resource is looked up with what notifications said of it, and its body is
// given from the cache only while that is fresh.
func TestLookup(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"fake": {}})
	const uri = "file://doc1.md"
	eventually(t, "the resource", func() bool { _, _, ok := h.Resource("fake", uri); return ok })
	if r, stale, _ := h.Resource("fake", uri); r.Name != "doc1.md" || r.Server != "fake" || r.Stale || stale {
		t.Errorf("%+v %v", r, stale)
	}
	for _, other := range [][2]string{{"fake", "file://doc9.md"}, {"fake", ""}, {"nobody", uri}} {
		if _, _, ok := h.Resource(other[0], other[1]); ok {
			t.Errorf("%v is there", other)
		}
		if _, ok := h.Cached(other[0], other[1]); ok {
			t.Errorf("%v is cached", other)
		}
	}
	if _, ok := h.Cached("fake", uri); ok {
		t.Error("cached before it was read")
	}
	if _, err := h.Read(t.Context(), "fake", uri); err != nil {
		t.Fatal(err)
	}
	contents, ok := h.Cached("fake", uri)
	if !ok || len(contents) != 1 || contents[0].Text != "# Content of file://doc1.md v0\n" {
		t.Errorf("%+v %v", contents, ok)
	}
	contents[0].Text = "changed by the caller"
	if again, _ := h.Cached("fake", uri); again[0].Text == contents[0].Text {
		t.Error("the cache gives away its own")
	}
	h.mustCall("fake", "touch", args{"uri": uri})
	h.await("fake", EventUpdated)
	if r, _, _ := h.Resource("fake", uri); !r.Stale {
		t.Error("not marked as changed")
	}
	if _, ok := h.Cached("fake", uri); ok {
		t.Error("cached after it changed")
	}
}
