package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// stubbed is a world whose tools that change something only say that they ran.
func stubbed(t *testing.T) *world {
	w := newWorld(t)
	w.files()
	w.stub()
	return w
}

func (w *world) stub() {
	w.agent.Stub("run_command", "write_file", "edit_file", "web_fetch")
}

// args encodes the one argument that the rules look at.
func args(key, value string) string {
	data, err := json.Marshal(map[string]string{key: value})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// What §7 says of tools that change something: who decides, by which rule.
func TestGate(t *testing.T) {
	command := func(text string) agent.ToolCall { return call("c", "run_command", args("command", text)) }
	write := func(path string) agent.ToolCall { return call("c", "write_file", args("path", path)) }
	edit := func(path string) agent.ToolCall { return call("c", "edit_file", args("path", path)) }
	fetch := func(url string) agent.ToolCall { return call("c", "web_fetch", args("url", url)) }
	allow := func(rules ...string) agent.Approval { return agent.Approval{Allow: rules} }
	everything := agent.Approval{Default: "allow", Allow: []string{"run_command", "write_file", "edit_file", "web_fetch", "write_file(**)", "edit_file(**)"}}
	but := func(list agent.Approval, deny ...string) agent.Approval { list.Deny = deny; return list }
	for _, c := range []struct {
		name     string
		approval agent.Approval
		call     agent.ToolCall
		outcome  agent.Outcome // rejected: it was asked about
		by       string
	}{
		{"a command asks", agent.Approval{}, command("ls"), "rejected", "user"},
		{"a write asks", agent.Approval{}, write("src/x"), "rejected", "user"},
		{"a fetch asks", agent.Approval{}, fetch("https://go.dev/"), "rejected", "user"},
		{"default allow", agent.Approval{Default: "allow"}, command("ls | cat"), "completed", "policy"},
		{"default deny", agent.Approval{Default: "deny"}, command("ls"), "denied", "policy"},
		{"default deny and a rule", agent.Approval{Default: "deny", Allow: []string{"run_command(ls)"}}, command("ls -l"), "completed", "rule:run_command(ls)"},

		{"a command's rule", allow("run_command(git log)", "run_command(git status)"), command("git status -s"), "completed", "rule:run_command(git status)"},
		{"another command", allow("run_command(git status)"), command("git stash"), "rejected", "user"},
		{"a chain", allow("run_command(git status)"), command("git status && rm x"), "rejected", "user"},
		{"a change of directory", allow("run_command(git status)"), command("cd x && git status"), "rejected", "user"},
		{"any simple command", allow("run_command"), command("ls"), "completed", "rule:run_command"},
		{"no simple command", allow("run_command"), command("ls | sh"), "rejected", "user"},
		{"a wrapper", allow("run_command(sudo ls)", "run_command"), command("sudo ls"), "rejected", "user"},
		{"ask beats allow", agent.Approval{Allow: []string{"run_command(git)"}, Ask: []string{"run_command(git push)"}}, command("git push"), "rejected", "user"},
		{"ask of another", agent.Approval{Allow: []string{"run_command(git)"}, Ask: []string{"run_command(git push)"}}, command("git log"), "completed", "rule:run_command(git)"},
		{"deny beats allow", but(everything, "run_command(rm)"), command("rm x"), "denied", "rule:run_command(rm)"},
		{"deny inside", but(everything, "run_command(rm)"), command("ls; echo $(sudo rm x)"), "denied", "rule:run_command(rm)"},
		{"deny of another", but(everything, "run_command(rm)"), command("ls x"), "completed", "rule:run_command"},
		{"deny that cannot be told", but(everything, "run_command(rm)"), command("$X x"), "rejected", "user"},
		{"deny that cannot be parsed", but(everything, "run_command(rm"), command("ls"), "rejected", "user"},
		{"deny by a pattern", but(everything, "run_*"), command("ls"), "rejected", "user"},
		{"deny of everything", but(everything, "*"), command("ls"), "rejected", "user"},
		{"deny in another case", but(everything, "Run_Command"), command("ls"), "rejected", "user"},
		{"deny of an unknown tool", but(everything, "run_comand"), command("ls"), "completed", "rule:run_command"},
		{"ask that cannot be parsed", agent.Approval{Default: "allow", Ask: []string{"run_command(git *)"}}, command("ls"), "rejected", "user"},
		{"allow that cannot be parsed", allow("run_command(ls", "run_command(ls *)", "run_command()", "run_command(ls; ls)"), command("ls x"), "rejected", "user"},
		{"deny of a server's tool with brackets", but(agent.Approval{Default: "allow"}, "fake/echo(x)"), echo, "rejected", "user"},
		{"deny of a server's tools by a pattern", but(agent.Approval{Default: "allow"}, "fake/ec*"), echo, "rejected", "user"},
		{"a command that changes what is always asked", allow("run_command(cp)"), command("cp x .git/hooks/post-commit"), "rejected", "user"},
		{"a command that changes it in its directory", allow("run_command(cp)"), call("c", "run_command", `{"command":"cp ../../x post-commit","cwd":".git/hooks"}`), "rejected", "user"},
		{"a command that changes something else", allow("run_command(cp)"), command("cp x src/y"), "completed", "rule:run_command(cp)"},
		{"a command that reads it", allow("run_command(cat)"), command("cat AGENTS.md"), "completed", "rule:run_command(cat)"},
		{"it in a chain", everything, command("true && cp x .git/config"), "rejected", "user"},
		{"it in a wrapper", everything, command("sh -c 'cp x .git/config'"), "rejected", "user"},
		{"it by a redirect", everything, command("echo x >> .git/hooks/post-commit"), "rejected", "user"},
		{"it by a redirect of everything", everything, command("{ ls; } &> AGENTS.md"), "rejected", "user"},
		{"it from another directory", everything, call("c", "run_command", `{"command":"cp ../a.txt config","cwd":".git"}`), "rejected", "user"},
		{"it from the directory that it goes to", everything, command("cd .git && cp ../a.txt config"), "rejected", "user"},
		{"it by a link", everything, command("cp a.txt gitlink/config"), "rejected", "user"},
		{"it by a pattern", allow("run_command(cp)"), command("cp a.txt .g?t/config"), "rejected", "user"},
		{"it by braces", allow("run_command(cp)"), command("cp a.txt {.,}git/config"), "rejected", "user"},
		{"a redirect out of the workspace", everything, command("ls > ../x"), "rejected", "user"},
		{"a redirect that cannot be told", everything, command("ls > $X"), "rejected", "user"},
		{"a redirect to somewhere else", everything, command("ls > src/out 2>/dev/null; ls >&2"), "completed", "policy"},
		{"a pattern that names something else", allow("run_command(rm)"), command("rm src/*.o"), "completed", "rule:run_command(rm)"},
		{"a command of the wrong type", everything, call("c", "run_command", `{"command":["ls"]}`), "completed", "policy"}, // the tool refuses it

		{"a path's rule", allow("write_file(src/**)"), write("src/a/b.go"), "completed", "rule:write_file(src/**)"},
		{"a directory's rule", allow("write_file(src/)"), write("src/a/b.go"), "completed", "rule:write_file(src/)"},
		{"a name's rule", allow("edit_file(*.md)"), edit("docs/x/a.md"), "completed", "rule:edit_file(*.md)"},
		{"another path", allow("write_file(src/**)"), write("srcs/a"), "rejected", "user"},
		{"another tool", allow("write_file(src/**)"), edit("src/a"), "rejected", "user"},
		{"out of it", allow("write_file(src/**)"), write("src/../a"), "rejected", "user"},
		{"into it by a link", allow("write_file(src/**)"), write("tosrc/a"), "rejected", "user"},
		{"out of it by a link", allow("write_file(src/**)"), write("src/out/a"), "rejected", "user"},
		{"by its absolute path", allow("write_file(src/**)"), write("DIR/src/a"), "completed", "rule:write_file(src/**)"},
		{"another case", allow("write_file(src/**)"), write("SRC/a"), "rejected", "user"},
		{"deny of a path", but(everything, "write_file(src/**)"), write("src/a"), "denied", "rule:write_file(src/**)"},
		{"deny of a directory", but(everything, "write_file(src)"), write("src/a/b"), "denied", "rule:write_file(src)"},
		{"deny in another case", but(everything, "write_file(SRC/**)"), write("src/a"), "denied", "rule:write_file(SRC/**)"},
		{"deny by a link", but(everything, "write_file(src/**)"), write("tosrc/a"), "denied", "rule:write_file(src/**)"},
		{"deny of the link", but(everything, "write_file(tosrc/**)"), write("tosrc/a"), "denied", "rule:write_file(tosrc/**)"},
		{"deny of another path", but(everything, "write_file(src/**)"), write("lib/a"), "completed", "rule:write_file"},
		{"deny with an absolute path", but(everything, "write_file(/etc/**/../x)"), write("lib/a"), "rejected", "user"},
		{"deny of a read", but(agent.Approval{}, "read_file(src/**)"), call("c", "read_file", `{"path":"src/main.go"}`), "denied", "rule:read_file(src/**)"},
		{"ask of a read", agent.Approval{Ask: []string{"read_file(src/**)"}}, call("c", "read_file", `{"path":"src/main.go"}`), "rejected", "user"},
		{"another read", but(agent.Approval{Default: "deny"}, "read_file(lib/**)"), call("c", "read_file", `{"path":"src/main.go"}`), "completed", "policy"},
		{"a read whose deny cannot be told", but(agent.Approval{}, "read_file(lib"), call("c", "read_file", `{"path":"src/main.go"}`), "rejected", "user"},

		{"a host's rule", allow("web_fetch(go.dev)"), fetch("https://go.dev/x"), "completed", "rule:web_fetch(go.dev)"},
		{"a domain's rule", allow("web_fetch(*.example.com)"), fetch("https://a.b.example.com/x"), "completed", "rule:web_fetch(*.example.com)"},
		{"a domain itself", allow("web_fetch(*.example.com)"), fetch("https://example.com/x"), "rejected", "user"},
		{"a host's end", allow("web_fetch(*.example.com)", "web_fetch(example.com)"), fetch("https://badexample.com/"), "rejected", "user"},
		{"a host in another spelling", allow("web_fetch(Go.Dev.)"), fetch("HTTPS://GO.DEV.:8443/x"), "completed", "rule:web_fetch(Go.Dev.)"},
		{"a host in another alphabet", allow("web_fetch(bücher.example)"), fetch("https://xn--bcher-kva.example/"), "completed", "rule:web_fetch(bücher.example)"},
		{"a user that is no host", allow("web_fetch(go.dev)"), fetch("https://go.dev@evil.example/"), "rejected", "user"},
		{"a user before the host", allow("web_fetch(go.dev)"), fetch("https://evil@go.dev/"), "rejected", "user"},
		{"a host behind a backslash", allow("web_fetch(go.dev)"), fetch(`https://evil.example\@go.dev/`), "rejected", "user"},
		{"another scheme", allow("web_fetch(go.dev)"), fetch("file://go.dev/etc/passwd"), "rejected", "user"},
		{"an address in an odd spelling", but(agent.Approval{Default: "allow"}, "web_fetch(127.0.0.1)"), fetch("http://0x7f.1/"), "rejected", "user"},
		{"an address behind IPv6", but(agent.Approval{Default: "allow"}, "web_fetch(127.0.0.1)"), fetch("http://[::ffff:127.0.0.1]/"), "denied", "rule:web_fetch(127.0.0.1)"},
		{"deny of a host", but(everything, "web_fetch(evil.example)"), fetch("https://x@EVIL.example./"), "denied", "rule:web_fetch(evil.example)"},
		{"no URL", allow("web_fetch(go.dev)"), fetch("go.dev"), "rejected", "user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := stubbed(t)
				w.link("src", "tosrc")
				w.link("../lib", "src/out")
				w.link(".git", "gitlink")
				if err := os.MkdirAll(filepath.Join(w.dir, ".git"), 0o700); err != nil {
					t.Fatal(err)
				}
				w.host.Answer = agenttest.Always(agent.DecisionDeny)
				c.call.Arguments = strings.ReplaceAll(c.call.Arguments, "DIR", w.dir)
				w.task.Approval = c.approval
				w.decided(c.call, c.outcome, c.by)
			})
		})
	}
}

