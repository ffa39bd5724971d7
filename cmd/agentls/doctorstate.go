package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"agentls/agent"
)

// Room on the disk below which sessions and results soon find none, in bytes.
const (
	littleRoom = 200 << 20
	noRoom     = 10 << 20
)

// mostSessions is how many of the newest sessions are loaded.
const mostSessions = 50

// mostStateFiles bounds how many files of <state> are looked at.
const mostStateFiles = 50_000

// state sees whether what agentls keeps can be written, and whether it is this
// user's alone.
func (d *doctor) state() {
	const about = "state"
	dir := d.parts.paths.state
	if err := os.MkdirAll(dir, 0o700); err != nil {
		d.say(tooBad, about, "", "it cannot be made (%v): let yourself write there, or set XDG_STATE_HOME to a place where you can", err)
		return
	}
	f, err := os.CreateTemp(dir, "doctor.*")
	if err == nil {
		_, err = f.WriteString("agentls") // an empty file needs no room
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		d.say(tooBad, about, "", "it cannot be written (%v): let yourself write there, or set XDG_STATE_HOME to a place where you can", err)
		return
	}
	switch room, err := freeBytes(dir); {
	case err != nil:
		d.say(absent, about, "", "the room on its disk cannot be told: %v", err)
	case room < noRoom:
		d.say(tooBad, about, "", "its disk has %d MiB left: make room, or nothing of a run is kept", room>>20)
	case room < littleRoom:
		d.say(poor, about, "", "its disk has %d MiB left: make room", room>>20)
	default:
		d.say(good, about, "", "it can be written, and its disk has %s left", gibibytes(room))
	}
	d.private(dir)
}

func gibibytes(n uint64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }

// private looks for files that others can read, or that are another user's: a
// run as root leaves those, and they cannot be written any more.
func (d *doctor) private(dir string) {
	const about = "state"
	if runtime.GOOS == "windows" {
		return // who may read is not in the mode there
	}
	var open, foreign []string
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if seen++; seen > mostStateFiles {
			return fs.SkipAll
		}
		switch isForeign, isOpen := keptFor(e, err); {
		case isForeign:
			foreign = append(foreign, path)
		case isOpen:
			open = append(open, path)
		}
		return nil
	})
	if err != nil {
		d.say(tooBad, about, "", "it cannot be looked through: %v; let yourself read there", err)
	}
	if len(foreign) > 0 {
		d.say(tooBad, about, "", "%s of another user, or closed to you, such as %s: make them yours, as by `sudo chown -R %s %s`", areFiles(len(foreign)), foreign[0], word(d.parts.user()), word(dir))
	}
	if len(open) > 0 {
		d.say(poor, about, "", "%s open to others, such as %s: close them, as by `chmod -R go= %s`", areFiles(len(open)), open[0], word(dir))
	}
}

// keptFor says whether what a walk came to is another user's, or closed to us,
// or open to others. One that is gone by now is none of that.
func keptFor(e fs.DirEntry, closed error) (foreign, open bool) {
	if closed != nil {
		return !errors.Is(closed, fs.ErrNotExist), false
	}
	info, err := e.Info()
	if err != nil {
		return false, false
	}
	return !isOwn(info), info.Mode().Perm()&0o077 != 0 && info.Mode()&os.ModeSymlink == 0
}

// user is the name of who runs this, for a command to type.
func (p *parts) user() string {
	for _, name := range []string{"USER", "LOGNAME"} {
		if v, _ := p.source.Getenv(name); v != "" {
			return v
		}
	}
	return fmt.Sprint(os.Getuid())
}

func areFiles(n int) string {
	if n == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", n)
}

// records sees whether what is kept can be read: the audit, the sessions of the
// folder, and the files that hold what was answered.
func (d *doctor) records(ctx context.Context, folder string) {
	switch last, err := d.parts.audit.Read(agent.AuditFilter{Limit: 1}); {
	case err != nil:
		d.say(tooBad, "audit", "", "it cannot be read (%v): make its files yours", err)
	case len(last) == 0:
		d.say(absent, "audit", "", "nothing is recorded yet")
	default:
		d.say(good, "audit", "", "the last line is of %s; `agentls audit` shows more", last[0].Time.Local().Format(time.DateTime))
	}
	sessions, err := d.parts.agent.Sessions(ctx, []string{folder})
	switch {
	case err != nil:
		d.say(tooBad, "sessions", "", "they cannot be read (%v): make their files yours", err)
	case len(sessions) == 0:
		d.say(absent, "sessions", "", "none of this folder yet")
	default:
		d.say(good, "sessions", "", "%d of this folder", len(sessions))
	}
	for _, s := range sessions[:min(len(sessions), mostSessions)] {
		if _, err := d.parts.agent.ShowSession(ctx, []string{folder}, s.Session); err != nil && ctx.Err() == nil {
			d.say(poor, "session", s.Session, "it cannot be loaded: %v; use another one, or delete it", err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(d.parts.paths.state, "*.json")) // the pattern is right
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && !json.Valid(text) {
			d.say(poor, "state", "", "%s is no JSON and is not used: move it away", file)
		}
	}
}

// program sees whether editors find this program: they start it by its name.
func (d *doctor) program() {
	const about = "agentls"
	self, err := os.Executable()
	if err != nil {
		return // then it cannot be compared
	}
	found, err := exec.LookPath("agentls")
	switch {
	case err != nil:
		d.say(poor, about, "", "it is not in the PATH, and editors start it by its name: put %s into the PATH, or name %s in your editor", filepath.Dir(self), self)
	case !sameFile(found, self):
		d.say(poor, about, "", "the one in the PATH is %s, and this is %s: remove one of them, or name the right one in your editor", found, self)
	}
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// editors names those that are here, with what tells how each starts agentls.
func (d *doctor) editors() {
	none := true
	var looked []string
	for _, e := range []struct{ program, name, page string }{
		{"nvim", "Neovim", "editors/nvim/README.md"},
		{"hx", "Helix", ""},
		{"helix", "Helix", ""},
		{"emacs", "Emacs", ""},
		{"code", "VS Code", ""},
		{"zed", "Zed", ""},
		{"kak", "Kakoune", ""},
	} {
		looked = append(looked, e.program)
		path, err := exec.LookPath(e.program)
		if err != nil {
			continue
		}
		none = false
		page := "README.md, “Editors”, says how it starts agentls"
		if e.page != "" {
			page = e.page + " says how it starts agentls"
		}
		d.say(good, "editor", e.name, "%s; %s", path, page)
	}
	if none {
		d.say(absent, "editor", "", "none of %s is in the PATH; any editor that speaks LSP will do", strings.Join(looked, ", "))
	}
}
