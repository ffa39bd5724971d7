package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// relistenDelay lets several new subscriptions share one subscriptions/listen.
const relistenDelay = 100 * time.Millisecond

// steady is how long a stream has to be open to count as one that works: the
// back-off starts over when it ends.
const steady = 10 * time.Second

// relisten asks for a new subscriptions/listen with the URIs that are wanted now.
func (c *connection) relisten() {
	select {
	case c.listen <- struct{}{}:
	default:
	}
}

// unheard reports whether notifications do not come for now, so that what they
// would keep fresh has to be asked for.
func (c *connection) unheard() bool { return c.deaf.Load() || c.peer != nil && c.peer.deaf.Load() }

// tells reports whether the server tells of the changes of a list, and we hear
// it. Tools that a server does not say to change do not: they are wanted before
// each model call.
func (c *connection) tells(k listKind) bool {
	return !c.unheard() && !c.untold[k].Load() && (k == listTools || c.caps.changes(k))
}

// keepListening holds subscriptions/listen open until the connection ends:
// since 2026-07-28 nothing is notified without it. It closes heard when the
// first one is acknowledged, or will not be: what is listed before that can
// change unseen. A new filter needs a new one, which is open before the old
// one ends.
func (c *connection) keepListening(ackTimeout, backOff time.Duration, heard chan<- struct{}) {
	delay := &backoff.ExponentialBackOff{InitialInterval: backOff, Multiplier: 2, MaxInterval: time.Minute}
	delay.Reset()
	hear := sync.OnceFunc(func() { close(heard) })
	var open *listening
	for c.ctx.Err() == nil {
		next := c.startListening()
		err := c.awaitAck(next, ackTimeout)
		open.stop()
		hear()
		if err == nil {
			open = next
			began := time.Now()
			if err = c.follow(open); err == nil {
				continue
			}
			if time.Since(began) > steady {
				delay.Reset()
			}
		}
		next.stop()
		open = nil
		if errors.Is(err, errNothingToHear) {
			select {
			case <-c.listen:
				_ = sleep(c.ctx, relistenDelay)
			case <-c.ctx.Done():
			}
			continue
		}
		// What changes until it is open again is not told.
		c.deaf.Store(true)
		c.subs.activate(true)
		c.gap()
		if isCode(err, codeMethodNotFound) {
			c.problem("the server has no subscriptions/listen: its lists are asked for at each use")
			return
		}
		if c.peer != nil {
			c.peer.suspect()
		}
		if sleep(c.ctx, delay.NextBackOff()) != nil {
			return
		}
		c.renewed.Store(true)
	}
	open.stop()
}

// listening is one subscriptions/listen under way.
type listening struct {
	uris   []string    // whose updates it asks for
	ack    chan agreed // capacity 1: what the server acknowledged
	ended  chan error  // capacity 1
	cancel context.CancelCauseFunc
	// Of the goroutine that keeps it.
	done  bool // ended was read
	empty bool // the server took on nothing

	// Of connection.listenings, under its lock.
	id    string // of the request, as JSON; empty: not sent yet
	acked bool
}

// errTornDown says that the server ended it by notifications/cancelled.
var errTornDown = errors.New("the server cancelled subscriptions/listen")

// stop ends it and waits for that; nil has nothing to end.
func (l *listening) stop() {
	if l == nil {
		return
	}
	l.cancel(nil)
	if !l.done {
		<-l.ended
		l.done = true
	}
}

// forget lets no notification find a listening any more.
func (c *connection) forget(l *listening) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listenings = slices.DeleteFunc(c.listenings, func(other *listening) bool { return other == l })
}

