package lsp

import (
	"context"
	"fmt"
	"time"

	"agentls/agent/config"
)

// setupArg is the argument of agentls.setup. With nothing in it providers are
// looked for.
type setupArg struct {
	Provider    *string `json:"provider"` // a name: of the configuration, of a well-known provider, or a new one
	BaseURL     *string `json:"baseURL"`
	Model       *string `json:"model"`
	KeyVariable *string `json:"keyVariable"` // the environment variable that holds the key
}

// foundInfo is a provider that could be used.
type foundInfo struct {
	Provider    string   `json:"provider"`
	Title       string   `json:"title"`
	BaseURL     string   `json:"baseURL"`
	Models      []string `json:"models"`
	Model       string   `json:"model,omitzero"`       // that is configured
	KeyVariable string   `json:"keyVariable,omitzero"` // where its key is from
	InForce     bool     `json:"inForce,omitzero"`
	Error       string   `json:"error,omitzero"` // why it does not tell its models, and what to do
}

// foundResult is the result of agentls.setup that writes nothing.
type foundResult struct {
	Found   []foundInfo  `json:"found"`
	Presets []presetInfo `json:"presets"` // all that are known, found or not
	Config  string       `json:"config"`  // the path of the user's file
}

// presetInfo is a well-known provider.
type presetInfo struct {
	Provider     string   `json:"provider"`
	Title        string   `json:"title"`
	BaseURL      string   `json:"baseURL,omitzero"`       // none: each account has its own
	KeyVariables []string `json:"keyVariables,omitempty"` // where its key is looked for; none: it runs here and wants none
}

// setupResult is the result of agentls.setup that wrote a choice.
type setupResult struct {
	Provider string     `json:"provider"`
	Model    string     `json:"model"`
	Config   string     `json:"config"`
	InForce  choiceInfo `json:"inForce"`
	Warning  string     `json:"warning,omitzero"` // what a person should know
}

// choiceInfo is a provider and its model.
type choiceInfo struct {
	Provider string `json:"provider"`
	Model    string `json:"model,omitzero"`
	Error    string `json:"error,omitzero"` // why it cannot be used, and what to do
}

// How long setup may take, all in all: Emacs gives a command up after 10 s.
const setupTime = 8 * time.Second

// prepareSetup is agentls.setup: it looks for providers, or writes the one that
// is given into the user's configuration. A stock client's person is asked,
// beside the answer, which of those that were found is to be used.
func prepareSetup(s *Server, _ context.Context, arg setupArg, in invocation) (serveFunc, error) {
	given := false
	for _, f := range []struct {
		name  string
		value *string
	}{{"provider", arg.Provider}, {"baseURL", arg.BaseURL}, {"model", arg.Model}, {"keyVariable", arg.KeyVariable}} {
		given = given || deref(f.value) != ""
		if len(deref(f.value)) > maxSetting || !config.Plain(deref(f.value)) {
			return nil, badf("%s: %s must be at most %d printable characters without ${…}; what needs a variable goes into %s by hand", in.command, f.name, maxSetting, s.o.Config.File())
		}
	}
	return func(ctx context.Context) (any, error) {
		cfg, err := s.settings.inForce(ctx)
		if err != nil {
			return nil, err
		}
		if !given {
			return s.chooser.look(ctx, cfg)
		}
		t, err := s.chooser.setup(cfg).Target(arg.wish())
		if err != nil {
			return nil, s.chooser.failure(in.command, err)
		}
		return s.chooser.set(ctx, in.command, t)
	}, nil
}

// maxSetting bounds a name or an address, in bytes.
const maxSetting = 1000

// look finds providers, and lets a stock client's person choose. An error is the
// cause of a cancel.
func (c *chooser) look(ctx context.Context, cfg *config.Config) (any, error) {
	within, cancel := context.WithTimeout(ctx, c.most)
	defer cancel()
	found := c.discovery(cfg).Discover(within)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.keep(found)
	c.offer(found)
	return c.result(cfg, found), nil
}

// wish is the argument as a person's wish.
func (a setupArg) wish() config.Wish {
	return config.Wish{Provider: deref(a.Provider), BaseURL: deref(a.BaseURL), Model: deref(a.Model), KeyVariable: deref(a.KeyVariable)}
}

func (c *chooser) setup(cfg *config.Config) config.Setup {
	return config.Setup{Discovery: c.discovery(cfg), Words: config.SetupWords{
		Again: "run agentls.setup again",
		NoKey: "in the environment of the server: set it where your editor starts, restart the editor",
		Give: func(provider, baseURL string) string {
			return fmt.Sprintf("{\"provider\": %.100q, \"baseURL\": %q}", provider, baseURL)
		},
	}}
}

func (c *chooser) discovery(cfg *config.Config) config.Discovery {
	d := config.Discovery{Source: c.s.o.Config, Config: *cfg, Local: c.s.o.Local, Models: c.s.o.Models}
	if d.Local == nil {
		d.Local = config.LocalProviders()
	}
	return d
}

func (c *chooser) result(cfg *config.Config, found []config.Found) foundResult {
	r := foundResult{Found: []foundInfo{}, Presets: []presetInfo{}, Config: c.s.o.Config.File()}
	for _, f := range found {
		r.Found = append(r.Found, foundInfo{
			Provider: f.Name, Title: clean(f.Title), BaseURL: config.ShownURL(f.BaseURL), Models: append([]string{}, f.Models...), Model: f.Model, KeyVariable: f.KeyVariable,
			InForce: f.Configured && f.Name == cfg.Provider.Name, Error: c.s.tell(f.Problem),
		})
	}
	for _, k := range config.Presets() {
		base := config.ShownURL(c.s.o.Config.Provider(k, "").BaseURL)
		r.Presets = append(r.Presets, presetInfo{Provider: k.Name, Title: k.Title, BaseURL: base, KeyVariables: k.KeyVariables})
	}
	return r
}

// words says what was done, for a person.
func (r setupResult) words() string {
	text := fmt.Sprintf("agentls: %s of %s is set up, in %s", clean(r.Model), clean(r.Provider), clean(r.Config))
	if r.InForce.Provider == r.Provider && r.InForce.Model == r.Model && r.InForce.Error == "" {
		text += "; it answers from now on"
	}
	if r.Warning != "" {
		text += ". " + r.Warning
	}
	return text
}
