package mcp

import (
	"encoding/json"
	"maps"
	"slices"
)

// Status is a server's state as the user sees it (CONTRACT §4, mcp.servers).
type Status string

// The states of a server.
const (
	StatusDisabled   Status = "disabled"
	StatusUntrusted  Status = "untrusted"
	StatusStarting   Status = "starting"
	StatusReady      Status = "ready" // tools fetched; the rest may follow
	StatusNeedsLogin Status = "needsLogin"
	StatusRestarting Status = "restarting"
	StatusFailed     Status = "failed"
	StatusStopped    Status = "stopped"
)

// ServerInfo is a snapshot of one server. Counts are nil until fetched.
type ServerInfo struct {
	Name        string   `json:"name"`
	Mention     string   `json:"mention"`
	Status      Status   `json:"status"`
	Error       string   `json:"error,omitempty"`
	Needs       string   `json:"needs,omitempty"`
	Protocol    string   `json:"protocol,omitempty"` // the version that was negotiated; empty: it is not connected
	Tools       *int     `json:"tools"`
	Resources   *int     `json:"resources"`
	Prompts     *int     `json:"prompts"`
	Trusted     bool     `json:"trusted"`
	Source      string   `json:"source"`
	Fingerprint string   `json:"fingerprint"`
	Command     string   `json:"command,omitempty"` // unexpanded, as hashed
	Args        []string `json:"args,omitempty"`
	URL         string   `json:"url,omitempty"`
	Env         []string `json:"env,omitempty"`     // names
	Headers     []string `json:"headers,omitempty"` // names
	Reads       []string `json:"reads,omitempty"`   // variables its fields would read
	// Definition is all of a project's server that trust is asked for. Until it
	// is given nothing in it is redacted: it holds the project's own words, and
	// what looks like a secret there may be what would run.
	Definition *Definition `json:"definition,omitempty"`
}

// describe tells of a server what its configuration does.
func describe(c ServerConfig, trusted bool, secrets *Secrets) ServerInfo {
	d := c.Shown
	if d.Command == "" && d.URL == "" { // made by hand: what runs is what there is to show
		d = Definition{Command: c.Command, Args: c.Args, Cwd: c.Cwd, Env: c.Env, URL: c.URL, Headers: c.Headers}
	}
	shown := d.redacted(secrets)
	i := ServerInfo{
		Name: c.Name, Source: c.Source, Fingerprint: c.Fingerprint, Reads: c.Reads, Trusted: trusted,
		Command: shown.Command, Args: shown.Args, URL: shown.URL, Env: slices.Sorted(maps.Keys(d.Env)), Headers: slices.Sorted(maps.Keys(d.Headers)),
	}
	switch {
	case c.Project && trusted:
		i.Definition = &shown
	case c.Project:
		i.Definition = &d
	}
	return i
}

// Resource is one listed resource.
type Resource struct {
	Server      string   `json:"-"`
	URI         string   `json:"uri"` // byte for byte as listed
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	MIMEType    string   `json:"mimeType,omitempty"`
	Size        *int64   `json:"size,omitempty"`
	Priority    float64  `json:"-"` // annotations.priority, 0…1
	Audience    []string `json:"-"` // annotations.audience
	Modified    string   `json:"-"` // annotations.lastModified, RFC 3339
	Stale       bool     `json:"stale"`
}

// Template is one resource template (RFC 6570).
type Template struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// ResourceList is what the cache holds of a server's resources.
type ResourceList struct {
	Resources []Resource
	Templates []Template
	// Stale: the server said that the list changed and it was not fetched
	// since, or the connection is down.
	Stale bool
	// Fetched: the list was fetched at least once.
	Fetched bool
}

// Prompt is one prompt of a server.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

// PromptArgument is one argument of a [Prompt].
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Content is one part of what a server answers: a resource's content or a part
// of a tool's result.
type Content struct {
	Type     string `json:"type,omitempty"` // text, image, audio, resource, resource_link, or what the server said
	URI      string `json:"uri,omitempty"`
	Name     string `json:"name,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     string `json:"blob,omitempty"` // base64
	// Title, Description and Size, in bytes, are those of a resource_link.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Size        *int64 `json:"size,omitempty"`
	UserOnly    bool   `json:"-"` // annotations.audience is the user alone
}

// ToolResult is a tool's answer.
type ToolResult struct {
	Content    []Content
	Structured json.RawMessage // structuredContent, any JSON value; nil if none
	// Mismatch says how Structured differs from the tool's outputSchema; empty:
	// it fits, or there is nothing to fit.
	Mismatch string
	IsError  bool
}

// Progress is notifications/progress of a call in flight.
type Progress struct {
	Progress, Total float64
	Message         string
}
