package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// CheckArguments returns an error, in words for a model, for arguments that do
// not fit the tool's inputSchema. It is nil for a tool that there is not, and
// for a schema that cannot be read, which is told once: the server decides then.
func (m *Manager) CheckArguments(server, tool string, args json.RawMessage) error {
	s, err := m.find(server)
	if err != nil {
		return nil //nolint:nilerr // the call says so
	}
	t, known := s.tool(tool)
	if !known {
		return nil
	}
	return t.input.check(args, func(err error) {
		s.problem(fmt.Sprintf("the inputSchema of the tool %q cannot be used to check arguments: %v", clip(tool, 100), err))
	})
}

// tool returns a tool that is listed now.
func (s *session) tool(name string) (Tool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return s.tools[i], true
}

// checked holds a result against the tool's outputSchema (2025-11-25 and
// 2026-07-28, server/tools, "Output Schema"). What does not fit is given all
// the same, and told once for each definition of the tool.
func (s *session) checked(t Tool, res ToolResult) ToolResult {
	if t.output == nil || res.IsError {
		return res
	}
	told := func(format string, args ...any) {
		t.output.tell.Do(func() { s.problem(fmt.Sprintf("the tool %q %s", clip(t.Name, 100), fmt.Sprintf(format, args...))) })
	}
	if res.Structured == nil {
		told("has an outputSchema, and gave no structuredContent")
		return res
	}
	err := t.output.check(res.Structured, func(err error) {
		s.problem(fmt.Sprintf("the outputSchema of the tool %q cannot be used to check results: %v", clip(t.Name, 100), err))
	})
	if err != nil {
		res.Mismatch = err.Error()
		told("gave structuredContent that does not fit its outputSchema: %v", err)
	}
	return res
}

// enabled leaves out the tools that the configuration does not want, and marks
// those whose annotations it trusts. Names in it that the server does not have
// are told once.
func (s *session) enabled(tools []Tool) []Tool {
	var unknown []string
	for _, name := range slices.Concat(s.cfg.EnabledTools, s.cfg.DisabledTools) {
		if !slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == name }) {
			unknown = append(unknown, fmt.Sprintf("%q", clip(name, 100)))
		}
	}
	if len(unknown) > 0 {
		s.unknownTools.Do(func() {
			s.problem("enabledTools or disabledTools name tools that the server does not have: " + clip(strings.Join(unknown, ", "), 500))
		})
	}
	tools = slices.DeleteFunc(tools, func(t Tool) bool {
		return len(s.cfg.EnabledTools) > 0 && !slices.Contains(s.cfg.EnabledTools, t.Name) || slices.Contains(s.cfg.DisabledTools, t.Name)
	})
	for i := range tools {
		tools[i].Trusted = s.cfg.TrustAnnotations
	}
	return tools
}
