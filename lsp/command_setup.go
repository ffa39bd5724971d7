package lsp

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
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
	Found  []foundInfo `json:"found"`
	Config string      `json:"config"` // the path of the user's file
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
		t, err := s.chooser.target(cfg, in.command, arg)
		if err != nil {
			return nil, err
		}
		return s.chooser.set(ctx, t)
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

func (c *chooser) discovery(cfg *config.Config) config.Discovery {
	d := config.Discovery{Source: c.s.o.Config, Config: *cfg, Local: c.s.o.Local, Models: c.s.o.Models}
	if d.Local == nil {
		d.Local = config.LocalProviders()
	}
	return d
}

func (c *chooser) result(cfg *config.Config, found []config.Found) foundResult {
	r := foundResult{Found: []foundInfo{}, Config: c.s.o.Config.File()}
	for _, f := range found {
		r.Found = append(r.Found, foundInfo{
			Provider: f.Name, Title: clean(f.Title), BaseURL: shownURL(f.BaseURL), Models: append([]string{}, f.Models...), Model: f.Model, KeyVariable: f.KeyVariable,
			InForce: f.Configured && f.Name == cfg.Provider.Name, Error: c.s.tell(f.Problem),
		})
	}
	return r
}

// shownURL is a base URL without a password in it.
func shownURL(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// target is what a choice is about: an endpoint to ask, and what is to be
// written about it.
type target struct {
	config.Choice
	config.Provider        // as it will be, for the questions to it
	title           string // as people know it
	command         string
}

// target makes sense of the argument: which provider, at which address, with
// which key.
func (c *chooser) target(cfg *config.Config, command string, arg setupArg) (t target, err error) {
	d := c.discovery(cfg)
	name, base := deref(arg.Provider), deref(arg.BaseURL)
	if name == "" && base == "" {
		if name = cfg.Provider.Name; name == config.Offline || name == "" {
			return t, badf("%s: provider is missing; give {\"provider\": \"…\", \"model\": …}, one of %s, or nothing at all to look for them", command, strings.Join(knownNames(d), ", "))
		}
	}
	if name == "" {
		name = nameOf(d, base)
	}
	if name == config.Offline {
		return t, badf("%s: offline is built in and has no address; to choose it write \"provider\": \"offline\" into %s", command, c.s.o.Config.File())
	}
	p, configured := cfg.Providers[name]
	known, isKnown := d.Named(name)
	if base != "" {
		known, isKnown = d.Known(base)
	} else if configured {
		known, isKnown = d.Known(p.BaseURL)
	}
	switch {
	case configured && base != "" && !sameOrigin(base, p.BaseURL) && (p.APIKey != "" || len(p.Headers) > 0):
		return t, badf("%s: the provider %q is at %s already and has a key, which is not sent elsewhere; give another name for %s, or change the address in %s", command, name, shownURL(p.BaseURL), shownURL(base), c.s.o.Config.File())
	case configured && p.Err != "" && p.Model != "":
		return t, failed("the provider %q cannot be used as it is configured: %s. Mend it in %s", name, p.Err, c.s.o.Config.File())
	case !configured && base == "" && !isKnown:
		return t, badf("%s: no provider is called %q%s; give {\"provider\": %q, \"baseURL\": \"http://…/v1\"} for another one", command, clip(name, 100), suggest(name, knownNames(d)), clip(name, 100))
	}
	if !configured {
		p = config.Provider{Name: name}
		if isKnown {
			p = d.Source.Provider(known, "")
			p.Name = nameGiven(name, known)
		}
	}
	t = target{Choice: config.Choice{Name: p.Name, BaseURL: p.BaseURL, Model: deref(arg.Model)}, Provider: p, title: name, command: command}
	if isKnown {
		t.title = known.Title
	}
	if base != "" {
		t.Choice.BaseURL, t.Provider.BaseURL, t.Moves = base, base, true
	}
	return t, c.key(&t, deref(arg.KeyVariable), known)
}

// nameGiven is the name of a known provider, unless it has another.
func nameGiven(name string, known config.KnownProvider) string {
	if strings.EqualFold(name, known.Title) || strings.EqualFold(name, known.Name) {
		return known.Name
	}
	return name
}

// nameOf is the name of what is at an address: the configured one, else a new
// one, so that none that leads elsewhere is moved there unasked.
func nameOf(d config.Discovery, base string) string {
	for _, at := range []string{base, strings.TrimRight(base, "/") + "/v1"} { // see chooser.test
		if name, ok := d.Configured(at); ok {
			return name
		}
	}
	name := "other"
	if k, ok := d.Known(base); ok {
		name = k.Name
	} else if config.IsLoopback(base) {
		name = "local"
	} else if u, err := url.Parse(base); err == nil && u.Hostname() != "" {
		name = u.Hostname()
	}
	free := name
	for i := 2; ; i++ {
		if _, taken := d.Config.Providers[free]; !taken && free != config.Offline {
			return free
		}
		free = name + "-" + strconv.Itoa(i)
	}
}

func knownNames(d config.Discovery) (names []string) {
	for name := range d.Config.Providers {
		names = append(names, name)
	}
	for _, k := range append(config.KnownProviders(), d.Local...) {
		if _, again := d.Config.Providers[k.Name]; !again {
			names = append(names, k.Name)
		}
	}
	return names
}

// key finds the key of a target: the configured one, that of the variable that
// was named, or of those that are known.
func (c *chooser) key(t *target, variable string, known config.KnownProvider) error {
	if t.Provider.APIKey != "" && variable == "" {
		t.KeyVariable, _ = c.s.o.Config.Key(known)
		return nil
	}
	if variable != "" && !config.IsVariable(variable) {
		return badf("%s: keyVariable must be the name of an environment variable, such as OPENAI_API_KEY, not the key itself", t.command)
	}
	names := known.KeyVariables
	if variable != "" {
		names = []string{variable}
	}
	if len(names) == 0 {
		return nil
	}
	t.KeyVariable, t.Provider.APIKey = c.s.o.Config.Key(config.KnownProvider{KeyVariables: names})
	if t.Provider.APIKey == "" && len(t.Provider.Headers) == 0 {
		return failed(`%s needs a key, and %s is not set in the environment of the server: set it where your editor starts, restart the editor and run agentls.setup again; or keep the key in a file and write "apiKey": "${file:PATH}" into providers.%s of %s`,
			t.title, strings.Join(names, " or "), t.Choice.Name, c.s.o.Config.File())
	}
	return nil
}

func sameOrigin(a, b string) bool {
	x, err := url.Parse(a)
	y, err2 := url.Parse(b)
	return err == nil && err2 == nil && x.Scheme == y.Scheme && strings.EqualFold(x.Host, y.Host)
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
