package mcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
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
	text := ""
	if err != nil && c.ctx.Err() == nil && !errors.Is(err, errLost) {
		text = fmt.Sprintf("the list of %s could not be fetched: %v", what, err)
	}
	s.mu.Lock()
	news := text != s.told[k] // it may be asked for again and again
	s.told[k] = text
	s.mu.Unlock()
	if news && text != "" {
		s.problem(text)
	}
}

// fetchedList lets the next failure of a list be told that was fetched; s.mu is
// held.
func (s *session) fetchedList(k listKind, err error) {
	if err == nil {
		s.told[k] = ""
	}
}

// forgetPrivate forgets what the server gave that is not the same for every
// user (cacheScope): another one is logged in from now on, or nobody is.
func (s *session) forgetPrivate() {
	s.cache.forgetPrivate()
	s.values.drop(false)
	s.values.drop(true)
	s.update(func() {
		if s.toolsAge.forgetPrivate() {
			s.tools = nil
		}
		if s.promptsAge.forgetPrivate() {
			s.prompts = nil
		}
	})
	s.mu.Lock()
	c := s.conn
	s.mu.Unlock()
	if c != nil { // it goes on with the login of now
		for k := range listKinds {
			s.listChanged(c, k)
		}
	}
}

func (s *session) refreshTools(ctx context.Context, c *connection) error {
	if !c.caps.tools {
		return nil
	}
	var asked uint64
	s.update(func() { asked = s.toolsAge.asking(time.Now()) })
	tools, err := c.tools(ctx, s.cfg.Name)
	tools.items, tools.asked = s.enabled(tools.items), asked
	var d difference
	s.update(func() {
		if s.conn == c && take(&s.toolsAge, tools) {
			d = diff(s.tools, tools.items, toolKey, sameTool)
			s.tools = tools.items
		}
		s.fetchedList(listTools, err)
	})
	if d.any {
		s.events.put(d.event(s.cfg.Name, EventTools))
	}
	return err
}

func toolKey(t *Tool) string { return t.Name }

func sameTool(a, b *Tool) bool { return a.Same(*b) }

// refreshResources fetches the resources and the templates, as far as they are
// not fresh, one fetch at a time: who waited for another's takes its result.
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
	told := c.tells(listResources) || s.cache.fetches() != before
	wantResources, wantTemplates, asked := s.cache.wanted(time.Now(), told)
	if !wantResources && !wantTemplates {
		return nil
	}
	c.inbox.clean(listResources)
	var resources listed[Resource]
	var templates listed[Template]
	var err error
	if wantResources {
		resources, err = c.resources(ctx, s.cfg.Name)
	}
	if wantTemplates && !errors.Is(err, errLost) && ctx.Err() == nil {
		var templatesErr error
		if templates, templatesErr = c.templates(ctx); err == nil && templatesErr != nil {
			err = fmt.Errorf("its templates: %w", templatesErr)
		}
	}
	resources.asked, templates.asked = asked, asked
	var d difference
	first := false
	s.turns.do(func() {
		d, first = s.cache.replace(resources, templates)
		s.cache.reindex()
	})
	s.update(func() { s.fetchedList(listResources, err) })
	if d.any && !first {
		s.events.put(d.event(s.cfg.Name, EventResources))
	}
	return err
}

func (s *session) refreshPrompts(ctx context.Context, c *connection) error {
	if !c.caps.prompts {
		return nil
	}
	var asked uint64
	s.update(func() { asked = s.promptsAge.asking(time.Now()) })
	prompts, err := c.prompts(ctx)
	prompts.asked = asked
	var d difference
	first := false
	s.update(func() {
		first = !s.promptsAge.held
		if s.conn == c && take(&s.promptsAge, prompts) {
			d = diff(s.prompts, prompts.items, func(p *Prompt) string { return p.Name }, func(a, b *Prompt) bool { return reflect.DeepEqual(a, b) })
			s.prompts = prompts.items
		}
		s.fetchedList(listPrompts, err)
	})
	if d.any && !first {
		s.events.put(d.event(s.cfg.Name, EventPrompts))
	}
	return err
}

// listResources returns the lists, fetched anew where they are stale or the
// server would not say if they were.
func (s *session) listResources(ctx context.Context) (ResourceList, error) {
	err := s.using(ctx, lost, func(c *connection) error {
		if resources, templates, _ := s.cache.wanted(time.Now(), c.tells(listResources)); resources || templates {
			return s.refreshResources(ctx, c)
		}
		return nil
	})
	list := s.cache.list()
	list.Stale = list.Stale || err != nil
	return list, err
}

// listPrompts returns the prompts, fetched anew where they are stale.
func (s *session) listPrompts(ctx context.Context) ([]Prompt, error) {
	err := s.using(ctx, lost, func(c *connection) error {
		s.mu.Lock()
		fresh := s.promptsAge.freshList(time.Now(), c.tells(listPrompts))
		s.mu.Unlock()
		if fresh {
			return nil
		}
		return s.refreshPrompts(ctx, c)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.prompts), err
}
