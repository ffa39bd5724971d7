package mcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

func TestBodyIsCachedWhileSubscribed(t *testing.T) {
	// PaiCLI P7: the stale mark decides, and updates are subscribed to.
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log)}})
	eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
	uri := "file://doc1.md"
	read := func(want string) {
		t.Helper()
		contents, err := h.Read(t.Context(), "fake", uri)
		if err != nil || contents[0].Text != want {
			t.Fatalf("%+v %v, want %q", contents, err, want)
		}
	}
	read("# Content of file://doc1.md v0\n")
	read("# Content of file://doc1.md v0\n")
	if n := len(log.Method(t, "resources/read")); n != 1 {
		t.Errorf("read %d times", n)
	}
	order := slices.DeleteFunc(log.Entries(t), func(e mcptest.Entry) bool {
		return !strings.HasPrefix(e.Method, "resources/") || strings.HasSuffix(e.Method, "list")
	})
	if len(order) != 2 || order[0].Method != "resources/subscribe" {
		t.Errorf("not subscribed before the read: %+v", order)
	}
	h.mustCall("fake", "touch", args{"uri": uri})
	if e := h.await("fake", EventUpdated); e.URI != uri {
		t.Errorf("%+v", e)
	}
	stale := func() bool {
		list, _ := h.Resources("fake")
		return list.Resources[slices.IndexFunc(list.Resources, func(r Resource) bool { return r.URI == uri })].Stale
	}
	if !stale() {
		t.Error("not marked stale")
	}
	read("# Content of file://doc1.md v1\n")
	if stale() {
		t.Error("still marked stale after it was read")
	}
	if n := len(log.Method(t, "resources/subscribe")); n != 1 {
		t.Errorf("subscribed %d times", n)
	}
	// What is read after a restart is read anew.
	_, _ = h.call("fake", "die", nil)
	h.await("fake", EventRecovered)
	read("# Content of file://doc1.md v0\n")
	if n := len(log.Method(t, "resources/subscribe")); n != 2 {
		t.Errorf("subscribed %d times", n)
	}
}

func TestOldListServesUntilTheNewOneIsThere(t *testing.T) {
	// anthropics/claude-code#3326, PaiCLI P6: never an empty list meanwhile.
	tm := fast()
	tm.debounce, tm.debounceMax = time.Hour, time.Hour
	h := newHouse(t, Options{}, tm)
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{})})
	h.started()
	eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
	h.mustCall("fake", "add_resource", nil)
	list, err := h.Resources("fake")
	if err != nil || len(list.Resources) != 3 || !list.Stale || !list.Fetched {
		t.Errorf("%d %+v %v", len(list.Resources), list.Stale, err)
	}
	if snap := h.snapshots()[0]; len(snap.resources) != 3 || snap.mention != "fake" || len(snap.templates) != 1 {
		t.Errorf("%+v", snap)
	}
	version := h.snapshots()[0].version
	if list, err = h.ListResources(t.Context(), "fake"); err != nil || len(list.Resources) != 4 || list.Stale {
		t.Errorf("%d %+v %v", len(list.Resources), list.Stale, err)
	}
	if h.snapshots()[0].version <= version {
		t.Error("the version did not grow")
	}
	_, _ = h.call("fake", "die", nil)
	eventually(t, "the list is said to be old after a loss", func() bool { list, _ = h.Resources("fake"); return list.Stale })
	if len(list.Resources) != 4 {
		t.Errorf("after a loss: %d", len(list.Resources))
	}
}

func TestDiff(t *testing.T) {
	type item struct{ k, v string }
	check := func(old, now []item, want difference) {
		t.Helper()
		got := diff(old, now, func(i *item) string { return i.k }, func(a, b *item) bool { return *a == *b })
		if got.any != want.any || !slices.Equal(got.added, want.added) || got.addedN != want.addedN || got.goneN != want.goneN {
			t.Errorf("%v → %v: %+v, want %+v", old, now, got, want)
		}
	}
	a, b, c, d, e := item{"a", ""}, item{"b", ""}, item{"c", ""}, item{"d", ""}, item{"e", ""}
	check(nil, nil, difference{})
	check([]item{a, b}, []item{b, a}, difference{})
	check([]item{a}, []item{{"a", "new"}}, difference{any: true})
	check([]item{a}, []item{b, c, d, e}, difference{any: true, added: []string{"b", "c", "d"}, addedN: 4, goneN: 1})
	check([]item{a}, nil, difference{any: true, goneN: 1})
}

func TestBodiesAreBounded(t *testing.T) {
	var b bodies
	put := func(uri string, n int) {
		b.end(b.begin(uri), []Content{{Text: strings.Repeat("x", n)}}, true, time.Time{})
	}
	for i := range 1000 {
		put(fmt.Sprint("u:", i), 100<<10)
	}
	if b.size > maxBodies || b.order.Len() != len(b.byURI) || b.order.Len() < 30 {
		t.Errorf("%d bytes in %d bodies", b.size, b.order.Len())
	}
	if b.get("u:999", time.Now()) == nil || b.get("u:0", time.Now()) != nil {
		t.Error("not the last ones are kept")
	}
	put("u:big", maxBodyBytes+1)
	if b.get("u:big", time.Now()) != nil {
		t.Error("a big one is kept")
	}
	// An update that comes while it is read keeps it from being fresh.
	x := b.begin("u:x")
	b.drop("u:x")
	if b.end(x, []Content{{}}, true, time.Time{}) || b.get("u:x", time.Now()) != nil {
		t.Error("kept although it changed")
	}
	timed := b.begin("u:t")
	b.gap()
	b.end(timed, []Content{{}}, true, time.Now().Add(time.Hour))
	if b.get("u:t", time.Now()) == nil || b.get("u:999", time.Now()) != nil || b.get("u:t", time.Now().Add(2*time.Hour)) != nil {
		t.Error("a gap, or the time, decides wrongly")
	}
	b.clear()
	if b.size != 0 || len(b.byURI) != 0 || len(b.reading) != 0 {
		t.Errorf("%+v", b.size)
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	log := mcptest.NewLog(t)
	n := maxSubscriptions + 10
	h := open(t, map[string]mcptest.Options{"fake": {Resources: &n, Log: string(log)}})
	for i := range n {
		if _, err := h.Read(t.Context(), "fake", fmt.Sprintf("file://doc%d.md", i)); err != nil {
			t.Fatal(err)
		}
	}
	log.AwaitMethod(t, 10, "resources/unsubscribe")
	// The one that gave way is read, and subscribed to, anew.
	if _, err := h.Read(t.Context(), "fake", "file://doc0.md"); err != nil {
		t.Fatal(err)
	}
	if got := len(log.Method(t, "resources/read")); got != n+1 {
		t.Errorf("read %d times", got)
	}
}
