package main

import (
	"context"
	"slices"
	"strings"

	"agentls/mcp"
)

// roundTrips proves of each resource and template that it can be mentioned:
// what completion inserts is read as the URI that the server listed.
func (v *visitor) roundTrips(ctx context.Context) {
	name := v.info().Mention
	for i := range v.resourceList {
		v.roundTrip(ctx, name, &v.resourceList[i])
	}
	for _, t := range v.templateList {
		v.template(ctx, name, t)
	}
	for _, m := range v.server.Do.Mentions {
		found := v.Mentions("@" + name + ":" + v.expand(m.Text))
		if len(found) != 1 || found[0].URI != v.expand(m.URI) {
			v.fault("%q does not mean %s: %+v", m.Text, m.URI, found)
		}
	}
}

func (v *visitor) roundTrip(ctx context.Context, name string, r *mcp.Resource) {
	v.means(r.URI, mcp.MentionText(name, r.URI))
	items, _ := v.Complete(ctx, name+":"+r.URI, 100)
	at := slices.IndexFunc(items, func(c mcp.Candidate) bool { return c.Resource != nil && c.Resource.URI == r.URI })
	if hidden := hidden(r); hidden || at < 0 {
		if hidden == (at >= 0) {
			v.fault("completion offers %s: %v", r.URI, at >= 0)
		}
		v.hidden++
		return
	}
	v.means(r.URI, items[at].Insert)
	for i, c := range items {
		if i != at && c.Insert == items[at].Insert {
			v.fault("completion offers %s twice, the second time as %q", r.URI, c.Label)
		}
	}
	// Typed in part it is found as well, or there are more than are shown.
	half := r.URI[:len(r.URI)/2]
	items, more := v.Complete(ctx, name+":"+half, 100)
	if !more && !slices.ContainsFunc(items, func(c mcp.Candidate) bool { return c.Resource != nil && c.Resource.URI == r.URI }) {
		v.fault("completion of %q does not offer %s", half, r.URI)
	}
	v.mentioned++
}

// hidden: it is not for completion, CONTRACT §6.
func hidden(r *mcp.Resource) bool {
	return strings.HasPrefix(r.URI, "ui://") || len(r.Audience) > 0 && !slices.Contains(r.Audience, "assistant")
}

// means holds that a mention is read as the URI wherever a sentence puts it.
func (v *visitor) means(uri, text string) {
	for _, sentence := range []string{text, "Compare " + text + ", please (see " + text + ").", "> " + text + "\n\nand so on"} {
		found := v.Mentions(sentence)
		if len(found) != strings.Count(sentence, text) {
			v.fault("%d mentions are found in %q", len(found), sentence)
			return
		}
		for _, m := range found {
			if m.URI != uri || m.Server != v.server.Name || !m.Known || m.Quoted {
				v.fault("in %q is %+v, not %s", sentence, m, uri)
			}
		}
	}
}

// template holds that a template is offered where what is certain of it is
// typed, and that what is inserted leads into it.
func (v *visitor) template(ctx context.Context, name string, t mcp.Template) {
	certain, _, _ := strings.Cut(t.URITemplate, "{")
	items, more := v.Complete(ctx, name+":"+certain, 100)
	at := slices.IndexFunc(items, func(c mcp.Candidate) bool { return c.Template != nil && c.Template.URITemplate == t.URITemplate })
	listed := slices.ContainsFunc(v.resourceList, func(r mcp.Resource) bool { return r.URI == certain })
	if at < 0 && (more || listed) { // resources fill the list, or one stands for it
		return
	}
	if at < 0 {
		v.fault("completion of %q does not offer the template %s", certain, t.URITemplate)
		return
	}
	if insert := items[at].Insert; !strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(insert, "@"+name+":"), "<"), certain) {
		v.fault("completion of the template %s inserts %q", t.URITemplate, insert)
	}
}
