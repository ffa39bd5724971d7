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
	maxItems = 200_000
	// maxListTime bounds the fetch of a whole list; each page has the bound of
	// every request beside it.
	maxListTime = 5 * time.Minute
)

// pager fetches a list page by page.
type pager struct {
	key     string                                                                     // of the items in a page
	fetch   func(ctx context.Context, cursor json.RawMessage) (json.RawMessage, error) // nil cursor: the first page
	add     func(json.RawMessage) bool                                                 // takes an item; false: it is malformed
	life    func(page json.RawMessage) lifetime                                        // what a page says of itself
	problem func(string)
	turns   turns // for taking in a page
}

// all gives every item to add. A cursor is opaque and sent back byte for byte:
// "" is one, and only its absence ends the list (server/utilities/pagination). Each page has
// a lifetime of its own, the list has that of all. pages is how many came, also
// with an error.
func (p pager) all(ctx context.Context) (life lifetime, pages int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxListTime, &timeoutError{"the whole list of " + p.key, maxListTime})
	defer cancel()
	var cursor json.RawMessage
	seen := map[string]bool{}
	bad, items := 0, 0
	defer func() {
		if bad > 0 {
			p.problem(fmt.Sprintf("%d items of the server's list of %s were dropped because they are malformed", bad, p.key))
		}
	}()
	for pages < maxPages {
		raw, err := p.fetch(ctx, cursor)
		if err != nil {
			return life, pages, err
		}
		var next json.RawMessage
		p.turns.do(func() {
			var list []json.RawMessage
			var odd bool
			list, next, odd = parsePage(raw, p.key)
			if pages++; pages == 1 {
				life = p.life(raw)
			} else {
				life = life.and(p.life(raw))
			}
			if odd {
				bad++
			}
			for _, item := range list[:min(len(list), maxItems-items)] {
				if !p.add(item) {
					bad++
				}
			}
			items += len(list)
		})
		switch {
		case items > maxItems || items == maxItems && !missing(next):
			p.problem(fmt.Sprintf("the server's list of %s was cut at %d items", p.key, maxItems))
			return life, pages, nil
		case missing(next):
			return life, pages, nil
		case seen[string(next)]:
			p.problem(fmt.Sprintf("the server's list of %s repeats the cursor %s; it was ended there", p.key, clip(string(next), 100)))
			return life, pages, nil
		}
		seen[string(next)] = true
		cursor = next
	}
	p.problem(fmt.Sprintf("the server's list of %s was cut at %d pages", p.key, maxPages))
	return life, pages, nil
}

// parsePage returns the items of a page and the cursor of the next one; odd:
// something else stands where the items belong.
func parsePage(raw json.RawMessage, key string) (items []json.RawMessage, next json.RawMessage, odd bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil, nil, !missing(raw)
	}
	if json.Unmarshal(fields[key], &items) != nil {
		return nil, fields["nextCursor"], !missing(fields[key])
	}
	return items, fields["nextCursor"], false
}

// collect fetches a whole list of values that parse decodes, each key once.
// Where a page fails, what came before it is there beside the error.
func collect[T any](ctx context.Context, c *connection, m listMethod, parse func(json.RawMessage) (T, bool), key func(T) string) (list listed[T], err error) {
	seen := map[string]bool{}
	items := []T{}
	p := pager{
		key: m.key, problem: c.problem, turns: c.turns,
		fetch: func(ctx context.Context, cursor json.RawMessage) (json.RawMessage, error) {
			return c.page(ctx, m, cursor)
		},
		life: func(page json.RawMessage) lifetime { return parseLifetime(page, c.modern, time.Now()) },
		add: func(raw json.RawMessage) bool {
			v, ok := parse(raw)
			if k := key(v); ok && !seen[k] {
				seen[k] = true
				items = append(items, v)
			}
			return ok
		},
	}
	life, pages, err := p.all(ctx)
	switch {
	case isCode(err, codeMethodNotFound) && pages == 0: // some servers advertise what they do not have
		return listed[T]{items: []T{}}, nil
	case err != nil && pages == 0:
		return listed[T]{}, err
	}
	return listed[T]{items: items, life: life, inPart: err != nil}, err
}
