package agent

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The bounds of one look into a command. Beyond them it is unclear.
const (
	maxScanDepth = 8    // scripts inside of scripts
	maxScanParts = 1000 // simple commands
	maxScanBytes = 4 * maxLooked
)

// runsOthers says why a simple command is more than its program: it runs
// others, or what it runs cannot be told. "" for an ordinary one.
func runsOthers(words []shellWord) string {
	if !words[0].literal {
		return "its program cannot be told"
	}
	name := programName(words[0].text)
	_, wraps := wrappers[name]
	switch {
	case wraps:
		return name + " runs what its arguments say"
	case shells[name] && !runsFile(words):
		return name + " runs what its arguments say"
	case name == "find" && slices.ContainsFunc(words[1:], func(w shellWord) bool { return findExec[w.text] || !w.literal }):
		return "find may run other programs with it"
	case name == "alias":
		return "it makes an alias"
	case subscripts[name] && slices.ContainsFunc(words[1:], func(w shellWord) bool { return !w.literal || evaluated(w.text) }):
		return name + " may run what stands in a subscript"
	}
	return ""
}

// evaluated reports whether a word may be a name with a subscript that runs
// something.
func evaluated(word string) bool {
	return strings.Contains(word, "[") && strings.ContainsAny(word, "$`")
}

// runsFile reports whether a shell is given a file to run and no code.
func runsFile(words []shellWord) bool {
	if len(words) < 2 || !words[1].literal || words[1].text == "" {
		return false
	}
	first := words[1].text[0]
	return first != '-' && first != '+' && (first != '/' || programName(words[0].text) != "cmd")
}

// commandScan collects every simple command of a script, at any depth.
type commandScan struct {
	parts   [][]shellWord
	writes  []shellWord
	bytes   int // of the scripts so far
	unclear bool
}

// full reports whether the look has gone as far as it may: what is behind
// stays unclear.
func (s *commandScan) full(depth int) bool {
	full := depth > maxScanDepth || len(s.parts) >= maxScanParts || s.bytes > maxScanBytes
	s.unclear = s.unclear || full
	return full
}

// script reads a text as each kind of shell does.
func (s *commandScan) script(text string, depth int) {
	if s.full(depth) {
		return
	}
	if s.bytes += len(text); s.bytes > maxScanBytes || len(text) > maxLooked {
		s.unclear = true
		return
	}
	for _, lang := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
		stmts, err := parseShell(text, lang)
		for _, stmt := range stmts { // a shell runs the lines before one that it cannot read
			syntax.Walk(stmt, func(n syntax.Node) bool {
				s.node(n, depth)
				return true
			})
		}
		if err != nil {
			s.unclear = true
			s.guess(text)
		}
	}
}

func (s *commandScan) node(n syntax.Node, depth int) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		s.words(readWords(n.Args), depth)
	case *syntax.DeclClause:
		s.words([]shellWord{{n.Variant.Value, true}}, depth)
	case *syntax.Redirect:
		s.redirect(n)
	case *syntax.Stmt:
		if call, ok := n.Cmd.(*syntax.CallExpr); ok && slices.ContainsFunc(readWords(call.Args), func(w shellWord) bool { return shells[programName(w.text)] || readers[programName(w.text)] }) {
			s.fed(n.Redirs, depth)
		}
	}
}

// redirect takes the target of a redirect that writes.
func (s *commandScan) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.RdrIn, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	}
	w := readWord(r.Word)
	if r.Op == syntax.DplOut && w.literal && strings.Trim(w.text, "0123456789-") == "" {
		return // >&2
	}
	s.writes = append(s.writes, w)
}

// runsMore reports whether words that are put behind others may be a command:
// there is none yet, or one that runs what follows it.
func runsMore(words []shellWord) bool {
	return !slices.ContainsFunc(words, func(w shellWord) bool { return w.literal && !w.flag() }) ||
		slices.ContainsFunc(words, func(w shellWord) bool {
			name := programName(w.text)
			_, wraps := wrappers[name]
			return wraps || shells[name]
		})
}

// fed reads what a shell is given as its input.
func (s *commandScan) fed(redirects []*syntax.Redirect, depth int) {
	for _, r := range redirects {
		switch {
		case r.Hdoc != nil:
			s.script(readWord(r.Hdoc).text, depth+1)
		case r.Op == syntax.WordHdoc:
			s.script(readWord(r.Word).text, depth+1)
		}
	}
}

func readWords(args []*syntax.Word) []shellWord {
	out := make([]shellWord, len(args))
	for i, w := range args {
		out[i] = readWord(w)
	}
	return out
}

