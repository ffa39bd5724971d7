package mcp

import (
	"encoding/json"
	"math"
	"time"
)

// maxLifetime bounds how long a server may say that a result stays fresh.
const maxLifetime = 24 * time.Hour

// lifetime is what a result says of how long it stays fresh, and for whom
// (2026-07-28, server/utilities/caching). The zero value says nothing.
type lifetime struct {
	said   bool      // ttlMs is there
	lasts  bool      // and is over zero: the result is fresh until then
	until  time.Time // of one that lasts
	public bool      // cacheScope: it is the same for every user
}

// parseLifetime reads it from a result that came at some time. Up to
// 2025-11-25 there is no ttlMs: one of zero says nothing there.
func parseLifetime(raw json.RawMessage, modern bool, received time.Time) lifetime {
	var r struct {
		TTL   maybe[float64] `json:"ttlMs"`
		Scope maybe[string]  `json:"cacheScope"`
	}
	if json.Unmarshal(raw, &r) != nil {
		return lifetime{}
	}
	l := lifetime{said: r.TTL.ok && modern, public: r.Scope.v == "public"}
	if r.TTL.v > 0 {
		ttl := time.Duration(math.Min(r.TTL.v, float64(maxLifetime/time.Millisecond)) * float64(time.Millisecond))
		l.said, l.lasts, l.until = true, true, received.Add(ttl)
	}
	return l
}

// and is the lifetime of two results that are used as one, such as two pages
// of a list.
func (l lifetime) and(other lifetime) lifetime {
	both := lifetime{said: l.said || other.said, lasts: l.lasts && other.lasts, public: l.public && other.public}
	if both.lasts {
		both.until = l.until
		if other.until.Before(both.until) {
			both.until = other.until
		}
	}
	return both
}

// freshness says whether what is held of a server's answer may still be used:
// the one rule for lists and bodies. In this order:
//
//   - A change that the server told of, a lost connection, and anything else
//     that may have hidden a change make it stale at once, whatever was said.
//   - A ttlMs over zero keeps it fresh until then, and no longer. It is looked
//     at when the answer is wanted, and starts no request by itself.
//   - A ttlMs of zero makes a body stale at once. A list is asked for by so
//     many that it stays, where the server tells of its changes: zero only
//     says that one may ask each time.
//   - Without one it is fresh while the server tells of its changes.
//
// It is guarded by the lock of what holds the answer.
type freshness struct {
	held    bool      // there is an answer
	changes uint64    // how often it may have changed
	seen    uint64    // changes when the answer was asked for
	floor   uint64    // what was asked for at fewer changes is another user's
	asked   time.Time // when it was asked for last; of those that are asked for by the clock
	life    lifetime
}

// changed notes that the answer may not be what the server would say now.
func (f *freshness) changed() { f.changes++ }

// asking returns what to give to came with the answer.
func (f *freshness) asking(now time.Time) (changes uint64) {
	f.asked = now
	return f.changes
}

// came notes an answer to what was asked at a number of changes.
func (f *freshness) came(asked uint64, life lifetime) {
	f.held, f.seen, f.life = true, asked, life
}

// cameInPart notes that a beginning of the answer is held: better than none.
func (f *freshness) cameInPart(life lifetime) {
	f.held, f.seen, f.life = true, f.changes-1, life // never that of an answer
}

// forgetPrivate notes that the user changed, and reports whether the answer was
// only for the one before (cacheScope private, or not said).
func (f *freshness) forgetPrivate() (gone bool) {
	f.changes++
	f.floor = f.changes
	if gone = f.held && !f.life.public; gone {
		f.held, f.life = false, lifetime{}
	}
	return gone
}

// old reports whether the answer is known to be out of date: what a person is
// shown.
func (f *freshness) old(now time.Time) bool {
	return f.held && (f.seen != f.changes || f.life.lasts && !now.Before(f.life.until))
}

// freshList reports whether a list can be used without asking; told: the
// server tells of its changes, and we hear it.
func (f *freshness) freshList(now time.Time, told bool) bool {
	return f.held && !f.old(now) && (f.life.lasts || told)
}

// freshBody is freshList for a body; told: since before it was asked for.
func (f *freshness) freshBody(now time.Time, told bool) bool {
	return f.freshList(now, told && !f.life.said)
}
