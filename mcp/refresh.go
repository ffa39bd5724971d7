package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// refresh fetches a list anew. One that fails keeps the old list, and is told.
func (s *session) refresh(c *connection, k listKind) {
	var err error
	what := ""
	c.inbox.clean(k) // the list is about to be asked for
	switch k {
	case listTools:
		what, err = "tools", s.refreshTools(c.ctx, c)
	case listResources:
		what, err = "resources", s.refreshResources(c.ctx, c)
	default:
		what, err = "prompts", s.refreshPrompts(c.ctx, c)
	}
	if err != nil && c.ctx.Err() == nil && !errors.Is(err, errLost) {
		s.problem(fmt.Sprintf("the list of %s could not be fetched: %v", what, err))
	}
}

func (s *session) refreshTools(ctx context.Context, c *connection) error {
	if !c.caps.tools {
		return nil
	}
	s.update(func() { s.toolsAt = time.Now() })
	tools, err := c.tools(ctx, s.cfg.Name)
	if err != nil {
		return err
	}
	tools = s.enabled(tools)
	var d difference
	s.update(func() {
		if s.conn == c {
			d = diff(s.tools, tools, toolKey, sameTool)
			s.tools = tools
		}
	})
	if d.any {
		s.events.put(d.event(s.cfg.Name, EventTools))
	}
	return nil
}

// enabled leaves out the tools that the configuration does not want.
func (s *session) enabled(tools []Tool) []Tool {
	return slices.DeleteFunc(tools, func(t Tool) bool {
		return len(s.cfg.EnabledTools) > 0 && !slices.Contains(s.cfg.EnabledTools, t.Name) || slices.Contains(s.cfg.DisabledTools, t.Name)
	})
}

func toolKey(t *Tool) string { return t.Name }

func sameTool(a, b *Tool) bool {
	return a.Title == b.Title && a.Description == b.Description && a.ReadOnly == b.ReadOnly && bytes.Equal(a.Schema, b.Schema)
}

// refreshResources fetches the resources and templates, one fetch at a time:
// who waited for another's takes its result.
func (s *session) refreshResources(ctx context.Context, c *connection) error {
	if !c.caps.resources {
		return nil
	}
	before := s.cache.fetches()
	select {
	case s.fetch <- struct{}{}:
		defer func() { <-s.fetch }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.cache.fetches() != before && !s.cache.stale() {
		return nil
	}
	c.inbox.clean(listResources)
	changes := s.cache.asking()
	resources, templates, ttl, err := c.resources(ctx, s.cfg.Name)
	if err != nil {
		return err
	}
	var until time.Time
	if ttl > 0 {
		until = time.Now().Add(ttl)
	}
	d, first := s.cache.replace(resources, templates, changes, until)
	s.cache.reindex()
	s.changes.tell()
	if d.any && !first {
		s.events.put(d.event(s.cfg.Name, EventResources))
	}
	return nil
}

func (s *session) refreshPrompts(ctx context.Context, c *connection) error {
	if !c.caps.prompts {
		return nil
	}
	s.update(func() { s.promptsOld = false })
	prompts, err := c.prompts(ctx)
	if err != nil {
		s.update(func() { s.promptsOld = true })
		return err
	}
	var d difference
	first := false
	s.update(func() {
		if s.conn == c {
			d = diff(s.prompts, prompts, func(p *Prompt) string { return p.Name }, func(a, b *Prompt) bool { return reflect.DeepEqual(a, b) })
			first = !s.hasPrompts
			s.prompts, s.hasPrompts = prompts, true
		}
	})
	if d.any && !first {
		s.events.put(d.event(s.cfg.Name, EventPrompts))
	}
	return nil
}

// listResources returns the lists, fetched anew where they are stale or the
// server would not say if they were.
func (s *session) listResources(ctx context.Context) (ResourceList, error) {
	c, err := s.use(ctx)
	if err == nil && (s.cache.stale() || !c.caps.resourcesChange || c.unheard()) {
		err = s.refreshResources(ctx, c)
	}
	list := s.cache.list()
	list.Stale = list.Stale || err != nil
	return list, err
}

// listPrompts returns the prompts, fetched anew where they are stale.
func (s *session) listPrompts(ctx context.Context) ([]Prompt, error) {
	c, err := s.use(ctx)
	s.mu.Lock()
	fresh := s.hasPrompts && !s.promptsOld
	s.mu.Unlock()
	if err == nil && (!fresh || c.unheard()) {
		err = s.refreshPrompts(ctx, c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.prompts), err
}

// read returns a resource's contents, from the cache where they are fresh.
func (s *session) read(ctx context.Context, uri string) ([]Content, error) {
	c, err := s.use(ctx)
	if err != nil {
		return nil, err
	}
	if contents := s.cache.bodies.get(uri, time.Now()); contents != nil {
		return slices.Clone(contents), nil
	}
	fetch := s.cache.bodies.begin(uri)
	subscribed := s.subscribe(ctx, c, uri)
	raw, own, err := c.read(ctx, uri)
	contents, until, keep := parseContents(uri, raw), time.Time{}, subscribed
	if ttl := parseTTL(raw); !subscribed && ttl > 0 {
		until, keep = time.Now().Add(ttl), true
	}
	if s.cache.bodies.end(fetch, contents, keep && !own && !c.live && err == nil, until) && err == nil {
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
