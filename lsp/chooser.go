package lsp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"agentls/agent/config"
)

// chooser sets a provider up: what was found, the question which one is to be
// used, and the writing of the choice.
type chooser struct {
	s    *Server
	most time.Duration // that it may take, all in all

	mu       sync.Mutex
	found    []config.Found          // that was found last
	withdraw context.CancelCauseFunc // ends the open question; nil: there was none
	offered  bool                    // the list of a provider without a model, in this connection
}

func newChooser(s *Server) *chooser { return &chooser{s: s, most: setupTime} }

// keep notes what was found, for the code actions.
func (c *chooser) keep(found []config.Found) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = choosable(found)
}

// choosable is what a person can choose: with the models alone that are shown
// whole, as they are.
func choosable(found []config.Found) (list []config.Found) {
	for _, f := range found {
		f.Models = slices.DeleteFunc(slices.Clone(f.Models), func(m string) bool { return clean(m) != m || m == notNow || m == morePicks })
		if len(f.Models) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// isNeeded reports that prompts are not answered by a model, and a choice would
// change that.
func (c *chooser) isNeeded() bool {
	cfg := c.s.cfg.Load()
	return cfg.Unset || cfg.Provider.Err != ""
}

// set tests a target, writes it, and tells what is in force then. What the
// endpoint itself refuses is not written; where none answers, a choice that is
// whole is, with a warning: a program that does not run yet, a laptop without a
// network.
func (c *chooser) set(ctx context.Context, command string, t config.Target) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, c.most)
	defer cancel()
	testing, done := context.WithTimeout(ctx, c.most*3/4) // the rest is for writing
	defer done()
	models, warning, err := c.setup(c.s.cfg.Load()).Test(testing, &t)
	if err != nil {
		return nil, c.failure(command, err)
	}
	if t.Choice.Model != "" {
		return c.write(ctx, t, c.s.tell(warning))
	}
	f := config.Found{Provider: t.Provider, Title: t.Title, KeyVariable: t.KeyVariable, Here: config.IsLoopback(t.Provider.BaseURL), Models: models}
	c.keep([]config.Found{f})
	c.offer([]config.Found{f})
	return c.result(c.s.cfg.Load(), []config.Found{f}), nil
}

// failure is an error of a set-up, as the command answers it.
func (c *chooser) failure(command string, err error) error {
	e, ok := errors.AsType[*config.SetupError](err)
	switch {
	case !ok:
		return err
	case e.Unfit:
		return badf("%s: %s", command, c.s.o.Secrets.Redact(e.Message))
	}
	return failed("%s", c.s.o.Secrets.Redact(e.Message))
}

// write puts the choice into the user's file and into force.
func (c *chooser) write(ctx context.Context, t config.Target, warning string) (setupResult, error) {
	file := c.s.o.Config.File()
	r := setupResult{Provider: t.Choice.Name, Model: t.Choice.Model, Config: file, Warning: warning}
	if c.s.isDirty(file) {
		return r, failed("%s is open in your editor with changes that are not saved: save it, and run agentls.setup again", file)
	}
	written, err := c.s.o.Config.Write(t.Choice, filepath.Join(c.s.o.StateDir, "config.lock"))
	if fault, ok := errors.AsType[*config.FileError](err); ok {
		c.showFault(fault.Problem)
		return r, failed("nothing was written: %s. Mend the file, and run agentls.setup again", fault.Error())
	}
	if err != nil {
		return r, failed("nothing was written: %v", err)
	}
	c.retract()
	c.keep(nil)
	looked := c.s.settings.wrote(ctx, written)
	p := c.s.cfg.Load().Provider
	r.InForce = choiceInfo{Provider: p.Name, Model: p.Model, Error: c.s.o.Secrets.Redact(p.Err)}
	stays := ""
	switch {
	case !looked:
		stays = "It is written, and counts as soon as your editor has answered what it was asked"
	case p.Name != r.Provider || p.Model != r.Model:
		stays = fmt.Sprintf("%s stays in force: the editor's own settings count more than this file, or a change of a run in it waits for your answer", p.Name)
	}
	r.Warning = strings.Join(slices.DeleteFunc([]string{r.Warning, stays}, func(w string) bool { return w == "" }), ". ")
	return r, nil
}

// isDirty reports whether a file is open with a text that the disk has not.
func (s *Server) isDirty(file string) bool {
	d, open := s.docs.get(string(uri.File(file)))
	if real, err := filepath.EvalSymlinks(file); err == nil && !open {
		d, open = s.docs.linked(real)
	}
	return open && d.dirty && !onDisk(file, d.text)
}

func (c *chooser) showFault(p config.Problem) {
	at := &protocol.Position{}
	if p.Line > 0 {
		at.Line, at.Character = uint32(p.Line-1), uint32(p.From) //nolint:gosec // a file's line
	}
	c.show(p.File, at)
}

// show shows a file, beside the answer.
func (c *chooser) show(file string, at *protocol.Position) {
	c.s.inBackground("set-up", func(ctx context.Context) {
		if err := c.s.showDocument(ctx, file, true, at); err != nil {
			c.s.o.Log.Info("the client did not show the configuration", "file", file, "error", err)
		}
	})
}
