package lsp

import (
	"slices"

	"agentls/agent/config"
)

// setUp offers in a prompt buffer what was found and is not chosen yet, and to
// look for models as long as none answers. It is not in a list of one kind.
func (m *menu) setUp() {
	if m.narrowed() || m.s.peer.features.approvals {
		return
	}
	for _, link := range m.s.chooser.links() {
		m.offer(kindQuickFix, link.words(), "agentls.setup", link)
	}
	if m.s.chooser.isNeeded() {
		m.offer(kindQuickFix, setUpTitle, "agentls.setup", struct{}{})
	}
}

// setUpLink is the argument of agentls.setup in a code action.
type setUpLink struct {
	Provider    string `json:"provider"`
	BaseURL     string `json:"baseURL,omitzero"`
	Model       string `json:"model"`
	KeyVariable string `json:"keyVariable,omitzero"`
	title       string
}

// link chooses a model of what was found.
func (c *chooser) link(f config.Found, model string) setUpLink {
	w := c.setup(c.s.cfg.Load()).Wish(f, model)
	return setUpLink{w.Provider, w.BaseURL, w.Model, w.KeyVariable, f.Title}
}

func (l setUpLink) wish() config.Wish {
	return config.Wish{Provider: l.Provider, BaseURL: l.BaseURL, Model: l.Model, KeyVariable: l.KeyVariable}
}

func (l setUpLink) words() string {
	return "Use " + cleanTo(l.Model, actionMax) + " of " + cleanTo(l.title, actionMax)
}

// links are the models that are offered of what was found last: the first of
// each provider, then the second ones.
func (c *chooser) links() (list []setUpLink) {
	c.mu.Lock()
	found := slices.Clone(c.found)
	c.mu.Unlock()
	for n := 0; len(list) < 2*handful; n++ {
		before := len(list)
		for _, f := range found {
			if n < len(f.Models) && len(list) < 2*handful {
				list = append(list, c.link(f, f.Models[n]))
			}
		}
		if len(list) == before {
			break
		}
	}
	return list
}
