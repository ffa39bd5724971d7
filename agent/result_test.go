package agent

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"agentls/mcp"
)

// agentscope-ai/agentscope#2798, eca#331, opencode-ai: each part arrives.
func TestToolOutput(t *testing.T) {
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
		{"link", mcp.ToolResult{Content: []mcp.Content{{Type: "resource_link", URI: "demo://x", Name: "X", MIMEType: "text/plain"}}}, "[resource link: demo://x, X, text/plain]", 0},
		{"embedded", mcp.ToolResult{Content: []mcp.Content{{Type: "resource", URI: "mem://x", MIMEType: "text/plain", Text: "inside"}}}, "[resource mem://x, text/plain]\ninside", 0},
		{"embedded blob", mcp.ToolResult{Content: []mcp.Content{{Type: "resource", URI: "mem://x", MIMEType: "application/zip", Blob: "AAAA"}}}, "[binary content: mem://x, application/zip, 3 bytes, not shown]", 0},
		{"unknown type", mcp.ToolResult{Content: []mcp.Content{{Type: "hologram"}}}, "[hologram content: unknown type]", 0},
		{"unknown type with text", mcp.ToolResult{Content: []mcp.Content{{Type: "hologram", Text: "hi"}}}, "hi", 0},
		{"structured alone", mcp.ToolResult{Structured: json.RawMessage(`{"a":1}`)}, `{"a":1}`, 0},
		{"structured beside text", mcp.ToolResult{Structured: json.RawMessage(`{"a":1}`), Content: []mcp.Content{{Type: "text", Text: "a is 1"}}}, "a is 1", 0},
		{"nothing", mcp.ToolResult{}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := toolOutput(c.res, e)
			if got.text != c.want || len(got.images) != c.images {
				t.Errorf("got %q with %d images, want %q", got.text, len(got.images), c.want)
			}
		})
	}
	var many []mcp.Content
	for range 20 {
		many = append(many, mcp.Content{Type: "image", MIMEType: "image/png", Blob: "iVBORw0KGgo="})
	}
	if got := toolOutput(mcp.ToolResult{Content: many}, env{limit: 5000, shelf: e.shelf}); len(got.images) != maxImages || strings.Count(got.text, "too many images") != 20-maxImages {
		t.Errorf("%d images, %s", len(got.images), got.text)
	}
}

// QwenLM/qwen-code#2439, charmbracelet/crush#3480
func FuzzTruncate(f *testing.F) {
	f.Add("short", 100)
	f.Add(strings.Repeat("long é😀 ", 100), 120)
	f.Add(strings.Repeat("\xff\xf0\x9f", 100), 90)
	f.Add("x", 0)
	f.Add("日本", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = min(max(limit, -1), 1<<16)
		got := truncate(text, limit)
		if !utf8.ValidString(got) || len(got) > max(limit, 0) {
			t.Errorf("%d bytes at a limit of %d: %q", len(got), limit, got)
		}
		if limit > 200 && utf8.ValidString(text) && len(text) > limit && (!strings.Contains(got, fmt.Sprintf("of %d bytes here]", len(text))) || len(got) < limit/2) {
			t.Errorf("cut to %q", got)
		}
	})
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\n b\t c":               "a b c",
		"x\u202ey\u200b\x00\x1bz": "xyz",
		"\xffbad":                 "bad",
		"long long":               "long…",
		"":                        "",
	} {
		n := 20
		if in == "long long" {
			n = 5
		}
		if got := oneLine(in, n); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	if got := oneLine(strings.Repeat("é", 1<<20), 300); utf8.RuneCountInString(got) != 300 {
		t.Errorf("%d characters", utf8.RuneCountInString(got))
	}
}
