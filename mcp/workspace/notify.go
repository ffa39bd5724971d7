package workspace

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Notification is one message of the server to its client.
type Notification struct {
	Method string
	Params any // marshals to a JSON object; nil for none
}

// The methods of a [Notification].
const (
	methodListChanged = "notifications/resources/list_changed"
	methodUpdated     = "notifications/resources/updated"
)

// updatedParams are those of notifications/resources/updated.
type updatedParams struct {
	URI string `json:"uri"`
}

// notifyEvery is the time between two batches of notifications.
const notifyEvery = 100 * time.Millisecond

// outbox holds what is to be told until the client takes it. Like messages
// fall together, so it is bounded by what the client asked about.
type outbox struct {
	kick    chan struct{}
	mu      sync.Mutex
	list    bool
	updated map[string]struct{}
}

func newOutbox() *outbox {
	return &outbox{kick: make(chan struct{}, 1), updated: map[string]struct{}{}}
}

func (o *outbox) listChanged() {
	o.mu.Lock()
	o.list = true
	o.mu.Unlock()
	signal(o.kick)
}

func (o *outbox) resourceUpdated(uri string) {
	o.mu.Lock()
	o.updated[uri] = struct{}{}
	o.mu.Unlock()
	signal(o.kick)
}

func (o *outbox) take() []Notification {
	o.mu.Lock()
	defer o.mu.Unlock()
	var batch []Notification
	if o.list {
		batch = append(batch, Notification{Method: methodListChanged})
	}
	for _, uri := range slices.Sorted(maps.Keys(o.updated)) {
		batch = append(batch, Notification{Method: methodUpdated, Params: updatedParams{URI: uri}})
	}
	o.list = false
	clear(o.updated)
	return batch
}

// send gives the first change at once and later ones in batches. Ends with ctx.
func (o *outbox) send(ctx context.Context, out chan<- Notification) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.kick:
		}
		for _, n := range o.take() {
			select {
			case <-ctx.Done():
				return
			case out <- n:
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(notifyEvery):
		}
	}
}

// maxSubscriptions bounds the resources a client may subscribe to.
const maxSubscriptions = 10_000

// interest knows which resources the client wants to hear about: those it
// subscribed to, and those it read since they were last told.
type interest struct {
	mu         sync.Mutex
	subscribed map[docKey]string // → the URI as the client wrote it
	seen       map[docKey]string
}

func newInterest() *interest {
	return &interest{subscribed: map[docKey]string{}, seen: map[docKey]string{}}
}

// note remembers that a resource was read. Beyond the bound it is forgotten,
// as a client that needs to know subscribes.
func (i *interest) note(key docKey, uri string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.seen) < maxSubscriptions {
		i.seen[key] = uri
	}
}

func (i *interest) drop(key docKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.seen, key)
}

func (i *interest) subscribe(key docKey, uri string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, have := i.subscribed[key]; !have && len(i.subscribed) >= maxSubscriptions {
		return false
	}
	i.subscribed[key] = uri
	return true
}

func (i *interest) unsubscribe(key docKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.subscribed, key)
}

// changed returns under which URI a change is to be told, if at all.
func (i *interest) changed(key docKey) (uri string, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	uri, ok = i.seen[key]
	delete(i.seen, key)
	if sub, have := i.subscribed[key]; have {
		return sub, true
	}
	return uri, ok
}

// everything is for a time of lost events: all that was seen may have changed.
func (i *interest) everything(tell func(uri string)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, uri := range i.seen {
		tell(uri)
	}
	for _, uri := range i.subscribed {
		tell(uri)
	}
	clear(i.seen)
}
