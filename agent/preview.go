package agent

// Preview shows a person what a call would change, before it is allowed.
type Preview struct {
	Path           string // relative to the folder
	URI            string
	Added, Removed int    // lines
	Diff           string // unified; cut in the middle where it is very long
}

// What a question shows at most of a diff, in bytes, and of how many lines one
// is made: that takes its time.
const (
	maxPreview   = 256 << 10
	previewLines = 500_000
)

// preview compares a file with what next would make of it; ok is false where
// it would fail, or change nothing.
func preview(e env, at place, next func(found) (string, error)) (p Preview, ok bool) {
	f, err := find(at, e.host)
	if err != nil {
		return p, false
	}
	after, err := next(f)
	if err != nil || after == f.text {
		return p, false
	}
	return compare(at, f.text, after), true
}

// compare shows what is different in a file.
func compare(at place, before, after string) Preview {
	d := differ(before, after)
	p := Preview{Path: at.shown, URI: fileURI(at.abs), Added: d.added, Removed: d.removed, Diff: "[too many lines to be shown]"}
	if lineCount(before)+lineCount(after) <= previewLines {
		p.Diff = truncate(unified(at.shown, before, after), maxPreview)
	}
	return p
}
