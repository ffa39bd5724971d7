package agent

import (
	"encoding/json"
	"regexp"
	"strings"

	"agentls/mcp"
)

// A word in which a secret's name stands.
const secretWord = `[A-Za-z0-9_.-]*(?:key|token|secret|pass|auth|cred)[A-Za-z0-9_.-]*`

// value is what follows such a word: quoted, or up to where a shell, a URL or
// a header ends it.
const secretValue = `"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'&;|,)}\]]+`

// Secrets that stand beside their name in a text: a command's option
// (--token abc, --token=abc), an assignment (API_KEY=abc, "key": "abc"), a
// header (Authorization: …), a URL's user info.
var (
	secretOption = regexp.MustCompile(`(?i)((?:^|[\s"'=])--?` + secretWord + `)(\s+|=)(` + secretValue + `)`)
	secretAssign = regexp.MustCompile(`(?i)(\b` + secretWord + `["']?\s*[=:]\s*)(?:(?:bearer|basic|token)\s+)?(` + secretValue + `)`)
	secretURL    = regexp.MustCompile(`(://)[^\s/@"']+@`)
	optionAlone  = regexp.MustCompile(`(?i)^(?:--?` + secretWord + `|-u)$`)
)

// redactText returns a text without the secrets that are known or stand beside
// a name of one.
func redactText(secrets *mcp.Secrets, text string) string {
	if text == "" {
		return ""
	}
	text = secrets.Redact(text)
	text = secretURL.ReplaceAllString(text, "${1}"+mcp.Redacted+"@")
	text = secretOption.ReplaceAllString(text, "${1}${2}"+mcp.Redacted)
	return secretAssign.ReplaceAllString(text, "${1}"+mcp.Redacted)
}

// redactJSON redacts every string of a JSON value, and what stands under a
// secret-looking key or after an option that takes a secret.
func redactJSON(secrets *mcp.Secrets, raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber() // numbers stay as they were written
	var v any
	if d.Decode(&v) != nil {
		return marshal(mcp.Redacted)
	}
	return marshal(redactValue(secrets, v, false))
}

func redactValue(secrets *mcp.Secrets, v any, secret bool) any {
	switch v := v.(type) {
	case string:
		if secret && v != "" {
			return mcp.Redacted
		}
		return redactText(secrets, v)
	case json.Number:
		if secret {
			return mcp.Redacted
		}
		if text := secrets.Redact(v.String()); text != v.String() {
			return text
		}
	case []any:
		after := false // an option that takes a secret
		for i, one := range v {
			s, _ := one.(string)
			v[i] = redactValue(secrets, one, secret || after)
			after = optionAlone.MatchString(s)
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			out[secrets.Redact(key)] = redactValue(secrets, one, secret || mcp.IsSecretKey(key))
		}
		return out
	}
	return v
}