// link makes a symbolic link in the workspace.
func (w *world) link(to, name string) {
	w.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Join(w.dir, "lib"), 0o700), os.Symlink(to, filepath.Join(w.dir, name))); err != nil {
		w.t.Fatal(err)
	}
}

// decided makes a call and checks what became of it, in the result, the audit
// and the log.
func (w *world) decided(c agent.ToolCall, outcome agent.Outcome, by string) {
	w.t.Helper()
	lines, asked, logged := len(w.lines()), len(w.host.Questions()), w.log.Len()
	res, llm := w.must("go", agenttest.Call(c))
	equal(w.t, c.Arguments, statuses(res), []agent.Outcome{outcome})
	audited := w.lines()[lines:]
	if len(audited) != 1 || audited[0].Outcome != outcome || audited[0].DecidedBy != by {
		w.t.Errorf("%s: audit %+v; want %s by %s", c.Arguments, audited, outcome, by)
	}
	if got := len(w.host.Questions()) - asked; (got > 0) != (by == "user" && outcome == agent.Rejected) {
		w.t.Errorf("%s: asked %d times", c.Arguments, got)
	}
	if strings.HasPrefix(by, "rule:") && !strings.Contains(w.log.String()[logged:], quoted("by", by)) {
		w.t.Errorf("%s: the log does not name %s: %s", c.Arguments, by, w.log.String()[logged:])
	}
	all := results(llm.Last())
	if ran := strings.HasPrefix(all[len(all)-1], "ran "); ran && outcome != agent.Completed {
		w.t.Errorf("%s: it ran", c.Arguments)
	}
}

