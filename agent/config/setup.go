package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"agentls/agent"
	"agentls/mcp"
)

// Setup makes a choice that can be written out of what a person wishes.
type Setup struct {
	Discovery
	Words SetupWords
}

// SetupWords are how a front end is spoken of in what to do next.
type SetupWords struct {
	Again string                                // what starts it once more: "run … again"
	NoKey string                                // where a variable is not set and where to set it; Again follows
	Give  func(provider, baseURL string) string // how both are given
}

// Wish is what a person says of the provider that is to be used: what is empty
// is found out.
type Wish struct {
	Provider    string // a name: of the configuration, of a well-known provider, or a new one
	BaseURL     string
	Model       string
	KeyVariable string // the environment variable that holds the key
}

// Target is what a wish is about: an endpoint to ask, and what is to be
// written about it.
type Target struct {
	Choice
	Provider        // as it will be, for the questions to it
	Title    string // as people know it
}

// SetupError says why a wish is not met, and what to do.
type SetupError struct {
	Message string
	Unfit   bool // the wish is wrong, not the world
}

func (e *SetupError) Error() string { return e.Message }

func unfit(format string, args ...any) error {
	return &SetupError{fmt.Sprintf(format, args...), true}
}

func refused(format string, args ...any) error {
	return &SetupError{fmt.Sprintf(format, args...), false}
}

// Wish is what a person wishes who picks a model of what was found.
func (s Setup) Wish(f Found, model string) Wish {
	w := Wish{Provider: f.Name, Model: model}
	if known, ok := s.Named(f.Name); !f.Configured && (!ok || s.Source.Provider(known, "").BaseURL != f.BaseURL) {
		w.BaseURL, w.KeyVariable = f.BaseURL, f.KeyVariable
	}
	return w
}

// Target makes sense of a wish: which provider, at which address, with which
// key.
func (s Setup) Target(w Wish) (t Target, err error) {
	name, base, file := w.Provider, w.BaseURL, s.Source.File()
	if name == "" && base == "" {
		if name = s.Config.Provider.Name; name == Offline || name == "" {
			return t, unfit("provider is missing; give one of %s, or nothing at all to look for them", strings.Join(s.providerNames(), ", "))
		}
	}
	if name == "" {
		name = s.nameOf(base)
	}
	if name == Offline {
		return t, unfit("offline is built in and has no address; to choose it write \"provider\": \"offline\" into %s", file)
	}
	p, configured := s.Config.Providers[name]
	known, isKnown := s.Named(name)
	if base != "" {
		known, isKnown = s.Known(base)
	} else if configured {
		known, isKnown = s.of(p)
	}
	switch {
	case configured && base != "" && !sameOrigin(base, p.BaseURL) && (p.APIKey != "" || p.ownHeaders()):
		return t, unfit("the provider %q is at %s already and has a key, which is not sent elsewhere; give another name for %s, or change the address in %s", name, ShownURL(p.BaseURL), ShownURL(base), file)
	case configured && p.Err != "" && p.Model != "":
		return t, refused("the provider %q cannot be used as it is configured: %s. Mend it in %s", name, p.Err, file)
	case !configured && base == "" && !isKnown:
		return t, unfit("no provider is called %.100q%s; give %s for another one", name, agent.Suggest(name, s.providerNames()), s.Words.Give(name, "http://…/v1"))
	}
	if !configured {
		p = Provider{Name: name}
		if isKnown {
			p = s.Source.Provider(known, "")
			p.Name = nameGiven(name, known)
		}
	}
	t = Target{Choice: Choice{Name: p.Name, BaseURL: p.BaseURL, Model: w.Model}, Provider: p, Title: name}
	if isKnown {
		t.Title = known.Title
	}
	if base != "" {
		t.Choice.BaseURL, t.Provider.BaseURL, t.Moves = base, base, true
	}
	return t, s.key(&t, w.KeyVariable, known)
}

// nameGiven is the name of a known provider, unless it has another.
func nameGiven(name string, known KnownProvider) string {
	if known.goesBy(name) {
		return known.Name
	}
	return name
}

// nameOf is the name of what is at an address: the configured one, else a new
// one, so that none that leads elsewhere is moved there unasked.
func (s Setup) nameOf(base string) string {
	for _, at := range []string{base, strings.TrimRight(base, "/") + "/v1"} { // see Test
		if name, ok := s.Configured(at); ok {
			return name
		}
	}
	name := "other"
	if k, ok := s.Known(base); ok {
		name = k.Name
	} else if IsLoopback(base) {
		name = "local"
	} else if u, err := url.Parse(base); err == nil && u.Hostname() != "" {
		name = u.Hostname()
	}
	free := name
	for i := 2; ; i++ {
		if _, taken := s.Config.Providers[free]; !taken && free != Offline {
			return free
		}
		free = name + "-" + strconv.Itoa(i)
	}
}

// providerNames are the names that a wish can give, the configured ones first.
func (s Setup) providerNames() (names []string) {
	names = s.names()
	for _, k := range slices.Concat(KnownProviders(), s.Local) {
		if _, again := s.Config.Providers[k.Name]; !again {
			names = append(names, k.Name)
		}
	}
	return names
}

