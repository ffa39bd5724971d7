package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/mcp"
)

// errAsksAnew ends a question in whose place another one is asked.
var errAsksAnew = errors.New("the question is asked anew")

const (
	pageOfPicks = 8 // options that a stock client is given at once
	morePicks   = "More…"
	notNow      = "Not now"
)

// offer asks a stock client's person which of what was found is to be used, and
// writes that. It never waits: Serve owns the goroutine. Of two offers the later
// one counts.
func (c *chooser) offer(found []config.Found) {
	if c.s.peer.features.approvals {
		return // it asks by itself
	}
	ctx, withdraw := context.WithCancelCause(c.s.alive)
	c.replace(withdraw)
	c.s.inBackground("set-up", func(context.Context) {
		defer withdraw(nil)
		c.ask(ctx, found)
	})
}

// retract ends an open question.
func (c *chooser) retract() { c.replace(nil) }

// replace ends an open question; next ends the one that is asked now.
func (c *chooser) replace(next context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.withdraw != nil {
		c.withdraw(errAsksAnew)
	}
	c.withdraw = next
}

// offerOnce offers the models of the provider in force where none of them is
// chosen (CONTRACT §2), once in a connection.
func (c *chooser) offerOnce(p config.Provider) {
	if p.BaseURL == "" || p.Model != "" || c.s.peer.features.approvals {
		return
	}
	c.mu.Lock()
	again := c.offered
	c.offered = true
	c.mu.Unlock()
	if again {
		return
	}
	c.s.inBackground("set-up", func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, c.most)
		defer cancel()
		p.Err = ""
		if models, err := c.s.o.Models(ctx, p); err == nil {
			c.offer([]config.Found{{Provider: p, Title: p.Name, Configured: true, Here: config.IsLoopback(p.BaseURL), Models: config.Usable(models)}})
		}
	})
}

// ask lets a person choose a provider and a model, and writes the choice.
func (c *chooser) ask(ctx context.Context, found []config.Found) {
	usable := choosable(found)
	if len(usable) == 0 {
		c.tellNothing(found)
		return
	}
	f, ok := usable[0], true
	if len(usable) > 1 {
		f, ok = c.askProvider(ctx, usable)
	}
	model := ""
	if ok {
		model, ok = c.askModel(ctx, f)
	}
	if !ok {
		if ctx.Err() == nil && !c.isNeeded() {
			c.keep(nil) // the person leaves it as it is
		}
		return
	}
	t, err := c.setup(c.s.cfg.Load()).Target(c.link(f, model).wish())
	var result any
	if err == nil {
		result, err = c.set(c.s.alive, "agentls.setup", t) // ctx ends with the question
	}
	switch r, written := result.(setupResult); {
	case err != nil && c.s.alive.Err() == nil:
		c.s.showMessage(protocol.MessageTypeError, "agentls: "+c.s.tell(err.Error()))
	case written:
		c.s.showMessage(protocol.MessageTypeInfo, r.words())
	}
}

// option is something that a person can choose, with its title.
type option struct{ value, title string }

func (c *chooser) askProvider(ctx context.Context, usable []config.Found) (f config.Found, ok bool) {
	options := make([]option, len(usable))
	for i, f := range usable {
		options[i] = option{f.Name, clean(f.Title) + " (" + counted(len(f.Models), "model") + ")"}
		if f.Title != f.Name && f.Configured || slices.ContainsFunc(options[:i], func(o option) bool { return o.title == options[i].title }) {
			options[i].title = clean(f.Name) + ": " + options[i].title
		}
	}
	name, ok := c.pick(ctx, "provider", "agentls: which of these is to answer your prompts?", options, usable[0])
	i := slices.IndexFunc(usable, func(f config.Found) bool { return f.Name == name })
	if !ok || i < 0 {
		return f, false
	}
	return usable[i], true
}

