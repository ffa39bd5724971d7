package mcp

import "encoding/json"

// capabilities is what a server says it has.
type capabilities struct {
	tools, resources, prompts, logging, completions bool

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
		subscribe: flag("resources", "subscribe"), toolsChange: flag("tools", "listChanged"),
		resourcesChange: flag("resources", "listChanged"), promptsChange: flag("prompts", "listChanged"),
	}
}
