package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// StaleError comes beside contents that were read before, and could not be
// read anew now.
type StaleError struct {
	At  time.Time // when they were read
	Err error     // why they could not be read now
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("this is what was read at %s, it cannot be read anew now: %v", e.At.Format("15:04:05"), e.Err)
}

func (e *StaleError) Unwrap() error { return e.Err }

// read returns a resource's contents, from the cache where they are fresh. The
// last ones are there beside a StaleError where the server is out of reach.
func (s *session) read(ctx context.Context, uri string) ([]Content, error) {
	var contents []Content
	err := s.using(ctx, lost, func(c *connection) (err error) {
		if contents = slices.Clone(s.cache.bodies.get(uri, time.Now())); contents == nil {
			contents, err = s.fetchBody(ctx, c, uri)
		}
		return err
	})
	if err == nil {
		return contents, nil
	}
	if ctx.Err() == nil && s.outOfReach(err) {
		if contents, at := s.cache.bodies.last(uri); contents != nil {
			return slices.Clone(contents), &StaleError{at, err}
		}
	}
	return nil, err
}

// outOfReach reports an error that is not the server's word (2026-07-28,
// server/utilities/caching: "network issues, server downtime"). One that wants
// a login has its say.
func (s *session) outOfReach(err error) bool {
	s.mu.Lock()
	status := s.status
	s.mu.Unlock()
	_, late := errors.AsType[*timeoutError](err)
	return status != StatusNeedsLogin && (late || errors.Is(err, errLost) || errors.Is(err, ErrNotReady))
}

// fetchBody reads a resource from its server.
func (s *session) fetchBody(ctx context.Context, c *connection, uri string) ([]Content, error) {
	fetch := s.cache.bodies.begin(uri)
	told := s.subscribe(ctx, c, uri)
	raw, own, err := c.read(ctx, uri)
	now := time.Now()
	contents := parseContents(uri, raw)
	if r, _, listed := s.cache.find(uri); listed {
		for i := range contents { // some name the type in the list only
			if contents[i].MIMEType == "" && contents[i].URI == uri {
				contents[i].MIMEType = r.MIMEType
			}
		}
	}
	undisturbed := s.cache.bodies.end(fetch, fetched{
		contents: contents, life: parseLifetime(raw, c.modern, now), told: told, keep: err == nil && !c.live && !own, at: now,
	})
	if undisturbed && err == nil {
		s.cache.read(uri)
	}
	switch {
	case !unknownResource(err):
	case strings.Contains(err.Error(), uri):
		err = fmt.Errorf("%w: %w", ErrUnknownResource, err)
	default:
		err = fmt.Errorf("%w: %s: %w", ErrUnknownResource, uri, err)
	}
	return slices.Clone(contents), err
}
