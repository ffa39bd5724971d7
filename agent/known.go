package agent

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
)

// known is what a conversation has seen of files: an edit of one that changed since
// is refused (zed-industries/zed#59959). Its zero value knows nothing.
type known struct {
	mu    sync.Mutex
	texts map[string]textSum // by real path
	order []string           // the real paths, as they were first seen
}

// textSum stands for a text. A byte order mark does not count: editors take it
// away.
type textSum [sha256.Size]byte

const byteOrderMark = "\uFEFF"

func sumOf(text string) textSum {
	return sha256.Sum256([]byte(strings.TrimPrefix(text, byteOrderMark)))
}

// note takes down the whole text of a file of which the model has seen some.
func (k *known) note(at place, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.texts == nil {
		k.texts = map[string]textSum{}
	}
	if _, seen := k.texts[at.real]; !seen {
		k.order = append(k.order, at.real)
	}
	k.texts[at.real] = sumOf(text)
}

// places are the real paths of what was seen, the newest first.
func (k *known) places() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := slices.Clone(k.order)
	slices.Reverse(out)
	return out
}

// forget is for a model that has seen nothing.
func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.texts, k.order = nil, nil
}

// holds reports whether a file was seen at all, and whether with this text.
func (k *known) holds(at place, text string) (seen, same bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	sum, seen := k.texts[at.real]
	return seen, seen && sum == sumOf(text)
}