// quoted is how a value stands in the log.
func quoted(key, value string) string {
	if strings.ContainsAny(value, " =\"") {
		return key + "=" + strconv.Quote(value)
	}
	return key + "=" + value
}

// Commands change agentls' own files unasked by no spelling of their path.
func TestCommandsOnAgentlsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		home := t.TempDir()
		own := filepath.Join(home, "conf")
		w.environ, w.own = []string{"HOME=" + home}, []string{own}
		w.restart()
		w.stub()
		w.host.Answer = agenttest.Always(agent.DecisionDeny)
		w.task.Approval = agent.Approval{Default: "allow", Allow: []string{"run_command"}}
		rel, err := filepath.Rel(w.dir, own)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []string{own, "~/conf", rel, "x/../" + rel, home + "/CONF"} {
			w.decided(call("c", "run_command", args("command", "cp a "+to+"/config.json")), "rejected", "user")
		}
		w.decided(call("c", "run_command", args("command", "cp a ~/other")), "completed", "rule:run_command")
	})
}

// CONTRACT §7, "Always asked, whatever the rules say".
func TestAlwaysAsked(t *testing.T) {
	for path, want := range map[string]bool{
		".agentls/config.json": true, ".AgentLS/x": true, ".mcp.json": true, ".vscode/tasks.json": true, ".git/hooks/pre-commit": true, ".git": true, ".GIT/config": true,
		"AGENTS.md": true, "agents.md": true, "sub/AGENTS.md": true, "sub/dir/.git/config": true, "plan.agentls.md": true, "sub/Plan.AGENTLS.md": true, ".agentls.md": true,
		"sub/../.git/config": true, "./.mcp.json": true, "DIR/.mcp.json": true, "link/config": true, "agents-link": true, "hook-link": true, ".git./config": true, ".git /config": true,
		".g\u200cit/config": true, ".git::$INDEX_ALLOCATION/config": true, ".ſcode": false, ".vſcode/x": true, "gitdir/worktrees/w/config": true, "bare/hooks/x": true, "bare": false,
		"half/HEAD": true, "half/config": false, "half/objects/x": false,
		"../x": true, "/etc/passwd": true, "src/out/x": true, "own/state.json": true, "OWN/x": true, "ownlink/x": true, "a\x00b": true, "": false,
		".gitignore": false, "git/config": false, ".github/workflows/x.yml": false, "README.md": false, "src/agents.go": false, "AGENTS.md.txt": false, "owner/x": false,
	} {
		t.Run(strings.ReplaceAll(path, "/", "_"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, tool := range []string{"write_file", "edit_file"} {
					w := newWorld(t)
					w.files()
					w.special()
					w.host.Answer = agenttest.Always(agent.DecisionAlways)
					c := call("c", tool, strings.ReplaceAll(args("path", path), "DIR", w.dir))
					w.task.Approval = agent.Approval{Default: "allow", Allow: []string{tool, tool + "(**)", tool + "(.git/**)"}}
					for range 2 { // nothing is remembered
						before := len(w.host.Questions())
						w.must("go", agenttest.Call(c))
						asked := w.host.Questions()[before:]
						if len(asked) > 0 != want || want && (asked[0].Covers != "" || asked[0].Reason == "") {
							t.Errorf("%s %q: asked %+v, want %v", tool, path, asked, want)
						}
					}
					if want {
						if line := w.lines()[0]; line.Reason != "once" || line.DecidedBy != "user" {
							t.Errorf("audit %+v", line)
						}
						w.task.Approval.Deny = []string{tool}
						w.decided(c, "denied", "rule:"+tool)
					}
				}
			})
		})
	}
}

