package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// ProviderNames are the names that a provider can be chosen by, sorted: the
// configured ones and the presets whose key is in the environment; the built-in
// one is the last.
func (c Config) ProviderNames() []string {
	names := slices.Collect(maps.Keys(c.Providers))
	for name, p := range c.presets {
		if p.APIKey != "" && p.BaseURL != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if _, own := c.Providers[Offline]; !own {
		names = append(names, Offline)
	}
	return names
}

// Use gives a provider by its name, as it would be in force; "" is the one that
// is. A model takes the place of the configured one; "" leaves that. A preset
// need not be configured. ok is false for a name that leads to none.
func (c Config) Use(name, model string) (p Provider, ok bool) {
	name = cmp.Or(name, c.Provider.Name)
	if p, ok = c.Providers[name]; !ok {
		p, ok = c.preset(name)
	}
	switch {
	case !ok:
		return Provider{Name: Offline}, name == Offline
	case model != "":
		p.Model = model
	}
	return p.usable(), true
}

// Lists reports whether a list has a model. Some hold more than the name that is
// used: a folder before it, a default tag behind it.
func Lists(models []string, model string) bool {
	return slices.ContainsFunc([]string{model, model + ":latest", "models/" + model}, func(name string) bool { return slices.Contains(models, name) })
}

// preset finds a preset that is not configured by a name that it goes by.
func (c Config) preset(name string) (Provider, bool) {
	k, known := presetOf(name)
	if !known {
		return Provider{}, false
	}
	p, free := c.presets[k.Name]
	return p, free
}

// usable is a provider with what is missing told in its Err.
func (p Provider) usable() Provider {
	switch {
	case p.Err != "":
	case p.BaseURL == "":
		p.Err = cmp.Or(p.noBase, fmt.Sprintf("the provider %q has no baseURL; set providers.%s.baseURL", p.Name, p.Name))
	case p.APIKey == "" && p.noKey != "":
		p.Err = p.noKey
	case p.Model == "":
		p.Err = cmp.Or(p.noModel, fmt.Sprintf("the provider %q has no model; choose one with agentls.setup or `agentls init`, or set providers.%s.model to one that `agentls doctor` lists", p.Name, p.Name))
	}
	return p
}
