package agent

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// oneCommand is the second reading of a command, written without a parser and
// stricter than the first: outside of quotes no character that can join, part,
// redirect or substitute, and inside of double ones none that substitutes.
func oneCommand(text string) bool {
	text = strings.Trim(text, " \t\n")
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case quote == '\'':
			if c == '\'' {
				quote = 0
			}
		case c == '\\':
			if next == '\n' {
				return false
			}
			i++
		case quote == '"' && c == '"':
			quote = 0
		case c == '`', c == '$' && next == '(', c == '$' && next == '[':
			return false
		case quote == '"':
		case c == '\'', c == '"':
			quote = c
		case strings.IndexByte(";&|<>()\n", c) >= 0:
			return false
		case c == '#' && (i == 0 || strings.IndexByte(" \t", text[i-1]) >= 0):
			return !strings.Contains(text[i:], "\n")
		}
	}
	return quote == 0
}

// theShells are those that sh may be. Their PATH holds one program, git, which
// writes down its arguments.
func theShells(t testing.TB) (run func(command string) (calls []string, told string)) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("commands are read as sh reads them, and there is none here")
	}
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf '%s' \"$1\" >>" + dir + "/calls\nprintf '\\n' >>" + dir + "/calls\n"
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var shells []string
	for _, name := range []string{"sh", "bash", "dash"} {
		if path, err := exec.LookPath(name); err == nil {
			shells = append(shells, path)
		}
	}
	if len(shells) == 0 {
		t.Fatal("no shell was found")
	}
	return func(command string) (calls []string, told string) {
		for _, shell := range shells {
			_ = os.Remove(filepath.Join(dir, "calls"))
			cmd := exec.CommandContext(t.Context(), shell, "-c", command)
			cmd.Dir, cmd.Env = filepath.Join(dir, "bin"), []string{"PATH=" + filepath.Join(dir, "bin"), "HOME=" + dir}
			out, _ := cmd.CombinedOutput() // what the shell says is looked at
			data, _ := os.ReadFile(filepath.Join(dir, "calls"))
			calls = append(calls, strings.ReplaceAll(string(data), "\n", "|"))
			told += string(out)
		}
		return calls, told
	}
}

// checkAllowed holds a command that an allow of "git status" covers against
// the second reading and against real shells: just git runs, just once.
func checkAllowed(t *testing.T, command string, run func(string) ([]string, string)) {
	t.Helper()
	if !oneCommand(command) {
		t.Errorf("%q is allowed, and is not one command in the second reading", command)
		return // it is not run
	}
	calls, told := run(command)
	for _, got := range calls {
		if got != "status|" {
			t.Errorf("%q runs %q (%s)", command, got, told)
		}
	}
}

// what scrambles a command.
var pieces = []string{
	"git", "status", " ", " ", "  ", "\t", "\n", "\\\n", ";", "&", "&&", "|", "||", "<", ">", ">>", "<<E", "<<<", "(", ")", "{", "}", "$(", "${", "$X", "${X}", "${X:=y}", "$((",
	"))", "`", "'", "\"", "\\", "#", "!", "=", "A=b", "~", "*", "?", "[", "]", "$'", "$\"", "\r", "é", "\u00a0", "\u200b", "time", "if", "then", "fi", "do", "done", "--", "-c", "E", "ls", ",", "..", ":", "$", "%", "^", "@", "sh", "eval", "exec",
}

// Whatever the command: what "git status" allows is git status to every shell.
func TestAllowedCommandsRunOneProgram(t *testing.T) {
	run := theShells(t)
	ran := 0
	for seed := range uint64(15000) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		if rnd.IntN(4) > 0 {
			b.WriteString([]string{"git status ", "git status", "g\"it\" status ", "git st'at'us "}[rnd.IntN(4)])
		}
		for range rnd.IntN(7) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		if command := b.String(); readCommand(command, true).allowedBy("git status") {
			if !oneCommand(command) {
				t.Errorf("seed %d: %q is not one command in the second reading", seed, command)
			} else if rnd.IntN(30) == 0 || strings.ContainsAny(command, "{}[]!\\$") && rnd.IntN(8) == 0 {
				checkAllowed(t, command, run)
				ran++
			}
		}
	}
	if ran < 50 {
		t.Errorf("only %d commands were tried", ran)
	}
}

func FuzzCommandRule(f *testing.F) {
	for _, seed := range []string{"git status", "git status; rm x", "git status $(rm x)", "git status ${X@P}", "a() { rm; }", "sh -c 'rm x'", "git status <<E\nx\nE", "git status 'a\nb'"} {
		f.Add(seed, "rm")
	}
	f.Fuzz(func(t *testing.T, command, rule string) {
		c := readCommand(command, true)
		if c.allowedBy("git status") && !oneCommand(command) {
			t.Errorf("%q is allowed, and is not one command in the second reading", command)
		}
		if c.allowedBy("git status") && utf8.ValidString(command) && c.restrictedBy("git") != matchYes {
			t.Errorf("%q is allowed, and not denied by its program", command)
		}
		c.allowedBy(rule)
		c.restrictedBy(rule)
		c.covered()
		_ = CheckRule("run_command("+rule+")", true, nil)
		if words := readCommand(rule, true).words; len(words) > 0 && CheckRule("run_command("+rule+")", true, nil) == "" && !readCommand(rule, true).allowedBy(rule) {
			t.Errorf("the rule %q does not cover its own words", rule)
		}
	})
}
