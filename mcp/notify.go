package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// maxLogText bounds one log line or progress text of a server, in bytes.
const maxLogText = 4 << 10

// listKind is one of the lists that a server may say has changed.
type listKind int

const (
	listTools listKind = iota
	listResources
	listPrompts
	listKinds // their number
)

// inbox holds what list_changed notifications asked for until the server's
// goroutine acts on it: a list is due a little after the last one, and at most
// a while after the first, however many come.
type inbox struct {
	after, atMost time.Duration
	wake          chan struct{} // capacity 1

	mu    sync.Mutex
	dirty [listKinds]struct{ first, last time.Time } // zero: clean
	hurry bool
	busy  bool // what take returned is being fetched
}

func newInbox(after, atMost time.Duration) *inbox {
	return &inbox{after: after, atMost: atMost, wake: make(chan struct{}, 1)}
}

func (in *inbox) mark(k listKind, now time.Time) {
	in.mu.Lock()
	d := &in.dirty[k]
	if d.first.IsZero() {
		d.first = now
	}
	d.last = now
	in.mu.Unlock()
	in.signal()
}

func (in *inbox) signal() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// hasten makes what is pending due at once.
func (in *inbox) hasten() {
	in.mu.Lock()
	in.hurry = true
	in.mu.Unlock()
	in.signal()
}

// pending reports whether a list that was said to have changed is not fetched yet.
func (in *inbox) pending() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.busy || slices.ContainsFunc(in.dirty[:], func(d struct{ first, last time.Time }) bool { return !d.first.IsZero() })
}

// clean forgets what is pending for k: the list is about to be asked for.
func (in *inbox) clean(k listKind) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dirty[k].first = time.Time{}
}

// take removes and returns what is due, or says how long the next takes;
// negative: nothing is pending.
func (in *inbox) take(now time.Time) (due []listKind, wait time.Duration) {
	in.mu.Lock()
	defer in.mu.Unlock()
	wait = -1
	for k := range in.dirty {
		d := &in.dirty[k]
		if d.first.IsZero() {
			continue
		}
		left := min(d.last.Add(in.after).Sub(now), d.first.Add(in.atMost).Sub(now))
		if in.hurry || left <= 0 {
			due = append(due, listKind(k))
			d.first = time.Time{}
		} else if wait < 0 || left < wait {
			wait = left
		}
	}
	in.hurry = false
	in.busy = len(due) > 0
	return due, wait
}

// fetched ends what take began.
func (in *inbox) fetched() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.busy = false
}

// notified runs on mcp-go's read loop: it sorts a notification into the place
// where its reader finds it and never blocks, fails or sends anything.
func (s *session) notified(c *connection, n mcpgo.JSONRPCNotification) {
	f := n.Params.AdditionalFields
	switch n.Method {
	case mcpgo.MethodNotificationToolsListChanged:
		s.listChanged(c, listTools)
	case mcpgo.MethodNotificationResourcesListChanged:
		s.listChanged(c, listResources)
	case mcpgo.MethodNotificationPromptsListChanged:
		s.listChanged(c, listPrompts)
	case mcpgo.MethodNotificationResourceUpdated:
		if uri, ok := f["uri"].(string); ok && uri != "" {
			s.updated(uri)
		}
	case string(mcpgo.MethodNotificationCancelled):
		c.incoming.takeBack(f["requestId"]) // a request of the server's
		c.listeningEnded(f["requestId"])    // or one of ours that it ends
	case string(mcpgo.MethodNotificationElicitationComplete):
		if id, _ := f["elicitationId"].(string); c.links.complete(id) {
			s.events.put(Event{Server: s.cfg.Name, Kind: EventCompleted})
		}
	case string(mcpgo.MethodNotificationMessage):
		level, text := logLevel(f["level"]), logText(f)
		s.logs.add(logMessage, level, text)
		s.events.put(Event{Server: s.cfg.Name, Kind: EventLog, LogLevel: level, Text: s.secrets.Redact(text)})
	case string(mcpgo.MethodNotificationProgress):
		c.progress.deliver(f)
	case mcpgo.MethodNotificationSubscriptionsAcknowledged:
		c.acknowledged(n.Params.Meta, f)
	}
}

// updated takes a resources/updated.
func (s *session) updated(uri string) {
	s.cache.staleURI(uri)
	s.changes.tell()
	s.events.put(Event{Server: s.cfg.Name, Kind: EventUpdated, URI: uri})
}

// listChanged marks a list stale, and asks for it to be fetched.
func (s *session) listChanged(c *connection, k listKind) {
	switch k {
	case listTools:
		s.mu.Lock()
		s.toolsAge.changed()
		s.mu.Unlock()
	case listResources:
		s.cache.staleList()
		s.values.drop(false)
	case listPrompts:
		s.update(s.promptsAge.changed)
		s.values.drop(true)
	}
	c.inbox.mark(k, time.Now())
}

// missed takes every list for changed: notifications did not come for a while.
func (s *session) missed(c *connection) {
	c.gap()
	for k := range listKinds {
		s.listChanged(c, k)
	}
}

func logLevel(v any) string {
	level, _ := v.(string)
	if !slices.Contains([]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}, level) {
		return "info"
	}
	return level
}

// logText renders a log notification's data, which may be any JSON value.
func logText(fields map[string]any) string {
	text := dataText(fields["data"])
	if logger, _ := fields["logger"].(string); logger != "" {
		text = clip(logger, 100) + ": " + text
	}
	return clip(text, maxLogText)
}

// dataText gives data in one piece. The words of an object lead the rest of it:
// its message, and a text that stands in it as characters by index, which is
// what JavaScript makes of {message, ...text} (wonderwhy-er/DesktopCommanderMCP
// sends them so).
func dataText(data any) string {
	var words []string
	switch v := data.(type) {
	case nil:
		return ""
	case string:
		return v
	case map[string]any:
		rest := maps.Clone(v)
		if message, ok := v["message"].(string); ok {
			words = append(words, message)
			delete(rest, "message")
		}
		if text := spread(rest); text != "" {
			words = append(words, text)
		}
		if len(rest) == 0 && len(words) > 0 {
			return strings.Join(words, " ")
		}
		data = rest
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(data) == nil {
		words = append(words, string(bytes.TrimSpace(b.Bytes())))
	}
	return strings.Join(words, " ")
}

// spread takes characters by index out of an object and puts them together.
func spread(data map[string]any) string {
	var b strings.Builder
	for i := 0; ; i++ {
		key := strconv.Itoa(i)
		c, ok := data[key].(string)
		if !ok || utf8.RuneCountInString(c) != 1 {
			return b.String()
		}
		b.WriteString(c)
		delete(data, key)
	}
}
