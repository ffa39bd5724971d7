package workspace

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxRead is the size in bytes from which a file is refused.
const maxRead = 10 << 20

// contents is one part of the answer to resources/read.
type contents struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     string  `json:"blob,omitempty"` // base64
}

// resource is what a URI means.
type resource struct {
	key docKey
	f   *folder // of a file and what belongs to one
	rel string
}

// resolve says what a URI means, whether or not it is there yet.
func (s *Server) resolve(uri string) (resource, error) {
	if n, ok := parseBuffer(uri); ok {
		return resource{key: docKey{untitled: n}}, nil
	}
	if uri == allDiagnostics {
		return resource{key: docKey{kind: kindDiagnostics}}, nil
	}
	if word, ok := parseDiff(uri); ok {
		return resource{key: docKey{kind: kindDiff, path: word}}, nil
	}
	for scheme, kind := range map[string]string{fileScheme: "", diagnosticsScheme: kindDiagnostics} {
		if !strings.HasPrefix(uri, scheme) {
			continue
		}
		f, rel, ok := s.state.file(scheme, uri)
		if !ok {
			break
		}
		return resource{key: docKey{kind: kind, path: pathKey(f.join(rel))}, f: f, rel: rel}, nil
	}
	return resource{}, notFound(uri, "not the URI of a resource in the workspace (files are file://<path below the folder>, or file://<folder name>/<path> where there are several folders)")
}

// read answers resources/read.
func (s *Server) read(ctx context.Context, uri string) (contents, error) {
	r, err := s.resolve(uri)
	if err != nil {
		return contents{}, err
	}
	// Noted before it is read: a change during the read is told too.
	s.interest.note(r.key, uri)
	c, err := s.body(ctx, uri, r)
	if err != nil {
		s.interest.drop(r.key)
	}
	return c, err
}

func (s *Server) body(ctx context.Context, uri string, r resource) (contents, error) {
	switch {
	case r.key.kind == kindDiff:
		return s.diff(ctx, uri, r.key.path)
	case r.key.kind == kindDiagnostics:
		return s.diagnostics(uri, r)
	case r.f == nil:
		d, ok := s.state.buffer(r.key.untitled)
		if !ok {
			return contents{}, notFound(uri, "no such unsaved buffer is open")
		}
		return editorText(uri, d.Text, mimeType(d.URI, "text/plain"))
	}
	return s.file(ctx, uri, r.f, r.rel)
}

// diagnostics answers with what the editor told. Only what may be listed is
// told of, as with files.
func (s *Server) diagnostics(uri string, r resource) (contents, error) {
	if r.f != nil && r.f.ignore.ignored(r.rel, false) {
		return contents{}, refused(uri, "ignored by .gitignore")
	}
	if len(s.state.diagnosticsEntries()) == 0 {
		return contents{}, notFound(uri, "the editor has told of no diagnostics")
	}
	return editorText(uri, s.state.diagnosticsText(r.f, r.rel), "text/plain")
}

// file answers with the editor's text of what is open there, else with the
// file. Only what may be listed is read: an ignored file is refused.
func (s *Server) file(ctx context.Context, uri string, f *folder, rel string) (contents, error) {
	if f.ignore.ignored(rel, false) {
		return contents{}, refused(uri, "ignored by .gitignore")
	}
	if d, ok := s.state.ByPath(f.join(rel)); ok {
		return editorText(uri, d.Text, mimeType(rel, "text/plain"))
	}
	body, err := readFile(ctx, f, rel)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return contents{}, notFound(uri, "no such file")
		}
		return contents{}, refused(uri, err.Error())
	}
	if text := string(body); utf8.ValidString(text) && !strings.Contains(text, "\x00") {
		return contents{URI: uri, MIMEType: mimeType(rel, "text/plain"), Text: &text}, nil
	}
	return contents{URI: uri, MIMEType: mimeType(rel, http.DetectContentType(body)), Blob: base64.StdEncoding.EncodeToString(body)}, nil
}

// editorText answers with a text that the editor holds.
func editorText(uri, text, mime string) (contents, error) {
	if len(text) > maxRead {
		return contents{}, refused(uri, tooLarge(int64(len(text))).Error())
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	return contents{URI: uri, MIMEType: mime, Text: &text}, nil
}

func tooLarge(size int64) error {
	return fmt.Errorf("too large to read: %d bytes, %d are allowed", size, maxRead)
}

// readFile reads a file below a folder. Symlinks are resolved first, so that
// one inside the folder does not uncover an ignored file, and the opening
// itself goes through a Root, so that one that came in between leads nowhere.
func readFile(ctx context.Context, f *folder, rel string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	real := f.ignore.place().real
	path, err := filepath.EvalSymlinks(filepath.Join(real, filepath.FromSlash(rel)))
	if err != nil {
		return nil, plain(err)
	}
	target, ok := within(real, path)
	switch {
	case !ok:
		return nil, errors.New("a symlink that leaves the workspace folder")
	case target == "":
		return nil, errors.New("not a file")
	case target != rel && f.ignore.ignored(target, false):
		return nil, errors.New("a symlink to an ignored file")
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, plain(err)
	}
	defer root.Close()
	file, err := openFile(root.OpenFile, filepath.FromSlash(target))
	if err != nil {
		return nil, plain(err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, plain(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("not a file")
	case info.Size() > maxRead:
		return nil, tooLarge(info.Size())
	}
	body, err := io.ReadAll(io.LimitReader(file, maxRead+1))
	switch {
	case err != nil:
		return nil, plain(err)
	case len(body) > maxRead: // it grew
		return nil, tooLarge(int64(len(body)))
	}
	return body, nil
}

// plain drops the absolute path from an error: the URI names the culprit.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err
}
