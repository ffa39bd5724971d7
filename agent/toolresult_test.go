package agent

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"agentls/mcp"
)

// agentscope-ai/agentscope#2798, eca#331, opencode-ai: each part arrives.
func TestToolOutput(t *testing.T) {
	size := int64(12)
	structured := func(raw, text string) mcp.ToolResult {
		return mcp.ToolResult{Structured: json.RawMessage(raw), Content: []mcp.Content{{Type: "text", Text: text}}}
	}
	e := env{limit: 1000, shelf: newStore("", slog.New(slog.DiscardHandler)).of(sessionKey{})}
	for _, c := range []struct {
		name   string
		res    mcp.ToolResult
		want   string
		images int
	}{
		{"one text", mcp.ToolResult{Content: []mcp.Content{{Type: "text", Text: "one"}}}, "one", 0},
		{"texts", mcp.ToolResult{Content: []mcp.Content{{Type: "text", Text: "one"}, {Type: "text", Text: "two"}}}, "one\ntwo", 0},
		{"image", mcp.ToolResult{Content: []mcp.Content{{Type: "image", MIMEType: "image/PNG", Blob: "iVBORw0KGgo="}}}, "[image image/PNG, 8 bytes, shown with this result]", 1},
		{"other image", mcp.ToolResult{Content: []mcp.Content{{Type: "image", MIMEType: "image/tiff", Blob: "AAAA"}}}, "[image: image/tiff, 3 bytes, not shown]", 0},
		{"audio", mcp.ToolResult{Content: []mcp.Content{{Type: "audio", MIMEType: "audio/wav", Blob: "AAA="}}}, "[audio: audio/wav, 2 bytes, not shown]", 0},
		{"link", mcp.ToolResult{Content: []mcp.Content{{Type: "resource_link", URI: "demo://x", Name: "X", MIMEType: "text/plain"}}}, "[resource link: demo://x, X, text/plain]\n[mcp__s__read_resource reads a linked resource by its URI]", 0},
		{"embedded", mcp.ToolResult{Content: []mcp.Content{{Type: "resource", URI: "mem://x", MIMEType: "text/plain", Text: "inside"}}}, "[resource mem://x, text/plain]\ninside", 0},
		{"embedded blob", mcp.ToolResult{Content: []mcp.Content{{Type: "resource", URI: "mem://x", MIMEType: "application/zip", Blob: "AAAA"}}}, "[binary content: mem://x, application/zip, 3 bytes, not shown]", 0},
		{"unknown type", mcp.ToolResult{Content: []mcp.Content{{Type: "hologram"}}}, "[hologram content: unknown type]", 0},
		{"unknown type with text", mcp.ToolResult{Content: []mcp.Content{{Type: "hologram", Text: "hi"}}}, "hi", 0},
		{"structured alone", mcp.ToolResult{Structured: json.RawMessage(`{"a":1}`)}, `{"a":1}`, 0},
		{"link with all", mcp.ToolResult{Content: []mcp.Content{{Type: "resource_link", URI: "demo://x", Name: "x", Title: "The X", MIMEType: "text/plain", Size: &size, Description: "What\nit is"}}}, "[resource link: demo://x, x, The X, text/plain, 12 bytes: What it is]\n[mcp__s__read_resource reads a linked resource by its URI]", 0},
		{"text as a blob", mcp.ToolResult{Content: []mcp.Content{{Type: "resource", URI: "mem://x", MIMEType: "application/json; charset=utf-8", Blob: "eyJhIjoxfQ=="}}}, "[resource mem://x, application/json; charset=utf-8]\n{\"a\":1}", 0},
		{"for the user", mcp.ToolResult{Content: []mcp.Content{{Type: "text", Text: "one"}, {Type: "text", Text: "two", UserOnly: true}, {Type: "image", MIMEType: "image/png", Blob: "iVBORw0KGgo=", UserOnly: true}}}, "one\n[for the user: tell them of it] two\n[for the user: tell them of it] [image image/png, 8 bytes, shown with this result]", 1},
		{"structured in words", structured(`{"a":1,"b":["x"]}`, "a is 1, and x"), "a is 1, and x", 0},
		{"structured as the same JSON", structured(`{"a":true,"b":null}`, "{ \"b\": null, \"a\": true }"), "{ \"b\": null, \"a\": true }", 0},
		{"structured says more", structured(`{"a":1,"b":"x y"}`, "a is 1"), "a is 1\n[structured content]\n{\"a\":1,\"b\":\"x y\"}", 0},
		{"a number within another", structured(`{"n":1}`, "10 files, 2.1 kB"), "10 files, 2.1 kB\n[structured content]\n{\"n\":1}", 0},
		{"a number at the end", structured(`{"n":42}`, "There are 42."), "There are 42.", 0},
		{"what has no words", structured(`{"open":true}`, "It is."), "It is.\n[structured content]\n{\"open\":true}", 0},
		{"structured list", mcp.ToolResult{Structured: json.RawMessage(`[1, 2]`)}, `[1,2]`, 0},
		{"structured that does not fit", mcp.ToolResult{Structured: json.RawMessage(`{}`), Mismatch: "missing property 'a'"}, "{}\n[agentls: the structured content does not fit the tool's outputSchema, so it may be wrong: missing property 'a']", 0},
		{"nothing", mcp.ToolResult{}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := toolOutput(c.res, e, "mcp__s__read_resource")
			if got.text != c.want || len(got.images) != c.images {
				t.Errorf("got %q with %d images, want %q", got.text, len(got.images), c.want)
			}
		})
	}
	var many []mcp.Content
	for range 20 {
		many = append(many, mcp.Content{Type: "image", MIMEType: "image/png", Blob: "iVBORw0KGgo="})
	}
	if got := toolOutput(mcp.ToolResult{Content: many}, env{limit: 5000, shelf: e.shelf}, ""); len(got.images) != maxImages || strings.Count(got.text, "too many images") != 20-maxImages {
		t.Errorf("%d images, %s", len(got.images), got.text)
	}
}
