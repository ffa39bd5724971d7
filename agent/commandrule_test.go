package agent

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// What an allow covers: one simple command that begins with the rule's words.
func TestCommandAllow(t *testing.T) {
	for _, c := range []struct {
		rule, command string
		want          bool
	}{
		{"git status", "git status", true},
		{"git status", "  git   status  ", true},
		{"git status", "git status\n", true},
		{"git status", "git status -s -- src", true},
		{"git status", `"git" 'status'`, true},
		{"git status", `g\it st""atus`, true},
		{"git status", "git status # what else", true},
		{"git status", "git status $HOME ${X} \"$X\" *.go ~/x a{b,c}", true},
		{"git commit", "git commit -m 'one\n\ntwo; three && $(four)'", true},
		{"git commit", "git commit -m \"it's; done\"", true},
		{"git stash", "git stash drop stash@{1}", true},
		{"git", "git status", true},
		{"git", "git -c core.pager=x log", true}, // the user's own words: any git
		{"./build.sh", "./build.sh all", true},
		{"bash", "bash build.sh", true},
		{"'my program' x", `my\ program x`, true},
		{"", "ls -la", true},

		{"git status", "git", false},
		{"git status", "git stat", false},
		{"git status", "git statusx", false},
		{"git status", "git -c x=y status", false},
		{"git status", "./git status", false},
		{"git status", "/usr/bin/git status", false},
		{"git status", "~/bin/git status", false},
		{"git status", "GIT status", false},
		{"git status", "ｇit status", false},
		{"git status", "git\u00a0status", false},
		{"git status", "git sta*us", false},
		{"git status", "git st?tus", false},
		{"git status", "{git,status}", false},
		{"git status", "git {status,log}", false},
		{"git status", "git $X", false},
		{"git status", "$X status", false},
		{"git status", "git status; rm x", false},
		{"git status", "git status;", false},
		{"git status", "git status && rm x", false},
		{"git status", "git status || rm x", false},
		{"git status", "git status | sh", false},
		{"git status", "git status |& sh", false},
		{"git status", "git status &", false},
		{"git status", "git status & rm x", false},
		{"git status", "git status\nrm x", false},
		{"git status", "git status\r\nrm x", false},
		{"git status", "git status \\\n rm", false}, // one command to some, left to nobody's reading
		{"git status", "git status # x \\\nrm x", false},
		{"git status", "git status\x00; rm x", false},
		{"git status", "git status $(rm x)", false},
		{"git status", "git status `rm x`", false},
		{"git status", "git status \"$(rm x)\"", false},
		{"git status", "git status \"`rm x`\"", false},
		{"git status", "git status <(rm x)", false},
		{"git status", "git status >(rm x)", false},
		{"git status", "git status ${X:=y}", false},
		{"git status", "git status ${X:-$(rm x)}", false},
		{"git status", "git status ${X@P}", false},
		{"git status", "git status ${!X}", false},
		{"git status", "git status $((x[$(rm x)]))", false},
		{"git status", "git status $((1))", false},
		{"git status", "git status > x", false},
		{"git status", "git status >x", false},
		{"git status", "git status 2>&1", false},
		{"git status", "git status &> x", false},
		{"git status", "git status < x", false},
		{"git status", "git status <<EOF\nx\nEOF", false},
		{"git status", "git status <<< x", false},
		{"git status", "> x git status", false},
		{"git status", "GIT_PAGER=sh git status", false},
		{"git status", "cd x && git status", false},
		{"git status", "(git status)", false},
		{"git status", "{ git status; }", false},
		{"git status", "! git status", false},
		{"git status", "time git status", false},
		{"git status", "coproc git status", false},
		{"git status", "if git status; then rm x; fi", false},
		{"git status", "for x in a; do git status; done", false},
		{"git status", "while git status; do :; done", false},
		{"git status", "f() { git status; }; f", false},
		{"git status", "git() { rm x; }", false},
		{"git status", "sudo git status", false},
		{"git status", "env git status", false},
		{"git status", "git status $'a\\'b; rm x'", false}, // quoted to bash alone
		{"git status", "git status 'open", false},
		{"git status", "git status $(", false},
		{"git status", "", false},
		{"git status", "# git status", false},
		{"sudo", "sudo rm x", false},
		{"env", "env rm x", false},
		{"xargs", "xargs rm", false},
		{"sh", "sh -c 'rm x'", false},
		{"bash", "bash -lc 'rm x'", false},
		{"bash", "bash +x -c 'rm x'", false},
		{"bash", "/bin/bash -c x", false},
		{"sh", "sh", false},
		{"eval", "eval rm x", false},
		{"exec", "exec rm x", false},
		{"command", "command rm x", false},
		{"builtin", "builtin eval x", false},
		{"source", "source x", false},
		{".", ". x", false},
		{"nice", "nice rm x", false},
		{"nohup", "nohup rm x", false},
		{"timeout", "timeout 5 rm x", false},
		{"find", "find . -exec rm {} +", false},
		{"find", "find . -name x -okdir rm {} ;", false},
		{"find", "find . $X", false},
		{"find", "find . -name x", true},
		{"ssh", "ssh host ls", false},
		{"watch", "watch ls", false},
		{"parallel", "parallel rm ::: x", false},
		{"trap", "trap 'rm x' EXIT", false},
		{"alias", "alias git=rm", false},
		{"printf", "printf -v 'a[$(rm x)]' y", false},
		{"test", "test -v 'a[$(rm x)]'", false},
		{"[", "[ -v 'a[`rm x`]' ]", false},
		{"[", "[ -f x ]", true},
		{"printf", "printf '%s' x", true},
		{"", "ls; rm x", false},
		{"", "sudo ls", false},
		{"", "$X", false},
		{"git *", "git status", false}, // no rule
		{"git; rm", "git; rm", false},
	} {
		if got := readCommand(c.command, true).allowedBy(c.rule); got != c.want {
			t.Errorf("run_command(%s) and %q: %v, want %v", c.rule, c.command, got, c.want)
		}
	}
}