// A command whose program changes files is asked about where it names what is
// always asked about, whatever allows it.
func TestCommandsThatChangeWhatIsAlwaysAsked(t *testing.T) {
	for command, want := range map[string]bool{
		"cp x own/state.json": true, "cp x DIR/own/state.json": true, "cp x OWN/y": true, "cp x owner/y": false, "sed -i s/a/b/ .mcp.json": true, "tee -a sub/AGENTS.md": true,
		"dd if=x of=.git/config": true, "curl -o .vscode/tasks.json https://x": true, "rm -rf './.agentls'": true, "cat own/state.json": false, "git add AGENTS.md": false, "cp a b": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.files()
			w.special()
			w.host.Answer = agenttest.Always(agent.DecisionAlways)
			w.task.Approval = agent.Approval{Default: "allow", Allow: []string{"run_command"}}
			w.must("go", agenttest.Call(call("c", "run_command", strings.ReplaceAll(args("command", command), "DIR", w.dir))))
			if q := w.host.Questions(); len(q) > 0 != want || want && q[0].Covers != "" {
				t.Errorf("%s: asked %+v, want %v", command, q, want)
			}
		})
	}
}

// special fills the workspace with what writes are always asked about.
func (w *world) special() {
	w.t.Helper()
	var errs []error
	for _, dir := range []string{".git", "gitdir/worktrees/w", "bare/objects", "bare/refs", "bare/hooks", "half/objects", "half/refs", "own", "src", "sub/dir/.git"} {
		errs = append(errs, os.MkdirAll(filepath.Join(w.dir, dir), 0o700))
	}
	for _, file := range []string{"gitdir/worktrees/w/HEAD", "gitdir/worktrees/w/commondir", "bare/HEAD", "AGENTS.md"} {
		errs = append(errs, os.WriteFile(filepath.Join(w.dir, file), nil, 0o600))
	}
	for name, to := range map[string]string{"link": ".git", "hook-link": ".git/hooks/post-commit", "agents-link": "AGENTS.md", "src/out": "../..", "ownlink": "own"} {
		errs = append(errs, os.Symlink(to, filepath.Join(w.dir, name)))
	}
	if err := errors.Join(errs...); err != nil {
		w.t.Fatal(err)
	}
	w.own = []string{filepath.Join(w.dir, "own")}
	w.restart()
	w.stub()
}