func (c *connection) startListening() *listening {
	filter := mcpgo.SubscriptionFilter{ToolsListChanged: c.caps.tools, PromptsListChanged: c.caps.prompts, ResourcesListChanged: c.caps.resources}
	if c.caps.subscribe {
		filter.ResourceSubscriptions = c.subs.all()
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	l := &listening{uris: filter.ResourceSubscriptions, ack: make(chan agreed, 1), ended: make(chan error, 1), cancel: cancel}
	c.mu.Lock()
	c.listenings = append(c.listenings, l)
	c.mu.Unlock()
	go func() { // ends with ctx; stop waits for it
		// mcp-go ends the one before when it begins one: here ctx alone does.
		ex := &exchange{life: ctx, sending: func(id mcpgo.RequestId) {
			c.mu.Lock()
			defer c.mu.Unlock()
			l.id = idKey(id)
		}}
		_, err := c.askWithin(ctx, "", ex, guarded(func(ctx context.Context) error { return c.client.Listen(ctx, filter) }))
		c.forget(l)
		l.ended <- err
	}()
	return l
}

// awaitAck waits until the server acknowledged it, or will not; an error says
// that it ended.
func (c *connection) awaitAck(l *listening, timeout time.Duration) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case is := <-l.ack:
		c.acknowledge(l, is)
	case <-timer.C:
		c.problem("the server did not acknowledge subscriptions/listen: changes may go unnoticed")
	case err := <-l.ended:
		return c.over(l, err)
	}
	return nil
}

// errNothingToHear says that the server ended what had nothing to tell: only
// another filter can change that.
var errNothingToHear = errors.New("the server took on nothing of subscriptions/listen")

// acknowledge notes that from now on it counts.
func (c *connection) acknowledge(l *listening, is agreed) {
	l.empty = is.empty
	c.subs.activate(true, is.uris...)
	for k := range listKinds {
		c.untold[k].Store(!is.lists[k] && c.caps.changes(k))
	}
	c.deaf.Store(false)
	if c.renewed.Swap(false) {
		c.missed()
	}
}

// over notes the end, which is always an error here.
func (c *connection) over(l *listening, err error) error {
	l.done = true
	select {
	case is := <-l.ack: // it came with the end
		c.acknowledge(l, is)
	default:
	}
	switch {
	case err == nil && l.empty:
		return errNothingToHear
	case err == nil:
		return errors.New("the server closed subscriptions/listen")
	}
	return err
}

// follow waits until the wanted URIs changed, or it ended with an error.
func (c *connection) follow(l *listening) error {
	for {
		select {
		case is := <-l.ack: // late
			c.acknowledge(l, is)
		case <-c.listen:
			return sleep(c.ctx, relistenDelay) // more of them may come
		case err := <-l.ended:
			return c.over(l, err)
		}
	}
}

// agreed is what of a filter the server acknowledged.
type agreed struct {
	lists [listKinds]bool
	empty bool // nothing of it
	uris  []string
}

// acknowledged runs on the read loop. A server may take on less than it was
// asked for (2026-07-28, subscriptions); one that does not say takes on all.
// The subscription's id says which listening is meant, as several may be open
// on one channel; without one it is the last that was begun.
func (c *connection) acknowledged(meta, fields map[string]any) {
	id, named := meta[mcpgo.MetaKeySubscriptionID]
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range slices.Backward(c.listenings) {
		if !l.acked && (!named || l.is(id)) {
			l.acked = true
			l.ack <- c.agreed(l, fields)
			return
		}
	}
}

// agreed reads what was acknowledged of a listening.
func (c *connection) agreed(l *listening, fields map[string]any) agreed {
	said, ok := fields["notifications"].(map[string]any)
	if !ok {
		return agreed{lists: [listKinds]bool{true, true, true}, uris: l.uris}
	}
	listed, _ := said["resourceSubscriptions"].([]any)
	is := agreed{empty: len(listed) == 0}
	for k, name := range map[listKind]string{listTools: "toolsListChanged", listResources: "resourcesListChanged", listPrompts: "promptsListChanged"} {
		is.lists[k] = said[name] == true
		is.empty = is.empty && !is.lists[k]
	}
	for _, uri := range l.uris {
		if slices.Contains(listed, any(uri)) {
			is.uris = append(is.uris, uri)
		}
	}
	return is
}

// is reports whether an id that a server gave is the listening's. Some give
// numbers back as text.
func (l *listening) is(id any) bool {
	raw, err := json.Marshal(id)
	return err == nil && l.id != "" && (string(raw) == l.id || string(raw) == strconv.Quote(l.id))
}

// listeningEnded takes a notifications/cancelled, by which a server of
// 2026-07-28 ends a listening (basic/patterns/cancellation). It runs on the read
// loop.
func (c *connection) listeningEnded(id any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.listenings {
		if l.is(id) {
			l.cancel(errTornDown)
		}
	}
}