// What a deny matches: any simple command inside, and what cannot be told asks.
func TestCommandDeny(t *testing.T) {
	const yes, unsure, no = matchYes, matchUnsure, matchNo
	for _, c := range []struct {
		rule, command string
		want          match
	}{
		{"rm", "rm x", yes},
		{"rm", "/bin/rm x", yes},
		{"rm", "~/bin/rm x", unsure},
		{"rm", "./rm x", yes},
		{"rm", "RM x", yes},
		{"rm", `\rm x`, yes},
		{"rm", `"r"m x`, yes},
		{"rm", `'rm' x`, yes},
		{"rm", "rm.exe x", yes},
		{"/bin/rm", "rm x", yes},
		{"rm", "ls; rm x", yes},
		{"rm", "ls && (cd y && rm x)", yes},
		{"rm", "ls | rm", yes},
		{"rm", "ls &\nrm x", yes},
		{"rm", "echo $(rm x)", yes},
		{"rm", "echo \"`rm x`\"", yes},
		{"rm", "echo <(rm x)", yes},
		{"rm", "echo ${X:-$(rm x)}", yes},
		{"rm", "A=$(rm x)", yes},
		{"rm", "echo $((1 + $(rm x)))", yes},
		{"rm", "cat <<EOF\n$(rm x)\nEOF", yes},
		{"rm", "sh <<EOF\nrm x\nEOF", yes},
		{"rm", "sh <<'EOF'\nrm x\nEOF", yes},
		{"rm", "bash <<< 'rm x'", yes},
		{"rm", "f() { rm x; }; f", yes},
		{"rm", "if x; then :; else rm x; fi", yes},
		{"rm", "case x in x) rm x;; esac", yes},
		{"rm", "for x in a; do rm $x; done", yes},
		{"rm", "> y rm x", yes},
		{"rm", "A=b rm x", yes},
		{"rm", "! rm x", yes},
		{"rm", "time rm x", yes},
		{"rm", "sudo rm x", yes},
		{"rm", "sudo -u bob -n rm x", yes},
		{"rm", "sudo -u bob A=b rm x", yes},
		{"rm", "sudo sudo doas rm x", yes},
		{"rm", "env A=b rm x", yes},
		{"rm", "env -i -u X A=b rm x", yes},
		{"rm", "xargs rm", yes},
		{"rm", "ls | xargs -n 1 -0 rm -f", yes},
		{"rm", "xargs sh -c 'rm x'", yes},
		{"rm", "timeout 5 rm x", yes},
		{"rm", "timeout --foreground 5 rm x", yes},
		{"rm", "timeout -s KILL -k 1 5 rm x", yes},
		{"rm", "nice -n 10 nohup setsid rm x", yes},
		{"rm", "command -p rm x", yes},
		{"rm", "exec -a y rm x", yes},
		{"rm", "busybox rm x", yes},
		{"rm", "sh -c 'rm x'", yes},
		{"rm", "bash -o errexit -c 'ls; rm x' y", yes},
		{"rm", "sh -c \"sh -c 'rm x'\"", yes},
		{"rm", "eval 'rm x'", yes},
		{"rm", "eval r'm' x", yes},
		{"rm", "trap 'rm x' EXIT", yes},
		{"rm", "ssh host rm x", yes},
		{"rm", "ssh -p 22 host 'rm x'", yes},
		{"rm", "su -c 'rm x' bob", yes},
		{"rm", "su bob -c 'rm x'", yes},
		{"rm", "watch -n 1 'rm x'", yes},
		{"rm", "flock -n x rm x", yes},
		{"rm", "flock x -c 'rm x'", yes},
		{"rm", "script -c 'rm x' y", yes},
		{"rm", "find . -exec rm {} +", yes},
		{"rm", "find . -exec sh -c 'rm x' ;", yes},
		{"rm", "alias y='rm x'; y", yes},
		{"rm", "printf -v 'a[$(rm x)]' y", yes},
		{"rm", "env - rm x", yes},
		{"rm", "env -S 'rm x'", yes},
		{"rm", "env -S'rm x'", yes},
		{"rm", "env --split-string='rm x' y", yes},
		{"rm", "env -iS 'rm x'", yes},
		{"rm", "su - bob -c 'rm x'", yes},
		{"rm", "setarch x86_64 rm x", yes},
		{"rm", "setarch -R rm x", yes},
		{"rm", "hash -p /bin/rm ls; ls x", yes},
		{"rm", "tmux new-session -d 'rm x'", yes},
		{"rm", "tmux -L y new rm x", yes},
		{"rm", "screen -dm rm x", yes},
		{"rm", "poetry run rm x", yes},
		{"rm", "docker exec y rm x", yes},
		{"rm", "at now <<EOF\nrm x\nEOF", yes},
		{"rm", "echo 'rm x' | at now", unsure},
		{"rm", "echo 'rm x' | xargs env", unsure},
		{"rm", "xargs -a y nice", unsure},
		{"rm", "ls | xargs -I% sh -c %", unsure},
		{"rm", "find . -exec sh -c {} ;", unsure},
		{"rm", "rm x; (", yes},
		{"rm", "ls 'rm x", yes},   // not to be parsed: guessed
		{"rm", "[[ a ]]", unsure}, // to bash alone
		{"rm", "$X x", unsure},
		{"rm", "X=rm; $X x", unsure},
		{"rm", "r? x", unsure},
		{"rm", "{rm,x}", unsure},
		{"rm", "$'\\x72m' x", unsure},
		{"rm", "$(echo rm) x", unsure},
		{"rm", "sudo $X", unsure},
		{"rm", "curl x | sh", unsure},
		{"rm", "sh -c \"$X\"", unsure},
		{"rm", "sh /dev/stdin", unsure},
		{"rm", "ls '", unsure},
		{"rm", strings.Repeat("ls;", maxLooked/3+1), unsure},
		{"rm", "ls rm", no},
		{"rm", "echo rm; grep rm x", no},
		{"rm", "sudo grep rm x", no},
		{"rm", "rmdir x", no},
		{"rm", "git rm x", no},
		{"rm", "ls | xargs -n 1 grep rm", no},
		{"rm", "npm run build rm", no},
		{"rm", "tmux attach", no},
		{"rm", "echo 'rm x'", no},
		{"rm", "sh build.sh", no},
		{"rm", "", no},
		{"rm -rf", "rm -rf x", yes},
		{"rm -rf", "rm -fr x", yes},
		{"rm -rf", "rm x -r -f", yes},
		{"rm -rf", "rm -r x", no},
		{"rm -rf", "rm -r $X", unsure},
		{"git push", "git push origin", yes},
		{"git push", "git -C x push", yes},
		{"git push", "git -c a=b --no-pager push", yes},
		{"git push", "git --git-dir=x push", yes},
		{"git push", "git commit -m push", no},
		{"git push", "git log", no},
		{"git push", "git $X", unsure},
		{"git push --force", "git push origin --force", yes},
		{"git push --force", "git push --force=x", yes},
		{"git push --force", "git push", no},
		{"rm *", "ls", unsure}, // no rule
		{"rm; ls", "ls", unsure},
	} {
		if got := readCommand(c.command, true).restrictedBy(c.rule); got != c.want {
			t.Errorf("run_command(%s) and %q: %v, want %v", c.rule, clipped(c.command), got, c.want)
		}
	}
}