// What a question says that an answer would cover is what is not asked again.
func TestWhatAnAnswerCovers(t *testing.T) {
	command := func(text string) agent.ToolCall { return call("c", "run_command", args("command", text)) }
	for _, c := range []struct {
		name   string
		first  agent.ToolCall
		covers string
		again  map[string]bool // calls thereafter: whether they are asked about
		tool   string          // of those
		key    string
	}{
		{"a subcommand", command("git status -s"), `commands that begin with "git status", in this folder`, map[string]bool{"git status": false, "git status --long": false, "git stash": true, "git status; ls": true, "git -c x=y status": true, "./git status": true, "sudo git status": true, "git status > x": true}, "run_command", "command"},
		{"a command", command("ls -l"), "just this command, in this folder", map[string]bool{"ls -l": false, "ls  '-l'": false, "ls": true, "ls -l x": true}, "run_command", "command"},
		{"a program without subcommands", command("rm x"), "just this command, in this folder", map[string]bool{"rm x": false, "rm x -rf /": true, "rm y": true}, "run_command", "command"},
		{"a pipeline", command("ls | cat"), "", map[string]bool{"ls | cat": true, "ls": true}, "run_command", "command"},
		{"code", command("sh -c 'ls'"), "", map[string]bool{"sh -c 'ls'": true}, "run_command", "command"},
		{"a script", command("./x"), "", map[string]bool{"./x": true}, "run_command", "command"},
		{"a write", call("c", "write_file", args("path", "a")), "write_file, in this folder", map[string]bool{"b": false, "src/c": false, ".git/x": true, "../x": true}, "write_file", "path"},
		{"a fetch", call("c", "web_fetch", args("url", "https://Go.dev/x")), "web_fetch of go.dev, in this folder", map[string]bool{"http://go.dev/y": false, "https://go.dev.:99/": false, "https://x.go.dev/": true, "https://u@go.dev/": true}, "web_fetch", "url"},
		{"an odd fetch", call("c", "web_fetch", args("url", "https://u@go.dev/")), "", map[string]bool{"https://u@go.dev/": true, "https://go.dev/": true}, "web_fetch", "url"},
		{"a server's tool", echo, "fake/echo as it is defined now, in this folder", map[string]bool{"y": false}, "mcp__fake__echo", "text"},
		{"a secret", call("c", "read_file", args("path", ".env")), `read_file of ".env", in this folder`, map[string]bool{".env": false, "ID_RSA": true}, "read_file", "path"},
	} {
		for _, d := range []agent.Decision{agent.DecisionSession, agent.DecisionAlways} {
			t.Run(c.name+" "+string(d), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := stubbed(t)
					w.host.Answer = agenttest.Always(d)
					w.must("first", agenttest.Call(c.first))
					if q := w.host.Questions(); len(q) != 1 || q[0].Covers != c.covers {
						t.Fatalf("questions %+v, want one that covers %q", q, c.covers)
					}
					w.host.Answer = agenttest.Always(agent.DecisionDeny)
					if d == agent.DecisionAlways {
						w.filesRestart()
						w.task.Session = "another"
					}
					for value, asked := range c.again {
						outcome := map[bool]agent.Outcome{true: "rejected", false: "completed"}[asked]
						w.decided(call("c", c.tool, args(c.key, value)), outcome, "user")
					}
					w.task.Folder = t.TempDir()
					w.decided(c.first, "rejected", "user")
				})
			})
		}
	}
}

