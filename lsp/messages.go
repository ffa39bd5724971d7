package lsp

import (
	"context"
	"fmt"
	"time"

	"go.lsp.dev/protocol"
	"golang.org/x/time/rate"

	"agentls/mcp"
)

const (
	coalesceFor = 200 * time.Millisecond // like events of a server become one popup
	popupWindow = 10 * time.Second
	popupsMost  = 5 // of a server in a window, before they are summed up
	// A server that logs more than this loses lines, and a line says so: a
	// client that cannot keep up would be disconnected.
	linesASecond = 1000
	linesAtOnce  = 5000
)

// showMessage pops up.
func (s *Server) showMessage(t protocol.MessageType, text string) {
	s.notify("window/showMessage", protocol.ShowMessageParams{Type: t, Message: text})
}

// logMessage goes to the client's log.
func (s *Server) logMessage(t protocol.MessageType, text string) {
	s.notify("window/logMessage", protocol.LogMessageParams{Type: t, Message: text})
}

// warn tells of something that is also in the log, and pops up unless the
// person wants no popups.
func (s *Server) warn(text string) { s.logAndShow(protocol.MessageTypeWarning, text) }

// inform is warn of what is no fault.
func (s *Server) inform(text string) { s.logAndShow(protocol.MessageTypeInfo, text) }

func (s *Server) logAndShow(t protocol.MessageType, text string) {
	s.logMessage(t, text)
	if s.cfg.Load().Notifications != "off" {
		s.showMessage(t, text)
	}
}

// relay tells the client what the MCP servers tell, until ctx ends or the
// events end. Serve owns the goroutine; it starts after initialized.
func (s *Server) relay(ctx context.Context) {
	r := &relay{s: s, popUp: s.showMessage, write: s.logMessage, servers: map[string]*relayed{}}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	events := s.o.Manager.Events()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			r.take(e, time.Now())
		case <-timer.C:
		}
		if next := r.flush(time.Now()); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// relay is what relay knows of the servers. One goroutine uses it.
type relay struct {
	s       *Server
	popUp   func(protocol.MessageType, string)
	write   func(protocol.MessageType, string) // into the log
	servers map[string]*relayed
}

// relayed is one server.
type relayed struct {
	ready   bool
	lines   *rate.Limiter
	dropped int
	waiting []*popup    // one per kind, the oldest first
	shown   []time.Time // the popups of the last window
	left    int         // popups that were not shown since
}

// popup is what will be shown of like events of one server.
type popup struct {
	mcp.Event
	more int // like events beyond the last
	due  time.Time
}

// take logs an event and keeps what of it may pop up.
func (r *relay) take(e mcp.Event, now time.Time) {
	v := r.servers[e.Server]
	if v == nil {
		v = &relayed{lines: rate.NewLimiter(linesASecond, linesAtOnce)}
		r.servers[e.Server] = v
	}
	r.log(v, e, now)
	pops := r.pops(v, e)
	switch e.Kind {
	case mcp.EventReady, mcp.EventRecovered:
		v.ready = true
	case mcp.EventFailed, mcp.EventDisabled:
		v.ready = false
	case mcp.EventUntrusted:
		v.ready = false
		r.s.asks.askFolder(false) // does nothing in a trusted folder
	}
	if !pops {
		return
	}
	for _, p := range v.waiting {
		if p.Kind == e.Kind {
			p.add(e)
			return
		}
	}
	v.waiting = append(v.waiting, &popup{Event: e, more: e.Merged, due: now.Add(coalesceFor)})
}

// add merges a like event: the last one is told, lists are summed up, and the
// worst level stays.
func (p *popup) add(e mcp.Event) {
	p.more += 1 + e.Merged
	e.AddedN += p.AddedN
	e.RemovedN += p.RemovedN
	e.Added = append(p.Added[:min(len(p.Added), 3):min(len(p.Added), 3)], e.Added...)
	if logType(p.LogLevel) < logType(e.LogLevel) {
		e.LogLevel = p.LogLevel
	}
	p.Event = e
}

func (r *relay) log(v *relayed, e mcp.Event, now time.Time) {
	if !v.lines.AllowN(now, 1) {
		v.dropped++
		return
	}
	r.catchUp(e.Server, v)
	r.write(messageType(e), r.s.line(e, e.Merged))
}

// catchUp says how many lines were left out.
func (r *relay) catchUp(server string, v *relayed) {
	if v.dropped > 0 {
		r.write(protocol.MessageTypeWarning, fmt.Sprintf("%s: %d lines left out", clean(server), v.dropped))
		v.dropped = 0
	}
}

// pops says by CONTRACT §9 whether an event may pop up.
func (r *relay) pops(v *relayed, e mcp.Event) bool {
	level := r.s.cfg.Load().Notifications
	important := e.Server != "workspace"
	switch e.Kind {
	case mcp.EventFailed, mcp.EventLost, mcp.EventRecovered, mcp.EventUntrusted, mcp.EventDisabled, mcp.EventTools, mcp.EventResources, mcp.EventCompleted:
	case mcp.EventLog:
		if logType(e.LogLevel) > protocol.MessageTypeWarning {
			return false
		}
	default: // ready, updated, prompts, problem
		important = false
	}
	if !v.ready && !unready(e.Kind) {
		return false
	}
	return level == "all" || level != "off" && important
}

// unready reports the kinds that are told of a server that is not ready.
func unready(k mcp.EventKind) bool {
	return k == mcp.EventReady || k == mcp.EventFailed || k == mcp.EventLost || k == mcp.EventRecovered || k == mcp.EventUntrusted ||
		k == mcp.EventDisabled
}

// urgent reports the kinds that no limit drops.
func urgent(k mcp.EventKind) bool { return k == mcp.EventFailed || k == mcp.EventLost }

// flush shows what is due and says when the next is; zero: nothing waits.
func (r *relay) flush(now time.Time) (next time.Time) {
	soon := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for name, v := range r.servers {
		for len(v.shown) > 0 && now.Sub(v.shown[0]) >= popupWindow {
			v.shown = v.shown[1:]
		}
		waiting := v.waiting[:0]
		for _, p := range v.waiting {
			if p.due.After(now) {
				waiting = append(waiting, p)
				soon(p.due)
				continue
			}
			r.show(v, p, now)
		}
		clear(v.waiting[len(waiting):])
		v.waiting = waiting
		if v.dropped > 0 {
			if v.lines.TokensAt(now) >= 1 {
				r.catchUp(name, v)
			} else {
				soon(now.Add(popupWindow / 10))
			}
		}
		switch {
		case v.left == 0:
		case len(v.shown) < popupsMost:
			r.popUp(protocol.MessageTypeInfo, fmt.Sprintf("%s: %d more messages, see the log", clean(name), v.left))
			v.left = 0
			v.shown = append(v.shown, now)
		default:
			soon(v.shown[len(v.shown)-popupsMost].Add(popupWindow))
		}
	}
	return next
}

func (r *relay) show(v *relayed, p *popup, now time.Time) {
	if p.Kind == mcp.EventUntrusted && r.s.asks.asksAbout(p.Server) {
		return // the question is there already
	}
	if len(v.shown) >= popupsMost && !urgent(p.Kind) {
		v.left += 1 + p.more
		return
	}
	v.shown = append(v.shown, now)
	r.popUp(messageType(p.Event), r.s.line(p.Event, p.more))
}