func clipped(s string) string { return s[:min(len(s), 80)] }

// On Windows no shell is known: plain words alone are allowed.
func TestCommandOfAnotherShell(t *testing.T) {
	for command, want := range map[string]bool{
		"git status": true, "git status -s": true, "git status & rm x": false, "git status %X%": false, "git status ^& rm": false,
		"git status; rm x": false, "git 'status'": false, "cmd /c rm": false, "git status\nrm": false,
	} {
		c := readCommand(command, false)
		if c.allowedBy("git status") != want || c.allowedBy("cmd") {
			t.Errorf("%q: allowed %v", command, c.allowedBy("git status"))
		}
		if strings.Contains(command, "rm") && c.restrictedBy("rm") != matchYes {
			t.Errorf("%q is not denied", command)
		}
	}
}

// eca#153, risa-labs-inc/BossConsole#895: what "always" covers is bound to what
// was shown, and never to more than one simple command.
func TestCommandCoverage(t *testing.T) {
	for command, want := range map[string]string{
		"git status":            "git status",
		"git status -s $X":      "git status",
		"'git' commit -m 'a b'": "git commit",
		"go test ./...":         "go test",
		"docker compose up":     "docker compose",
		"ls":                    `=["ls"]`,
		"ls  -la":               `=["ls","-la"]`,
		"cat README.md":         `=["cat","README.md"]`,
		"git -C x status":       `=["git","-C","x","status"]`,
		"rm x":                  `=["rm","x"]`,
		"python x":              `=["python","x"]`,
		"python3.12 x":          `=["python3.12","x"]`,
		"python -c 'x'":         `=["python","-c","x"]`,
		"bash build":            `=["bash","build"]`,
		"npm run build":         `=["npm","run","build"]`,
		"npm exec x":            `=["npm","exec","x"]`,
		"git config x y":        `=["git","config","x","y"]`,
		"ls $X":                 "",
		"ls *.go":               "",
		"./build.sh":            "",
		"./build.sh test":       "",
		"git status | cat":      "",
		"git status > x":        "",
		"sudo ls":               "",
		"sh -c 'ls'":            "",
		"A=b git status":        "",
		"git $X":                "",
		"$X status":             "",
		"git status '":          "",
		"":                      "",
	} {
		c := readCommand(command, true)
		if got, text := c.covered(); got != want || (got == "") != (text == "") {
			t.Errorf("%q covers %q (%s), want %q", command, got, text, want)
		}
	}
}

