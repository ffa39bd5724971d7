package agenttest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"agentls/agent"
)

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// maxTools is how many tools providers take in a request.
const maxTools = 128

// Check says why a provider would refuse a request; nil: it would not.
func Check(req agent.Request) error {
	if err := checkTools(req.Tools); err != nil {
		return err
	}
	messages := req.Messages
	if req.MaxTokens > 0 && len(messages) > 0 && messages[0].Role != agent.System { // a server's own: it may have no such message
		messages = append([]agent.Message{{Role: agent.System, Text: "-"}}, messages...)
	}
	return CheckHistory(messages)
}

func checkTools(tools []agent.ToolSpec) error {
	if len(tools) > maxTools {
		return fmt.Errorf("%d tools", len(tools))
	}
	seen := map[string]bool{}
	for _, t := range tools {
		var schema struct {
			Type       any
			Properties map[string]json.RawMessage
		}
		switch err := json.Unmarshal(t.Schema, &schema); {
		case !toolName.MatchString(t.Name):
			return fmt.Errorf("tool name %q", t.Name)
		case seen[t.Name]:
			return fmt.Errorf("two tools named %q", t.Name)
		case t.Description == "" || !utf8.ValidString(t.Description):
			return fmt.Errorf("tool %s: description %q", t.Name, t.Description)
		case err != nil || schema.Type != "object" || schema.Properties == nil:
			return fmt.Errorf("tool %s: schema %s", t.Name, t.Schema)
		}
		seen[t.Name] = true
	}
	return nil
}

// CheckHistory says why a provider would refuse messages: each call has its
// result right after it, and nothing is empty.
func CheckHistory(messages []agent.Message) error {
	var open []string // calls that wait for their results
	for i, m := range messages {
		if !utf8.ValidString(m.Text) {
			return fmt.Errorf("message %d: invalid UTF-8", i)
		}
		if m.Role == agent.ToolRole {
			k := slices.Index(open, m.ToolCallID)
			switch {
			case k < 0:
				return fmt.Errorf("message %d: a result for %q, which is no open call", i, m.ToolCallID)
			case m.Text == "":
				return fmt.Errorf("message %d: an empty result", i)
			}
			open = slices.Delete(open, k, k+1)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d: calls %q have no result before it", i, open)
		}
		if err := checkMessage(i, m); err != nil {
			return err
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %q have no result", open)
	}
	return nil
}

func checkMessage(i int, m agent.Message) error {
	switch {
	case (m.Role == agent.System) != (i == 0):
		return fmt.Errorf("message %d: role %s", i, m.Role)
	case strings.TrimSpace(m.Text) == "" && len(m.Images) == 0 && len(m.ToolCalls) == 0:
		return fmt.Errorf("message %d: empty", i)
	case len(m.Images) > 0 && m.Role != agent.User, len(m.ToolCalls) > 0 && m.Role != agent.Assistant, m.ToolCallID != "":
		return fmt.Errorf("message %d: %s with images, calls or a call's id", i, m.Role)
	}
	ids := map[string]bool{}
	for _, c := range m.ToolCalls {
		var args map[string]json.RawMessage
		switch {
		case c.ID == "" || ids[c.ID]:
			return fmt.Errorf("message %d: call id %q", i, c.ID)
		case !toolName.MatchString(c.Name):
			return fmt.Errorf("message %d: call of %q", i, c.Name)
		case json.Unmarshal([]byte(c.Arguments), &args) != nil || args == nil:
			return fmt.Errorf("message %d: arguments %q", i, c.Arguments)
		}
		ids[c.ID] = true
	}
	return nil
}

// CheckThreads says where the history of a conversation was not what it had
// been with more behind it: a request of all those that came in the order of
// requests goes on from one before, or begins a conversation. It is for models
// with room enough that nothing is left out of a history.
func CheckThreads(requests []agent.Request) error {
	var threads [][]agent.Message
	for n, req := range requests {
		now := req.Messages[1:] // the instructions may change
		before := slices.IndexFunc(threads, func(t []agent.Message) bool { return goesOnFrom(t, now) })
		switch {
		case before >= 0:
			threads[before] = now
		case n == 0, !slices.ContainsFunc(now, func(m agent.Message) bool { return m.Role == agent.Assistant }):
			threads = append(threads, now)
		default:
			return fmt.Errorf("the history of request %d goes on from none before: %+v", n+1, now)
		}
	}
	return nil
}

func goesOnFrom(before, now []agent.Message) bool {
	return len(now) >= len(before) && slices.EqualFunc(before, now[:len(before)], func(a, b agent.Message) bool { return reflect.DeepEqual(a, b) })
}
