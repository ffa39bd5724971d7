package mcp

import (
	"encoding/json"
	"slices"
	"strings"
)

// Tasks (2025-11-25, basic/utilities/tasks; an extension since) are not
// declared: what a server does goes on as long as its call, and ends with it.
// A server that runs a tool as a task only refuses a plain call (-32601), so
// the model is not offered such a tool.

// needsTask reports whether an item of tools/list can only be run as a task.
func needsTask(raw json.RawMessage) bool {
	var t struct {
		Execution maybe[struct {
			TaskSupport maybe[string] `json:"taskSupport"`
		}] `json:"execution"`
	}
	return json.Unmarshal(raw, &t) == nil && t.Execution.v.TaskSupport.v == "required"
}

// runsTasks reports whether a server says that calls may be tasks: without that
// what its tools say of tasks does not count.
func runsTasks(capability json.RawMessage) bool {
	var c struct {
		Requests maybe[struct {
			Tools maybe[struct {
				Call json.RawMessage `json:"call"`
			}] `json:"tools"`
		}] `json:"requests"`
	}
	return json.Unmarshal(capability, &c) == nil && !missing(c.Requests.v.Tools.v.Call)
}

// withoutTasks leaves out the tools that can only be run as tasks, and tells of
// them once.
func (c *connection) withoutTasks(tools []Tool) []Tool {
	if !c.caps.tasks {
		return tools
	}
	var names []string
	tools = slices.DeleteFunc(tools, func(t Tool) bool {
		if t.task {
			names = append(names, t.Name)
		}
		return t.task
	})
	if len(names) > 0 {
		c.tasksTold.Do(func() {
			c.problem("tools that only run as tasks, which agentls does not do, are left out: " + clip(strings.Join(names, ", "), 500))
		})
	}
	return tools
}
