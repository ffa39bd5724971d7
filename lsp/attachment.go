package lsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

const (
	attachMax         = 200000   // code points of a document that go along with a prompt
	fileMax           = 16 << 20 // bytes of a file that are looked at for them
	attachDiagnostics = 100      // of a document that go along with it
)

// documentArg is the document of a command's argument.
type documentArg struct {
	URI   *string   `json:"uri" required:"true"`
	Range *rangeArg `json:"range"`
	// What a code action was offered for: the version of the text that the
	// range is of, and the problems there, as LSP has them.
	Version     *float64        `json:"version"`
	Diagnostics json.RawMessage `json:"diagnostics" contract:"lsp.Diagnostic[]"`
}

// attachment is a document on its way into a prompt. An open one is taken from
// the editor when the request comes; another one is read by the run, so that
// a slow disk does not hold up the read loop.
type attachment struct {
	s      *Server
	folder string // what the path is relative to; "" for none
	file   string // slash-separated path in folder, still to be read; "" when text is there
	rng    *rangeArg
	agent.Attachment
}

// attach makes the attachment of a command's argument; nil for none.
func (s *Server) attach(command string, arg *documentArg) (*attachment, error) {
	if arg == nil {
		return nil, nil
	}
	if err := required(command, "document.uri", arg.URI); err != nil {
		return nil, err
	}
	if r := arg.Range; r != nil && (r.Start == nil || r.End == nil) {
		return nil, badf("%s: document.range must have start and end", command)
	}
	a := &attachment{s: s, rng: arg.Range}
	chosen := readDiagnostics(arg.Diagnostics)
	a.Chosen = len(chosen) > 0
	a.Diagnostics = s.written(chosen)
	if d, ok := s.docs.get(*arg.URI); ok {
		a.Path, a.LanguageID = d.uri, d.languageID
		a.Moved = arg.Version != nil && *arg.Version != float64(d.version)
		if d.path != "" {
			a.Path = d.path
			if folder, name, ok := s.inFolder(d.path); ok {
				a.folder, a.Path = folder, s.shownIn(folder, name)
			}
		}
		a.take(d.text)
		if !a.Chosen {
			a.Diagnostics = s.touching(d, a.StartLine, a.EndLine)
		}
		return a, nil
	}
	if !strings.HasPrefix(strings.ToLower(*arg.URI), "file:") {
		return nil, badf("%s: document.uri %q is not open in the editor; open it, or leave document out", command, clip(*arg.URI, 200))
	}
	_, path := canonical(*arg.URI)
	if path == "" {
		return nil, badf("%s: document.uri %q names no file on this machine; give the URI of an open document or of a file here", command, clip(*arg.URI, 200))
	}
	folder, name, ok := s.inFolder(path)
	if !ok {
		return nil, badf("%s: document.uri %q is neither open in the editor nor inside a workspace folder; open it first", command, clip(*arg.URI, 200))
	}
	a.folder, a.file, a.Path = folder, name, s.shownIn(folder, name)
	first, last := 0, 0
	if r := a.rng; r != nil {
		first, last = lineSpan(r.ordered())
	}
	if !a.Chosen {
		a.Diagnostics = s.touching(document{path: path, spelled: *arg.URI}, first, last)
	}
	return a, nil
}

// empty reports that an action would have nothing to work on.
func (a *attachment) empty() bool {
	return a.file == "" && strings.TrimSpace(a.Text) == "" && len(a.Diagnostics) == 0
}

// load reads a document that is not open. It stays inside the folder, also
// over symbolic links.
func (a *attachment) load() error {
	if a == nil || a.file == "" {
		return nil
	}
	text, err := readInside(a.folder, a.file, fileMax)
	if err != nil {
		// The error of os names the path again.
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		return badf("document %s cannot be read: %v; open it in the editor, or leave document out", clip(a.file, 200), err)
	}
	if !utf8.ValidString(text) {
		return badf("document %s is no text in UTF-8; leave document out", clip(a.file, 200))
	}
	a.file = ""
	a.take(text)
	return nil
}

// readInside reads at most limit bytes of a regular file below a folder, cut
// at a whole character.
func readInside(folder, name string, limit int64) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	// A FIFO would hold up the open.
	if info, err := root.Stat(name); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return "", err
	}
	for i := 1; int64(len(raw)) == limit && i <= min(utf8.UTFMax, len(raw)); i++ {
		if last := raw[len(raw)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				raw = raw[:len(raw)-i]
			}
			break
		}
	}
	return string(raw), nil
}

// take cuts the range and the limit out of the text.
func (a *attachment) take(text string) {
	a.Whole = text
	if r := a.rng; r != nil {
		from, to := r.ordered()
		start, end := a.s.docs.offset(text, from), a.s.docs.offset(text, to)
		a.StartLine, a.EndLine = lineSpan(a.s.docs.position(text, start), a.s.docs.position(text, end))
		text = text[start:max(start, end)]
	}
	a.Text = text
	if len(text) > attachMax {
		n := 0
		for i := range text {
			if n == attachMax {
				a.Text, a.Truncated = text[:i], true
				break
			}
			n++
		}
	}
}

// lineSpan gives the first and the last line of a range, from 1; a range that ends
// at a line's beginning does not hold that line.
func lineSpan(from, to protocol.Position) (first, last int) {
	first, last = int(from.Line)+1, int(to.Line)+1
	if to.Character == 0 && last > first {
		last--
	}
	return first, last
}

// place says which part of which document it is, for a person: path, or
// path:first-last.
func (a *attachment) place() string {
	switch r := a.rng; {
	case r == nil:
		return a.Path
	case a.StartLine == 0: // not read yet
		first, last := lineSpan(r.Start.Position, r.End.Position)
		return fmt.Sprintf("%s:%d-%d", a.Path, first, last)
	case a.StartLine == a.EndLine:
		return fmt.Sprintf("%s:%d", a.Path, a.StartLine)
	}
	return fmt.Sprintf("%s:%d-%d", a.Path, a.StartLine, a.EndLine)
}

// attachment gives what goes to the agent; nil for none.
func (a *attachment) attachment() *agent.Attachment {
	if a == nil {
		return nil
	}
	return &a.Attachment
}
