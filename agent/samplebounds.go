package agent

import (
	"fmt"
	"sync"
	"time"
)

// sessionTokens is how many tokens an answer "for this session" covers: of one
// server, in one session.
func sessionTokens(l Limits) int { return l.Tokens / 6 }

// hourTokens is what one server may spend in an hour, whoever allows it.
func hourTokens(l Limits) int { return l.Tokens }

// sampleKey names what is allowed for a session.
type sampleKey struct{ server, fingerprint, session string }

// spending counts what servers spend of the model. Its zero value is empty. Safe
// for concurrent use.
type spending struct {
	mu    sync.Mutex
	left  map[sampleKey]int         // of what was allowed for a session
	spent map[string][]*sampleSpent // by server, of the last hour
}

type sampleSpent struct {
	at     time.Time
	tokens int
}

// room says when a server has to wait; nil: it need not.
func (b *spending) room(server string, l Limits) error {
	if spent, again := b.lastHour(server); spent >= hourTokens(l) {
		return fmt.Errorf("this server has spent %d tokens of the model within an hour, and may spend %d (limits.tokens): it can ask again in %v", spent, hourTokens(l), again.Round(time.Minute))
	}
	return nil
}

// lastHour returns what a server spent in the last hour, and when the first of
// it is older.
func (b *spending) lastHour(server string) (tokens int, again time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.spent[server]
	for len(list) > 0 && time.Since(list[0].at) >= time.Hour {
		list = list[1:]
	}
	if len(list) == 0 {
		delete(b.spent, server)
		return 0, 0
	}
	b.spent[server] = list
	for _, s := range list {
		tokens += s.tokens
	}
	return tokens, time.Hour - time.Since(list[0].at)
}

// spend counts tokens that a server is about to spend; settle corrects them.
func (b *spending) spend(server string, tokens int) (settle func(tokens int)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = map[string][]*sampleSpent{}
	}
	s := &sampleSpent{time.Now(), tokens}
	b.spent[server] = append(b.spent[server], s)
	return func(tokens int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		s.tokens = tokens
	}
}

// allow lets a server spend tokens in a session unasked.
func (b *spending) allow(key sampleKey, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == nil {
		b.left = map[sampleKey]int{}
	}
	b.left[key] = tokens
}

// take takes tokens out of what is allowed in a session, all of them or none.
func (b *spending) take(key sampleKey, tokens int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	left, ok := b.left[key]
	if !ok || left < tokens {
		return false
	}
	b.left[key] = left - tokens
	return true
}

// give gives back what was taken and not spent; a negative number is what was
// spent beyond.
func (b *spending) give(key sampleKey, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left, ok := b.left[key]; ok {
		b.left[key] = left + tokens
	}
}
