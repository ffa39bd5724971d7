package agent

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
	"ionice": {}, "time": {}, "command": {}, "hash": {}, "gosu": {operands: 1}, "su-exec": {operands: 1}, "tini": {}, "dumb-init": {}, "eatmydata": {}, "numactl": {}, "cpulimit": {}, "builtin": {}, "exec": {}, "busybox": {}, "toybox": {}, "strace": {}, "ltrace": {}, "unshare": {},
	"nsenter": {}, "setpriv": {}, "prlimit": {}, "systemd-run": {}, "systemd-inhibit": {}, "firejail": {}, "bwrap": {}, "fakeroot": {}, "unbuffer": {}, "rlwrap": {},
	"valgrind": {}, "caffeinate": {}, "chronic": {}, "entr": {}, "setarch": {operands: 1}, "linux32": {}, "linux64": {}, "dbus-run-session": {}, "xvfb-run": {},
	"noglob": {}, "nocorrect": {}, "start-stop-daemon": {}, "cgexec": {}, "proxychains": {}, "torsocks": {}, ".": {}, "source": {},
	"timeout": {operands: 1}, "gtimeout": {operands: 1}, "flock": {operands: 1, code: true}, "chroot": {operands: 1}, "taskset": {operands: 1}, "chrt": {operands: 1},
	"tmux": {operands: 1, code: true}, "screen": {code: true}, "xterm": {code: true}, "hyperfine": {code: true},
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

// findExec are the flags of find that a command follows.
//
//nolint:gochecknoglobals // a constant table
var findExec = map[string]bool{"-exec": true, "-execdir": true, "-ok": true, "-okdir": true}

// containers are programs whose run and exec name where, before the command.
//
//nolint:gochecknoglobals // a constant table
var containers = map[string]int{"docker": 1, "podman": 1, "nerdctl": 1, "kubectl": 1, "oc": 1, "lxc": 1, "incus": 1, "distrobox": 1, "conda": 1}

// readers run what they read, appenders put what they read behind their words.
//
//nolint:gochecknoglobals // constant tables
var (
	readers   = map[string]bool{"at": true, "batch": true}
	appenders = map[string]bool{"xargs": true, "gxargs": true, "parallel": true}
)