// words takes one simple command, and what it runs as a wrapper.
func (s *commandScan) words(words []shellWord, depth int) {
	if len(words) == 0 {
		return
	}
	if s.full(depth) {
		return
	}
	s.parts = append(s.parts, words)
	if !words[0].literal {
		return // the rules see that
	}
	name := programName(words[0].text)
	wrap, wraps := wrappers[name]
	s.unclear = s.unclear || readers[name] || appenders[name] && runsMore(words[1:])
	switch {
	case wraps:
		s.wrapped(words[1:], wrap, depth)
	case shells[name]:
		s.shell(words, depth)
	case name == "find":
		for i, w := range words {
			if findExec[w.text] {
				s.words(words[i+1:], depth+1)
			}
		}
	case name == "alias":
		for _, w := range words[1:] {
			if _, value, ok := strings.Cut(w.text, "="); ok {
				s.script(value, depth+1)
			}
		}
	case len(words) > 2 && words[1].text != "config" && runSubcommands[words[1].text]: // poetry run rm
		s.wrapped(words[2:], wrapper{operands: containers[name]}, depth)
	case subscripts[name]:
		for _, w := range words[1:] {
			if evaluated(w.text) {
				s.script(`: "`+w.text+`"`, depth+1)
			}
		}
	}
}

// splitString gives the words of env's -Stext and --split-string=text.
func splitString(flag string) (text string, ok bool) {
	if text, ok = strings.CutPrefix(flag, "-S"); !ok {
		text, ok = strings.CutPrefix(flag, "--split-string=")
	}
	return text, ok && text != ""
}

// wrapped takes the command that follows a wrapper. Any flag before it may
// have a value or not, and operands may be left out: each word that may be the
// program is taken for it.
func (s *commandScan) wrapped(words []shellWord, w wrapper, depth int) {
	flags, others := 0, 0
	for i, word := range words {
		if s.full(depth + 1) {
			return
		}
		switch {
		case !word.literal:
			s.unclear = true
		case word.flag() || word.text == "-" || strings.HasPrefix(word.text, "+"):
			flags++
			if _, code, ok := strings.Cut(word.text, "="); ok && w.code {
				s.script(code, depth+1) // --command=…
			}
			if code, ok := splitString(word.text); ok && !w.code {
				s.script(code, depth+1)
			}
			continue
		case isAssignment(word.text) && !w.code:
			continue
		}
		others++
		if w.code {
			s.script(word.text, depth+1) // behind -c, and of a program without operands
			s.script(joined(words[i:]), depth+1)
		}
		s.words(words[i:], depth+1)
		if strings.ContainsAny(word.text, " \t\n") && !w.code {
			s.script(joined(words[i:]), depth+1) // env -S "rm x"
		}
		if others > w.operands+flags {
			return
		}
	}
}

func joined(words []shellWord) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return strings.Join(out, " ")
}

// isAssignment reports whether a word is NAME=value, as env takes it.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// shell takes what a shell is told to run. A file is not looked into.
func (s *commandScan) shell(words []shellWord, depth int) {
	if runsFile(words) {
		s.unclear = s.unclear || strings.HasPrefix(words[1].text, "/dev/") || strings.HasPrefix(words[1].text, "/proc/")
		return
	}
	code := false
	for _, w := range words[1:] {
		if !w.literal {
			s.unclear = true
		} else if !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+") {
			code = true
			s.unclear = s.unclear || strings.Contains(w.text, "{}") // of find and xargs: what they found
			s.script(w.text, depth+1)
		}
	}
	if !code {
		s.unclear = true // it runs what it reads
	}
}

// guess takes the words of a text that cannot be parsed, each as the start of
// a command.
func (s *commandScan) guess(text string) {
	words := literals(strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("\"'`$(){};&|<>\\,=^%!", r)
	}))
	for i := range words {
		if s.full(0) {
			return
		}
		s.parts = append(s.parts, words[i:])
	}
}

// readPlain reads a command of a shell that is not known here, as those of
// Windows are: allowed is what has only words that mean the same to all, and
// the rest is guessed.
func (c *command) readPlain() {
	s := commandScan{}
	s.guess(c.text)
	c.parts = s.parts
	plain := c.text != "" && !strings.ContainsFunc(c.text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(" _-./:", r)
	})
	if !plain {
		c.unclear, c.why = true, "it is more than plain words"
		return
	}
	words := literals(strings.Fields(c.text))
	if len(words) == 0 {
		c.why = "it is empty"
	} else if c.why = runsOthers(words); c.why == "" {
		c.words = words
	}
}