// filesRestart makes a new agent that has the stubs.
func (w *world) filesRestart() {
	w.restart()
	w.stub()
}

// A remembered answer never outweighs what cannot be told to be denied.
func TestDenialInDoubtBeatsWhatIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stubbed(t)
		w.host.Answer = answers(agent.Answer{Decision: agent.DecisionAlways})
		c := call("c", "run_command", args("command", "git log $X"))
		w.must("first", agenttest.Call(c))
		w.decided(c, "completed", "user")
		w.task.Approval.Deny = []string{"run_command(git log -p)"}
		w.decided(c, "rejected", "user")
		contains(t, w.log.String(), "which cannot be told", "by=\"rule:run_command(git log -p)\"")
	})
}

// Edited arguments are what is decided about, audited and remembered.
func TestEditedArgumentsOfBuiltins(t *testing.T) {
	edited := func(d agent.Decision, key, value string) agent.Answer {
		return agent.Answer{Decision: d, Arguments: json.RawMessage(args(key, value))}
	}
	for _, c := range []struct {
		name    string
		call    agent.ToolCall
		answers []agent.Answer
		outcome agent.Outcome
		by      string
		asked   int
		ran     string
	}{
		{"to a denied command", call("c", "run_command", args("command", "ls")), []agent.Answer{edited("always", "command", "sudo rm x")}, "denied", "rule:run_command(rm)", 1, ""},
		{"to another command", call("c", "run_command", args("command", "ls | sh")), []agent.Answer{edited("session", "command", "git log")}, "completed", "user", 1, "git log"},
		{"to a denied path", call("c", "write_file", args("path", "a")), []agent.Answer{edited("once", "path", "src/../no/x")}, "denied", "rule:write_file(no/**)", 1, ""},
		{"to what is always asked about", call("c", "write_file", args("path", "a")), []agent.Answer{edited("always", "path", ".git/config"), {Decision: "once"}}, "completed", "user", 2, ".git/config"},
		{"to what is always asked about, and no", call("c", "write_file", args("path", "a")), []agent.Answer{edited("always", "path", ".git/config"), {}}, "rejected", "user", 2, ""},
		{"of what is always asked about", call("c", "write_file", args("path", ".mcp.json")), []agent.Answer{edited("once", "path", "a.json")}, "completed", "user", 1, "a.json"},
		{"again and again", call("c", "write_file", args("path", "a")), []agent.Answer{edited("once", "path", ".git/a"), edited("once", "path", ".git/b"), edited("once", "path", ".git/c"), {Decision: "once"}}, "rejected", "policy", 3, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := stubbed(t)
				w.task.Approval.Deny = []string{"run_command(rm)", "write_file(no/**)"}
				w.host.Answer = answers(c.answers...)
				res, llm := w.must("go", agenttest.Call(c.call))
				equal(t, "outcome", statuses(res), []agent.Outcome{c.outcome})
				if got := len(w.host.Questions()); got != c.asked {
					t.Errorf("asked %d times", got)
				}
				line := w.lines()[0]
				if line.DecidedBy != c.by || c.ran != "" && !strings.Contains(string(line.Arguments), c.ran) {
					t.Errorf("audit %+v %s", line, line.Arguments)
				}
				if text := results(llm.Last())[0]; c.ran != "" {
					contains(t, text, "ran ", c.ran)
				} else if strings.Contains(text, "ran ") {
					t.Errorf("it ran: %s", text)
				}
				if c.name == "to another command" {
					w.host.Answer = nil
					w.decided(call("c", "run_command", args("command", "git log -1")), "completed", "user")
					w.decided(call("c", "run_command", args("command", "ls | sh")), "rejected", "user")
				}
			})
		})
	}
}

