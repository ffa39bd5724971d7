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

// wrapper is a program that runs what its arguments say.
type wrapper struct {
	operands int  // how many of its own come before the other's program
	code     bool // the rest, joined, is shell code
}

// wrappers are the programs, and what shells have built in, that run others
// by their nature. Those that do so by a flag of theirs (find, git, tar, go
// test -exec, …) are left to the rules' words.
//
//nolint:gochecknoglobals // a constant table
var wrappers = map[string]wrapper{
	"sudo": {}, "doas": {}, "pkexec": {}, "run0": {}, "env": {}, "xargs": {}, "gxargs": {}, "nice": {}, "nohup": {}, "setsid": {}, "stdbuf": {},
	"ionice": {}, "time": {}, "command": {}, "builtin": {}, "exec": {}, "busybox": {}, "toybox": {}, "strace": {}, "ltrace": {}, "unshare": {},
	"nsenter": {}, "setpriv": {}, "prlimit": {}, "systemd-run": {}, "systemd-inhibit": {}, "firejail": {}, "bwrap": {}, "fakeroot": {}, "unbuffer": {}, "rlwrap": {},
	"valgrind": {}, "caffeinate": {}, "chronic": {}, "entr": {}, "setarch": {}, "linux32": {}, "linux64": {}, "dbus-run-session": {}, "xvfb-run": {},
	"noglob": {}, "nocorrect": {}, "start-stop-daemon": {}, "cgexec": {}, "proxychains": {}, "torsocks": {}, ".": {}, "source": {},
	"timeout": {operands: 1}, "gtimeout": {operands: 1}, "flock": {operands: 1, code: true}, "chroot": {operands: 1}, "taskset": {operands: 1}, "chrt": {operands: 1},
	"ssh": {operands: 1, code: true}, "su": {operands: 1, code: true}, "runuser": {operands: 1, code: true}, "sg": {operands: 1, code: true},
	"eval": {code: true}, "watch": {code: true}, "parallel": {code: true}, "script": {code: true}, "trap": {code: true},
	"fc": {code: true}, "bind": {code: true}, "complete": {code: true}, "compgen": {code: true}, "mapfile": {code: true}, "readarray": {code: true},
	"coproc": {}, "enable": {}, "at": {code: true}, "batch": {code: true}, "wsl": {}, "start": {}, "call": {}, "invoke-expression": {code: true}, "iex": {code: true},
}

// shells run the text behind -c, else a file, else what they read.
//
//nolint:gochecknoglobals // a constant table
var shells = map[string]bool{
	"sh": true, "bash": true, "rbash": true, "dash": true, "ash": true, "zsh": true, "ksh": true, "ksh93": true, "mksh": true, "pdksh": true, "fish": true,
	"csh": true, "tcsh": true, "yash": true, "posh": true, "elvish": true, "nu": true, "xonsh": true, "cmd": true, "powershell": true, "pwsh": true,
}

// subscripts are what shells have built in that evaluates the subscript of a
// variable's name: printf -v 'a[$(rm x)]' runs rm.
//
//nolint:gochecknoglobals // a constant table
var subscripts = map[string]bool{
	"printf": true, "read": true, "test": true, "[": true, "unset": true, "let": true, "declare": true, "typeset": true, "local": true,
	"export": true, "readonly": true, "getopts": true, "wait": true,
}

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

// findExec are the flags of find that a command follows.
//
//nolint:gochecknoglobals // a constant table
var findExec = map[string]bool{"-exec": true, "-execdir": true, "-ok": true, "-okdir": true}

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
	case *syntax.Stmt:
		if call, ok := n.Cmd.(*syntax.CallExpr); ok && slices.ContainsFunc(readWords(call.Args), func(w shellWord) bool { return shells[programName(w.text)] }) {
			s.fed(n.Redirs, depth)
		}
	}
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
	case subscripts[name]:
		for _, w := range words[1:] {
			if evaluated(w.text) {
				s.script(`: "`+w.text+`"`, depth+1)
			}
		}
	}
}

// wrapped takes the command that follows a wrapper. Any flag before it may
// have a value or not: each word that may be the program is taken for it.
func (s *commandScan) wrapped(words []shellWord, w wrapper, depth int) {
	flags, others := 0, 0
	for i, word := range words {
		if s.full(depth + 1) {
			return
		}
		switch {
		case !word.literal:
			s.unclear = true
		case word.flag() || strings.HasPrefix(word.text, "+"):
			flags++
			if _, code, ok := strings.Cut(word.text, "="); ok && w.code {
				s.script(code, depth+1) // --command=…
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
		if others > w.operands {
			s.words(words[i:], depth+1)
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
