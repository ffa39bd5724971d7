package mcp

import (
	"encoding/base64"
	"strings"
)

// standardBase64 returns text in the alphabet that the protocol asks for (RFC
// 4648, section 4, padded), where a server gave another spelling of it: for
// URLs, without padding, in lines, or behind the head of a data: URL. What is
// no base64 comes back as it is.
func standardBase64(text string) string {
	if isStandardBase64(text) {
		return text
	}
	plain := strings.TrimSpace(text)
	if strings.HasPrefix(plain, "data:") {
		if _, after, ok := strings.Cut(plain[:min(len(plain), 256)], ";base64,"); ok {
			plain = plain[len(plain[:min(len(plain), 256)])-len(after):]
		}
	}
	plain = strings.Map(func(r rune) rune {
		switch r {
		case '\r', '\n': // a space may have been a '+'
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, plain)
	plain = strings.TrimRight(plain, "=")
	if pad := len(plain) % 4; pad > 1 {
		plain += "=="[:4-pad]
	}
	if plain == "" || !isStandardBase64(plain) {
		return text
	}
	if strings.HasSuffix(plain, "=") { // bits that no byte needs may be set
		if raw, err := base64.StdEncoding.DecodeString(plain); err == nil {
			return base64.StdEncoding.EncodeToString(raw)
		}
	}
	return plain
}

// isStandardBase64 reports whether text decodes by [base64.StdEncoding], and
// has no line ends, which that passes over.
func isStandardBase64(text string) bool {
	if len(text)%4 != 0 {
		return false
	}
	body := strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	for i := range len(body) {
		switch c := body[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '+', c == '/':
		default:
			return false
		}
	}
	return true
}
