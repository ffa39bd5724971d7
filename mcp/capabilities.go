package mcp

import "encoding/json"

// capabilities is what a server says it has.
type capabilities struct {
	tools, resources, prompts, logging bool
	subscribe                          bool // resources/subscribe, or its entry in subscriptions/listen
	resourcesChange                    bool // resources/list_changed is sent
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
	var res struct {
		Subscribe   maybe[bool] `json:"subscribe"`
		ListChanged maybe[bool] `json:"listChanged"`
	}
	_ = json.Unmarshal(r.Capabilities.v["resources"], &res)
	return capabilities{
		tools: has("tools"), resources: has("resources"), prompts: has("prompts"), logging: has("logging"),
		subscribe: res.Subscribe.v, resourcesChange: res.ListChanged.v,
	}
}
