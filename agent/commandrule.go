package agent

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// maxLooked is the longest command that is looked into, in bytes. A longer one
// is always asked about.
const maxLooked = 16 << 10

// shellWord is a word of a command.
type shellWord struct {
	text    string
	literal bool // text is what the program gets: nothing in it expands
}

func (w shellWord) flag() bool { return w.literal && len(w.text) > 1 && w.text[0] == '-' }

// command is what the rules see of a shell command. It is read as bash and as
// a POSIX shell, since sh may be either: what is allowed has to be the same in
// both, what is denied is denied in any.
type command struct {
	text string
	// words are those of the one simple command that it is; nil: it is more
	// than that, or other, and why says in what way.
	words []shellWord
	why   string
	// parts are all simple commands inside, those that wrappers run included.
	parts [][]shellWord
	// writes are the targets of the redirects inside that write.
	writes []shellWord
	// unclear: there may be more in it than parts.
	unclear bool
}

// readCommand reads a command for the rules. The limit of all rules about
// commands: what a program does with its arguments is its own business. An
// allow of "git" is one of "git -c core.pager=… log", of "find" one of
// "find -delete", of "python" one of any code.
func readCommand(text string, posix bool) *command {
	c := &command{text: text}
	if !posix {
		c.readPlain()
		return c
	}
	c.words, c.why = simpleCommand(text)
	s := commandScan{}
	s.script(text, 0)
	c.parts, c.writes, c.unclear = s.parts, s.writes, s.unclear
	return c
}

// allowedBy reports whether a rule's words are the leading words of the one
// simple command; no words lead every one.
func (c *command) allowedBy(argument string) bool {
	words, err := ruleWords(argument)
	if err != nil || c.words == nil || len(words) > len(c.words) {
		return false
	}
	for i, w := range words {
		if !c.words[i].literal || c.words[i].text != w {
			return false
		}
	}
	return true
}

// restrictedBy reports whether a simple command inside has a rule's words.
func (c *command) restrictedBy(argument string) match {
	words, err := ruleWords(argument)
	if err != nil {
		return matchUnsure
	}
	if len(words) == 0 {
		return matchYes
	}
	how := matchNo
	if c.unclear {
		how = matchUnsure
	}
	for _, part := range c.parts {
		if how = max(how, leads(words, part)); how == matchYes {
			break
		}
	}
	return how
}

// Programs names what a command runs, for who has to judge a long one: each
// program once, in the order they come. all is false where it may run more than
// can be told.
func Programs(text string) (names []string, all bool) {
	c := readCommand(text, true)
	all = !c.unclear
	for _, part := range c.parts {
		if name := part[0].text; !part[0].literal {
			all = false
		} else if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, all
}

// leads reports whether words lead a simple command, read generously: the
// program wherever it lies, flags between the words and their values passed
// over, a flag of the rule anywhere behind the program.
func leads(words []string, part []shellWord) match {
	if !part[0].literal {
		return matchUnsure
	}
	if programName(part[0].text) != programName(words[0]) {
		return matchNo
	}
	unknown := matchNo // what it is if a word is missing
	for _, w := range part[1:] {
		if !w.literal {
			unknown = matchUnsure
		}
	}
	rest := part[1:]
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") {
			if !hasFlag(part[1:], word) {
				return unknown
			}
			continue
		}
		for value := false; ; rest = rest[1:] {
			switch {
			case len(rest) == 0:
				return unknown
			case !rest[0].literal:
				return matchUnsure
			case rest[0].flag():
				value = !strings.Contains(rest[0].text, "=")
				continue
			case !strings.EqualFold(rest[0].text, word) && value:
				value = false
				continue
			case !strings.EqualFold(rest[0].text, word):
				return matchNo
			}
			break
		}
		rest = rest[1:]
	}
	return matchYes
}

// hasFlag looks for a flag among words; of single letters, as in -rf, each may
// stand on its own and in any order.
func hasFlag(words []shellWord, flag string) bool {
	letters := map[rune]bool{}
	for _, w := range words {
		if !w.flag() {
			continue
		}
		if w.text == flag || strings.HasPrefix(w.text, flag+"=") {
			return true
		}
		if !strings.HasPrefix(w.text, "--") {
			for _, r := range w.text[1:] {
				letters[r] = true
			}
		}
	}
	return !strings.HasPrefix(flag, "--") && !strings.ContainsFunc(flag[1:], func(r rune) bool { return !letters[r] })
}

