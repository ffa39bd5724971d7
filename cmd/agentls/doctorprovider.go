package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"agentls/agent"
	"agentls/agent/config"
)

// How long a provider may take to list its models, and to answer a prompt: one
// on this machine may have to load the model first.
const (
	probing = 5 * time.Second
	trying  = 2 * time.Minute
)

// smallWindow is what an agent can hardly work with, in tokens: the tools and
// one file take it up.
const smallWindow = 16_000

func (d *doctor) provider(ctx context.Context, cfg config.Config, try bool) {
	const about = "provider"
	c := cfg.Provider
	if c.Name == config.Offline {
		d.unset(ctx, cfg)
		return
	}
	// A missing model is the one fault that the provider's list helps with.
	if c.Err != "" && (c.BaseURL == "" || c.Model != "") {
		d.say(tooBad, about, c.Name, "%s", c.Err)
		return
	}
	asked := c
	asked.Err = ""
	models, err := d.models(ctx, asked, probing)
	switch {
	case err != nil && c.Err != "":
		d.say(tooBad, about, c.Name, "%s; to see the list, mend this: %v", c.Err, err)
	case err != nil:
		d.say(tooBad, about, c.Name, "%v", err)
	case c.Model == "":
		d.say(tooBad, about, c.Name, "%s; it offers %s", c.Err, config.Some(models))
	case len(models) > 0 && !c.Deployments && !config.Lists(models, c.Model):
		d.say(tooBad, about, c.Name, "it does not list the model %q; it offers %s", c.Model, config.Some(models))
	default:
		key := "without a key"
		if c.APIKey != "" {
			key = "takes the key"
		}
		d.say(good, about, c.Name, "%s answers, %s and has the model %s", host(c.BaseURL), key, c.Model)
		d.window(ctx, c)
		d.clock(ctx, c)
		d.try(ctx, c, try)
	}
}

// window says how much a request may hold, and where that is from.
func (d *doctor) window(ctx context.Context, c config.Provider) {
	const about = "context window"
	tokens, known := c.ContextWindow, "as is configured"
	if llm, err := openaiLLM(d.parts, c); err == nil {
		m := llm.Look(ctx)
		llm.Close()
		if m.Advice != "" {
			d.say(poor, about, c.Name, "%d tokens: %v", m.ContextWindow, m.Advice)
			return
		}
		if m.ContextWindow != tokens {
			tokens, known = m.ContextWindow, "as is known of the model"
		}
	}
	switch {
	case tokens == 0 && c.Preset == config.Ollama:
		d.say(absent, about, c.Name, "not known before Ollama has loaded the model: 4096 tokens for most, unless OLLAMA_CONTEXT_LENGTH is set where Ollama starts")
	case tokens == 0:
		d.say(absent, about, c.Name, "not known: %d tokens are assumed; contextWindow in the provider's settings says it", agent.DefaultWindow)
	case tokens < smallWindow:
		d.say(poor, about, c.Name, "%d tokens, %s: that is little for an agent; let the program that serves the model give it %d or more, and set contextWindow to that", tokens, known, 2*smallWindow)
	default:
		d.say(good, about, c.Name, "%d tokens, %s", tokens, known)
	}
}

// clockOff is how far the clock may be off before logins and certificates are
// in danger.
const clockOff = 2 * time.Minute

// clock holds ours against that of a provider on another machine.
func (d *doctor) clock(ctx context.Context, c config.Provider) {
	if config.IsLoopback(c.BaseURL) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probing)
	defer cancel()
	transport, _ := d.parts.network()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, c.BaseURL, nil)
	if err != nil {
		return // the provider's own line tells it
	}
	began := time.Now()
	answer, err := client.Do(r)
	if err != nil {
		return // likewise
	}
	_ = answer.Body.Close()
	d.compare(began, time.Now(), answer.Header.Get("Date"), host(c.BaseURL))
}

