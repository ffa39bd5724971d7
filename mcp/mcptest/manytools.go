package mcptest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// ManyTools makes n tools, at most 200, as the largest real servers have them:
// 198 of @tacticlaunch/mcp-linear are 240 kB of JSON.
func ManyTools(n int) []Tool {
	verbs := []string{"create", "update", "delete", "get", "list", "search", "archive", "assign", "rotate", "export"}
	nouns := []string{
		"Issue", "Project", "Comment", "Team", "Label", "Cycle", "Milestone", "Initiative", "Document", "Attachment",
		"WebhookSecret", "User", "Customer", "Roadmap", "Notification", "Template", "Favorite", "Reaction", "WorkflowState", "Integration",
	}
	var out []Tool
	for _, noun := range nouns {
		for _, verb := range verbs {
			if len(out) == n {
				return out
			}
			out = append(out, Tool{
				Name: "linear_" + verb + noun, Description: fmt.Sprintf("Use it to %s one %s of the workspace. Takes the id, or the fields that are to be set.", verb, words(noun)),
				Schema: manySchema(words(noun)), Answer: verb + " " + words(noun) + " done",
			})
		}
	}
	return out
}

// manySchema is about a kilobyte, as those of real servers.
func manySchema(noun string) json.RawMessage {
	properties := object{}
	for _, field := range []string{"id", "title", "description", "teamId", "stateId", "priority", "dueDate", "parentId", "sortOrder"} {
		properties[field] = object{"type": "string", "description": fmt.Sprintf("The %s of the %s as it is to be from now on, or none to leave it as it is", field, noun)}
	}
	return encodeParams(object{"type": "object", "properties": properties, "additionalProperties": false})
}

// words splits a name in camel case.
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