// programName is what a program is compared by where it is denied: without its
// directory and Windows' endings, in lower case, as there are file systems
// that know no other.
func programName(word string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	for _, ext := range []string{".exe", ".cmd", ".bat", ".com"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// ruleWords reads the argument of a command's rule; no words for none.
func ruleWords(argument string) ([]string, error) {
	if argument == "" {
		return nil, nil
	}
	words, why := oneSimple(argument, syntax.LangBash)
	if why != "" {
		return nil, errors.New("a command's rule is the leading words of one simple command: " + why)
	}
	out := make([]string, len(words))
	for i, w := range words {
		if !w.literal {
			return nil, fmt.Errorf("a command's rule is plain words, and is about all commands that begin with them: leave out the word %d, or quote it", i+1)
		}
		out[i] = w.text
	}
	return out, nil
}

func literals(words []string) []shellWord {
	out := make([]shellWord, len(words))
	for i, w := range words {
		out[i] = shellWord{w, true}
	}
	return out
}

// simpleCommand returns the words of a text that every shell reads as one
// simple command which runs nothing but its program; else it says why not.
func simpleCommand(text string) (words []shellWord, why string) {
	if len(text) > maxLooked {
		return nil, "it is too long to be looked into"
	}
	if strings.ContainsFunc(text, func(r rune) bool {
		return r == unicode.ReplacementChar || r != '\n' && r != '\t' && unicode.IsControl(r)
	}) {
		return nil, "it holds characters that are no text"
	}
	words, why = oneSimple(text, syntax.LangBash)
	if why != "" {
		return nil, why
	}
	posix, why := oneSimple(text, syntax.LangPOSIX)
	if why != "" {
		return nil, why
	}
	if !slices.Equal(words, posix) {
		return nil, "shells read it in different ways"
	}
	if why := runsOthers(words); why != "" {
		return nil, why
	}
	return words, ""
}

// oneSimple is simpleCommand for one kind of shell, wrappers included.
func oneSimple(text string, lang syntax.LangVariant) (words []shellWord, why string) {
	stmts, err := parseShell(text, lang)
	switch {
	case err != nil:
		return nil, "it cannot be parsed"
	case len(stmts) == 0:
		return nil, "it is empty"
	case len(stmts) > 1:
		return nil, "it is more than one command"
	}
	s := stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	switch {
	case s.Background, s.Negated, s.Coprocess, s.Disown, s.Semicolon.IsValid():
		return nil, "it has an operator"
	case len(s.Redirs) > 0:
		return nil, "it has a redirect"
	case !ok:
		return nil, "it is more than a program and its arguments"
	case len(call.Assigns) > 0:
		return nil, "it sets a variable"
	}
	newlines := 0
	for _, w := range call.Args {
		if !expandsPlainly(w.Parts) {
			return nil, "it has an expansion that may run commands"
		}
		word := readWord(w)
		newlines += strings.Count(word.text, "\n")
		words = append(words, word)
	}
	// A newline inside quotes is a part of a word; what else there is is
	// left to nobody's reading.
	if newlines != strings.Count(strings.Trim(text, "\n"), "\n") {
		return nil, "it has several lines"
	}
	return words, ""
}

// parseShell parses a text; with an error it returns what was parsed before.
func parseShell(text string, lang syntax.LangVariant) (stmts []*syntax.Stmt, err error) {
	defer func() { // the parser is not ours, and what it reads is foreign
		if v := recover(); v != nil {
			stmts, err = nil, fmt.Errorf("the parser failed: %v", v)
		}
	}()
	f, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	if f == nil {
		return nil, err
	}
	return f.Stmts, err
}

// expandsPlainly reports whether the parts of a word are literals, quotes and
// variables by their names alone: nothing that runs a command or sets a
// variable, as $(…), ${a:=b}, ${a@P} and $((a[…])) do.
func expandsPlainly(parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if !expandsPlainly(p.Parts) {
				return false
			}
		case *syntax.ParamExp:
			plain := syntax.ParamExp{Dollar: p.Dollar, Rbrace: p.Rbrace, Short: p.Short, Param: p.Param}
			if p.Param == nil || !sameParam(*p, plain) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// sameParam compares two expansions, which hold a slice.
func sameParam(a, b syntax.ParamExp) bool {
	return a.Flags == b.Flags && a.Excl == b.Excl && a.Length == b.Length && a.Width == b.Width && a.IsSet == b.IsSet &&
		a.Split == b.Split && a.GlobSubst == b.GlobSubst && a.RcExpand == b.RcExpand && a.NestedParam == b.NestedParam &&
		a.Index == b.Index && len(a.Modifiers) == len(b.Modifiers) && a.Slice == b.Slice && a.Repl == b.Repl && a.Names == b.Names && a.Exp == b.Exp
}

// readWord takes a word's quotes away.
func readWord(w *syntax.Word) shellWord {
	var b strings.Builder
	literal := true
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text, plain := unescapeWord(p.Value, i == 0)
			b.WriteString(text)
			literal = literal && plain
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			literal = literal && !p.Dollar // $'\x72m' is read by its shell alone
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if literal = literal && ok && !p.Dollar; ok {
					b.WriteString(unescapeQuoted(lit.Value))
				}
			}
		default:
			literal = false
		}
	}
	return shellWord{b.String(), literal}
}

