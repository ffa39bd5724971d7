package mcp

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// A server that is out of reach: what was read before is there, and said to be
// old (2026-07-28, server/utilities/caching: "MAY serve stale responses").
func TestWhatWasReadServesWhileTheServerIsGone(t *testing.T) {
	t.Parallel()
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Once: true}}) // a second start answers nothing
	eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
	uri := "file://doc1.md"
	first, err := h.Read(t.Context(), "fake", uri)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = h.call("fake", "die", nil)
	h.await("fake", EventLost)
	s, err := h.find("fake")
	if err != nil {
		t.Fatal(err)
	}
	s.timing.use = time.Millisecond
	contents, err := h.Read(t.Context(), "fake", uri)
	stale, ok := errors.AsType[*StaleError](err)
	if !ok || !slices.Equal(contents, first) || time.Since(stale.At) > time.Minute || !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "cannot be read anew now") {
		t.Fatalf("%+v %v", contents, err)
	}
	if _, cached := h.Cached("fake", uri); cached {
		t.Error("it passes for fresh")
	}
	if contents, err := h.Read(t.Context(), "fake", "file://doc2.md"); contents != nil || !errors.Is(err, ErrNotReady) || errors.As(err, &stale) {
		t.Errorf("what was never read: %+v %v", contents, err)
	}
	s.forgetPrivate()
	if contents, err := h.Read(t.Context(), "fake", uri); contents != nil || errors.As(err, &stale) {
		t.Errorf("another user's: %+v %v", contents, err)
	}
}

// What the server itself says is no reason to serve what was read before.
func TestWhatTheServerRefusesIsNotServedFromBefore(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{})
	uri := "file://doc1.md"
	if _, err := h.Read(t.Context(), "fake", uri); err != nil {
		t.Fatal(err)
	}
	srv.Break(mcptest.Method("resources/read"), mcptest.Answer(200, "application/json", `{"jsonrpc":"2.0","id":{id},"error":{"code":-32603,"message":"it is secret now"}}`))
	h.mustCall("fake", "touch", args{"uri": uri})
	h.await("fake", EventUpdated)
	if contents, err := h.Read(t.Context(), "fake", uri); contents != nil || err == nil || !strings.Contains(err.Error(), "it is secret now") {
		t.Errorf("%+v %v", contents, err)
	}
}

// How often a body is asked for, by what its server says of how long it lasts
// (2026-07-28), while the server tells of changes as well.
func TestHowLongAServerSaysThatABodyLasts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		modern bool
		hints  map[string]any
		kept   bool
	}{
		{"an hour", true, map[string]any{"ttlMs": 3_600_000}, true},
		{"zero", true, map[string]any{"ttlMs": 0, "cacheScope": "public"}, false},
		{"less than zero", true, map[string]any{"ttlMs": -5}, false},
		{"nothing", true, nil, true},
		{"zero, of another era", false, map[string]any{"ttlMs": 0}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			log := mcptest.NewLog(t)
			h := open(t, map[string]mcptest.Options{"fake": {Modern: c.modern, Hints: c.hints, Log: string(log)}})
			uri := "file://doc1.md"
			kept := func() bool {
				before := len(log.Method(t, "resources/read"))
				if _, err := h.Read(t.Context(), "fake", uri); err != nil {
					t.Error(err)
				}
				return len(log.Method(t, "resources/read")) == before
			}
			kept()
			if c.modern {
				log.AwaitMethod(t, 2, "subscriptions/listen") // with this URI
			}
			h.mustCall("fake", "echo", nil) // it was acknowledged before this is answered
			if !c.kept {
				for range 5 {
					if kept() {
						t.Fatal("kept")
					}
				}
				return
			}
			eventually(t, "kept", kept)
			h.mustCall("fake", "touch", args{"uri": uri})
			h.await("fake", EventUpdated)
			if kept() {
				t.Error("kept after it changed")
			}
		})
	}
}