// veryfront-code#2226: what was asked about is looked at again once it was
// allowed. A link that was made under the question leads nowhere.
func TestWhatChangesUnderTheQuestion(t *testing.T) {
	for _, c := range []struct {
		name    string
		call    agent.ToolCall
		change  func(*world)
		outcome agent.Outcome
		asked   int
	}{
		{"a link to what is always asked about", call("c", "write_file", args("path", "new/config")), func(w *world) { w.link(".git", "new") }, "completed", 2},
		{"a link to what is denied", call("c", "write_file", args("path", "new/x")), func(w *world) { w.link("src", "new") }, "denied", 1},
		{"a link out of the workspace", call("c", "write_file", args("path", "new/x")), func(w *world) { w.link("..", "new") }, "completed", 2},
		{"a link elsewhere", call("c", "write_file", args("path", "new/x")), func(w *world) { w.link("lib", "new") }, "completed", 1},
		{"the server", echo, func(w *world) { w.servers.configure("f2") }, "completed", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := stubbed(t)
				w.task.Approval.Deny = []string{"write_file(src/**)"}
				n := 0
				w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) {
					if n++; n == 1 {
						c.change(w)
					}
					return agent.Answer{Decision: agent.DecisionOnce}, nil
				}
				res, _ := w.must("go", agenttest.Call(c.call))
				equal(t, "outcome", statuses(res), []agent.Outcome{c.outcome})
				if n != c.asked {
					t.Errorf("asked %d times", n)
				}
			})
		})
	}
}

