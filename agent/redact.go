package agent

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"agentls/mcp"
)

// A word in which a secret's name stands.
const secretWord = `[A-Za-z0-9_.-]*(?:key|token|secret|pass|auth|cred)[A-Za-z0-9_.-]*`

// value is what follows such a word: up to where a shell, a URL or a header
// ends it, in quoted and other pieces.
const secretValue = `\[redacted\]|(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'&;|,)}\]]+)+`

// A shell's line may go on in the next one.
const secretSpace = `(?:\s|\\\r?\n)+`

// secretPatterns match secrets that stand beside their name in a text.
type secretPatterns struct {
	option *regexp.Regexp // --token abc, --token=abc
	assign *regexp.Regexp // API_KEY=abc, "key": "abc", Authorization: …
	url    *regexp.Regexp // a URL's user info
	user   *regexp.Regexp // -u me:abc
	placed *regexp.Regexp // set key abc, sshpass -p abc, mysql -pabc
	cookie *regexp.Regexp
	pem    *regexp.Regexp // a private key
	alone  *regexp.Regexp // an option whose value is the next argument
}

// secretsBeside are compiled at their first use: all of them take longer than
// most of a start.
//
//nolint:gochecknoglobals // a constant
var secretsBeside = sync.OnceValue(func() secretPatterns {
	re := regexp.MustCompile
	return secretPatterns{
		option: re(`(?i)((?:^|[\s"'=])--?` + secretWord + `)(` + secretSpace + `|=)(` + secretValue + `)`),
		assign: re(`(?i)(\b` + secretWord + `["']?\s*[=:]\s*)(?:(?:bearer|basic|token)\s+)?(` + secretValue + `)`),
		url:    re(`(://)[^\s/@"']+@`),
		user:   re(`(?i)((?:^|\s)(?:-u|--user|--proxy-user)(?:` + secretSpace + `|=)?["']?[^\s:"'/]+:)(` + secretValue + `)`),
		placed: re(`(?i)(\bsshpass` + secretSpace + `-p\s*|\b(?:mysql\w*|mariadb\w*)\b[^|;&\n]{0,200}\s-p|\bset` + secretSpace + `\S*` + secretWord + secretSpace + `)(` + secretValue + `)`),
		cookie: re(`(?i)(\bcookie["']?\s*:\s*)[^"'\n]+`),
		pem:    re(`(?s)()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
		alone:  re(`(?i)^(?:--?` + secretWord + `|-u|--user|--proxy-user)$`),
	}
})

// redactText returns a text without the secrets that are known or stand beside
// a name of one.
func redactText(secrets *mcp.Secrets, text string) string {
	if text == "" {
		return ""
	}
	p := secretsBeside()
	text = secrets.Redact(text)
	text = p.url.ReplaceAllString(text, "${1}"+mcp.Redacted+"@")
	text = p.option.ReplaceAllString(text, "${1}${2}"+mcp.Redacted)
	lower := strings.ToLower(text) // most texts hold nothing that these look for
	for _, rare := range []struct {
		pattern *regexp.Regexp
		words   []string
	}{
		{p.user, []string{"-u", "user"}},
		{p.placed, []string{"sshpass", "mysql", "mariadb", "set"}},
		{p.cookie, []string{"cookie"}},
		{p.pem, []string{"private key"}},
	} {
		if slices.ContainsFunc(rare.words, func(w string) bool { return strings.Contains(lower, w) }) {
			text = rare.pattern.ReplaceAllString(text, "${1}"+mcp.Redacted)
		}
	}
	return p.assign.ReplaceAllString(text, "${1}"+mcp.Redacted)
}

// tellable makes foreign text fit to be told: without secrets, one line of at
// most n characters. It redacts first, or a cut could leave half a secret.
func (a *Agent) tellable(text string, n int) string {
	return oneLine(redactText(a.secrets, ellipsis(text, 4000)), n)
}

// A line of the audit shows 1000 characters, and the patterns above take a
// second for some megabytes: of large arguments the start is looked at.
const (
	redactedTotal = 64 << 10 // bytes of all texts together
	redactedText  = 32 << 10 // of one
	redactedTail  = 8 << 10  // of a text that was cut: may hold half a secret, and goes
	more          = "…"      // stands for what was left out
)

// redactor redacts the parts of one value.
type redactor struct {
	secrets *mcp.Secrets
	left    int // bytes that are still looked at
}

func newRedactor(secrets *mcp.Secrets) *redactor { return &redactor{secrets, redactedTotal} }

// json redacts every string of a JSON value, and what stands under a
// secret-looking key or after an option that takes a secret.
func (r *redactor) json(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // numbers stay as they were written
	var v any
	if d.Decode(&v) != nil {
		return marshal(mcp.Redacted)
	}
	return marshal(r.value(v, false))
}

func (r *redactor) text(s string) string {
	window := min(max(r.left, 0), redactedText)
	if len(s) <= window {
		r.left -= len(s)
		return redactText(r.secrets, s)
	}
	r.left -= window
	s = redactText(r.secrets, clipEnd(s[:window]))
	return clipEnd(s[:max(len(s)-redactedTail, 0)]) + more
}

func (r *redactor) value(v any, secret bool) any {
	r.left -= 8 // small parts count too, or a million of them would not
	switch v := v.(type) {
	case string:
		if secret && v != "" {
			return mcp.Redacted
		}
		return r.text(v)
	case json.Number:
		if secret {
			return mcp.Redacted
		}
		if text := r.text(v.String()); text != v.String() {
			return text
		}
	case []any:
		return r.list(v, secret)
	case map[string]any:
		return r.fields(v, secret)
	}
	return v
}

func (r *redactor) list(v []any, secret bool) []any {
	out := []any{}
	after := false // an option that takes a secret
	for _, one := range v {
		if r.left <= 0 {
			return append(out, more)
		}
		s, _ := one.(string)
		out = append(out, r.value(one, secret || after))
		after = len(s) < 256 && secretsBeside().alone.MatchString(s)
	}
	return out
}

func (r *redactor) fields(v map[string]any, secret bool) map[string]any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if r.left <= 0 {
			out[more] = more
			return out
		}
		start := key[:min(len(key), 256)]
		name := r.secrets.Redact(start)
		if len(key) > 256 {
			name = r.text(key)
		}
		out[name] = r.value(v[key], secret || mcp.IsSecretKey(start))
	}
	return out
}
