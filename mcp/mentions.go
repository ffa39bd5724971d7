package mcp

import (
	"context"
	"strings"
)

// snapshots returns what completion needs, "workspace" first, the rest by
// name. It takes no lock that is held across I/O.
func (m *Manager) snapshots() []serverSnapshot {
	list := m.list()
	out := make([]serverSnapshot, 0, len(list))
	for _, s := range list {
		snap := *s.cache.snap.Load()
		snap.index = s.cache.index.Load()
		out = append(out, snap)
	}
	return out
}

// Mentions finds the mentions of CONTRACT §6 in user input, in order.
func (m *Manager) Mentions(text string) []Mention { return m.MentionReader()(text) }

// MentionReader is Mentions for many texts: it reads them all by the lists of
// one moment. For one goroutine.
func (m *Manager) MentionReader() func(text string) []Mention {
	var servers map[string]serverSnapshot // made for the first text that needs it
	return func(text string) []Mention {
		if !strings.Contains(text, "@") {
			return nil
		}
		if servers == nil {
			servers = map[string]serverSnapshot{}
			for _, s := range m.snapshots() {
				servers[s.mention] = s
			}
		}
		return findMentions(text, func(name string) (string, *knownURIs) {
			s := servers[name]
			if s.index == nil {
				return s.name, nil
			}
			return s.name, s.index.known
		})
	}
}

// Complete ranks candidates for the text from '@' to the cursor (without the
// '@'); at most limit, ranked by match, recency (see Used) and priority. It
// waits for nothing but the values of a template's variable, 200 ms at most, or
// until ctx ends. incomplete: there are more.
func (m *Manager) Complete(ctx context.Context, prefix string, limit int) (items []Candidate, incomplete bool) {
	c := newCompleter(m.snapshots(), m.recent.snapshot(), prefix, limit)
	if c == nil {
		return nil, false
	}
	if len(c.typed) > 0 {
		c.round = m.rounds.Add(1)
		m.askValues(ctx, c)
	}
	return c.rank()
}

// Recency says when a mention was used last, the larger the later; 0: never. It
// goes by what was used up to now.
func (m *Manager) Recency() func(server, uri string) uint64 {
	when := m.recent.snapshot()
	return func(server, uri string) uint64 { return when[usedKey{server, uri}] }
}

// Used notes that a mention was used, for ranking.
func (m *Manager) Used(server, uri string) { m.recent.use(server, uri) }