// A login or logout: what is not said to be the same for every user is gone.
func TestAnotherUserGetsNothingOfTheLast(t *testing.T) {
	t.Parallel()
	for scope, gone := range map[string]bool{"public": false, "private": true, "": true} {
		t.Run("scope "+scope, func(t *testing.T) {
			t.Parallel()
			hints := map[string]any{"ttlMs": 3_600_000}
			if scope != "" {
				hints["cacheScope"] = scope
			}
			h := open(t, map[string]mcptest.Options{"fake": {Modern: true, Hints: hints}})
			h.searchable("fake", 3)
			eventually(t, "prompts", func() bool { return len(h.PromptList()) == 1 })
			uri := "file://doc1.md"
			if _, err := h.Read(t.Context(), "fake", uri); err != nil {
				t.Fatal(err)
			}
			s, err := h.find("fake")
			if err != nil {
				t.Fatal(err)
			}
			s.forgetPrivate()
			if got := len(h.uris("fake")) == 0; got != gone {
				t.Errorf("the list is gone: %v", got)
			}
			if _, _, listed := s.cache.find(uri); listed == gone {
				t.Errorf("it can be found: %v", listed)
			}
			if got := len(h.tools("fake")) == 0 && len(h.PromptList()) == 0; got != gone {
				t.Errorf("tools and prompts are gone: %v", got)
			}
			if contents, _ := s.cache.bodies.last(uri); (contents == nil) != gone {
				t.Errorf("the body is gone: %v", contents == nil)
			}
			if _, fresh := h.Cached("fake", uri); fresh {
				t.Error("the body is fresh")
			}
			if _, err := h.ListResources(t.Context(), "fake"); err != nil || len(h.uris("fake")) != 3 {
				t.Errorf("the list of this user: %v %v", h.uris("fake"), err)
			}
		})
	}
}

// MCP allows several contents for one URI, of any kind and with URIs of their
// own (resources/read). An update of one of them is one of the whole.
func TestSeveralContentsOfOneRead(t *testing.T) {
	t.Parallel()
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Listed: []string{"dir://a"}, Answers: map[string]json.RawMessage{
		"resources/read": json.RawMessage(`{"contents":[{"uri":"dir://a/1","text":"one"},{"uri":"dir://a/2","mimeType":"image/png","blob":"iVBORw0KGgo"},{"uri":"other://3","mimeType":"text/plain","text":""},{"text":"four"}]}`),
	}}})
	h.searchable("fake", 4)
	want := []Content{
		{URI: "dir://a/1", Text: "one"},
		{URI: "dir://a/2", MIMEType: "image/png", Blob: "iVBORw0KGgo="},
		{URI: "other://3", MIMEType: "text/plain"},
		{URI: "dir://a", Text: "four"},
	}
	reads := func() int { return len(log.Method(t, "resources/read")) }
	for i, changed := range []string{"", "dir://a/1", "other://3", "dir://a", "elsewhere://"} {
		if changed != "" {
			h.mustCall("fake", "touch", args{"uri": changed})
			eventually(t, "the update", func() bool {
				return slices.ContainsFunc(h.kind("fake", EventUpdated), func(e Event) bool { return e.URI == changed })
			})
		}
		for range 2 {
			if got, err := h.Read(t.Context(), "fake", "dir://a"); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%+v %v", got, err)
			}
		}
		if n, once := reads(), min(i, 3)+1; n != once {
			t.Errorf("after an update of %q: read %d times, not %d", changed, n, once)
		}
	}
}

// What the read says of the type counts, what the list says where it does not
// (responsible-vibe-mcp lists text/markdown and reads text/plain; @angular/cli
// reads without a type).
func TestTypeOfWhatWasRead(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{
		"none":  {Answers: map[string]json.RawMessage{"resources/read": json.RawMessage(`{"contents":[{"uri":"file://doc1.md","text":"a"},{"uri":"file://part","text":"b"}]}`)}},
		"other": {Answers: map[string]json.RawMessage{"resources/read": json.RawMessage(`{"contents":[{"uri":"file://doc1.md","mimeType":"text/plain","text":"a"}]}`)}},
	})
	for server, want := range map[string][]string{"none": {"text/markdown", ""}, "other": {"text/plain"}} {
		h.searchable(server, 3)
		contents, err := h.Read(t.Context(), server, "file://doc1.md")
		if err != nil || len(contents) != len(want) {
			t.Fatalf("%+v %v", contents, err)
		}
		for i, mime := range want {
			if contents[i].MIMEType != mime {
				t.Errorf("%s: %q, want %q", server, contents[i].MIMEType, mime)
			}
		}
	}
}

