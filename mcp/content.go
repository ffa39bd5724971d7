package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
)

// wirePart holds the fields of every kind of content and of a resource's
// contents, each of which may be missing or of a wrong type.
type wirePart struct {
	Type     maybe[string]   `json:"type"`
	URI      maybe[string]   `json:"uri"`
	Name     maybe[string]   `json:"name"`
	MIMEType maybe[string]   `json:"mimeType"`
	Text     maybe[string]   `json:"text"`
	Data     maybe[string]   `json:"data"`
	Blob     maybe[string]   `json:"blob"`
	Resource json.RawMessage `json:"resource"`

	Title       maybe[string]  `json:"title"`
	Description maybe[string]  `json:"description"`
	Size        maybe[float64] `json:"size"`
	Annotations maybe[struct {
		Audience maybe[[]string] `json:"audience"`
	}] `json:"annotations"`
}

// parseContent decodes one part of a tool's result. A type that we do not
// know becomes text, so that nothing which the server said is lost.
func parseContent(raw json.RawMessage) Content {
	var p wirePart
	if json.Unmarshal(raw, &p) != nil {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return Content{Type: "text", Text: s}
		}
		return Content{Type: "text", Text: compact(raw)}
	}
	c := Content{Type: p.Type.v, URI: p.URI.v, Name: p.Name.v, MIMEType: p.MIMEType.v}
	switch p.Type.v {
	case "image", "audio":
		c.Blob = standardBase64(p.Data.v)
	case "resource":
		c = parseResourceContent(p.Resource)
		c.Type = "resource"
	case "resource_link":
		c.Title, c.Description, c.Size = p.Title.v, p.Description.v, byteSize(p.Size)
	default:
		c.Text = p.Text.v
		if !p.Text.ok {
			c.Text = compact(raw)
		}
		if c.Type == "" {
			c.Type = "text"
		}
	}
	audience := p.Annotations.v.Audience.v
	c.UserOnly = slices.Contains(audience, "user") && !slices.Contains(audience, "assistant")
	return c
}

// parseResourceContent decodes one of a resource's contents.
func parseResourceContent(raw json.RawMessage) Content {
	var p wirePart
	if json.Unmarshal(raw, &p) != nil {
		return Content{Text: compact(raw)}
	}
	return Content{URI: p.URI.v, Name: p.Name.v, MIMEType: p.MIMEType.v, Text: p.Text.v, Blob: standardBase64(p.Blob.v)}
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// parseToolResult decodes the result of tools/call, whatever shape it has.
func parseToolResult(raw json.RawMessage) ToolResult {
	var r struct {
		Content    maybe[[]json.RawMessage] `json:"content"`
		Structured json.RawMessage          `json:"structuredContent"`
		IsError    maybe[bool]              `json:"isError"`
	}
	if missing(raw) {
		return ToolResult{}
	}
	if json.Unmarshal(raw, &r) != nil {
		return ToolResult{Content: []Content{parseContent(raw)}}
	}
	out := ToolResult{IsError: r.IsError.v}
	if !missing(r.Structured) {
		out.Structured = r.Structured
	}
	for _, item := range r.Content.v {
		out.Content = append(out.Content, parseContent(item))
	}
	if !r.Content.ok {
		// A lone part, or a bare string, in the place of the list.
		var lone struct {
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(raw, &lone) == nil && !missing(lone.Content) {
			out.Content = []Content{parseContent(lone.Content)}
		}
	}
	return out
}

// parseContents decodes the result of resources/read.
func parseContents(uri string, raw json.RawMessage) []Content {
	var r struct {
		Contents json.RawMessage `json:"contents"`
	}
	if json.Unmarshal(raw, &r) != nil || missing(r.Contents) {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(r.Contents, &items) != nil {
		items = []json.RawMessage{r.Contents} // one where a list belongs
	}
	out := make([]Content, 0, len(items))
	for _, item := range items {
		c := parseResourceContent(item)
		if c.URI == "" {
			c.URI = uri
		}
		out = append(out, c)
	}
	return out
}
