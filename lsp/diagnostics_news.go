package lsp

import (
	"context"
	"slices"
)

// news knows of which documents other servers have told something since they
// were edited. Whoever holds it guards it.
type news struct {
	told    int              // how often the client told of a change
	of      map[string]about // a document's last, by canonical URI
	all     int              // which was the last one of all documents
	fetched int              // up to which they are in the State
	edited  map[string]about // a document's last edit
	more    chan struct{}    // closed when more was fetched
}

// about is when something came: after how many changes that were told, and for
// which version of the document.
type about struct {
	told    int
	version int32
}

// maxNews bounds the documents that are told apart.
const maxNews = 10000

func newNews() news {
	return news{of: map[string]about{}, edited: map[string]about{}, more: make(chan struct{})}
}

// tell notes that something about a document changed, which has a version
// now; "" is any.
func (n *news) tell(key string, version int32) {
	n.told++
	if key == "" || len(n.of) >= maxNews {
		clear(n.of)
		n.all = n.told
		return
	}
	n.of[key] = about{n.told, version}
}

func (n *news) edit(d document) {
	if len(n.edited) >= maxNews {
		clear(n.edited)
	}
	n.edited[d.uri] = about{n.told, d.version}
}

// fetch notes that what was told up to a number was fetched.
func (n *news) fetch(told int, ok bool) {
	if ok {
		n.fetched = max(n.fetched, told)
		close(n.more)
		n.more = make(chan struct{})
	}
}

// have reports whether the State holds what was told since an edit.
func (n *news) have(key string) bool {
	edited, ok := n.edited[key]
	said, own := n.of[key]
	switch {
	case !ok:
		return false
	case own && said.version >= edited.version: // it may come before the edit is confirmed
		return n.fetched >= said.told
	}
	return n.all > edited.told && n.fetched >= n.all
}

// edited notes that a document was edited: what was said of it before counts
// no more.
func (f *diagnosticsFetcher) edited(d document) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.news.edit(d)
}

// since gives what other servers say of a document since it was edited last,
// for the model. It waits for them until ctx ends; then it is nil.
func (f *diagnosticsFetcher) since(ctx context.Context, d document) []string {
	if !f.s.peer.features.diagnostics {
		return nil
	}
	for {
		f.mu.Lock()
		have, more := f.news.have(d.uri), f.news.more
		f.mu.Unlock()
		if have {
			return slices.Clip(f.s.touching(d, 0, 0))
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
	}
}
