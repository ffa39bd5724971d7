package mcp

import (
	"errors"
	"slices"
	"strings"
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