// URIs go to the server byte for byte, whatever they hold, and nowhere else:
// what looks like an address is not fetched, neither of a resource nor of an
// icon (executeautomation's database server cannot read its own %20).
func TestURIsAreTheServersAlone(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(web.Close)
	uris := []string{
		web.URL + "/a?b=c#d", "https://example.com/%7Euser/%20", "file:///My Notes/%20/%2e%2E/ä.md", "sqlite:////tmp/a%20b.db", "postgres://postgres@127.0.0.1:55432/users/schema",
		"urn:isbn:123", "FIGMA://f/1", "a:b\tc", "mysql+pymysql://u/t", "x:<&\"'>",
	}
	log := mcptest.NewLog(t)
	items := []any{}
	for _, uri := range uris {
		items = append(items, map[string]any{"uri": uri, "name": "n", "icons": []any{map[string]any{"src": web.URL + "/icon.svg"}}})
	}
	list, err := json.Marshal(map[string]any{"resources": items})
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), ReadAny: true, Answers: map[string]json.RawMessage{"resources/list": list}}})
	eventually(t, "the list", func() bool { return slices.Equal(h.uris("fake"), uris) })
	for _, uri := range uris {
		contents, err := h.Read(t.Context(), "fake", uri)
		if err != nil || len(contents) != 1 || contents[0].URI != uri {
			t.Errorf("%q: %+v %v", uri, contents, err)
		}
	}
	var sent []string
	for _, e := range log.Method(t, "resources/read") {
		var p struct{ URI string }
		if err := json.Unmarshal(e.Params, &p); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, p.URI)
	}
	if !slices.Equal(sent, uris) {
		t.Errorf("asked for %q", sent)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests to what the server only named", n)
	}
}

// One read of megabytes holds up nothing: the answers of others come while it
// is under way. Over the bound it is refused, in words, and the connection goes
// on.
func TestAHugeReadHoldsUpNothing(t *testing.T) {
	t.Parallel()
	n := 2000
	h := open(t, map[string]mcptest.Options{
		"large": {Text: "é\n", Times: 5 << 20 / 3, Resources: &n},
		"over":  {Text: "x", Times: 50 << 20, Resources: &n},
		"small": {},
	})
	h.searchable("large", n)
	h.searchable("over", n)
	var reads sync.WaitGroup
	ended := make(chan struct{})
	for _, server := range []string{"large", "over"} {
		reads.Go(func() { // ends with its read
			contents, err := h.Read(t.Context(), server, "file://doc1.md")
			switch {
			case server == "large" && (err != nil || len(contents) != 1 || len(contents[0].Text) != 5<<20/3*3):
				t.Errorf("%d contents, %v", len(contents), err)
			case server == "over" && (err == nil || contents != nil || !strings.Contains(err.Error(), "over 16 MiB and was dropped: ask it for less at once, such as a part")):
				t.Errorf("%d contents, %v", len(contents), err)
			}
		})
	}
	go func() { reads.Wait(); close(ended) }() // ends with them
	during := 0
	for more := true; more; {
		select {
		case <-ended:
			more = false
		default:
			h.mustCall("small", "echo", args{"text": "hi"})
			if items, _ := h.Complete(t.Context(), "large:doc19", 5); len(items) != 5 {
				t.Errorf("%d completions", len(items))
			}
			during++
		}
	}
	if during < 3 {
		t.Errorf("only %d calls and completions were answered while it was read", during)
	}
	for _, server := range []string{"large", "over"} {
		h.mustCall(server, "echo", args{"text": "alive"})
	}
	if _, kept := h.Cached("large", "file://doc1.md"); kept {
		t.Error("megabytes are kept")
	}
}
