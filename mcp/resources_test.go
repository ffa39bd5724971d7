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
	now := time.Now()
	put := func(uri string, n int) {
		b.end(b.begin(uri), fetched{contents: []Content{{URI: uri, Text: strings.Repeat("x", n)}, {URI: "part:" + uri}}, told: true, keep: true, at: now})
	}
	for i := range 1000 {
		put(fmt.Sprint("u:", i), 100<<10)
	}
	if b.size > maxBodies || b.order.Len() != len(b.byURI) || b.order.Len() != len(b.byPart) || b.order.Len() < 30 {
		t.Errorf("%d bytes in %d bodies, %d parts", b.size, b.order.Len(), len(b.byPart))
	}
	if b.get("u:999", now) == nil || b.get("u:0", now) != nil {
		t.Error("not the last ones are kept")
	}
	put("u:big", maxBodyBytes+1)
	if contents, _ := b.last("u:big"); contents != nil {
		t.Error("a big one is kept")
	}
}

// An update makes stale what it is of, what holds it as a part, and what it
// lies below; a fetch under way likewise.
func TestUpdatesReachTheBodies(t *testing.T) {
	now := time.Now()
	type world struct {
		*bodies
		reading *bodyRead
	}
	fresh := func(b *bodies, uri string) bool { return b.get(uri, now) != nil }
	for _, c := range []struct {
		held, update string
		stale        bool
	}{
		{"file://a/b", "file://a/b", true},
		{"file://a/b", "file://a/b/c/d", true},
		{"file://a/b/", "file://a/b/c", true},
		{"file://a/b", "file://a/b/", true},
		{"a", "a/b", true},
		{"a/", "a/b", true},
		{"file://a/b", "file://a/bc", false},
		{"file://a/b/c", "file://a/b", false},
		{"file://a/b", "file://a", false},
		{"file://a/b", "", false},
		{"file://a/b", "/", false},
		{"urn:x:1", "urn:x:12", false},
		{"file://a/b", "part://1", true},
	} {
		w := world{bodies: &bodies{}}
		w.end(w.begin(c.held), fetched{contents: []Content{{URI: c.held}, {URI: "part://1"}, {URI: "part://1"}}, told: true, keep: true, at: now})
		w.reading = w.begin(c.held)
		w.changed(c.update)
		if got := !fresh(w.bodies, c.held); got != c.stale {
			t.Errorf("%s after an update of %s: stale %v", c.held, c.update, got)
		}
		if contents, at := w.last(c.held); len(contents) != 3 || !at.Equal(now) {
			t.Errorf("%s is lost by an update of %s", c.held, c.update)
		}
		if c.update != "part://1" && w.reading.changed != c.stale { // what a fetch will hold is not known yet
			t.Errorf("a fetch of %s with an update of %s: changed %v", c.held, c.update, w.reading.changed)
		}
		if undisturbed := w.end(w.reading, fetched{contents: []Content{{}}, told: true, keep: true, at: now}); undisturbed != !w.reading.changed || len(w.bodies.reading) != 0 {
			t.Errorf("%s: undisturbed %v, %d under way", c.held, undisturbed, len(w.bodies.reading))
		}
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

// One of the two lists that goes wrong takes nothing from the other.
func TestResourcesAndTemplatesAreFetchedApart(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{
		"templates": {Broken: []string{"resources/templates/list"}},
		"resources": {Broken: []string{"resources/list"}},
	})
	eventually(t, "resources", func() bool { return len(h.uris("templates")) == 3 })
	templates := func(server string) int { list, _ := h.Resources(server); return len(list.Templates) }
	eventually(t, "templates", func() bool { return templates("resources") == 1 })
	for server, want := range map[string]string{"templates": "resources could not be fetched: its templates: broken as asked", "resources": "resources could not be fetched: broken as asked"} {
		eventually(t, "it is told", func() bool {
			return slices.ContainsFunc(h.kind(server, EventProblem), func(e Event) bool { return strings.Contains(e.Text, want) })
		})
	}
	if list, err := h.ListResources(t.Context(), "templates"); err == nil || len(list.Resources) != 3 || !list.Stale || !list.Fetched {
		t.Errorf("%+v %v", list, err)
	}
}

// A page that fails: at first what came before it is better than nothing, and
// is said to be old; later the old list stays.
func TestAPageThatFails(t *testing.T) {
	t.Parallel()
	n := 10
	o := mcptest.HTTPOptions{}
	o.Resources, o.Page = &n, 4
	srv := mcptest.ServeHTTP(t, o)
	second := func(r mcptest.HTTPRequest) bool {
		return r.Method == "resources/list" && strings.Contains(string(r.Params), `"4"`)
	}
	broken := mcptest.Answer(200, "application/json", `{"jsonrpc":"2.0","id":{id},"error":{"code":-32603,"message":"a broken page"}}`)
	srv.Break(second, broken)
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	eventually(t, "the first page", func() bool { return len(h.uris("fake")) == 4 })
	told := func() int {
		return len(slices.DeleteFunc(h.kind("fake", EventProblem), func(e Event) bool { return !strings.Contains(e.Text, "a broken page") }))
	}
	eventually(t, "it is told", func() bool { return told() == 1 })
	if list, err := h.ListResources(t.Context(), "fake"); err == nil || !list.Stale || !list.Fetched || len(list.Resources) != 4 || len(list.Templates) != 1 {
		t.Errorf("%+v %v", list, err)
	}
	srv.Mend()
	if list, err := h.ListResources(t.Context(), "fake"); err != nil || list.Stale || len(list.Resources) != 10 {
		t.Errorf("%+v %v", list, err)
	}
	srv.Break(second, broken)
	h.mustCall("fake", "add_resource", nil)
	eventually(t, "it is told again", func() bool { return told() == 2 })
	if list, err := h.Resources("fake"); err != nil || !list.Stale || len(list.Resources) != 10 {
		t.Errorf("%d %v %v", len(list.Resources), list.Stale, err)
	}
}

// The tools of a server that says how long they last are asked for anew before
// a model call, and not by the clock.
func TestToolsLastAsLongAsTheServerSays(t *testing.T) {
	t.Parallel()
	for name, hints := range map[string]map[string]any{"short": {"ttlMs": 1}, "long": {"ttlMs": 3_600_000}, "zero": {"ttlMs": 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := mcptest.NewLog(t)
			h := open(t, map[string]mcptest.Options{"fake": {Modern: true, Hints: hints, Log: string(log)}})
			eventually(t, "prompts", func() bool { return h.status("fake").Prompts != nil })
			h.mustCall("fake", "sleep", args{"seconds": 0.2}) // what asks by the clock would ask meanwhile
			if n := len(log.Method(t, "tools/list")); n != 1 {
				t.Fatalf("asked for %d times by itself", n)
			}
			h.Settle(t.Context())
			want := 1
			if name == "short" {
				want = 2
			}
			if n := len(log.Method(t, "tools/list")); n != want {
				t.Errorf("asked for %d times", n)
			}
		})
	}
}

