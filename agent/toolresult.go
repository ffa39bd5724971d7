package agent

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"agentls/mcp"
)

// toolOutput makes what a server answered readable for the model: text parts
// in order, images beside, everything else as a line that tells URI, name and
// type (agentscope-ai/agentscope#2798). Parts for the user alone are given and
// marked: a person hears of them by the model's answer, in every editor.
// Structured content is given as JSON where the parts do not say the same. A
// long text is never held twice. reader is the model's name of the tool that
// reads linked resources; empty: there is none.
func toolOutput(res mcp.ToolResult, e env, reader string) output {
	out := output{failed: res.IsError}
	limit := e.limit
	if res.IsError {
		limit = e.room() // the gate says that it is one
	}
	k := e.keep(limit)
	defer k.Close()
	parts := 0
	add := func(texts ...string) {
		if parts++; parts > 1 {
			k.add("\n")
		}
		for _, t := range texts {
			k.add(t)
		}
	}
	linked := false
	for _, c := range res.Content {
		head, text, img := contentText(c)
		if img != nil && len(out.images) < maxImages {
			out.images = append(out.images, *img)
		} else if img != nil {
			text = imageLine(c.MIMEType, decodedLen(c.Blob), "not shown: too many images")
		}
		linked = linked || c.Type == "resource_link"
		add(forUser(c), head, text)
	}
	if res.Structured != nil && !saysTheSame(res.Content, res.Structured) {
		head := ""
		if parts > 0 {
			head = "[structured content]\n"
		}
		add(head, string(compact(res.Structured)))
	}
	if linked && reader != "" {
		add("[" + reader + " reads a linked resource by its URI]")
	}
	if res.Mismatch != "" {
		add("[agentls: the structured content does not fit the tool's outputSchema, so it may be wrong: " + oneLine(res.Mismatch, 1000) + "]")
	}
	k.Close()
	out.text, out.stored = k.String(), k.id
	return out
}

// forUser marks a part that a server means for the user and not for the model.
func forUser(c mcp.Content) string {
	if c.UserOnly {
		return "[for the user: tell them of it] "
	}
	return ""
}

// contentText gives a part of a result as text behind a line that names it,
// where it needs one, and the image where it is one that models read.
func contentText(c mcp.Content) (head, text string, img *Image) {
	switch {
	case c.Type == "resource_link":
		return "", "[resource link: " + about(c) + "]", nil
	case c.Blob != "":
		n := decodedLen(c.Blob)
		if img := image(c); img != nil {
			return "", imageLine(c.MIMEType, n, "shown with this result"), img
		}
		if text, ok := textOf(c); ok {
			return "[resource " + about(c) + "]\n", text, nil
		}
		kind := "binary content"
		switch {
		case c.Type == "audio" || strings.HasPrefix(c.MIMEType, "audio/"):
			kind = "audio"
		case c.Type == "image" || strings.HasPrefix(c.MIMEType, "image/"):
			kind = "image"
		}
		return "", fmt.Sprintf("[%s: %s, %d bytes, not shown]", kind, about(c), n), nil
	case c.Type == "resource" && c.URI != "":
		return "[resource " + about(c) + "]\n", c.Text, nil
	case c.Text == "" && c.Type != "text" && c.Type != "resource" && c.Type != "":
		return "", "[" + oneLine(c.Type, 60) + " content: " + about(c) + "]", nil
	}
	return "", c.Text, nil
}

// about names a content: URI, names, type and size as far as they are known,
// then what it is.
func about(c mcp.Content) string {
	var parts []string
	for _, p := range []string{c.URI, c.Name, c.Title, c.MIMEType} {
		if p = oneLine(p, 1000); p != "" && !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	if c.Size != nil {
		parts = append(parts, fmt.Sprintf("%d bytes", *c.Size))
	}
	if len(parts) == 0 {
		parts = []string{"unknown type"}
	}
	text := strings.Join(parts, ", ")
	if d := oneLine(c.Description, 300); d != "" {
		text += ": " + d
	}
	return text
}

// textOf decodes a blob whose type says that it is text.
func textOf(c mcp.Content) (text string, ok bool) {
	kind, params, err := mime.ParseMediaType(c.MIMEType)
	charset := strings.ToLower(params["charset"])
	if err != nil || charset != "" && charset != "utf-8" && charset != "us-ascii" {
		return "", false
	}
	if !strings.HasPrefix(kind, "text/") && !strings.HasSuffix(kind, "+json") && !strings.HasSuffix(kind, "+xml") &&
		!slices.Contains([]string{"application/json", "application/xml", "application/yaml", "application/toml", "application/javascript"}, kind) {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(c.Blob)
	if err != nil || !utf8.Valid(data) {
		return "", false
	}
	return string(data), true
}

// Bounds on the search for structured content in texts.
const (
	maxLeaves     = 2000
	maxSearchText = 1 << 20 // bytes
)

// saysTheSame reports whether the text parts of a result hold its structured
// content already: as JSON, as the specification asks a server to repeat it, or
// each of its values, as servers do that word it for people.
func saysTheSame(parts []mcp.Content, structured json.RawMessage) bool {
	var want any
	if json.Unmarshal(structured, &want) != nil {
		return false
	}
	var texts []string
	size := 0
	for _, c := range parts {
		if c.Text == "" {
			continue
		}
		var got any
		if json.Unmarshal([]byte(c.Text), &got) == nil && reflect.DeepEqual(got, want) {
			return true
		}
		texts = append(texts, c.Text)
		size += len(c.Text)
	}
	if size > maxSearchText {
		return size >= len(structured) // all of it would not find room beside
	}
	left := maxLeaves
	return len(texts) > 0 && holds(strings.Join(texts, "\n"), want, &left)
}

// holds reports whether a text has all of a JSON value's strings and numbers,
// and so something of it. What may be true or false has no words to look for.
func holds(text string, v any, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch v := v.(type) {
	case string:
		return v != "" && strings.Contains(text, v)
	case float64:
		return holdsNumber(text, string(marshal(v)))
	case []any:
		for _, item := range v {
			if !holds(text, item, left) {
				return false
			}
		}
		return len(v) > 0
	case map[string]any:
		for _, item := range v {
			if !holds(text, item, left) {
				return false
			}
		}
		return len(v) > 0
	}
	return false
}

// holdsNumber reports whether a number stands in a text, and not within
// another.
func holdsNumber(text, number string) bool {
	digit := func(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }
	for at := 0; ; {
		i := strings.Index(text[at:], number)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(number)
		before := from > 0 && (digit(text[from-1:]) || text[from-1] == '.' && from > 1 && digit(text[from-2:]))
		after := digit(text[to:]) || strings.HasPrefix(text[to:], ".") && digit(text[min(to+1, len(text)):])
		if !before && !after {
			return true
		}
		at = to
	}
}
