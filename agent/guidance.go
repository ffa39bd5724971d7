package agent

import (
	"cmp"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// guidanceName is the file in which a project says how to work in it.
const guidanceName = "AGENTS.md"

// guidanceTag marks what it says.
const guidanceTag = "project_instructions"

// Bounds of what stands in each request of it.
const (
	guidanceBytes = 32 << 10 // of one file
	guidanceFiles = 20       // the directories nearest to what was looked at last come first
	guidanceShare = 8        // they may take this part of the window together
	guidanceLooks = 500      // directories that are looked into
)

// guidance is what the AGENTS.md files of trusted folders say (CONTRACT §2),
// each in its block: those of the folders, then those of directories in which
// the session has seen files. They are read anew for each request, and unsaved
// text of the editor counts. They are no user's words: their mentions are none
// and their blocks cannot be left.
func (t *thread) guidance() []string {
	all := t.folders()
	var roots, nested []place
	looked := map[string]bool{}
	look := func(dir string, of folder) (at place, ok bool) {
		if looked[dir] || len(looked) >= guidanceLooks {
			return place{}, false
		}
		looked[dir] = true
		return t.guidanceIn(all, of, dir)
	}
	for _, f := range all {
		if at, ok := look(f.given, f); ok {
			roots = append(roots, at)
		}
	}
	for _, real := range t.s.known.places() {
		f, dir, ok := all.holding(real)
		for ; ok && dir != "." && len(nested) < guidanceFiles; dir = filepath.Dir(dir) {
			if at, there := look(filepath.Join(f.given, dir), f); there {
				nested = append(nested, at)
			}
		}
	}
	slices.SortFunc(nested, func(a, b place) int { return cmp.Compare(a.shown, b.shown) })
	room := 3 * t.window() / guidanceShare         // three bytes a token
	room = 1 << (bits.Len(uint(max(room, 2))) - 1) // as in serversSay
	var out []string
	for _, at := range append(roots, nested...) {
		text, _, err := fileText(at, t.task.Host)
		if err != nil || strings.TrimSpace(text) == "" {
			continue
		}
		text = guidanceCut(visible(text), at, min(room, guidanceBytes))
		room = max(room-len(text), 0)
		out = append(out, block(guidanceTag, text, "directory", cmp.Or(strings.TrimSuffix(strings.TrimSuffix(at.shown, guidanceName), "/"), ".")))
	}
	return out
}

// guidanceCut bounds a text, and says so.
func guidanceCut(text string, at place, room int) string {
	if len(text) <= room {
		return text
	}
	short := clipEnd(text[:room])
	return fmt.Sprintf("%s\n[%d more bytes left out by agentls; read_file %q shows them]", short, len(text)-len(short), at.shown)
}

// guidanceIn finds the file of a directory, absolute and as the editor names it:
// in its own folder, no link to elsewhere, nothing that read_file would be asked
// about, and nothing of a folder that is not trusted.
func (t *thread) guidanceIn(all folders, of folder, dir string) (place, bool) {
	name := filepath.Join(dir, guidanceName)
	at, err := all.contain(name)
	if err != nil || at.root != of.real || !t.holdsFile(at) {
		return place{}, false
	}
	if !of.trusted {
		t.wantTrust(of)
		return place{}, false
	}
	if e := t.a.exposesPath(at.shown, false, at.abs, at.real); e.reason != "" {
		if t.leavesOut(name) {
			t.a.log.Info("a project's instructions are left out", "run", t.task.RunID, "file", name, "reason", e.reason)
		}
		return place{}, false
	}
	return at, true
}

func (t *thread) holdsFile(at place) bool {
	if _, open := document(at, t.task.Host); open {
		return true
	}
	info, err := os.Lstat(at.real)
	return err == nil && info.Mode().IsRegular()
}

// wantTrust tells once that a folder has instructions that do not count.
func (t *thread) wantTrust(of folder) {
	if !t.leavesOut(of.real) {
		return
	}
	t.a.log.Info("a project's instructions are left out", "run", t.task.RunID, "file", filepath.Join(of.given, guidanceName), "reason", "the folder is not trusted")
	if t.task.TrustWanted != nil {
		t.task.TrustWanted()
		return
	}
	t.emit(Event{Kind: EventHint, Delta: "AGENTS.md is not followed: the folder " + t.a.tellable(of.given, 200) + " is not trusted (`agentls mcp trust` there trusts it)"})
}

// leavesOut notes what is left out, and reports whether that is new in the run.
func (r *run) leavesOut(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.left[path]
	r.left[path] = true
	return first
}

// holding is the innermost folder that holds a real path, and the directory of
// that in it.
func (all folders) holding(real string) (f folder, dir string, ok bool) {
	for _, one := range all {
		if rel, err := filepath.Rel(one.real, filepath.Dir(real)); err == nil && filepath.IsLocal(rel) && (!ok || len(one.real) > len(f.real)) {
			f, dir, ok = one, rel, true
		}
	}
	return f, dir, ok
}
