package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/mcp"
)

func doctorCommand(p program) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the configuration, the provider and the MCP servers, and say what to fix",
		Long: `doctor checks what agentls would use in the current folder and prints a line for
each thing: "ok", "--" for something that is not there and need not be, "!!" for
something to fix. It starts no server that is not trusted. It exits with 1 when
something is to be fixed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := workingFolder()
			if err != nil {
				return err
			}
			parts := newParts(p, false)
			defer parts.close()
			d := &doctor{parts: parts, out: cmd.OutOrStdout()}
			// Events are not shown: each server gets its line.
			defer parts.relay(&terminal{out: io.Discard, notes: io.Discard, secrets: parts.secrets}, nil)()
			d.examine(cmd.Context(), folder)
			if d.bad > 0 {
				return exitError(exitFailed)
			}
			return nil
		},
	}
}

type doctor struct {
	parts *parts
	out   io.Writer
	bad   int
}

// The marks that begin a line.
const (
	good    = "ok"
	absent  = "--"
	tooBad  = "!!"
	probing = 5 * time.Second
)

func (d *doctor) say(mark, format string, args ...any) {
	if mark == tooBad {
		d.bad++
	}
	fmt.Fprintf(d.out, "%s  %s\n", mark, oneLine(d.parts.secrets.Redact(fmt.Sprintf(format, args...)), 1000))
}

func (d *doctor) examine(ctx context.Context, folder string) {
	d.say(good, "agentls %s; configuration in %s, state in %s", version, d.parts.paths.config, d.parts.paths.state)
	d.environment()
	cfg := d.parts.openFolder(ctx, folder)
	// A server's or the provider's own line tells the rest.
	problems := slices.DeleteFunc(cfg.Problems, func(p config.Problem) bool { return p.Elsewhere })
	if len(problems) == 0 {
		d.say(good, "configuration: nothing wrong")
	}
	for _, p := range problems {
		d.say(tooBad, "configuration: %s", p)
	}
	d.provider(ctx, cfg)
	d.servers(ctx)
}

func (d *doctor) environment() {
	_, faults := d.parts.network()
	for _, f := range faults {
		d.say(tooBad, "environment: %s", f)
	}
}

func (d *doctor) provider(ctx context.Context, cfg config.Config) {
	c := cfg.Provider
	if c.Name == config.Offline {
		d.unset(ctx, cfg)
		return
	}
	// A missing model is the one fault that the provider's list helps with.
	if c.Err != "" && (c.BaseURL == "" || c.Model != "") {
		d.say(tooBad, "provider: %s", c.Err)
		return
	}
	asked := c
	asked.Err = ""
	models, err := d.models(ctx, asked, probing)
	switch {
	case err != nil && c.Err != "":
		d.say(tooBad, "provider: %s; to see the list, mend this: %v", c.Err, err)
	case err != nil:
		d.say(tooBad, "provider %s: %v", c.Name, err)
	case c.Model == "":
		d.say(tooBad, "provider: %s; it offers %s", c.Err, config.Some(models))
	case len(models) > 0 && !c.Deployments && !config.Lists(models, c.Model):
		d.say(tooBad, "provider %s: it does not list the model %q; it offers %s", c.Name, c.Model, config.Some(models))
	default:
		d.say(good, "provider %s: %s answers, model %s, %s", c.Name, host(c.BaseURL), c.Model, d.window(c))
	}
}

// window says how much a request may hold, and where that is from.
func (d *doctor) window(c config.Provider) string {
	known := 0
	if llm, err := openaiLLM(d.parts, c); err == nil {
		known = llm.Model().ContextWindow
	}
	switch {
	case c.ContextWindow > 0:
		return fmt.Sprintf("context window %d tokens", c.ContextWindow)
	case known > 0:
		return fmt.Sprintf("context window %d tokens, as is known of the model", known)
	}
	return fmt.Sprintf("context window not known: %d tokens are assumed; contextWindow in the provider's settings says it", agent.DefaultWindow)
}

// unset says what could be used where the stand-in answers.
func (d *doctor) unset(ctx context.Context, cfg config.Config) {
	if !cfg.Unset {
		d.say(good, "provider: the built-in stand-in, as is configured; it is no language model")
		return
	}
	d.say(absent, "provider: none is configured, so the built-in stand-in answers; run agentls.setup in your editor, or write one into %s", d.parts.source.File())
	found := config.Discovery{Source: d.parts.source, Config: cfg, Local: config.LocalProviders(), Models: d.parts.models}.Discover(ctx)
	for _, f := range found {
		from := ""
		if f.KeyVariable != "" {
			from = ", with the key in " + f.KeyVariable
		}
		switch {
		case f.Problem != "":
			d.say(absent, "provider: %s could be used%s, but: %s", f.Title, from, f.Problem)
		default:
			d.say(absent, `provider: %s answers at %s%s, with %s; agentls.setup {"provider": %q} takes it`, f.Title, host(f.BaseURL), from, config.Some(f.Models), f.Name)
		}
	}
	if len(found) == 0 {
		d.say(absent, "provider: no key of a well-known provider is in the environment, and no program that serves models answers on this machine")
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

func (d *doctor) servers(ctx context.Context) {
	for _, s := range d.parts.settled(ctx) {
		switch s.Status {
		case mcp.StatusReady:
			d.say(good, "MCP server %s: ready, %s tools, %s resources, %s prompts", s.Name, count(s.Tools), count(s.Resources), count(s.Prompts))
		case mcp.StatusDisabled:
			d.say(absent, "MCP server %s: disabled in %s", s.Name, s.Source)
		case mcp.StatusNeedsLogin:
			d.say(tooBad, "MCP server %s: %s: %s; run `agentls mcp login %s` here", s.Name, s.Status, s.Error, s.Name)
		case mcp.StatusUntrusted:
			d.say(absent, "MCP server %s: from %s, not trusted; `agentls mcp trust %s` shows what it would start", s.Name, s.Source, s.Name)
		default:
			if s.Needs != "" {
				d.say(absent, "MCP server %s: it needs %s, which is asked for when an editor or `agentls ask` starts it", s.Name, s.Needs)
				continue
			}
			d.say(tooBad, "MCP server %s: %s: %s; look at its entry in %s", s.Name, s.Status, s.Error, cmp.Or(map[string]string{"user": d.parts.paths.config}[s.Source], s.Source))
		}
	}
}
