package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSON-RPC and MCP error codes that decide something here.
const (
	codeMethodNotFound   = -32601
	codeInvalidParams    = -32602
	codeInternal         = -32603
	codeResourceNotFound = -32002
)

// rpcError is an error of JSON-RPC: one that a server answered with, or ours
// to it.
type rpcError struct {
	Code    int
	Message string
	Data    json.RawMessage // nil: none
}

func (e *rpcError) Error() string {
	switch code := strconv.Itoa(e.Code); {
	case e.Message == "":
		return "error " + code
	case strings.Contains(e.Message, code): // the SDK in TypeScript puts it in front
		return e.Message
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

func isCode(err error, code int) bool {
	e, ok := errors.AsType[*rpcError](err)
	return ok && e.Code == code
}

// unknownResource reports whether err is a server's word that there is no
// such resource: -32002 up to 2025-11-25, -32602 since, and both where the
// text says so; some say it with -32603.
func unknownResource(err error) bool {
	e, ok := errors.AsType[*rpcError](err)
	if !ok {
		return false
	}
	text := strings.ToLower(e.Message)
	said := strings.Contains(text, "not found") || strings.Contains(text, "unknown resource") ||
		strings.Contains(text, "no such") || strings.Contains(text, "does not exist")
	switch e.Code {
	case codeResourceNotFound, codeInvalidParams:
		return true
	case codeMethodNotFound:
		return false
	default:
		return said && !strings.Contains(text, "method")
	}
}

// maybe is a field that a server may give with a wrong type; then it is as if
// it were absent, and the rest of the item still counts.
type maybe[T any] struct {
	v  T
	ok bool
}

func (m *maybe[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var v T
	if err := json.Unmarshal(data, &v); err == nil {
		m.v, m.ok = v, true
	}
	return nil
}

// clip cuts s at about n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// parseResource decodes one item of resources/list; false for one without a
// URI.
func parseResource(server string, raw json.RawMessage) (Resource, bool) {
	var r struct {
		URI         maybe[string]  `json:"uri"`
		Name        maybe[string]  `json:"name"`
		Title       maybe[string]  `json:"title"`
		Description maybe[string]  `json:"description"`
		MIMEType    maybe[string]  `json:"mimeType"`
		Size        maybe[float64] `json:"size"`
		Annotations maybe[struct {
			Priority maybe[float64]  `json:"priority"`
			Audience maybe[[]string] `json:"audience"`
			Modified maybe[string]   `json:"lastModified"`
		}] `json:"annotations"`
	}
	if json.Unmarshal(raw, &r) != nil || r.URI.v == "" {
		return Resource{}, false
	}
	a := r.Annotations.v
	out := Resource{
		Server: server, URI: r.URI.v, Name: r.Name.v, Title: r.Title.v, Description: r.Description.v, MIMEType: r.MIMEType.v,
		Priority: min(max(a.Priority.v, 0), 1), Audience: a.Audience.v, Modified: a.Modified.v,
	}
	if out.Name == "" {
		out.Name = out.URI
	}
	out.Size = byteSize(r.Size)
	return out, true
}

// byteSize is a size that a server tells, nil where it tells none.
func byteSize(size maybe[float64]) *int64 {
	if !size.ok || size.v < 0 || size.v >= 1<<53 {
		return nil
	}
	n := int64(size.v)
	return &n
}

func parseTemplate(raw json.RawMessage) (Template, bool) {
	var t struct {
		URITemplate maybe[string] `json:"uriTemplate"`
		Name        maybe[string] `json:"name"`
		Title       maybe[string] `json:"title"`
		Description maybe[string] `json:"description"`
		MIMEType    maybe[string] `json:"mimeType"`
	}
	if json.Unmarshal(raw, &t) != nil || t.URITemplate.v == "" {
		return Template{}, false
	}
	return Template{URITemplate: t.URITemplate.v, Name: t.Name.v, Title: t.Title.v, Description: t.Description.v, MIMEType: t.MIMEType.v}, true
}

func parsePrompt(raw json.RawMessage) (Prompt, bool) {
	var p struct {
		Name        maybe[string]            `json:"name"`
		Title       maybe[string]            `json:"title"`
		Description maybe[string]            `json:"description"`
		Arguments   maybe[[]json.RawMessage] `json:"arguments"`
	}
	if json.Unmarshal(raw, &p) != nil || p.Name.v == "" {
		return Prompt{}, false
	}
	out := Prompt{Name: p.Name.v, Title: p.Title.v, Description: p.Description.v}
	for _, item := range p.Arguments.v {
		var a struct {
			Name        maybe[string] `json:"name"`
			Title       maybe[string] `json:"title"`
			Description maybe[string] `json:"description"`
			Required    maybe[bool]   `json:"required"`
		}
		if json.Unmarshal(item, &a) == nil && a.Name.v != "" {
			out.Arguments = append(out.Arguments, PromptArgument{Name: a.Name.v, Title: a.Title.v, Description: a.Description.v, Required: a.Required.v})
		}
	}
	return out, true
}
