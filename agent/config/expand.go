package config

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agentls/mcp"
	"agentls/mcp/child"
)

// expander replaces `${…}` in the fields of one server or provider. After the
// first failure err says which field and why; nothing is started then.
type expander struct {
	l       *loader
	doc     *document
	err     string
	at      string // the path of the field that err is about
	pending bool   // a ${cmd:…} was left for later
	reads   map[string]bool
	inputs  map[string]mcp.Input // those that the fields name; nil: none may
}

func (l *loader) expander(d *document) *expander {
	return &expander{l: l, doc: d, reads: map[string]bool{}}
}

// expand replaces ${VAR}, ${VAR:-default}, ${env:VAR}, ${workspaceFolder},
// ${userHome} and, in the user's files, ${file:PATH} and ${cmd:…}. `$VAR`, an
// unclosed `${` and a shell's own `${x%.*}` stay as they are. Every value that
// came so, and every value under a secret-looking key, becomes a secret. What a
// project's file spells out does not before its server may run: it could hide
// its own command from the person who is asked about it.
func (x *expander) expand(path, key, text string) string {
	var out strings.Builder
	rest := text
	for {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			break
		}
		expr, tail, closed := strings.Cut(after, "}")
		if !closed {
			break
		}
		out.WriteString(before)
		out.WriteString(x.value(path, expr))
		rest = tail
	}
	out.WriteString(rest)
	s := out.String()
	if mcp.IsSecretKey(key) && x.doc.layer != projectLayer {
		x.l.secret(s, strings.TrimPrefix(s, "Bearer "))
	}
	return s
}

func (x *expander) fail(path, format string, args ...any) string {
	if x.err == "" {
		x.at, x.err = path, path+": "+fmt.Sprintf(format, args...)
	}
	return ""
}

// fault is the first failure as a problem, at its place below n.
func (x *expander) fault(n node) Problem {
	p := n.find(x.at).fault("%s", strings.TrimPrefix(x.err, x.at+": "))
	p.Path, p.Disables, p.Elsewhere = x.at, true, true
	return p
}

// value evaluates one expression.
func (x *expander) value(path, expr string) string {
	kind, arg, hasKind := strings.Cut(expr, ":")
	switch {
	case expr == "workspaceFolder":
		if x.doc.folder != "" {
			return x.doc.folder
		}
		if len(x.l.request.Folders) > 0 {
			return x.l.request.Folders[0]
		}
		return x.fail(path, "${workspaceFolder} has no value: no folder is open")
	case expr == "userHome":
		return x.l.source.Home
	case hasKind && kind == "env":
		return x.variable(path, arg, "", false)
	case hasKind && (kind == "file" || kind == "cmd") && x.doc.layer != userLayer:
		return x.fail(path, "${%s:…} counts in the user's files only", kind)
	case hasKind && kind == "file":
		return x.file(path, arg)
	case hasKind && kind == "cmd":
		return x.command(path, arg)
	case hasKind && kind == "input":
		return x.input(path, arg)
	}
	name, fallback, hasFallback := strings.Cut(expr, ":-")
	if !IsVariable(name) {
		return "${" + expr + "}"
	}
	return x.variable(path, name, fallback, hasFallback)
}

// IsVariable reports whether a variable can be called so (POSIX, XBD 3.216).
func IsVariable(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// plainVariables hold no secret: redacting the home folder everywhere would
// help nobody.
//
//nolint:gochecknoglobals // a constant table
var plainVariables = []string{"HOME", "USER", "LOGNAME", "PATH", "PWD", "SHELL", "TMPDIR", "LANG", "TZ", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP"}

func (x *expander) variable(path, name, fallback string, hasFallback bool) string {
	x.reads[name] = true
	v, ok := "", false
	if x.l.source.Getenv != nil {
		v, ok = x.l.source.Getenv(name)
	}
	switch {
	case ok && (v != "" || !hasFallback):
		if !slices.Contains(plainVariables, name) && !strings.HasPrefix(name, "XDG_") {
			x.l.secret(v)
		}
		return v
	case hasFallback:
		return fallback
	}
	return x.fail(path, "the variable %s is not set", name)
}

func (x *expander) file(path, name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(x.l.source.Home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(x.l.source.Dir, name)
	}
	text, err := x.l.files.read(name)
	if err != nil {
		return x.fail(path, "${file:…} cannot be read: %v", err)
	}
	v := strings.TrimRight(string(text), "\r\n")
	x.l.secret(v)
	return v
}

// commandTimeout bounds a ${cmd:…}, which may ask a person to unlock a vault.
const commandTimeout = 30 * time.Second

func (x *expander) command(path, line string) string {
	if x.l.request.NoCommands {
		x.pending = true
		return x.fail(path, "waits for its ${cmd:…}")
	}
	ctx, cancel := context.WithTimeout(x.l.ctx, commandTimeout)
	defer cancel()
	cmd, err := child.Shell(ctx, line, x.l.source.Environ)
	if err != nil {
		return x.fail(path, "${cmd:…} failed: %v", err)
	}
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	run := cmd.Run
	if x.l.source.Alone {
		run = func() error { return child.Run(ctx, cmd, x.l.source.Watch) }
	}
	if err := run(); err != nil {
		why := strings.TrimSpace(stderr.String())
		if ctx.Err() != nil {
			why = fmt.Sprintf("no end after %s", commandTimeout)
		}
		return x.fail(path, "${cmd:…} failed: %v %s", err, why)
	}
	v := strings.TrimRight(stdout.String(), "\r\n")
	x.l.secret(v)
	return v
}
