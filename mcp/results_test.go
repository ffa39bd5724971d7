package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"
	"unicode/utf8"
)

// github/copilot-cli#1876: keywords of a schema stay, byte for byte.
func TestToolsAreReadLeniently(t *testing.T) {
	check := func(in string, want *Tool) {
		t.Helper()
		got, ok := parseTool("s", json.RawMessage(in))
		if ok != (want != nil) {
			t.Errorf("%s: taken %v", in, ok)
		}
		if want != nil {
			want.Server = "s"
			if !got.Same(*want) {
				t.Errorf("%s:\ngot  %+v %s\nwant %+v %s", in, got, got.Schema, *want, want.Schema)
			}
		}
	}
	empty := json.RawMessage(`{"type":"object","properties":{}}`)
	check(`{"name":"a","description":"d","inputSchema":{"type":"object","properties":{}}}`, &Tool{Name: "a", Description: "d", Schema: empty})
	// eca CHANGELOG 392: a tool without a schema must not break the request.
	check(`{"name":"a"}`, &Tool{Name: "a", Schema: empty})
	check(`{"name":"a","inputSchema":null}`, &Tool{Name: "a", Schema: empty})
	check(`{"name":"a","inputSchema":"none"}`, &Tool{Name: "a", Schema: empty})
	check(`{"name":"a","inputSchema":{}}`, &Tool{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)})
	check(`{"name":"a","inputSchema":{"type":""}}`, &Tool{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)})
	schema := `{"$schema":"https://json-schema.org/draft/2020-12/schema", "type":["object","null"],"oneOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{}},"x-y":1}`
	check(`{"name":"a","inputSchema":`+schema+`}`, &Tool{Name: "a", Schema: json.RawMessage(schema)})
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	check(`{"name":"a","annotations":{"readOnlyHint":true,"title":"T"}}`, &Tool{Name: "a", Title: "T", ReadOnly: true, Schema: empty, Annotations: raw(`{"readOnlyHint":true,"title":"T"}`)})
	check(`{"name":"a","annotations":{"destructiveHint":true}}`, &Tool{Name: "a", Destructive: true, Schema: empty, Annotations: raw(`{"destructiveHint":true}`)})
	check(`{"name":"a","title":"T","annotations":{"readOnlyHint":"yes"}}`, &Tool{Name: "a", Title: "T", Schema: empty, Annotations: raw(`{"readOnlyHint":"yes"}`)})
	check(`{"name":"a","description":5,"annotations":[],"outputSchema":null}`, &Tool{Name: "a", Schema: empty, Annotations: raw(`[]`)})
	check(`{"name":"a","outputSchema":{"type":"array"}}`, &Tool{Name: "a", Schema: empty, OutputSchema: raw(`{"type":"array"}`)})
	check(`{"name":""}`, nil)
	check(`{"name":5}`, nil)
	check(`[]`, nil)
	check(`null`, nil)
	check(`"x"`, nil)
}

func TestToolResultsAreReadLeniently(t *testing.T) {
	check := func(in string, want ToolResult) {
		t.Helper()
		if got := parseToolResult(json.RawMessage(in)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", in, got, want)
		}
	}
	text := func(s string) Content { return Content{Type: "text", Text: s} }
	check(`{"content":[{"type":"text","text":"a"}],"isError":true}`, ToolResult{Content: []Content{text("a")}, IsError: true})
	check(`{}`, ToolResult{})
	check(`null`, ToolResult{})
	check(``, ToolResult{})
	check(`"bare"`, ToolResult{Content: []Content{text("bare")}})
	check(`{"content":null}`, ToolResult{})
	check(`{"content":"bare"}`, ToolResult{Content: []Content{text("bare")}})
	check(`{"content":{"type":"text","text":"lone"}}`, ToolResult{Content: []Content{text("lone")}})
	check(`{"content":["bare",3,null]}`, ToolResult{Content: []Content{text("bare"), text("3"), {Type: "text", Text: "null"}}})
	check(`{"content":[{"type":"hologram","x":[1, 2]}]}`, ToolResult{Content: []Content{{Type: "hologram", Text: `{"type":"hologram","x":[1,2]}`}}})
	check(`{"content":[{"type":"image","data":"QQ==","mimeType":"image/png"}]}`, ToolResult{Content: []Content{{Type: "image", Blob: "QQ==", MIMEType: "image/png"}}})
	check(`{"content":[{"type":"resource","resource":{"uri":"a:b","mimeType":"text/x","text":"t"}}]}`, ToolResult{Content: []Content{{Type: "resource", URI: "a:b", MIMEType: "text/x", Text: "t"}}})
	check(`{"content":[{"type":"resource","resource":5}]}`, ToolResult{Content: []Content{{Type: "resource", Text: "5"}}})
	check(`{"content":[{"type":"resource_link","uri":"a:b","name":"n","mimeType":"m"}]}`, ToolResult{Content: []Content{{Type: "resource_link", URI: "a:b", Name: "n", MIMEType: "m"}}})
	size := int64(12)
	check(`{"content":[{"type":"resource_link","uri":"a:b","title":"t","description":"d","size":12}]}`, ToolResult{Content: []Content{{Type: "resource_link", URI: "a:b", Title: "t", Description: "d", Size: &size}}})
	check(`{"content":[{"type":"text","text":"a","annotations":{"audience":["user"]}},{"type":"text","text":"b","annotations":{"audience":["user","assistant"]}},{"type":"text","text":"c","annotations":{"audience":"user"}}]}`,
		ToolResult{Content: []Content{{Type: "text", Text: "a", UserOnly: true}, text("b"), text("c")}})
	check(`{"content":[{"type":"text","text":5}]}`, ToolResult{Content: []Content{text(`{"type":"text","text":5}`)}})
	check(`{"content":[],"structuredContent":[1,2]}`, ToolResult{Structured: json.RawMessage(`[1,2]`)})
	check(`{"structuredContent":{"n":1},"isError":"no"}`, ToolResult{Structured: json.RawMessage(`{"n":1}`)})
}

