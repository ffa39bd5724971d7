package config

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"agentls/agent"
)

// Found is a provider that a person could use.
type Found struct {
	Provider           // the key is in it, and not to be shown
	Title       string // as people know it
	KeyVariable string // where its key is from; empty: from the configuration, or it has none
	Configured  bool   // it stands in the configuration
	Here        bool   // it runs on this machine
	Models      []string
	Problem     string // why it does not tell its models, and what to do; empty: it does
}

// Discovery is how providers are looked for.
type Discovery struct {
	Source Source
	Config Config
	Local  []KnownProvider // whose ports are probed
	// Models lists what a provider offers; it gives up when ctx ends.
	Models func(context.Context, Provider) ([]string, error)
}

// How long a provider may take to tell its models. On this machine there is no
// network to wait for.
const (
	localTime  = time.Second
	remoteTime = 5 * time.Second
)

// Bounds of what a list of models may be: it is foreign.
const (
	maxModels    = 2000
	maxModelName = 200 // code points
)

// Discover asks all providers beside each other: those that are configured, the
// one in force first, then those whose key is in the environment, then those
// that listen on this machine. Of two at one address the first counts. A port
// where no provider answers is left out; every other one is there, with its
// models or with what is wrong.
func (d Discovery) Discover(ctx context.Context) []Found {
	all := d.candidates()
	answered := make([]bool, len(all))
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { answered[i] = d.ask(ctx, &all[i]) })
	}
	wg.Wait()
	var found []Found
	for i, f := range all {
		if answered[i] || !f.probed() {
			found = append(found, f)
		}
	}
	return found
}

// LookedFor names what Discover looks for beside what is configured: the
// variables that may hold a key, and the programs on this machine.
func (d Discovery) LookedFor() (keys, programs []string) {
	for _, k := range KnownProviders() {
		keys = append(keys, k.KeyVariables[0])
	}
	for _, k := range d.Local {
		programs = append(programs, k.Title)
	}
	return keys, programs
}

// probed: nobody said that it is there.
func (f Found) probed() bool { return f.Here && !f.Configured }

// candidates are those to ask, in order.
func (d Discovery) candidates() (all []Found) {
	seen := map[string]bool{}
	add := func(f Found) {
		at := address(f.BaseURL)
		if _, taken := d.Config.Providers[f.Name]; f.BaseURL != "" && seen[at] || taken && !f.Configured {
			return // a name leads to one address
		}
		seen[at] = true
		all = append(all, f)
	}
	for _, name := range d.names() {
		p := d.Config.Providers[name]
		f := Found{Provider: p, Title: name, Configured: true, Here: IsLoopback(p.BaseURL)}
		if k, ok := d.of(p); ok {
			f.Title = k.Title
			f.KeyVariable, _ = d.Source.Key(k)
		}
		add(f)
	}
	for _, k := range KnownProviders() {
		if variable, key := d.Source.Key(k); key != "" {
			p := d.Source.Provider(k, key)
			if p.BaseURL == "" {
				p.noBase = "set " + k.BaseVariable + " to the address of your resource"
			}
			add(Found{Provider: p, Title: k.Title, KeyVariable: variable})
		}
	}
	for _, k := range d.Local {
		add(Found{Provider: d.Source.Provider(k, ""), Title: k.Title, Here: true})
	}
	return all
}

// names are those of the configured providers, the one in force first.
func (d Discovery) names() []string {
	return slices.SortedFunc(maps.Keys(d.Config.Providers), func(a, b string) int {
		switch d.Config.Provider.Name {
		case a:
			return -1
		case b:
			return 1
		}
		return strings.Compare(a, b)
	})
}

// Known finds the known provider at an address.
func (d Discovery) Known(baseURL string) (KnownProvider, bool) {
	return d.known(func(k KnownProvider) bool {
		its := d.Source.Provider(k, "").BaseURL
		return its != "" && address(its) == address(baseURL)
	})
}

// of finds the known provider that a configured one is.
func (d Discovery) of(p Provider) (KnownProvider, bool) {
	if p.Preset != "" {
		return presetOf(p.Preset)
	}
	return d.Known(p.BaseURL)
}

// Configured finds the configured provider at an address, by its name: the one
// in force before others.
func (d Discovery) Configured(baseURL string) (name string, ok bool) {
	for _, name := range d.names() {
		if p := d.Config.Providers[name]; p.BaseURL != "" && address(p.BaseURL) == address(baseURL) {
			return name, true
		}
	}
	return "", false
}

// Named finds the known provider of a name.
func (d Discovery) Named(name string) (KnownProvider, bool) {
	return d.known(func(k KnownProvider) bool { return k.goesBy(name) })
}

func (d Discovery) known(is func(KnownProvider) bool) (KnownProvider, bool) {
	all := slices.Concat(KnownProviders(), d.Local)
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return KnownProvider{}, false
}

// ask gets the list of models of one.
func (d Discovery) ask(ctx context.Context, f *Found) (answered bool) {
	if f.BaseURL == "" || f.Err != "" && f.Model != "" {
		f.Problem = cmp.Or(f.Err, f.noBase, "it has no baseURL: set it")
		return false
	}
	limit := remoteTime
	if f.Here {
		limit = localTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	models, err := d.Models(ctx, f.Provider)
	if err != nil {
		pe := agent.AsProviderError(err)
		f.Problem = pe.Message
		return pe.Kind == agent.KindAuth
	}
	f.Models = Usable(models)
	return true
}

// Usable are the models of a list that can be shown and written whole.
func Usable(models []string) []string {
	return slices.DeleteFunc(slices.Clone(models[:min(len(models), maxModels)]), func(name string) bool {
		return name == "" || utf8.RuneCountInString(name) > maxModelName || !Plain(name)
	})
}

// address is a base URL without what does not tell two apart.
func address(base string) string {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return base
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); isLoopbackHost(u.Hostname()) {
		host = "127.0.0.1:" + port
	}
	return strings.ToLower(u.Scheme) + "://" + host + strings.TrimRight(u.Path, "/") + "?" + u.RawQuery
}

// IsLoopback reports whether a URL leads to this machine.
func IsLoopback(base string) bool {
	u, err := url.Parse(base)
	return err == nil && isLoopbackHost(u.Hostname())
}

func isLoopbackHost(host string) bool {
	switch strings.ToLower(host) {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}