// A URI that was not read for long is told of no more.
func TestSubscriptionsEnd(t *testing.T) {
	t.Parallel()
	var s subscriptions
	now := time.Now()
	for i := range maxSubscriptions {
		s.want(fmt.Sprint("u:", i), now.Add(time.Duration(i)*time.Second))
	}
	s.activate(true, "u:0", "u:1", "u:3", "u:200")
	if known, active, dropped := s.want("u:1", now.Add(subscriptionAge-1)); !known || !active || dropped != nil {
		t.Errorf("%v %v %q", known, active, dropped)
	}
	if known, active, dropped := s.want("u:new", now.Add(subscriptionAge+3*time.Second)); known || active || !slices.Equal(dropped, []string{"u:0", "u:3"}) {
		t.Errorf("%v %v %q", known, active, dropped)
	}
	if all := s.all(); len(all) != maxSubscriptions-2 || slices.Contains(all, "u:2") || !slices.Contains(all, "u:1") || !slices.Contains(all, "u:200") {
		t.Errorf("%d are wanted", len(all))
	}
	if known, active, dropped := s.want("u:late", now.Add(3*subscriptionAge)); known || active || !slices.Equal(dropped, []string{"u:200", "u:1"}) || len(s.all()) != 1 {
		t.Errorf("%v %v %q", known, active, dropped)
	}
}
