package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// ProviderNames are the names that a provider can be chosen by, sorted; the
// built-in one is the last.
func (c Config) ProviderNames() []string {
	names := slices.Sorted(maps.Keys(c.Providers))
	if _, own := c.Providers[Offline]; !own {
		names = append(names, Offline)
	}
	return names
}

// Use gives a provider by its name, as it would be in force; "" is the one that
// is. A model takes the place of the configured one; "" leaves that. ok is
// false for a name that is none of ProviderNames.
func (c Config) Use(name, model string) (p Provider, ok bool) {
	name = cmp.Or(name, c.Provider.Name)
	p, ok = c.Providers[name]
	switch {
	case !ok:
		return Provider{Name: Offline}, name == Offline
	case model != "":
		p.Model = model
	}
	return p.usable(), true
}

// usable is a provider with what is missing told in its Err.
func (p Provider) usable() Provider {
	switch {
	case p.Err != "":
	case p.BaseURL == "":
		p.Err = fmt.Sprintf("the provider %q has no baseURL; set providers.%s.baseURL", p.Name, p.Name)
	case p.Model == "":
		p.Err = cmp.Or(p.noModel, fmt.Sprintf("the provider %q has no model; choose one with agentls.setup, or set providers.%s.model to one that `agentls doctor` lists", p.Name, p.Name))
	}
	return p
}
