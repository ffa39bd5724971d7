package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Options is what [Logins] need from outside.
type Options struct {
	// File is <state>/mcp-auth.json. Empty: logins last as long as the process.
	File string
	// HTTP gives what is cloned for what is asked of authorization servers: its
	// proxy and its certificates count. Nil: neither.
	HTTP func() *http.Transport
	// Learn is told every value that no log may show.
	Learn func(values ...string)
	// Name and Version are what a client registers as.
	Name, Version string
	Log           *slog.Logger
}

// Logins keeps the logins of all servers. It is safe for concurrent use.
type Logins struct {
	o      Options
	store  *store
	ctx    context.Context //nolint:containedctx // of the renewals; ends by Close
	cancel context.CancelFunc

	mu       sync.Mutex
	closed   bool
	renewals map[string]*renewal // under way, by what they renew
	wg       sync.WaitGroup      // the renewals
}

// New reads nothing yet.
func New(o Options) *Logins {
	if o.Learn == nil {
		o.Learn = func(...string) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Logins{o: o, renewals: map[string]*renewal{}}
	l.store = newStore(o.File, o.Learn, o.Log)
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// closeGrace is for a renewal under way: a server that has rotated its token
// takes the old one no more.
const closeGrace = 500 * time.Millisecond

// Close waits for what is being renewed, a moment.
func (l *Logins) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	timer := time.AfterFunc(closeGrace, l.cancel)
	defer timer.Stop()
	l.wg.Wait()
	l.cancel()
}

var errClosed = errors.New("agentls is ending")

// Client is what a person configured of a server's login; all may be empty.
type Client struct {
	ID, Secret string   // registered beforehand with the authorization server
	Metadata   string   // URL of a client ID metadata document, where the server takes one
	Scopes     []string // to ask for, in place of those that the server names
	Port       int      // of the redirect on 127.0.0.1; 0: any
}

// name is what tells the logins of one server apart by their client.
func (c Client) name() string {
	if c.ID != "" {
		return c.ID
	}
	return c.Metadata
}

// File is where the logins are kept; empty: nowhere.
func (l *Logins) File() string { return l.o.File }