// veryfront-code#2226, openhuman#1898: a link that is made between the gate
// and the tool leads nowhere, also inside of the workspace.
func TestLinkBetweenTheGateAndTheTool(t *testing.T) {
	for tool, rest := range map[string]string{"write_file": `,"content":"x"`, "edit_file": `,"edits":[{"old":"a","new":"b"}]`, "read_file": "", "list_dir": ""} {
		t.Run(tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.files()
				w.special()
				w.restart() // the tools themselves
				w.link("src", "here")
				if err := os.WriteFile(filepath.Join(w.dir, ".git", "main.go"), []byte("a"), 0o600); err != nil {
					t.Fatal(err)
				}
				w.task.Approval.Allow = []string{tool}
				w.host.On = func(e agent.Event) {
					if e.ToolCall == nil || e.ToolCall.State != agent.ToolRunning {
						return
					}
					here := filepath.Join(w.dir, "here")
					if err := errors.Join(os.Remove(here), os.Symlink(".git", here)); err != nil {
						t.Error(err)
					}
				}
				path := "here/main.go"
				if tool == "list_dir" {
					path = "here"
				}
				res, llm := w.must("go", agenttest.Call(call("c", tool, `{"path":"`+path+`"`+rest+`}`)))
				equal(t, "outcome", statuses(res), []agent.Outcome{"failed"})
				contains(t, results(llm.Last())[0], "leads elsewhere since the call was permitted")
				if data, err := os.ReadFile(filepath.Join(w.dir, ".git", "main.go")); err != nil || string(data) != "a" {
					t.Errorf("it was written: %q, %v", data, err)
				}
			})
		})
	}
}

// An answer covers what its question said, also where the path has come to lead
// elsewhere since.
func TestLinkUnderTheQuestionWidensNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stubbed(t)
		w.link("../.env", "lib/a.txt")
		w.task.Approval.Ask = []string{"read_file(*.txt)"}
		w.host.Answer = func(_ context.Context, q agent.Question) (agent.Answer, error) {
			if err := os.Rename(filepath.Join(w.dir, "a.txt"), filepath.Join(w.dir, "lib", "a.txt")); err != nil {
				t.Error(err)
			}
			return agent.Answer{Decision: agent.DecisionAlways}, nil
		}
		w.must("go", agenttest.Call(call("c", "read_file", `{"path":"lib/a.txt"}`)))
		if covers := w.host.Questions()[0].Covers; !strings.Contains(covers, ".env") {
			t.Errorf("the question covers %q", covers)
		}
		w.host.Answer = agenttest.Always(agent.DecisionDeny)
		w.decided(call("c", "read_file", `{"path":"lib/a.txt"}`), "rejected", "user")
	})
}

// A remembered yes to edits is none to reading what is asked about: the errors
// of edit_file show nothing of it.
func TestRememberedEditShowsNoSecrets(t *testing.T) {
	w := newWorld(t)
	w.files()
	w.write(".env", "TOKEN=of somebody\n")
	w.write("a.txt", "one\n")
	w.host.Answer = agenttest.Always(agent.DecisionAlways)
	w.must("go", agenttest.Call(call("1", "edit_file", edits("a.txt", "one", "two"))))
	asked := len(w.host.Questions())
	_, llm := w.must("go on", agenttest.Call(call("2", "edit_file", edits(".env", "TOKEN=of nobody", "x"))))
	all := results(llm.Last())
	if last := all[len(all)-1]; strings.Contains(last, "somebody") || !strings.Contains(last, "does not occur") {
		t.Errorf("%q", last)
	}
	if n := len(w.host.Questions()); n != asked {
		t.Errorf("it was asked about: %d", n-asked)
	}
}

// The rules are looked at again before a question that waited is shown.
func TestRecheckOfCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stubbed(t)
		w.host.Answer = func(_ context.Context, q agent.Question) (agent.Answer, error) {
			if a, ok := q.Recheck(); ok {
				return a, nil
			}
			return agent.Answer{Decision: agent.DecisionSession}, nil
		}
		w.must("one", agenttest.Call(call("c", "run_command", args("command", "git status"))))
		w.decided(call("c", "run_command", args("command", "git status -s")), "completed", "user")
	})
}