// compare says how far the clock is off by the date that came between two
// times.
func (d *doctor) compare(began, ended time.Time, date, from string) {
	there, err := http.ParseTime(date)
	if err != nil {
		return // it tells no time
	}
	switch {
	case ended.Add(clockOff).Before(there):
		d.say(poor, "clock", "", "it is %s behind that of %s: set it, or logins and certificates fail", there.Sub(ended).Round(time.Second), from)
	case began.Add(-clockOff).After(there):
		d.say(poor, "clock", "", "it is %s ahead of that of %s: set it, or logins and certificates fail", began.Sub(there).Round(time.Second), from)
	default:
		d.say(good, "clock", "", "as that of %s", from)
	}
}

// try sees whether the model answers, and calls a tool that it is told to call.
func (d *doctor) try(ctx context.Context, c config.Provider, wanted bool) {
	const about = "tool calls"
	if !wanted {
		d.say(absent, about, c.Name, "not tried; `agentls doctor --try` sends %s one small prompt and sees whether it calls a tool", c.Model)
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, trying, fmt.Errorf("no answer in %s: see whether the program that serves it is busy, and try again", trying))
	defer cancel()
	llm, err := d.parts.newLLM(c)
	if err != nil {
		d.say(tooBad, about, c.Name, "%v", err)
		return
	}
	began := time.Now()
	answer, err := llm.Complete(ctx, agent.Request{
		Messages: []agent.Message{
			{Role: agent.System, Text: "You check whether tools can be called. Do what the user says, at once."},
			{Role: agent.User, Text: `Call the tool "note" with the word "agentls".`},
		},
		Tools: []agent.ToolSpec{{Name: "note", Description: "Notes a word.", Schema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`)}},
	}, func(delta agent.Delta) {
		if delta.Notice != "" {
			d.say(poor, about, c.Name, "%s", delta.Notice)
		}
	})
	took := time.Since(began).Round(100 * time.Millisecond)
	switch {
	case err != nil && ctx.Err() != nil:
		d.say(tooBad, about, c.Name, "%v", context.Cause(ctx))
	case err != nil:
		d.say(tooBad, about, c.Name, "%v", err)
	case len(answer.ToolCalls) == 0:
		d.say(poor, about, c.Name, "%s answered in %s, but did not call the tool that it was told to call: choose a model that is made for tools, as by `agentls init`", c.Model, took)
	default:
		d.say(good, about, c.Name, "%s called one in %s, %d tokens", c.Model, took, answer.Usage.TotalTokens)
	}
}

// unset says what could be used where the stand-in answers.
func (d *doctor) unset(ctx context.Context, cfg config.Config) {
	const about = "provider"
	if !cfg.Unset {
		d.say(good, about, "", "the built-in stand-in, as is configured; it is no language model")
		return
	}
	d.say(absent, about, "", "none is configured, so the built-in stand-in answers; run `agentls init` here or agentls.setup in your editor, or write one into %s", d.parts.source.File())
	found := config.Discovery{Source: d.parts.source, Config: cfg, Local: config.LocalProviders(), Models: d.parts.models}.Discover(ctx)
	for _, f := range found {
		from := ""
		if f.KeyVariable != "" {
			from = ", with the key in " + f.KeyVariable
		}
		switch {
		case f.Problem != "":
			d.say(absent, about, f.Name, "%s could be used%s, but: %s", f.Title, from, f.Problem)
		default:
			d.say(absent, about, f.Name, "%s answers at %s%s, with %s; `agentls init --provider %s` takes it", f.Title, host(f.BaseURL), from, config.Some(f.Models), word(f.Name))
		}
	}
	if len(found) == 0 {
		d.say(absent, about, "", "no key of a well-known provider is in the environment, and no program that serves models answers on this machine")
	}
}

// models lists what a provider offers, within a limit.
func (d *doctor) models(ctx context.Context, c config.Provider, limit time.Duration) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return d.parts.models(ctx, c)
}

func host(base string) string {
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		return u.Host
	}
	return base
}
