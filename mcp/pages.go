package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A list ends here, whatever cursors its server still gives.
const (
	maxPages = 10_000
	maxItems = 250_000
)

// pages fetches a list page by page and gives its items to add, which says
// whether it took the item and under which key; doubles and bad items are
// dropped. A cursor is opaque and sent back byte for byte: "" is one, and only
// its absence ends the list.
func pages(ctx context.Context, key string, fetch func(ctx context.Context, cursor json.RawMessage) (json.RawMessage, error), add func(json.RawMessage) bool, problem func(string)) (ttl time.Duration, err error) {
	var cursor json.RawMessage
	seen := map[string]bool{}
	bad, items := 0, 0
	defer func() {
		if bad > 0 {
			problem(fmt.Sprintf("%d items of the server's list of %s were dropped because they are malformed", bad, key))
		}
	}()
	for range maxPages {
		raw, err := fetch(ctx, cursor)
		if err != nil {
			return 0, err
		}
		list, next := parsePage(raw, key)
		ttl = parseTTL(raw)
		for _, item := range list {
			if !add(item) {
				bad++
			}
		}
		items += len(list)
		switch {
		case missing(next):
			return ttl, nil
		case seen[string(next)]:
			problem(fmt.Sprintf("the server's list of %s repeats the cursor %s; it was ended there", key, clip(string(next), 100)))
			return ttl, nil
		case items >= maxItems:
			problem(fmt.Sprintf("the server's list of %s was cut at %d items", key, items))
			return ttl, nil
		}
		seen[string(next)] = true
		cursor = next
	}
	problem(fmt.Sprintf("the server's list of %s was cut at %d pages", key, maxPages))
	return ttl, nil
}

func parsePage(raw json.RawMessage, key string) (items []json.RawMessage, next json.RawMessage) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil, nil
	}
	if json.Unmarshal(fields[key], &items) != nil {
		items = nil
	}
	return items, fields["nextCursor"]
}

// collect fetches a whole list of values that parse decodes, each key once.
func collect[T any](ctx context.Context, c *connection, m listMethod, parse func(json.RawMessage) (T, bool), key func(T) string) (list []T, ttl time.Duration, err error) {
	seen := map[string]bool{}
	list = []T{}
	ttl, err = pages(ctx, m.key, func(ctx context.Context, cursor json.RawMessage) (json.RawMessage, error) {
		return c.page(ctx, m, cursor)
	}, func(raw json.RawMessage) bool {
		v, ok := parse(raw)
		if k := key(v); ok && !seen[k] {
			seen[k] = true
			list = append(list, v)
		}
		return ok
	}, c.problem)
	if isCode(err, codeMethodNotFound) {
		// Some servers advertise what they do not have.
		return []T{}, 0, nil
	}
	return list, ttl, err
}
