package mcp

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// Secrets knows the values that must never reach a log, the audit, an error or
// a progress text (CONTRACT §8), and the public formats of keys. It is made
// once in cmd and handed to every package that writes text. The zero value is
// not usable; use NewSecrets. Safe for concurrent use.
type Secrets struct {
	mu     sync.RWMutex
	values map[string]struct{}
	re     *strings.Replacer
}

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// minSecret is the length in bytes from which a value is treated as secret;
// shorter ones would mangle ordinary text.
const minSecret = 8

var secretKey = regexp.MustCompile(`(?i)(key|token|secret|pass|auth|cred)`)

// knownSecret matches the formats of keys that services hand out, and the
// value that follows an authorization scheme.
var knownSecret = regexp.MustCompile(`\b(sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*)`)

var bearer = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`)

// inURL matches the password of a URL and what stands in its query under a
// secret-looking name.
var inURL = regexp.MustCompile(`(?i)(://[^\s/@:"']*:)[^\s/@"']+@|([?&][\w.-]*(?:key|token|secret|pass|auth|cred|signature)[\w.-]*=)[^\s&#"']+`)

// NewSecrets returns an empty set that already knows the public key formats.
func NewSecrets() *Secrets {
	return &Secrets{values: map[string]struct{}{}, re: strings.NewReplacer()}
}

// Add makes values secret. Values under 8 bytes are passed over.
func (s *Secrets) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := false
	for _, v := range values {
		if len(v) < minSecret {
			continue
		}
		for _, form := range spellings(v) {
			if _, ok := s.values[form]; !ok {
				s.values[form] = struct{}{}
				changed = true
			}
		}
	}
	if !changed {
		return
	}
	all := make([]string, 0, len(s.values))
	for v := range s.values {
		all = append(all, v)
	}
	// The longest first, so that a secret that holds another goes whole.
	sort.Slice(all, func(i, j int) bool { return len(all[i]) > len(all[j]) || len(all[i]) == len(all[j]) && all[i] < all[j] })
	pairs := make([]string, 0, 2*len(all))
	for _, v := range all {
		pairs = append(pairs, v, Redacted)
	}
	s.re = strings.NewReplacer(pairs...)
}

// spellings are the forms in which a value comes to a text: as it is, inside
// of JSON and of a quoted log line, inside of a URL.
func spellings(v string) []string {
	plain, _ := json.Marshal(v) // strings always encode
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	quoted := strconv.Quote(v)
	unescaped := strings.TrimSuffix(text.String(), "\n")
	return []string{
		v, string(plain[1 : len(plain)-1]), unescaped[1 : len(unescaped)-1], quoted[1 : len(quoted)-1],
		url.QueryEscape(v), url.PathEscape(v),
	}
}

// withoutSecret takes the secret out of what inURL matched.
func withoutSecret(match string) string {
	m := inURL.FindStringSubmatch(match)
	if m[1] != "" {
		return m[1] + Redacted + "@"
	}
	return m[2] + Redacted
}

// learn adds what a server that may run is configured with. Before that a
// project's server must not teach us anything: it could hide its own command
// from the person who is asked about it.
func (s *Secrets) learn(c ServerConfig) {
	for _, values := range []map[string]string{c.Env, c.Headers} {
		for name, value := range values {
			if IsSecretKey(name) || strings.EqualFold(name, "Cookie") {
				_, credentials, _ := strings.Cut(value, " ") // after the scheme of Authorization
				s.Add(value, credentials)
			}
		}
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return
	}
	if password, _ := u.User.Password(); password != "" {
		s.Add(password)
	} else {
		s.Add(u.User.Username()) // a name alone is a token
	}
	for name, values := range u.Query() {
		if IsSecretKey(name) {
			s.Add(values...)
		}
	}
}

// IsSecretKey reports whether a field of this name holds a secret.
func IsSecretKey(name string) bool { return secretKey.MatchString(name) }

// Redact returns text with every known secret replaced by [Redacted].
func (s *Secrets) Redact(text string) string {
	if s == nil || text == "" {
		return text
	}
	s.mu.RLock()
	re := s.re
	s.mu.RUnlock()
	text = re.Replace(text)
	text = bearer.ReplaceAllString(text, "$1 "+Redacted)
	if strings.Contains(text, "://") || strings.ContainsAny(text, "?&") {
		text = inURL.ReplaceAllStringFunc(text, withoutSecret)
	}
	return knownSecret.ReplaceAllString(text, Redacted)
}