func TestContentsAreReadLeniently(t *testing.T) {
	check := func(in string, want ...Content) {
		t.Helper()
		got := parseContents("u:x", json.RawMessage(in))
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", in, got, want)
		}
	}
	check(`{"contents":[{"uri":"u:y","text":"a"},{"blob":"QQ==","mimeType":"m"}]}`, Content{URI: "u:y", Text: "a"}, Content{URI: "u:x", Blob: "QQ==", MIMEType: "m"})
	check(`{"contents":[{"uri":"u:y"}]}`, Content{URI: "u:y"})
	check(`{"contents":{"text":"lone"}}`, Content{URI: "u:x", Text: "lone"})
	check(`{"contents":[5]}`, Content{URI: "u:x", Text: "5"})
	check(`{}`)
	check(`{"contents":null}`)
	check(`[]`)
}

func TestUnknownResourceIsRecognised(t *testing.T) {
	check := func(code int, message string, want bool) {
		t.Helper()
		if got := unknownResource(fmt.Errorf("wrapped: %w", &rpcError{Code: code, Message: message})); got != want {
			t.Errorf("%d %q: %v", code, message, got)
		}
	}
	check(-32002, "", true)
	check(-32602, "Resource x not found", true)
	check(-32602, "", true)
	check(-32603, "Resource not found", true)
	check(0, "ENOENT: no such file or directory", true)
	check(-32603, "database is down", false)
	check(-32601, "Method not found", false)
	check(-32000, "method not found", false)
	if unknownResource(errors.New("not found")) || unknownResource(nil) {
		t.Error("only a server's word counts")
	}
}

// FuzzResults holds that no result of a server panics or yields what others
// cannot rely on.
func FuzzResults(f *testing.F) {
	for _, seed := range []string{
		`{"tools":[{"name":"a","inputSchema":{"type":5}}],"nextCursor":""}`, `{"content":[{"type":"resource","resource":{"blob":1}}]}`,
		`{"contents":[{"uri":"x","text":"y"}],"ttlMs":1e400}`, `{"resources":[{"uri":"a","size":-1,"annotations":{"priority":7}}]}`, `[`, `{"ttlMs":-5}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		raw := json.RawMessage(in)
		items, _, _ := parsePage(raw, "tools")
		for _, item := range append(items, raw) {
			if tool, ok := parseTool("s", item); ok {
				var o map[string]json.RawMessage
				if json.Unmarshal(tool.Schema, &o) != nil || o["type"] == nil || tool.Name == "" {
					t.Fatalf("%q: schema %q", item, tool.Schema)
				}
			}
			if r, ok := parseResource("s", item); ok && (r.URI == "" || r.Name == "" || r.Priority < 0 || r.Priority > 1 || r.Size != nil && *r.Size < 0) {
				t.Fatalf("%q: %+v", item, r)
			}
			parseTemplate(item)
			parsePrompt(item)
		}
		for _, c := range parseToolResult(raw).Content {
			if c.Type == "" {
				t.Fatalf("%q: a part without a type", in)
			}
		}
		parseContents("u", raw)
		parseCapabilities(raw)
		now := time.Now()
		if l := parseLifetime(raw, true, now); l.lasts && (l.until.Before(now) || l.until.After(now.Add(maxLifetime)) || !l.said) {
			t.Fatalf("%q: %+v", in, l)
		}
		if s := clip(string(in), 5); utf8.Valid(in) && !utf8.ValidString(s) || len(s) > 5+len("…") {
			t.Fatalf("clip %q: %q", in, s)
		}
	})
}

func TestMentionNamesAreUniqueAndPlain(t *testing.T) {
	check := func(want map[string]string) {
		t.Helper()
		var names []string
		for name := range want {
			names = append(names, name)
		}
		if got := mentionNames(names); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	check(map[string]string{"files": "files", "1password": "1password", "my.server": "my.server", "a_b-c": "a_b-c"})
	check(map[string]string{"my server": "my-server-2", "my-server": "my-server", "my/server": "my-server-3"})
	check(map[string]string{"": "-", "日本": "--", "@corp/files": "-corp-files"})
}
