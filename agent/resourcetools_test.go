package agent

import (
	"fmt"
	"strings"
	"testing"

	"agentls/mcp"
)

func TestListing(t *testing.T) {
	list := mcp.ResourceList{
		Resources: []mcp.Resource{
			{URI: "file://a b?x=%20", Name: "a", Title: "The A", MIMEType: "text/plain", Description: "first\nline"},
			{URI: "hello://world", Name: "hello://world"},
		},
		Templates: []mcp.Template{{URITemplate: "demo://{id}", Name: "demo"}},
		Stale:     true,
	}
	want := "file://a b?x=%20 · a · The A · text/plain · first line\nhello://world\ntemplate demo://{id} · demo\n[the list may be out of date]\n"
	if got := listing(list, ""); got != want {
		t.Errorf("%s", got)
	}
	if got := listing(list, "the a"); !strings.HasPrefix(got, "file://a") || strings.Contains(got, "hello") {
		t.Errorf("%s", got)
	}
	for i := range maxListed + 7 {
		list.Resources = append(list.Resources, mcp.Resource{URI: fmt.Sprint("n://", i)})
	}
	if got := listing(list, "n://"); strings.Count(got, "n://") != maxListed || !strings.Contains(got, "[7 more;") {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
}

// MCP, annotations: priority orders, an audience of the user alone comes last,
// and the pages of MCP Apps are not for the model.
func TestListingFollowsTheAnnotations(t *testing.T) {
	size := int64(0)
	list := mcp.ResourceList{Resources: []mcp.Resource{
		{URI: "n://user", Audience: []string{"user"}, Priority: 1},
		{URI: "n://plain"},
		{URI: "UI://page", Priority: 1},
		{URI: "n://low", Priority: 0.1, Size: &size, Modified: "2026-01-02T03:04:05Z"},
		{URI: "n://both", Audience: []string{"user", "assistant"}, Priority: 0.1},
		{URI: "n://high", Priority: 1, Audience: []string{"assistant"}},
	}}
	want := "n://high\nn://low · 0 bytes · modified 2026-01-02T03:04:05Z\nn://both\nn://plain\nn://user\n"
	if got := listing(list, ""); got != want {
		t.Errorf("%s", got)
	}
	if list.Resources[0].URI != "n://user" {
		t.Error("the cached list was sorted")
	}
}
