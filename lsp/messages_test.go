package lsp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent/config"
	"agentls/mcp"
)

// relayTo is a relay whose messages land in the slices; its clock is the
// caller's.
func relayTo(level string) (r *relay, popups, lines *[]string) {
	s := &Server{}
	s.cfg.Store(&config.Config{Notifications: level})
	s.asks = newQuestions(s)
	popups, lines = new([]string), new([]string)
	into := func(to *[]string) func(protocol.MessageType, string) {
		return func(t protocol.MessageType, text string) { *to = append(*to, fmt.Sprintf("%d %s", t, text)) }
	}
	return &relay{s: s, popUp: into(popups), write: into(lines), servers: map[string]*relayed{}}, popups, lines
}

func TestPopups(t *testing.T) {
	ready := mcp.Event{Server: "a", Kind: mcp.EventReady}
	for _, c := range []struct {
		name, level string
		events      []mcp.Event
		want        []string
	}{
		{"tools", "important", []mcp.Event{ready, {Server: "a", Kind: mcp.EventTools, AddedN: 4, Added: []string{"x", "y", "z"}, RemovedN: 1}}, []string{"3 a: tools: 4 new (x, y, z, …), 1 gone"}},
		{"a changed definition", "important", []mcp.Event{ready, {Server: "a", Kind: mcp.EventTools}}, []string{"3 a: tools changed"}},
		{"resources twice are one", "important", []mcp.Event{ready, {Server: "a", Kind: mcp.EventResources, AddedN: 1, Added: []string{"x"}}, {Server: "a", Kind: mcp.EventResources, AddedN: 1, Added: []string{"y"}}}, []string{"3 a: resources: 2 new (x, y)"}},
		{"not before ready", "important", []mcp.Event{{Server: "a", Kind: mcp.EventTools}, {Server: "a", Kind: mcp.EventLog, LogLevel: "error", Text: "x"}}, nil},
		{"failure before ready", "important", []mcp.Event{{Server: "a", Kind: mcp.EventFailed, Err: "no such\nfile"}}, []string{"1 a: cannot be used: no such file"}},
		{"untrusted", "important", []mcp.Event{{Server: "a", Kind: mcp.EventUntrusted}}, []string{"3 a: a project file wants to start this server; it waits for your trust (agentls.mcp.trust)"}},
		{"warnings", "important", []mcp.Event{ready, {Server: "a", Kind: mcp.EventLog, LogLevel: "warning", Text: "one"}, {Server: "a", Kind: mcp.EventLog, LogLevel: "warning", Text: "two"}}, []string{"2 a: [warning] two (and 1 more like it)"}},
		{"info is for the log", "all", []mcp.Event{ready, {Server: "a", Kind: mcp.EventLog, LogLevel: "info", Text: "x"}}, []string{"3 a: ready"}},
		{"updated", "important", []mcp.Event{ready, {Server: "a", Kind: mcp.EventUpdated, URI: "u"}}, nil},
		{"updated at all", "all", []mcp.Event{ready, {Server: "a", Kind: mcp.EventUpdated, URI: "u", Merged: 3}}, []string{"3 a: ready", "3 a: u was updated (and 3 more like it)"}},
		{"lost", "important", []mcp.Event{ready, {Server: "a", Kind: mcp.EventLost, Err: "EOF"}, {Server: "a", Kind: mcp.EventRecovered}}, []string{"2 a: connection lost: EOF; restarting", "3 a: connected again"}},
		{"off", "off", []mcp.Event{ready, {Server: "a", Kind: mcp.EventFailed, Err: "x"}}, nil},
		{"workspace", "important", []mcp.Event{{Server: "workspace", Kind: mcp.EventReady}, {Server: "workspace", Kind: mcp.EventResources, AddedN: 1}}, nil},
		{"foreign text", "important", []mcp.Event{ready, {Server: "a", Kind: mcp.EventLog, LogLevel: "error", Text: "[x]\u200b(command:y)\x1b[0m\nz"}}, []string{"1 a: [error] [x] (command:y) z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, popups, lines := relayTo(c.level)
			now := time.Now()
			for _, e := range c.events {
				r.take(e, now)
			}
			if r.flush(now); len(*popups) > 0 {
				t.Errorf("%q popped up before like events could join", *popups)
			}
			r.flush(now.Add(coalesceFor))
			if !slices.Equal(*popups, c.want) {
				t.Errorf("popups %q, want %q", *popups, c.want)
			}
			if len(*lines) != len(c.events) {
				t.Errorf("%d lines in the log, want %d", len(*lines), len(c.events))
			}
		})
	}
}

// razzmatazz/csharp-language-server#217
func TestFloodOfNotificationsIsFewPopups(t *testing.T) {
	r, popups, lines := relayTo("important")
	now := time.Now()
	r.take(mcp.Event{Server: "a", Kind: mcp.EventReady}, now)
	end := now.Add(5 * time.Second)
	for i := 0; now.Before(end); i++ {
		r.take(mcp.Event{Server: "a", Kind: mcp.EventLog, LogLevel: "warning", Text: fmt.Sprint("line ", i)}, now)
		if i == 2500 {
			r.take(mcp.Event{Server: "a", Kind: mcp.EventLost, Err: "late"}, now)
		}
		r.flush(now)
		now = now.Add(time.Millisecond)
	}
	if n := len(*lines); n != 5002 {
		t.Errorf("%d lines in the log, want each of 5002", n)
	}
	if n := len(*popups); n != popupsMost+1 {
		t.Errorf("%d popups in the flood, want %d and the lost server: %q", n, popupsMost, *popups)
	}
	if !strings.Contains((*popups)[popupsMost], "connection lost") {
		t.Errorf("the lost server was dropped: %q", *popups)
	}
	for range 100 {
		next := r.flush(now)
		if next.IsZero() {
			break
		}
		now = next
	}
	last := (*popups)[len(*popups)-1]
	if len(*popups) != popupsMost+2 || !strings.Contains(last, "more messages, see the log") {
		t.Errorf("after the flood: %q", *popups)
	}
}

func TestLogOfAServerIsBounded(t *testing.T) {
	r, _, lines := relayTo("off")
	now := time.Now()
	for range 3 * linesAtOnce {
		r.take(mcp.Event{Server: "a", Kind: mcp.EventUpdated, URI: "u"}, now)
	}
	if n := len(*lines); n != linesAtOnce {
		t.Errorf("%d lines, want %d", n, linesAtOnce)
	}
	next := r.flush(now)
	if next.IsZero() {
		t.Fatal("nobody comes back to tell what was left out")
	}
	r.flush(next)
	if last := (*lines)[len(*lines)-1]; !strings.Contains(last, fmt.Sprintf("%d lines left out", 2*linesAtOnce)) {
		t.Errorf("last line %q", last)
	}
}
