package agent

import (
	"fmt"
	"regexp"
	"strings"
)

// globRegexp compiles a glob for slash-separated relative paths: * and ? stay
// within a name, ** crosses directories, [a-z] and {a,b} choose. A pattern
// without a slash matches a name in any directory.
func globRegexp(glob string) (*regexp.Regexp, error) {
	pattern := strings.TrimPrefix(strings.ReplaceAll(glob, `\`, "/"), "./")
	anchored := strings.Contains(pattern, "/")
	pattern = strings.TrimPrefix(pattern, "/")
	var b strings.Builder
	b.WriteString("^")
	if !anchored {
		b.WriteString("(?:.*/)?")
	}
	depth := 0
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '[':
			class, n := globClass(rest)
			b.WriteString(class)
			i += n - 1
		case c == '{':
			depth++
			b.WriteString("(?:")
		case c == '}' && depth > 0:
			depth--
			b.WriteString(")")
		case c == ',' && depth > 0:
			b.WriteString("|")
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	b.WriteString("$")
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("the glob %q cannot be used: write it like **/*.go or src/*.{ts,tsx}", oneLine(glob, 200))
	}
	return re, nil
}

// globClass translates a [class] at the start of a pattern and says how long
// it was; without an end the bracket is itself.
func globClass(pattern string) (class string, n int) {
	end := strings.IndexByte(pattern[1:], ']')
	if end <= 0 {
		return `\[`, 1
	}
	body := pattern[1 : end+1]
	negated := ""
	if body[0] == '!' || body[0] == '^' {
		negated, body = "^", body[1:]
	}
	body = strings.NewReplacer(`[`, `\[`, `^`, `\^`, `&`, `\&`).Replace(body)
	return "[" + negated + body + "]", end + 2
}
