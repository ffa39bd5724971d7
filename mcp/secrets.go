package mcp

import (
	"regexp"
	"sort"
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
		if _, ok := s.values[v]; !ok {
			s.values[v] = struct{}{}
			changed = true
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
	return knownSecret.ReplaceAllString(text, Redacted)
}
