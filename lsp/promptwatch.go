package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

const (
	promptPause    = 100 * time.Millisecond // in which news of prompt buffers gather
	promptPauseMax = time.Second            // the longest pause between two looks at large ones
)

// promptWatch keeps what an editor shows of its prompt buffers up to date: it
// publishes their diagnostics, and asks the client to fetch lenses and tokens
// anew when those would be others. One goroutine does it, which Serve owns.
type promptWatch struct {
	s    *Server
	wake chan struct{} // 1 slot

	mu     sync.Mutex
	edited map[string]bool // documents that were opened, changed or closed, by canonical URI
	all    bool            // something changed that any of them may show
	known  map[string]bool // the keys of shown

	// Of run alone.
	shown          map[string]*shownBuffer // by canonical URI
	lenses, tokens *refresher              // nil: the client knows no such request
}

// shownBuffer is what the client was told of a prompt buffer.
type shownBuffer struct {
	opened      int
	version     int32
	spelled     string
	diagnostics string       // as JSON; "": none
	check       *promptCheck // its problems; nil: none was made
	lenses      uint64       // sums of what the client would be given
	tokens      uint64
}

func newPromptWatch(s *Server) *promptWatch {
	return &promptWatch{s: s, wake: make(chan struct{}, 1), edited: map[string]bool{}, known: map[string]bool{}, shown: map[string]*shownBuffer{}}
}

// refreshPromptBuffers tells that something changed that prompt buffers show:
// a run, a question, a server. It is cheap, never blocks, and may be called
// with any lock held; calls in quick succession become one look.
func (s *Server) refreshPromptBuffers() {
	p := s.prompts
	p.mu.Lock()
	p.all = true
	p.mu.Unlock()
	p.poke()
}

// note hears of a document that was opened, changed, saved or closed.
func (p *promptWatch) note(d document) {
	p.mu.Lock()
	mine := isPromptBuffer(d) || p.known[d.uri]
	if mine {
		p.edited[d.uri] = true
	}
	p.mu.Unlock()
	if mine {
		p.poke()
	}
}

func (p *promptWatch) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// start begins to watch, once the client is there to be told.
func (p *promptWatch) start() {
	if ws := p.s.peer.caps.Workspace; ws != nil {
		if c := ws.CodeLens; c != nil && deref(c.RefreshSupport) {
			p.lenses = newRefresher(p.s, "workspace/codeLens/refresh")
		}
		if c := ws.SemanticTokens; c != nil && deref(c.RefreshSupport) {
			p.tokens = newRefresher(p.s, "workspace/semanticTokens/refresh")
		}
	}
	p.s.inBackground("prompt buffers", p.run)
}

// run looks after each change, until ctx ends. It takes at most a tenth of the
// time: typing in a prompt buffer of many megabytes must not read it for each
// key.
func (p *promptWatch) run(ctx context.Context) {
	pause := promptPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		start := time.Now()
		p.look()
		pause = max(promptPause, min(10*time.Since(start), promptPauseMax))
	}
}

// take gives what is to be looked at.
func (p *promptWatch) take() (edited map[string]bool, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	edited, all = p.edited, p.all
	p.edited, p.all = map[string]bool{}, false
	return edited, all
}

func (p *promptWatch) look() {
	edited, all := p.take()
	open := map[string]bool{}
	lenses, tokens := false, false
	for _, d := range p.s.docs.promptBuffers() {
		open[d.uri] = true
		if !all && !edited[d.uri] {
			continue
		}
		if doc, ok := p.s.docs.prompt(d.uri); ok {
			otherLenses, otherTokens := p.show(doc)
			// What an edit changes the client asks for by itself.
			lenses, tokens = lenses || all && otherLenses, tokens || all && otherTokens
		}
	}
	for key, b := range p.shown {
		if !open[key] {
			p.withdraw(key, b)
		}
	}
	if lenses {
		p.lenses.want()
	}
	if tokens {
		p.tokens.want()
	}
}

