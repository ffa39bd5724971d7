package oauth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentls/mcp/statefile"
)

// renewTime bounds a renewal, with the wait for another process's.
const renewTime = 30 * time.Second

// errNoLogin says that there is no login to renew: a person has to log in.
var errNoLogin = errors.New("there is no login")

// renewal is one under way; whoever needs it waits for it.
type renewal struct {
	done chan struct{} // closed when login and err are there
	login
	err error
}

// renew gets a newer token than old has. However many ask for one, in however
// many processes, the authorization server is asked once: it may take a
// refresh token for stolen that comes twice. A caller that gives up ends
// nothing: the new refresh token would be lost.
func (g *Guard) renew(ctx context.Context, old login) (login, error) {
	key := old.key() + "\n" + old.Access
	l := g.logins
	l.mu.Lock()
	r := l.renewals[key]
	if r == nil {
		if l.closed {
			l.mu.Unlock()
			return login{}, errClosed
		}
		r = &renewal{done: make(chan struct{})}
		l.renewals[key] = r
		l.wg.Go(func() { //nolint:contextcheck // it ends with l.ctx
			r.login, r.err = g.renewOnce(l.ctx, old)
			l.mu.Lock()
			delete(l.renewals, key)
			l.mu.Unlock()
			close(r.done)
		})
	}
	l.mu.Unlock()
	select {
	case <-r.done:
		return r.login, r.err
	case <-ctx.Done():
		return login{}, context.Cause(ctx)
	}
}

// renewOnce renews under a lock that other processes honour; one of them may
// have been faster.
func (g *Guard) renewOnce(ctx context.Context, old login) (login, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, renewTime, fmt.Errorf("no new token came within %v", renewTime))
	defer cancel()
	if path := g.logins.o.File; path != "" {
		unlock, err := statefile.Lock(ctx, path+"."+old.key()[:16]+".lock")
		if err != nil {
			g.logins.o.Log.Warn("a login is renewed without its lock", "err", err)
		} else {
			defer unlock()
		}
	}
	now, ok := g.login()
	switch {
	case !ok:
		return login{}, errNoLogin
	case now.Access != old.Access && now.fresh(time.Now()):
		return now, nil
	case now.Refresh == "":
		return login{}, errNoLogin
	}
	renewed, err := g.refresh(ctx, now)
	switch {
	case err == nil:
		if err := g.keep(renewed); err != nil && !errors.Is(err, ErrNotKept) {
			return login{}, err
		}
		return renewed, nil
	case isCode(err, "invalid_grant", "invalid_client", "unauthorized_client"):
		g.logins.o.Log.Warn("a login has ended", "server", host(g.server), "err", tokenError(ctx, host(now.Token), err))
		g.forget(now, !isCode(err, "invalid_grant"))
		return login{}, errNoLogin
	}
	return login{}, fmt.Errorf("the login cannot be renewed: %w", tokenError(ctx, host(now.Token), err))
}

// forget drops a login, unless there is a newer one by now, and its client.
func (g *Guard) forget(l login, client bool) {
	// Where it cannot be written it is forgotten in this process, and told.
	_ = g.logins.store.change(func(f file) {
		if f.Logins[l.key()].Refresh == l.Refresh && f.Logins[l.key()].Access == l.Access {
			delete(f.Logins, l.key())
		}
		if client && f.Clients[l.Issuer].ID == l.ClientID {
			delete(f.Clients, l.Issuer)
		}
	})
}