// unescapeWord takes backslashes out of an unquoted text. plain is false where
// something else of it expands: a pattern, braces, ~ at the start.
func unescapeWord(text string, start bool) (out string, plain bool) {
	if text == "[" || text == "]" || text == "{}" {
		return text, true
	}
	var b strings.Builder
	braces := strings.Contains(text, ",") || strings.Contains(text, "..")
	plain = !start || !strings.HasPrefix(text, "~")
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
			continue
		case strings.IndexByte("*?[]", c) >= 0, c == '{' && braces:
			plain = false
		}
		b.WriteByte(text[i])
	}
	return b.String(), plain
}

// unescapeQuoted takes those backslashes out that mean something in quotes.
func unescapeQuoted(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\", text[i+1]) >= 0 {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// covered says what a remembered answer about the command covers, as a key and
// in words; "" for nothing. As a rule, it never covers more than one simple
// command.
func (c *command) covered() (key, text string) {
	if c.words == nil {
		return "", ""
	}
	if class, ok := c.class(); ok {
		return class, "commands that begin with " + quote(class)
	}
	exact := make([]string, len(c.words))
	for i, w := range c.words {
		if !w.literal {
			return "", "" // what it expands to may be another thing next time
		}
		exact[i] = w.text
	}
	if strings.ContainsAny(exact[0], `/\`) {
		return "", "" // a file of the directory that it is run in
	}
	return "=" + string(marshal(exact)), "just this command"
}

// class is the program and its subcommand, where it has one.
func (c *command) class() (string, bool) {
	if len(c.words) < 2 || !c.words[0].literal || !c.words[1].literal {
		return "", false
	}
	program, sub := c.words[0].text, c.words[1].text
	if !isSubcommand(sub) || runSubcommands[sub] || withoutSubcommands[strings.TrimRight(programName(program), "0123456789.")] {
		return "", false
	}
	ok := !strings.ContainsFunc(program, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("._-+", r)
	})
	return program + " " + sub, ok
}

// isSubcommand reports a word like status or force-push.
func isSubcommand(word string) bool {
	for i, r := range word {
		if (r < 'a' || r > 'z') && (i == 0 || (r < '0' || r > '9') && r != '-' && r != '_') {
			return false
		}
	}
	return word != ""
}

// runSubcommands are subcommands of many programs that run another program, or
// code: an answer about one is none about another.
//
//nolint:gochecknoglobals // a constant table
var runSubcommands = map[string]bool{"run": true, "exec": true, "x": true, "dlx": true, "eval": true, "start": true, "ssh": true, "shell": true, "sh": true, "config": true}

// withoutSubcommands are programs whose second word is what they work on.
//
//nolint:gochecknoglobals // a constant table
var withoutSubcommands = map[string]bool{
	"rm": true, "rmdir": true, "mv": true, "cp": true, "ln": true, "mkdir": true, "touch": true, "chmod": true, "chown": true, "chgrp": true, "dd": true, "shred": true,
	"truncate": true, "tee": true, "install": true, "unlink": true, "kill": true, "pkill": true, "killall": true, "sed": true, "awk": true, "gawk": true, "ed": true, "ex": true,
	"vi": true, "vim": true, "nvim": true, "emacs": true, "curl": true, "wget": true, "nc": true, "scp": true, "sftp": true, "rsync": true, "tar": true, "zip": true, "unzip": true,
	"patch": true, "find": true, "mount": true, "umount": true, "mkfs": true, "fdisk": true, "crontab": true, "reboot": true, "shutdown": true,
	"python": true, "node": true, "deno": true, "bun": true, "perl": true, "ruby": true, "php": true, "lua": true, "tclsh": true, "osascript": true, "npx": true, "bunx": true, "uvx": true,
	"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "fish": true, "pwsh": true, "cmd": true,
}
