package mcp

import (
	"encoding/json"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// clientCapabilities is what a server is told that we can, in both eras: in
// initialize, and in _meta of each request since 2026-07-28. Each has its
// handler in [serverRequestHandler].
func clientCapabilities(cfg ServerConfig, modern, attended bool) mcpgo.ClientCapabilities {
	var c mcpgo.ClientCapabilities
	c.Roots = &struct {
		ListChanged bool `json:"listChanged,omitempty"`
	}{ListChanged: !modern} // since 2026-07-28 a server asks when it needs them
	if attended {
		c.Elicitation = &mcpgo.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}
	}
	if cfg.Sampling { // without tools and context: the model gets what the server gives
		c.Sampling = &mcpgo.SamplingCapability{}
	}
	return c
}

// capabilities is what a server says it has.
type capabilities struct {
	tools, resources, prompts, logging, completions bool

	tasks bool // calls of its tools may be tasks

	subscribe bool // resources/subscribe, or its entry in subscriptions/listen
	// Its list_changed are sent.
	toolsChange, resourcesChange, promptsChange bool
}

// parseCapabilities reads them from the result of initialize or
// server/discover. A capability is one that is there, whatever its value.
func parseCapabilities(hello json.RawMessage) capabilities {
	var r struct {
		Capabilities maybe[map[string]json.RawMessage] `json:"capabilities"`
	}
	if json.Unmarshal(hello, &r) != nil {
		return capabilities{}
	}
	has := func(name string) bool {
		raw := r.Capabilities.v[name]
		return !missing(raw) && string(raw) != "false"
	}
	flag := func(capability, name string) bool {
		var flags map[string]json.RawMessage
		_ = json.Unmarshal(r.Capabilities.v[capability], &flags)
		return string(flags[name]) == "true"
	}
	return capabilities{
		tools: has("tools"), resources: has("resources"), prompts: has("prompts"), logging: has("logging"), completions: has("completions"),
		tasks: runsTasks(r.Capabilities.v["tasks"]), subscribe: flag("resources", "subscribe"), toolsChange: flag("tools", "listChanged"),
		resourcesChange: flag("resources", "listChanged"), promptsChange: flag("prompts", "listChanged"),
	}
}

// changes reports whether the server says that it tells of a list's changes.
func (c capabilities) changes(k listKind) bool {
	switch k {
	case listTools:
		return c.toolsChange
	case listResources:
		return c.resourcesChange
	default:
		return c.promptsChange
	}
}

// parseVersion reads the version of the protocol that is spoken after the
// result of initialize or server/discover.
func parseVersion(hello json.RawMessage) string {
	var r struct {
		Version maybe[string] `json:"protocolVersion"`
	}
	if json.Unmarshal(hello, &r) == nil && r.Version.v != "" {
		return r.Version.v
	}
	return mcpgo.LATEST_PROTOCOL_VERSION // the only one that server/discover negotiates so far
}
