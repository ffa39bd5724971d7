package config

import (
	"strings"

	"agentls/mcp"
)

// oauthField reads how a remote server is logged into. It stands in our own
// files only: foreign files have other fields of that name, and a project has
// no say in whom a person logs in with.
func oauthField(f member, r *raw) {
	switch {
	case f.doc.foreign:
		return
	case f.doc.layer == projectLayer:
		f.wrong("counts in the user's files and the editor's settings only; it is ignored")
		return
	}
	c := &mcp.OAuthConfig{}
	for _, m := range f.members() {
		switch m.key {
		case "clientId":
			set(&c.ClientID)(m.text())
		case "clientSecret":
			set(&c.ClientSecret)(m.text())
		case "clientMetadataUrl":
			set(&c.ClientMetadata)(m.text())
		case "scopes":
			c.Scopes = m.texts()
		case "redirectPort":
			if n, ok := m.count(1); ok && n > 65535 {
				m.wrong("must be a port, at most 65535")
			} else if ok {
				c.RedirectPort = n
			}
		default:
			m.unknown("mcpServers.NAME.oauth")
		}
	}
	r.oauth, r.oauthAt = c, f
}

// oauth fills in what the fields name.
func (x *expander) oauth(r *raw) (c mcp.OAuthConfig) {
	if r.oauth == nil {
		return c
	}
	at := func(field string) string { return join(r.oauthAt.path, field) }
	c = *r.oauth
	c.ClientID = x.expand(at("clientId"), "", c.ClientID)
	c.ClientSecret = x.expand(at("clientSecret"), "clientSecret", c.ClientSecret)
	c.ClientMetadata = x.expand(at("clientMetadataUrl"), "", c.ClientMetadata)
	switch {
	case c.ClientSecret != "" && c.ClientID == "":
		r.oauthAt.wrong("clientSecret is of a clientId: give both, or neither")
		c.ClientSecret = ""
	case c.ClientMetadata != "" && !documentURL(c.ClientMetadata):
		r.oauthAt.wrong("clientMetadataUrl must be an https:// URL with a path")
		c.ClientMetadata = ""
	}
	return c
}

// documentURL reports what may be a client ID metadata document's address.
func documentURL(text string) bool {
	rest, ok := strings.CutPrefix(text, "https://")
	host, path, _ := strings.Cut(rest, "/")
	return ok && host != "" && path != "" && !strings.ContainsAny(text, "#@ ")
}
