package mcp

import (
	"context"
	"errors"
	"strings"
	"time"
)

const (
	// valuesWait is how long a completion waits for a template's values,
	// valuesGlance where it has listed URIs to offer anyway.
	valuesWait   = 200 * time.Millisecond
	valuesGlance = 20 * time.Millisecond
	// maxAsked is how many templates are asked about at a time.
	maxAsked = 4
)

var errValuesLate = errors.New("the server did not give the values in time")

// typedInto is a template of the named server that the query has come into.
type typedInto struct {
	template *indexedTemplate
	typedTemplate
	values []string // of its variable, as the server gave them
}

// typeInto finds the templates of the named server that the query has come into.
func (c *completer) typeInto() {
	if !c.named || c.servers[0].index == nil {
		return
	}
	list, tries := c.servers[0].index.templates, maxTemplateTries
	for i := range list[:min(len(list), maxTemplates)] {
		tpl := &list[i]
		if !strings.HasPrefix(c.query, tpl.uri.literal()) {
			continue
		}
		if typed, ok := tpl.uri.typed(c.query, &tries); ok {
			c.typed = append(c.typed, &typedInto{template: tpl, typedTemplate: typed})
		}
	}
}

// askValues asks for the values of the variables that the query has come to,
// and waits for them, valuesWait at most. Only here a completion waits.
func (m *Manager) askValues(ctx context.Context, c *completer) {
	var asked []*completion
	var into []*typedInto
	var s *session
	for _, in := range c.typed {
		if in.variable == nil || in.variable.explode || len(asked) == maxAsked {
			continue
		}
		if s == nil {
			var err error
			if s, err = m.find(c.servers[0].name); err != nil {
				return
			}
		}
		q := argumentQuery{CompletionRef{Template: in.template.URITemplate}, in.variable.name, decodeValue(c.query[in.at:]), in.typedTemplate.values}
		if a := s.completeArgument(q, c.round); !a.none {
			asked, into = append(asked, a), append(into, in)
		}
	}
	if len(asked) == 0 {
		return
	}
	c.all = false // other text has other values
	wait := valuesWait
	if c.servers[0].index.known.goesOn(c.query) {
		wait = valuesGlance
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errValuesLate)
	defer cancel()
	for i, a := range asked {
		into[i].values, _, _ = a.wait(ctx) // none: the template is offered itself
	}
}

// templates finds those that hold the query, and those whose variable the
// query has come to.
func (c *completer) templates(s *serverSnapshot) {
	list := s.index.templates
	if len(list) > maxTemplates {
		list, c.all = list[:maxTemplates], false
	}
	for i := range list {
		tpl := &list[i]
		t, ok := c.judge(tpl.URITemplate, tpl.Name, tpl.Title)
		if in := c.into(tpl); in != nil {
			if len(in.values) > 0 {
				c.addValues(s, in)
				continue
			}
			t, ok = max(t, tierPrefix), true
		}
		if !ok {
			continue
		}
		uri, whole := c.certain(tpl)
		if _, listed := s.index.known.find(uri); listed {
			continue // as what it is
		}
		c.hits[t] = append(c.hits[t], hit{
			server: s, template: &tpl.Template, label: label(tpl.Title, tpl.Name, tpl.URITemplate), insert: c.mention(s.mention, uri, whole),
		})
	}
}

// into returns how the query has come into a template; nil: it has not.
func (c *completer) into(tpl *indexedTemplate) *typedInto {
	for _, in := range c.typed {
		if in.template == tpl {
			return in
		}
	}
	return nil
}

// addValues offers a template with each value of its variable.
func (c *completer) addValues(s *serverSnapshot, in *typedInto) {
	rest, whole := in.template.uri.after(in.next)
	for _, v := range in.values {
		uri := c.query[:in.at] + in.variable.encode(v) + rest
		if _, listed := s.index.known.find(uri); listed || c.offered[uri] {
			continue // as what it is
		}
		if c.offered == nil {
			c.offered = map[string]bool{}
		}
		c.offered[uri] = true
		c.hits[tierPrefix] = append(c.hits[tierPrefix], hit{
			server: s, template: &in.template.Template, used: c.recent[usedKey{s.name, uri}], score: -len(c.offered),
			label: v, insert: c.mention(s.mention, uri, whole),
		})
	}
}

// mention writes what takes the place of the query: a whole URI, or the
// beginning of one, which stays open.
func (c *completer) mention(name, uri string, whole bool) string {
	if whole {
		return MentionText(name, uri)
	}
	return "@" + name + ":" + c.opener + uri
}

// certain is what is certain of a template's URI, what was typed of the rest
// kept, and whether that is all of it.
func (c *completer) certain(tpl *indexedTemplate) (uri string, whole bool) {
	literal, _, variable := strings.Cut(tpl.URITemplate, "{")
	switch in := c.into(tpl); {
	case !variable:
		return literal, true
	case in == nil:
		return literal, false
	case in.variable != nil:
		return c.query, false
	case in.leads:
		return c.query + in.rest, false
	default:
		rest, whole := tpl.uri.after(in.next)
		return c.query + in.rest + rest, whole
	}
}
