package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"
)

// The one rule of freshness over every combination of the protocol's era, what
// the server said of the result, whether it tells of changes, what happened
// since, and what is held (2026-07-28, server/utilities/caching).
func TestFreshness(t *testing.T) {
	t.Parallel()
	const every = "*"
	type row struct{ era, hint, told, since, held, fresh, old string }
	rows := []row{ // the first is that of each combination
		{every, every, every, every, "nothing", "no", "no"},
		{every, every, every, "changed", every, "no", "yes"},
		{every, "running", every, "quiet", every, "yes", "no"},
		{every, "huge", every, "quiet", every, "yes", "no"}, // within a day
		{every, "run out", every, "quiet", every, "no", "yes"},
		// Up to 2025-11-25 there is no ttlMs: subscriptions and list_changed count.
		{"legacy", "none", "told", "quiet", every, "yes", "no"},
		{"legacy", "none", "untold", "quiet", every, "no", "no"},
		{"legacy", "zero", "told", "quiet", every, "yes", "no"},
		{"legacy", "zero", "untold", "quiet", every, "no", "no"},
		// Without a hint one's own heuristics count, which are the same.
		{"modern", "none", "told", "quiet", every, "yes", "no"},
		{"modern", "none", "untold", "quiet", every, "no", "no"},
		// Zero: a body is stale now; a list may be asked for each time.
		{"modern", "zero", every, "quiet", "body", "no", "no"},
		{"modern", "zero", "told", "quiet", "list", "yes", "no"},
		{"modern", "zero", "untold", "quiet", "list", "no", "no"},
	}
	hints := map[string][]string{
		"none":    {`{}`, `{"ttlMs":null}`, `{"ttlMs":"60000"}`, `{"ttlMs":1e400}`, `{"cacheScope":"public"}`, `[]`, ``},
		"zero":    {`{"ttlMs":0}`, `{"ttlMs":-1}`, `{"ttlMs":-1e300}`},
		"running": {`{"ttlMs":60000}`, `{"ttlMs":10000.001}`},
		"run out": {`{"ttlMs":10000}`, `{"ttlMs":0.5}`, `{"ttlMs":9999}`},
		"huge":    {`{"ttlMs":1e300}`, `{"ttlMs":9007199254740991}`},
	}
	received := time.Unix(1_000_000, 0)
	now := received.Add(10 * time.Second)
	check := func(era, hint, raw, told, since, held string) {
		i := slices.IndexFunc(rows, func(r row) bool {
			is := func(want, got string) bool { return want == every || want == got }
			return is(r.era, era) && is(r.hint, hint) && is(r.told, told) && is(r.since, since) && is(r.held, held)
		})
		if i < 0 {
			t.Fatalf("no row for %s, %s, %s, %s, %s", era, hint, told, since, held)
		}
		want := rows[i]
		var f freshness
		asked := f.asking(received)
		if held != "nothing" {
			f.came(asked, parseLifetime(json.RawMessage(raw), era == "modern", received))
		}
		if since == "changed" {
			f.changed()
		}
		fresh := f.freshList(now, told == "told")
		if held == "body" {
			fresh = f.freshBody(now, told == "told")
		}
		if fresh != (want.fresh == "yes") || f.old(now) != (want.old == "yes") {
			t.Errorf("%s, %s (%s), %s, %s, %s: fresh %v, old %v", era, hint, raw, told, since, held, fresh, f.old(now))
		}
	}
	n := 0
	for _, era := range []string{"legacy", "modern"} {
		for hint, all := range hints {
			for _, raw := range all {
				for _, told := range []string{"told", "untold"} {
					for _, since := range []string{"quiet", "changed"} {
						for _, held := range []string{"nothing", "list", "body"} {
							check(era, hint, raw, told, since, held)
							n++
						}
					}
				}
			}
		}
	}
	if n != 2*17*2*2*3 {
		t.Errorf("%d combinations", n)
	}
}

// What no ttlMs outlasts.
func TestFreshnessEnds(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	long := parseLifetime(json.RawMessage(`{"ttlMs":1e300,"cacheScope":"public"}`), true, now)
	var f freshness
	f.came(f.asking(now), long)
	if f.old(now.Add(maxLifetime-1)) || !f.old(now.Add(maxLifetime)) {
		t.Error("a ttlMs without bounds is not a day")
	}
	// A change that came while it was asked for.
	asked := f.asking(now)
	f.changed()
	if f.came(asked, long); !f.old(now) || f.freshList(now, true) {
		t.Error("fresh although it changed meanwhile")
	}
	// Another user: what is not said to be public is gone.
	for scope, gone := range map[string]bool{"public": false, "private": true, "": true, "PUBLIC": true} {
		f.came(f.asking(now), parseLifetime(fmt.Appendf(nil, `{"ttlMs":1000,"cacheScope":%q}`, scope), true, now))
		if f.forgetPrivate() != gone || f.held == gone || f.freshList(now, true) {
			t.Errorf("scope %q: %+v", scope, f)
		}
	}
	// What the user before asked for is not held when it comes.
	f = freshness{}
	asked = f.asking(now)
	f.forgetPrivate()
	if take(&f, listed[int]{items: []int{1}, asked: asked, life: long}) || f.held {
		t.Error("another user's list is held")
	}
	if !take(&f, listed[int]{items: []int{1}, asked: f.asking(now), life: long}) || !f.freshList(now, false) {
		t.Error("one's own list is not held")
	}
	// A beginning is held, and is never fresh.
	f = freshness{}
	if f.cameInPart(long); !f.held || !f.old(now) || f.freshList(now, true) {
		t.Error("a part counts as the whole")
	}
	// Two pages: the shorter one, and private if one is.
	page := func(hint string) lifetime { return parseLifetime(json.RawMessage(hint), true, now) }
	for _, c := range []struct {
		a, b        string
		lasts, said bool
		ends        time.Duration
		public      bool
	}{
		{`{"ttlMs":2000,"cacheScope":"public"}`, `{"ttlMs":1000,"cacheScope":"public"}`, true, true, time.Second, true},
		{`{"ttlMs":2000,"cacheScope":"public"}`, `{"ttlMs":1000,"cacheScope":"private"}`, true, true, time.Second, false},
		{`{"ttlMs":2000}`, `{"ttlMs":0}`, false, true, 0, false},
		{`{"ttlMs":2000}`, `{}`, false, true, 0, false},
		{`{}`, `{}`, false, false, 0, false},
	} {
		for _, l := range []lifetime{page(c.a).and(page(c.b)), page(c.b).and(page(c.a))} {
			if l.lasts != c.lasts || l.said != c.said || l.public != c.public || l.lasts && !l.until.Equal(now.Add(c.ends)) {
				t.Errorf("%s and %s: %+v", c.a, c.b, l)
			}
		}
	}
}
