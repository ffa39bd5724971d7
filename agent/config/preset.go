package config

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"agentls/agent"
)

// presetOf finds a preset by a name that it goes by.
func presetOf(name string) (KnownProvider, bool) {
	all := Presets()
	if i := slices.IndexFunc(all, func(k KnownProvider) bool { return k.goesBy(name) }); i >= 0 {
		return all[i], true
	}
	return KnownProvider{}, false
}

func presetNames() (names []string) {
	for _, k := range Presets() {
		names = append(names, k.Name)
	}
	return names
}

// presetField reads the name of a preset. What is none is told, with the one
// that was perhaps meant.
func (m member) presetField() (name string, ok bool) {
	name, ok = m.text()
	if names := presetNames(); ok && !slices.Contains(names, name) {
		m.wrong("%s", noPreset(name, names))
		return "", false
	}
	return name, ok
}

func noPreset(name string, names []string) string {
	if k, ok := presetOf(name); ok {
		return fmt.Sprintf("no preset is called %q; did you mean %q?", name, k.Name)
	}
	return fmt.Sprintf("no preset is called %q%s", name, agent.Suggest(name, names))
}

// preset fills in what an entry leaves out: of the preset that it names, or of
// the one that it is named like, as long as it does not lead elsewhere. A key of
// the environment goes to its own provider, or where a person who named the
// preset sends it.
func (l *loader) preset(p *Provider, named string) {
	k, known := presetOf(named)
	if named == "" {
		k, known = presetOf(p.Name)
	}
	if !known {
		return
	}
	usual := l.source.Provider(k, "")
	home := p.BaseURL == "" || k.isAt(p.BaseURL, usual.BaseURL)
	if !home && named == "" && !k.here() {
		return // no more than a name
	}
	if p.BaseURL == "" {
		p.BaseURL = usual.BaseURL
	}
	p.Preset, p.KeyHeader, p.Deployments, p.Reasons = usual.Preset, usual.KeyHeader, usual.Deployments, usual.Reasons
	given := map[string]bool{}
	for name := range p.Headers {
		given[http.CanonicalHeaderKey(name)] = true
	}
	headers := maps.Clone(p.Headers)
	for name, value := range usual.Headers {
		if !given[http.CanonicalHeaderKey(name)] {
			if headers == nil {
				headers = map[string]string{}
			}
			headers[name] = value
		}
	}
	p.Headers = headers
	if p.Model == "" {
		p.Model = l.source.variable(k.modelVariable())
	}
	l.presetKey(p, k, home, given["Authorization"] || given[http.CanonicalHeaderKey(k.KeyHeader)])
	if p.BaseURL == "" {
		p.noBase = fmt.Sprintf("the provider %q has no baseURL; set providers.%s.baseURL to the address of your resource, or %s in the environment", p.Name, p.Name, k.BaseVariable)
	}
	if p.Model == "" && k.Name == openAI && p.APIKey != "" {
		p.noModel = "OPENAI_API_KEY is set but no model is chosen; choose one with agentls.setup or `agentls init`, or set OPENAI_MODEL to one that `agentls doctor` lists"
	}
}

// presetKey takes the key of the environment where the entry has none. signed:
// a header of the entry's takes the key's place.
func (l *loader) presetKey(p *Provider, k KnownProvider, home, signed bool) {
	if p.APIKey != "" || signed || k.here() {
		return
	}
	variable, key := l.source.Key(k)
	if key != "" {
		l.withheld[variable] = true
		p.APIKey = key
		return
	}
	if home {
		p.noKey = fmt.Sprintf("the provider %q has no key; set %s where agentls starts, or providers.%s.apiKey", p.Name, k.KeyVariables[0], p.Name)
	}
}

// unconfigured are the presets that can be chosen by their name alone.
func (l *loader) unconfigured() map[string]Provider {
	out := map[string]Provider{}
	quiet := &loader{source: l.source, withheld: map[string]bool{}} // what is not used withholds nothing
	for _, k := range Presets() {
		if _, taken := l.config.Providers[k.Name]; !taken {
			p := Provider{Name: k.Name, IdleTimeout: idleTimeout}
			quiet.preset(&p, "")
			out[k.Name] = p
		}
	}
	return out
}

// ownHeaders reports whether a person gave it headers, of which one may sign.
func (p Provider) ownHeaders() bool {
	k, _ := presetOf(p.Preset)
	for name, value := range p.Headers {
		if k.Headers[name] != value {
			return true
		}
	}
	return false
}
