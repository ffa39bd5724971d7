package lsp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"agentls/mcp"
)

const (
	listLimit = 500
	listMost  = 10000
)

// listArg is the argument of agentls.mcp.resources, .tools and .prompts.
type listArg struct {
	Server *string `json:"server"`
	Query  *string `json:"query"`
	Limit  *int    `json:"limit"`
	Cursor *string `json:"cursor"`
}

// page is a part of a list.
type page struct{ start, limit int }

// page checks the argument.
func (a listArg) page(s *Server, command string) (page, error) {
	if err := s.server(command, a.Server); err != nil {
		return page{}, err
	}
	p := page{limit: listLimit}
	if a.Limit != nil {
		if p.limit = *a.Limit; p.limit < 1 || p.limit > listMost {
			return page{}, badf("%s: limit must be from 1 to %d, not %d", command, listMost, p.limit)
		}
	}
	if a.Cursor != nil {
		raw, err := base64.RawURLEncoding.DecodeString(*a.Cursor)
		p.start, _ = strconv.Atoi(string(raw))
		if err != nil || p.start <= 0 {
			return page{}, badf("%s: cursor %q is not one that a list gave; leave it out to begin anew", command, clip(*a.Cursor, 60))
		}
	}
	return p, nil
}

// matcher returns what reports whether texts hold each word of the query, in any
// case.
func (a listArg) matcher() func(texts ...string) bool {
	words := strings.Fields(strings.ToLower(deref(a.Query)))
	return func(texts ...string) bool {
		for i := range texts {
			texts[i] = strings.ToLower(texts[i])
		}
		for _, word := range words {
			if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, word) }) {
				return false
			}
		}
		return true
	}
}

// pageOf takes the page of a filtered list, and the cursor of the next.
func pageOf[T any](p page, list []T, match func(T) bool) (items []T, next string) {
	items = []T{}
	seen := 0
	for _, item := range list {
		if !match(item) {
			continue
		}
		if seen++; seen <= p.start {
			continue
		}
		if len(items) == p.limit {
			return items, base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(p.start + p.limit)))
		}
		items = append(items, item)
	}
	return items, ""
}

// resourcesResult is the result of agentls.mcp.resources. The templates come
// with the first page.
type resourcesResult struct {
	Resources  []resourceInfo `json:"resources"`
	Templates  []templateInfo `json:"templates"`
	Stale      bool           `json:"stale"`
	NextCursor string         `json:"nextCursor,omitzero"`
}

// resourceInfo is one resource of agentls.mcp.resources.
type resourceInfo struct {
	mcp.Resource
	Mention string `json:"mention"` // that reads it, as a person would write it
}

// templateInfo is one template of agentls.mcp.resources.
type templateInfo struct {
	mcp.Template
	Variables []mcp.TemplateVariable `json:"variables"` // in their order; none: what it says is no template
}

func prepareResources(s *Server, ctx context.Context, arg listArg, in invocation) (serveFunc, error) {
	p, err := arg.page(s, in.command)
	if err != nil {
		return nil, err
	}
	list, err := s.o.Manager.Resources(*arg.Server)
	if err != nil {
		return nil, s.mcpError(ctx, in.command, *arg.Server, err)
	}
	info, _ := s.serverInfo(*arg.Server)
	stale, matches := list.Stale || info.Status != mcp.StatusReady, arg.matcher()
	return func(context.Context) (any, error) {
		r := resourcesResult{Stale: stale, Resources: []resourceInfo{}, Templates: []templateInfo{}}
		resources, next := pageOf(p, list.Resources, func(e mcp.Resource) bool { return matches(e.URI, e.Name, e.Title) })
		for _, e := range resources {
			r.Resources = append(r.Resources, resourceInfo{e, mcp.MentionText(info.Mention, e.URI)})
		}
		r.NextCursor = next
		if p.start > 0 {
			return r, nil
		}
		templates, _ := pageOf(page{limit: listMost}, list.Templates, func(e mcp.Template) bool { return matches(e.URITemplate, e.Name, e.Title) })
		for _, e := range templates {
			r.Templates = append(r.Templates, templateInfo{e, e.Variables()})
		}
		return r, nil
	}, nil
}

// promptsResult is the result of agentls.mcp.prompts.
type promptsResult struct {
	Prompts    []mcp.Prompt `json:"prompts"`
	Stale      bool         `json:"stale"`
	NextCursor string       `json:"nextCursor,omitzero"`
}

func preparePrompts(s *Server, ctx context.Context, arg listArg, in invocation) (serveFunc, error) {
	p, err := arg.page(s, in.command)
	if err != nil {
		return nil, err
	}
	list, stale, err := s.o.Manager.Prompts(*arg.Server)
	if err != nil {
		return nil, s.mcpError(ctx, in.command, *arg.Server, err)
	}
	r, matches := promptsResult{Stale: stale || !s.isReady(*arg.Server)}, arg.matcher()
	r.Prompts, r.NextCursor = pageOf(p, list, func(e mcp.Prompt) bool { return matches(e.Name, e.Title) })
	return answerNow(r), nil
}

// toolInfo is one tool of agentls.mcp.tools.
type toolInfo struct {
	Name        string          `json:"name"` // the server's own
	Title       string          `json:"title,omitzero"`
	Model       string          `json:"model,omitzero"` // the name that the model is given; none where it is not offered
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// toolsResult is the result of agentls.mcp.tools.
type toolsResult struct {
	Tools      []toolInfo `json:"tools"`
	Stale      bool       `json:"stale"`
	NextCursor string     `json:"nextCursor,omitzero"`
}

func prepareTools(s *Server, _ context.Context, arg listArg, in invocation) (serveFunc, error) {
	p, err := arg.page(s, in.command)
	if err != nil {
		return nil, err
	}
	all, stale, matches := s.o.Manager.Tools(), !s.isReady(*arg.Server), arg.matcher()
	return func(context.Context) (any, error) {
		names := s.o.Agent.ModelNames(*arg.Server)
		var list []toolInfo
		for _, t := range all {
			if t.Server == *arg.Server {
				list = append(list, toolInfo{t.Name, t.Title, names[t.Name], t.Description, orEmpty(t.Schema)})
			}
		}
		r := toolsResult{Stale: stale}
		r.Tools, r.NextCursor = pageOf(p, list, func(t toolInfo) bool { return matches(t.Name, t.Title, t.Model) })
		return r, nil
	}, nil
}

// isReady reports whether a server's lists are those of now.
func (s *Server) isReady(name string) bool {
	info, _ := s.serverInfo(name)
	return info.Status == mcp.StatusReady
}
