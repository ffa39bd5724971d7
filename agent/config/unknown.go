package config

import (
	"fmt"
	"slices"
	"strings"

	"agentls/agent"
)

// keysIn are the keys of the objects of our own format, by the path of the
// object; NAME stands for a name that a person gives.
//
//nolint:gochecknoglobals // a constant table
var keysIn = map[string][]string{
	"":                {"provider", "providers", "mcpServers", "approval", "notifications", "answers", "detached", "limits"},
	"approval":        {"default", "allow", "ask", "deny", "timeoutSeconds"},
	"limits":          {"steps", "tokens", "mentionChars", "toolResultBytes", "parallelTools"},
	"providers.NAME":  {"preset", "baseURL", "apiKey", "model", "contextWindow", "headers", "extraBody", "idleTimeoutSeconds"},
	"mcpServers.NAME": {"type", "command", "args", "env", "envFile", "cwd", "url", "headers", "oauth", "disabled", "inheritEnv", "trustAnnotations", "sampling", "timeoutSeconds", "startupTimeoutSeconds", "protocol", "enabledTools", "disabledTools"},

	"mcpServers.NAME.oauth": {"clientId", "clientSecret", "clientMetadataUrl", "scopes", "redirectPort"},
}

// elsewhere is how other programs call our keys.
//
//nolint:gochecknoglobals // a constant table
var elsewhere = map[string]string{"cmd": "command", "environment": "env", "endpoint": "baseURL", "serverUrl": "url", "httpUrl": "url", "callbackPort": "redirectPort", "client_id": "clientId"}

// unknown tells of a key that means nothing in the object, and what was
// perhaps meant: one that is spelled nearly so, or the place where it belongs
// (SilasMarvin/lsp-ai#82).
func (m member) unknown(object string) {
	m.wrongKey("unknown key%s", meant(object, m.key))
}

func meant(object, key string) string {
	keys := keysIn[object]
	plain := strings.NewReplacer("_", "", "-", "").Replace(key)
	for _, k := range keys {
		if strings.EqualFold(k, plain) || k == elsewhere[key] {
			return fmt.Sprintf("; did you mean %q?", k)
		}
	}
	var places []string
	for _, other := range []string{"", "approval", "limits", "providers.NAME", "mcpServers.NAME", "mcpServers.NAME.oauth"} {
		if other != object && slices.Contains(keysIn[other], key) {
			places = append(places, placeOf(other))
		}
	}
	if len(places) > 0 {
		return "; it belongs into " + strings.Join(places, " or ")
	}
	for _, k := range keys {
		if limit := max(len(k)/4+1, 2); len(key) < 2*len(k) && agent.EditDistance(strings.ToLower(k), strings.ToLower(key)) <= limit {
			return fmt.Sprintf("; did you mean %q?", k)
		}
	}
	return "; known are " + list(keys)
}

func placeOf(object string) string {
	if object == "" {
		return "the outermost object"
	}
	return object
}