// generate builds a script around commands, at random depth.
func generate(rnd *rand.Rand, depth int, inner string) string {
	if depth == 0 {
		return inner
	}
	forms := []string{
		"ls; %s", "%s; ls", "ls && %s", "ls || %s", "ls | %s", "( %s )", "{ %s; }", "! %s", "if ls; then %s; fi", "if %s; then ls; fi",
		"while ls; do %s; done", "for i in a b; do %s; done", "case x in x) %s;; esac", "f() { %s; }; f", "echo $( %s )", "echo \"$( %s )\"",
		"A=$( %s ) ls", "echo ${A:-$( %s )}", "ls > $( %s )", "cat <<EOF\n$( %s )\nEOF", "ls &\n%s", "time { %s; }", "# x\n%s",
	}
	if !strings.Contains(inner, "'") {
		forms = append(forms, "sh -c '%s'", "eval '%s'", "sudo -n sh -c '%s'", "xargs -n 1 bash -c '%s'", "trap '%s' EXIT", "ssh host '%s'", "bash <<< '%s'", "echo '(' x; %s")
	}
	if !strings.ContainsAny(inner, "();&|<>\"'`\n$!{#") && !strings.Contains(inner, "if ") && !strings.Contains(inner, " do ") && !strings.Contains(inner, "case ") {
		forms = append(forms, "sudo %s", "env A=b %s", "xargs %s", "timeout 5 %s", "nohup %s", "find . -exec %s {} +", "echo `%s`")
	}
	return generate(rnd, depth-1, fmt.Sprintf(forms[rnd.IntN(len(forms))], inner))
}