// show publishes the diagnostics of a buffer, and reports whether its lenses
// and tokens are other ones than at the last look.
func (p *promptWatch) show(doc document) (lenses, tokens bool) {
	b := p.shown[doc.uri]
	if b != nil && b.spelled != doc.spelled {
		p.withdraw(doc.uri, b)
		b = nil
	}
	if b == nil {
		b = &shownBuffer{spelled: doc.spelled}
		p.shown[doc.uri] = b
		p.mu.Lock()
		p.known[doc.uri] = true
		p.mu.Unlock()
	}
	model := p.s.promptModel(doc)
	state := p.s.bufferState(model)
	check := p.s.checkPrompts(state, b.check)
	b.check = check.kept()
	p.publish(b, doc, p.s.promptDiagnostics(doc.text, check.problems, check.more))
	lensSum, tokenSum := sumOfLenses(p.s.lenses(doc, state)), sumOfMentions(model)
	lenses, tokens = lensSum != b.lenses, tokenSum != b.tokens
	b.lenses, b.tokens = lensSum, tokenSum
	return lenses, tokens
}

// publish tells the diagnostics of a document. The same ones are told again
// only in another version of it: clients move them along with edits, and what
// they made of them is not known.
func (p *promptWatch) publish(b *shownBuffer, doc document, list []protocol.Diagnostic) {
	text := ""
	if len(list) > 0 {
		raw, err := codec{}.Marshal(list)
		if err != nil {
			p.s.o.Log.Error("diagnostics cannot be encoded", "error", err)
			return
		}
		text = string(raw)
	}
	if text == b.diagnostics && (text == "" || doc.version == b.version && doc.opened == b.opened) {
		return
	}
	if now, open := p.s.docs.identity(doc.uri); !open || now.opened != doc.opened {
		return // it is looked at again
	}
	b.diagnostics, b.version, b.opened = text, doc.version, doc.opened
	params := protocol.PublishDiagnosticsParams{URI: uri.URI(doc.spelled), Diagnostics: list}
	if p.s.versionedDiagnostics() {
		params.Version = protocol.NewOptional(doc.version)
	}
	p.s.notify("textDocument/publishDiagnostics", params)
}

// withdraw takes back what was published of a document that is no open prompt
// buffer any more, or has another name.
func (p *promptWatch) withdraw(key string, b *shownBuffer) {
	delete(p.shown, key)
	p.mu.Lock()
	delete(p.known, key)
	p.mu.Unlock()
	if b.diagnostics != "" {
		p.s.notify("textDocument/publishDiagnostics", protocol.PublishDiagnosticsParams{URI: uri.URI(b.spelled), Diagnostics: []protocol.Diagnostic{}})
	}
}

func (s *Server) versionedDiagnostics() bool {
	d := s.peer.caps.TextDocument
	return d != nil && d.PublishDiagnostics != nil && deref(d.PublishDiagnostics.VersionSupport)
}

var sums = maphash.MakeSeed() //nolint:gochecknoglobals // of sums that are compared with each other

func sumOfLenses(list []codeLens) uint64 {
	raw, _ := json.Marshal(list) // strings and numbers always encode
	return maphash.Bytes(sums, raw)
}

// sumOfMentions sums up what tokens depend on beside the text.
func sumOfMentions(m promptModel) uint64 {
	var h maphash.Hash
	h.SetSeed(sums)
	for _, b := range m.blocks {
		for _, m := range b.mentions {
			_, _ = fmt.Fprintln(&h, m.Start, m.End, m.Known, m.Expands, m.Quoted, m.Server != "")
		}
	}
	return h.Sum64()
}

// refresher asks the client to fetch something anew, one request at a time:
// what is wanted meanwhile becomes one more.
type refresher struct {
	s      *Server
	method string
	wanted chan struct{} // 1 slot
}

func newRefresher(s *Server, method string) *refresher {
	r := &refresher{s: s, method: method, wanted: make(chan struct{}, 1)}
	s.inBackground(method, r.run)
	return r
}

// want asks for it, soon. Nil: the client is not asked.
func (r *refresher) want() {
	if r == nil {
		return
	}
	select {
	case r.wanted <- struct{}{}:
	default:
	}
}

func (r *refresher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wanted:
		}
		limited, cancel := context.WithTimeout(ctx, clientTime)
		if err := r.s.call(limited, r.method, nil, nil); err != nil && !isCancel(err) {
			r.s.o.Log.Info("the client did not refresh", "method", r.method, "error", err)
		}
		cancel()
	}
}