// key finds the key of a target: the configured one, that of the variable that
// was named, or of those that are known.
func (s Setup) key(t *Target, variable string, known KnownProvider) error {
	if t.Provider.APIKey != "" && variable == "" {
		t.KeyVariable, _ = s.Source.Key(known)
		return nil
	}
	if variable != "" && !IsVariable(variable) {
		return unfit("give the name of an environment variable that holds the key, such as OPENAI_API_KEY, not the key itself")
	}
	names := known.KeyVariables
	if variable != "" {
		names = []string{variable}
	}
	if len(names) == 0 {
		return nil
	}
	t.KeyVariable, t.Provider.APIKey = s.Source.Key(KnownProvider{KeyVariables: names})
	if t.Provider.APIKey == "" && !t.Provider.ownHeaders() {
		return refused(`%s needs a key, and %s is not set %s and %s; or keep the key in a file and write "apiKey": "${file:PATH}" into providers.%s of %s`,
			t.Title, strings.Join(names, " or "), s.Words.NoKey, s.Words.Again, t.Choice.Name, s.Source.File())
	}
	return nil
}

// Test asks the endpoint of a target for its models, and completes the choice
// as far as no person has to: models that are left to choose from come with an
// empty Choice.Model. warning: a choice that is whole could not be held against
// the list, because nothing answered. An error that is no [*SetupError] is the
// cause of a cancel, or a fault of ours.
func (s Setup) Test(ctx context.Context, t *Target) (models []string, warning string, err error) {
	models, err = s.list(ctx, t)
	if err != nil {
		pe := agent.AsProviderError(err)
		cause := context.Cause(ctx)
		switch {
		case errors.Is(cause, agent.ErrCancelled) || errors.Is(cause, context.Canceled):
			return nil, "", cause
		case pe.Kind == agent.KindNetwork && pe.Retryable && t.Choice.Model != "":
			return nil, "It could not be asked whether it has this model: " + pe.Message, nil
		case pe.Kind == agent.KindInternal:
			return nil, "", err
		}
		return nil, "", refused("nothing was written: %s", pe.Message)
	}
	models = Usable(models)
	switch {
	case len(models) == 0:
		return nil, "", refused("nothing was written: %s lists no model%s", t.Title, s.Pull(t.Provider.BaseURL, t.Title))
	case t.Choice.Model != "":
		return models, "", t.listed(models)
	case len(models) == 1:
		t.Choice.Model = models[0]
	case slices.Contains(models, t.Provider.Model) && t.Moves:
		t.Choice.Model = t.Provider.Model
	}
	return models, "", nil
}

// list asks the endpoint of a target. The address of a server instead of its
// API is the usual mistake, and is mended in the target.
func (s Setup) list(ctx context.Context, t *Target) ([]string, error) {
	asked := t.Provider
	asked.Model = cmp.Or(t.Choice.Model, asked.Model) // what is wrong is told of this one
	models, err := s.Models(ctx, asked)
	pe, ok := errors.AsType[*agent.ProviderError](err)
	if !ok || pe.Kind == agent.KindAuth || pe.Kind == agent.KindNetwork || endsInVersion(t.Provider.BaseURL) {
		return models, err
	}
	asked.BaseURL = strings.TrimRight(asked.BaseURL, "/") + "/v1"
	more, e := s.Models(ctx, asked)
	if e != nil {
		return models, err
	}
	t.Provider.BaseURL, t.Choice.BaseURL, t.Moves = asked.BaseURL, asked.BaseURL, true
	return more, nil
}

func endsInVersion(base string) bool {
	last := base[strings.LastIndexByte(strings.TrimRight(base, "/"), '/')+1:]
	return len(last) > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9'
}

// Pull says how a program on this machine gets its first model.
func (s Setup) Pull(base, title string) string {
	switch {
	case strings.EqualFold(title, "Ollama"):
		return ": get one, as by `ollama pull qwen3`, and " + s.Words.Again
	case IsLoopback(base):
		return ": load one in it, and " + s.Words.Again
	}
	return ": see what your account with it may use"
}

// listed checks that the chosen model is in a list.
func (t *Target) listed(models []string) error {
	want := t.Choice.Model
	if t.Deployments || Lists(models, want) {
		return nil
	}
	var near []string
	for _, name := range models {
		if agent.IsNear(want, name) || strings.Contains(strings.ToLower(name), strings.ToLower(want)) {
			near = append(near, name)
		}
	}
	if len(near) > 0 {
		return unfit("%s does not list the model %.100q; did you mean %s?", t.Title, want, strings.Join(near[:min(len(near), 3)], " or "))
	}
	return unfit("%s does not list the model %.100q; it offers %s", t.Title, want, Some(models))
}

// Some names the first few models.
func Some(models []string) string {
	const few = 8
	switch {
	case len(models) == 0:
		return "no models"
	case len(models) > few:
		return fmt.Sprintf("%s and %d more", strings.Join(models[:few], ", "), len(models)-few)
	}
	return strings.Join(models, ", ")
}

// ShownURL is a base URL without a password in it.
func ShownURL(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

func sameOrigin(a, b string) bool {
	x, err := url.Parse(strings.TrimSpace(a))
	y, err2 := url.Parse(strings.TrimSpace(b))
	return err == nil && err2 == nil && x.Host != "" && mcp.SameOrigin(x, y)
}