func (c *chooser) askModel(ctx context.Context, f config.Found) (string, bool) {
	options := make([]option, 0, len(f.Models))
	for _, m := range f.Models {
		options = append(options, option{m, m})
	}
	// The one that is configured comes first: Enter after Not now.
	slices.SortStableFunc(options, func(a, b option) int {
		switch f.Model {
		case a.value:
			return -1
		case b.value:
			return 1
		}
		return 0
	})
	text := fmt.Sprintf("agentls: which model of %s (%s) is to answer? It is written into %s.", clean(f.Title), clean(config.ShownURL(f.BaseURL)), clean(c.s.o.Config.File()))
	return c.pick(ctx, "model", text, options, f)
}

// pick asks for one of the options, a page at a time. like is one that a
// command in words could name instead.
func (c *chooser) pick(ctx context.Context, id, text string, options []option, like config.Found) (value string, ok bool) {
	values := make([]string, len(options))
	for i, o := range options {
		values[i] = o.value
	}
	in := mcp.Input{ID: id, Description: text, Options: values}
	e := inputElicitation(in)
	arguments, _ := json.Marshal(map[string]json.RawMessage{"requestedSchema": e.schema}) // is JSON
	for from := 0; ; {
		w := &question{
			id: newID(), kind: asksInput, arguments: arguments, timeout: c.s.cfg.Load().Approval.Timeout, elicit: e,
			reason: "a model is to be set up: which " + id + "?", message: text, instead: c.instead(text, like),
			choices: []choice{{title: notNow, decision: agent.DecisionDeny}},
		}
		page := options[from:min(from+pageOfPicks, len(options))]
		for _, o := range page {
			content, _ := json.Marshal(map[string]string{id: o.value}) // strings always encode
			w.choices = append(w.choices, choice{o.title, agent.DecisionOnce, content})
		}
		more := len(options) > pageOfPicks
		if more {
			w.choices = append(w.choices, choice{morePicks, agent.DecisionOnce, nil})
		}
		a, err := c.s.asks.settle(ctx, w)
		switch {
		case err != nil || !yes(a):
			return "", false
		case more && len(a.Content) == 0:
			if from += pageOfPicks; from >= len(options) {
				from = 0
			}
			continue
		}
		content, err := e.check(a.Content)
		return inputValue(in, content), err == nil
	}
}

// instead says what a person does whose editor does not show the question.
func (c *chooser) instead(text string, like config.Found) string {
	link := c.link(like, like.Models[0])
	example, _ := json.Marshal(link) // strings always encode
	return fmt.Sprintf("agentls: choose by a code action in a file whose name ends in %s, such as “%s”, or by the command agentls.setup with %s. (%s Your editor could not show this question.)",
		promptExtension, link.words(), breakLinks(clean(string(example))), strings.TrimPrefix(text, "agentls: "))
}

// tellNothing says what to do where nothing can answer, and shows the user's
// file, with all that it may hold in comments if there was none.
func (c *chooser) tellNothing(found []config.Found) {
	file := c.s.o.Config.File()
	var parts []string
	for _, f := range found {
		if f.Problem != "" {
			parts = append(parts, clean(f.Title)+": "+c.s.tell(f.Problem))
		} else {
			parts = append(parts, clean(f.Title)+" lists no model"+c.setup(c.s.cfg.Load()).Pull(f.BaseURL, f.Title))
		}
	}
	text := "agentls: no model was found that could answer. " + strings.Join(parts, ". ")
	if len(parts) == 0 {
		keys, programs := c.discovery(c.s.cfg.Load()).LookedFor()
		text = "agentls: no model was found: there is no key in the environment that your editor started with (" + strings.Join(keys[:3], ", ") +
			", …), and nothing that serves models answers on this machine (" + strings.Join(programs[:min(3, len(programs))], ", ") + ", …)"
	}
	made, err := c.s.o.Config.WriteTemplate()
	if err != nil {
		c.s.showMessage(protocol.MessageTypeWarning, text+". "+c.s.tell(err.Error())+".")
		return
	}
	what := "write a provider into "
	if made {
		what = "fill in "
	}
	c.s.showMessage(protocol.MessageTypeWarning, text+". Start one, or set a key, and run agentls.setup again; or "+what+clean(file)+".")
	c.show(file, nil)
}

// counted is a number of things in words.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
