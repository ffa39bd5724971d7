package lsp

import (
	"cmp"
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

	"agentls/agent"
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
func (c *chooser) set(ctx context.Context, t target) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, c.most)
	defer cancel()
	testing, done := context.WithTimeout(ctx, c.most*3/4) // the rest is for writing
	defer done()
	models, warning, err := c.test(testing, &t)
	if err != nil {
		return nil, err
	}
	if t.Choice.Model == "" {
		if t.Choice.Model, err = c.onlyModel(t, models); err != nil {
			return nil, err
		}
	}
	if t.Choice.Model == "" { // a person has to say
		f := config.Found{Provider: t.Provider, Title: t.title, KeyVariable: t.KeyVariable, Here: config.IsLoopback(t.Provider.BaseURL), Models: models}
		c.keep([]config.Found{f})
		c.offer([]config.Found{f})
		return c.result(c.s.cfg.Load(), []config.Found{f}), nil
	}
	if warning == "" {
		if t.Choice.Model, err = listed(t, models); err != nil {
			return nil, err
		}
	}
	return c.write(ctx, t, warning)
}

// test asks the endpoint for its models. warning: it could not be reached.
func (c *chooser) test(ctx context.Context, t *target) (models []string, warning string, err error) {
	asked := t.Provider
	asked.Model = cmp.Or(t.Choice.Model, asked.Model) // what is wrong is told of this one
	models, err = c.s.o.Models(ctx, asked)
	if pe := (*agent.ProviderError)(nil); err != nil && errors.As(err, &pe) && pe.Kind != agent.KindAuth && pe.Kind != agent.KindNetwork && !endsInVersion(t.Provider.BaseURL) {
		// The address of the server instead of its API is the usual mistake.
		asked.BaseURL = strings.TrimRight(asked.BaseURL, "/") + "/v1"
		if more, e := c.s.o.Models(ctx, asked); e == nil {
			models, err = more, nil
			t.Provider.BaseURL, t.Choice.BaseURL, t.Moves = asked.BaseURL, asked.BaseURL, true
		}
	}
	if err == nil {
		return config.Usable(models), "", nil
	}
	pe := agent.AsProviderError(err)
	switch {
	case context.Cause(ctx) != nil && isCancel(context.Cause(ctx)):
		return nil, "", context.Cause(ctx)
	case pe.Kind == agent.KindNetwork && pe.Retryable && t.Choice.Model != "":
		return nil, "It could not be asked whether it has this model: " + c.s.tell(pe.Message), nil
	case pe.Kind == agent.KindInternal:
		return nil, "", err
	}
	return nil, "", failed("nothing was written: %s", c.s.o.Secrets.Redact(pe.Message))
}

func endsInVersion(base string) bool {
	last := base[strings.LastIndexByte(strings.TrimRight(base, "/"), '/')+1:]
	return len(last) > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9'
}

// onlyModel is the model of a provider that leaves no choice: it has one, or
// the configured one is of its list. "" : a person has to choose.
func (c *chooser) onlyModel(t target, models []string) (string, error) {
	switch {
	case len(models) == 0:
		return "", failed("nothing was written: %s lists no model%s", t.title, pull(t.Provider.BaseURL, t.title))
	case len(models) == 1:
		return models[0], nil
	case slices.Contains(models, t.Provider.Model) && t.Moves:
		return t.Provider.Model, nil
	case c.s.peer.features.approvals:
		return "", badf("%s: model is missing; %s offers %s", t.command, t.title, some(models))
	}
	return "", nil
}

// pull says how a program on this machine gets its first model.
func pull(base, title string) string {
	switch {
	case strings.EqualFold(title, "Ollama"):
		return ": get one, as by `ollama pull qwen3`, and run agentls.setup again"
	case config.IsLoopback(base):
		return ": load one in it, and run agentls.setup again"
	}
	return ": see what your account with it may use"
}

// listed finds a model in a list. Some lists hold more than the name that is
// used: a folder before it, a default tag behind it.
func listed(t target, models []string) (string, error) {
	want := t.Choice.Model
	for _, name := range []string{want, want + ":latest", "models/" + want} {
		if slices.Contains(models, name) {
			return want, nil
		}
	}
	if len(models) == 0 {
		return "", failed("nothing was written: %s lists no model%s", t.title, pull(t.Provider.BaseURL, t.title))
	}
	var near []string
	for _, name := range models {
		if isNear(want, name) || strings.Contains(strings.ToLower(name), strings.ToLower(want)) {
			near = append(near, name)
		}
	}
	if len(near) > 0 {
		return "", badf("%s: %s does not list the model %q; did you mean %s?", t.command, t.title, clip(want, 100), strings.Join(near[:min(len(near), 3)], " or "))
	}
	return "", badf("%s: %s does not list the model %q; it offers %s", t.command, t.title, clip(want, 100), some(models))
}

// some names the first few models.
func some(models []string) string {
	const few = 8
	if len(models) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(models[:few], ", "), len(models)-few)
	}
	return strings.Join(models, ", ")
}

// write puts the choice into the user's file and into force.
func (c *chooser) write(ctx context.Context, t target, warning string) (setupResult, error) {
	file := c.s.o.Config.File()
	r := setupResult{Provider: t.Choice.Name, Model: t.Choice.Model, Config: file, Warning: warning}
	if c.s.isDirty(file) {
		return r, failed("%s is open in your editor with changes that are not saved: save it, and run agentls.setup again", file)
	}
	written, err := c.s.o.Config.Write(t.Choice, filepath.Join(c.s.o.StateDir, "config.lock"))
	if fault, ok := errors.AsType[*config.FileError](err); ok {
		c.showFault(fault.Problem)
		return r, failed("nothing was written: %s. Mend the file, and run agentls.setup again", place(fault.Problem))
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

// place is a problem with where it stands.
func place(p config.Problem) string {
	text := p.File
	if p.Line > 0 {
		text += fmt.Sprintf(":%d:%d", p.Line, p.From+1)
	}
	if p.Path != "" {
		text += ": " + p.Path
	}
	return text + ": " + p.Message
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
