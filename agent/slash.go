package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SlashLine is a line of user input that begins with '/' (CONTRACT §6): a
// command of ours, `/name …`, or a prompt of an MCP server, `/server:prompt …`.
type SlashLine struct {
	Name string // as it stands behind '/', unquoted
	// Server is the server's mention name, and Prompt the name of its prompt;
	// both empty: the line is no prompt. `/server:` has an empty Prompt.
	Server, Prompt string
	Rest           string // what follows the name, without the white space around it
	Args           []SlashArg
	End            int // where the name ends, in bytes of the line
}

// SlashArg is one argument: `value`, `name=value`, either of them in quotes. A
// value without quotes ends at white space. Between quotes `\"` is a quote, and
// a backslash is itself, save before a quote, where two are one.
type SlashArg struct {
	Name       string // "": the value stands without a name
	Value      string
	Start, End int  // of the whole argument, in bytes of the line
	At         int  // where the value starts, with its quote
	Open       bool // a quote is not closed: the value is what follows it
}

// ParseSlash reads a line of user input, without its ending. ok is false for
// what is no command line: a line that is indented, a path as `/usr/bin/env`,
// and a '/' that no letter, digit or `_` follows.
func ParseSlash(line string) (l SlashLine, ok bool) {
	line = strings.TrimRight(line, "\r\n")
	word, ok := strings.CutPrefix(line, "/")
	if !ok {
		return SlashLine{}, false
	}
	word = word[:wordEnd(word)]
	server, prompt, isPrompt := strings.Cut(word, ":")
	isPrompt = isPrompt && isMentionName(server)
	switch first, _ := utf8.DecodeRuneInString(word); {
	case isPrompt && strings.HasPrefix(prompt, "/"): // `/c:/dir`, `/http://host`
		return SlashLine{}, false
	case isPrompt && strings.HasPrefix(prompt, `"`):
		var n int
		prompt, n, _ = unquoteSlash(line[1+len(server)+1:])
		l.End = 1 + len(server) + 1 + n
		l.End += wordEnd(line[l.End:]) // what sticks to the quote
	case !isPrompt && (strings.Contains(word, "/") || !unicode.IsLetter(first) && !unicode.IsDigit(first) && first != '_'):
		return SlashLine{}, false
	default:
		l.End = 1 + len(word)
	}
	if l.Name = word; isPrompt {
		l.Server, l.Prompt, l.Name = server, prompt, server+":"+prompt
	}
	l.Rest = strings.TrimSpace(line[l.End:])
	l.Args = slashArgs(line, l.End)
	return l, true
}

// wordEnd is how long the text is up to white space.
func wordEnd(text string) int {
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return i
	}
	return len(text)
}

// isMentionName reports whether a text has the form of a server's mention name.
func isMentionName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	})
}

// slashArgs reads the arguments of a line from a place on.
func slashArgs(line string, at int) (args []SlashArg) {
	for {
		at += len(line[at:]) - len(strings.TrimLeftFunc(line[at:], unicode.IsSpace))
		if at == len(line) {
			return args
		}
		a := slashArg(line, at)
		args = append(args, a)
		at = a.End
	}
}

// slashArg reads the argument that starts at a place.
func slashArg(line string, at int) SlashArg {
	a := SlashArg{Start: at, At: at}
	if n := bareName(line[at:]); n > 0 {
		a.Name, a.At = line[at:at+n], at+n+1
	}
	a.Value, a.End, a.Open = slashValue(line, a.At)
	if name, ok := strings.CutPrefix(line[at:], `"`); ok && !a.Open {
		text, n, _ := unquoteSlash(`"` + name)
		if after := at + n; strings.HasPrefix(line[after:], "=") && text != "" {
			a.Name, a.At = text, after+1
			a.Value, a.End, a.Open = slashValue(line, a.At)
		}
	}
	return a
}

// bareName is the length of a name without quotes that '=' follows; 0: there is
// none.
func bareName(text string) int {
	for i, r := range text {
		switch {
		case unicode.IsLetter(r), r == '_', i > 0 && (unicode.IsNumber(r) || unicode.IsMark(r) || r == '.' || r == '-'):
		case r == '=':
			return i
		default:
			return 0
		}
	}
	return 0
}

// slashValue reads a value, and says where it ends.
func slashValue(line string, at int) (value string, end int, open bool) {
	if strings.HasPrefix(line[at:], `"`) {
		text, n, closed := unquoteSlash(line[at:])
		end = at + n
		value, open = text, !closed
	} else {
		end = at
	}
	n := wordEnd(line[end:])
	return value + line[end:end+n], end + n, open
}

// unquoteSlash reads a text in quotes, whose length in the line is n. One that
// is not closed goes to the line's end.
func unquoteSlash(line string) (text string, n int, closed bool) {
	var b strings.Builder
	for i := 1; i < len(line); {
		slashes := len(line[i:]) - len(strings.TrimLeft(line[i:], `\`))
		i += slashes
		if i == len(line) || line[i] != '"' {
			b.WriteString(line[i-slashes : i])
			if i < len(line) {
				b.WriteByte(line[i])
				i++
			}
			continue
		}
		b.WriteString(strings.Repeat(`\`, slashes/2))
		i++
		if slashes%2 == 0 {
			return b.String(), i, true
		}
		b.WriteByte('"')
	}
	return b.String(), len(line), false
}

// QuoteSlash writes a value as an argument of a `/` line, in quotes where it
// needs them. ok is false for a value that no line can hold.
func QuoteSlash(value string) (text string, ok bool) {
	if strings.ContainsAny(value, "\r\n") {
		return "", false
	}
	bare := value != "" && value[0] != '"' && bareName(value) == 0 && wordEnd(value) == len(value)
	if bare {
		return value, true
	}
	return quoteSlash(value), true
}

func quoteSlash(value string) string {
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for i := range len(value) {
		switch value[i] {
		case '\\':
			slashes++
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes+1))
			slashes = 0
		default:
			slashes = 0
		}
		b.WriteByte(value[i])
	}
	b.WriteString(strings.Repeat(`\`, slashes)) // the closing quote is one
	b.WriteByte('"')
	return b.String()
}

// SlashPromptName writes the name of a server's prompt as it stands at the
// beginning of a line. ok is false for a name that no line can hold.
func SlashPromptName(server, prompt string) (text string, ok bool) {
	if strings.ContainsAny(prompt, "\r\n") {
		return "", false
	}
	if prompt == "" || prompt[0] == '"' || prompt[0] == '/' || wordEnd(prompt) != len(prompt) {
		prompt = quoteSlash(prompt)
	}
	return "/" + server + ":" + prompt, true
}

// SlashArgName writes the name of an argument with its '='. ok is false for a
// name that no line can hold.
func SlashArgName(name string) (text string, ok bool) {
	switch {
	case name == "" || strings.ContainsAny(name, "\r\n"):
		return "", false
	case bareName(name+"=") == len(name):
		return name + "=", true
	}
	return quoteSlash(name) + "=", true
}