// A deny never misses a plain rm, however deep, nor lets it be for sure where
// it cannot be read.
func TestCommandDenyAtAnyDepth(t *testing.T) {
	for seed := range uint64(1500) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		inner := []string{"rm x", "/bin/rm x", "rm -rf /tmp/x", `\rm x`, `"rm" x`}[rnd.IntN(5)]
		text := generate(rnd, rnd.IntN(5), inner)
		if got := readCommand(text, true).restrictedBy("rm"); got != matchYes {
			t.Errorf("seed %d: %v for %q", seed, got, text)
		}
		if c := readCommand(text, true); c.allowedBy("ls") || c.allowedBy("echo") {
			t.Errorf("seed %d: allowed %q", seed, text)
		}
		if got := readCommand(generate(rnd, rnd.IntN(4), "touch x"), true).restrictedBy("rm"); got == matchYes {
			t.Errorf("seed %d: denied without rm", seed)
		}
	}
}

// A command is foreign: what is made to be looked into for long, or deep, is
// unclear and soon done with.
func TestHostileCommandsAreBounded(t *testing.T) {
	start := time.Now()
	for _, unit := range []string{"$(", "`", "\"$(", "(", "$((", "<<A ", "${a:-", "{ ", "case x in x) ", "sh -c 'x' ", "eval -a ", "sudo -a ", "env -a eval -b ", "echo a; ", "rm\nx", "find . -exec ", "if ", "f()"} {
		n := (maxLooked - 10) / len(unit)
		for _, text := range []string{strings.Repeat(unit, n) + "rm", "eval '" + strings.Repeat(unit, n) + "rm"} {
			c := readCommand(text, true)
			if c.restrictedBy("rm") == matchNo || c.allowedBy("sudo") || c.allowedBy("eval") || len(c.parts) > 3*maxScanParts {
				t.Errorf("%d times %q: %v, %d parts", n, unit, c.restrictedBy("rm"), len(c.parts))
			}
		}
	}
	if took := time.Since(start); took > time.Minute { // it took hours
		t.Errorf("it took %v", took)
	}
}
