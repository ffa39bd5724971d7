package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentls/mcp"
)

// readTimeout bounds one read of a resource or a list of them.
const readTimeout = 60 * time.Second

// maxListed is how many resources one call of list_resources tells of.
const maxListed = 500

const (
	listResourcesSchema = `{"properties":{"query":{"description":"Only resources whose URI, name or description holds this text, in any case.","type":"string"}},"type":"object"}`
	readResourceSchema  = `{"properties":{"uri":{"description":"The URI, exactly as list_resources gives it.","type":"string"}},"required":["uri"],"type":"object"}`
)

// resourceTools makes the two virtual tools of a server with resources.
func (a *Agent) resourceTools(server string) []*tool {
	return []*tool{{
		server: server, name: "list_resources", virtual: true, schema: json.RawMessage(listResourcesSchema),
		description: fmt.Sprintf("Lists the resources of the MCP server %q: URI, name, type, and templates of further URIs.", server),
		run: func(ctx context.Context, _ env, args json.RawMessage) (output, error) {
			var in struct {
				Query string `json:"query"`
			}
			if err := into(args, &in); err != nil {
				return output{}, err
			}
			ctx, cancel := readDeadline(ctx)
			defer cancel()
			list, err := a.manager.ListResources(ctx, server)
			if err != nil && !list.Fetched {
				return output{}, err
			}
			return output{text: listing(list, in.Query)}, nil
		},
	}, {
		server: server, name: "read_resource", virtual: true, schema: json.RawMessage(readResourceSchema),
		description: fmt.Sprintf("Reads one resource of the MCP server %q by its URI.", server),
		run: func(ctx context.Context, e env, args json.RawMessage) (output, error) {
			var in struct {
				URI string `json:"uri"`
			}
			if err := into(args, &in); err != nil {
				return output{}, err
			}
			if in.URI == "" {
				return output{}, errors.New("the argument uri is missing")
			}
			ctx, cancel := readDeadline(ctx)
			defer cancel()
			contents, err := a.manager.Read(ctx, server, in.URI)
			if stale, ok := errors.AsType[*mcp.StaleError](err); ok && ctx.Err() == nil {
				contents = append([]mcp.Content{{Type: "text", Text: "[" + a.tellable(stale.Error(), 300) + "]"}}, contents...)
			} else if errors.Is(err, mcp.ErrUnknownResource) {
				return output{}, fmt.Errorf("%w%s", err, a.perhaps(server, in.URI))
			} else if err != nil {
				return output{}, err
			}
			if len(contents) > 1 {
				for i := range contents { // so that each is named
					if contents[i].Type == "" {
						contents[i].Type = "resource"
					}
				}
			}
			return toolOutput(mcp.ToolResult{Content: contents}, e, ""), nil
		},
	}}
}

// readDeadline bounds a read; a person whom the server asks meanwhile may take
// their time.
func readDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return mcp.WithTimeout(ctx, readTimeout, fmt.Errorf("no answer in %d s", int(readTimeout.Seconds())))
}

// listing writes a list for the model, a resource a line, the URI first and
// byte for byte. What the server says is important stands first, what is for
// the user's eyes last; user interfaces are left out.
func listing(list mcp.ResourceList, query string) string {
	var b strings.Builder
	shown, more := 0, 0
	query = strings.ToLower(query)
	line := func(uri string, about ...string) {
		text := uri
		for _, part := range about {
			if part != "" && !strings.HasSuffix(text, part) {
				text += " · " + oneLine(part, 200)
			}
		}
		switch {
		case query != "" && !strings.Contains(strings.ToLower(text), query):
		case shown < maxListed:
			shown++
			b.WriteString(text + "\n")
		default:
			more++
		}
	}
	for _, r := range byPriority(list.Resources) {
		line(r.URI, r.Name, r.Title, r.MIMEType, size(r), modified(r), r.Description)
	}
	for _, t := range list.Templates {
		line("template "+t.URITemplate, t.Name, t.Title, t.MIMEType, t.Description)
	}
	if more > 0 {
		fmt.Fprintf(&b, "[%d more; give a query to narrow the list]\n", more)
	}
	if list.Stale {
		b.WriteString("[the list may be out of date]\n")
	}
	return b.String()
}

// byPriority sorts resources as their annotations ask for.
func byPriority(all []mcp.Resource) []mcp.Resource {
	out := make([]mcp.Resource, 0, len(all))
	for i := range all {
		if !all[i].UserInterface() {
			out = append(out, all[i])
		}
	}
	slices.SortStableFunc(out, func(a, b mcp.Resource) int {
		if a.ForUserOnly() != b.ForUserOnly() {
			if a.ForUserOnly() {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.Priority, a.Priority)
	})
	return out
}

func size(r mcp.Resource) string {
	if r.Size == nil {
		return ""
	}
	return fmt.Sprintf("%d bytes", *r.Size)
}

func modified(r mcp.Resource) string {
	if r.Modified == "" {
		return ""
	}
	return "modified " + r.Modified
}
