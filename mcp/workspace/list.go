package workspace

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// firstListWait is how long a list waits for the first scan of a folder.
	// What the scan finds later is told by list_changed.
	firstListWait = 2 * time.Second
	pageSize      = 1000
)

// entry is one listed resource.
type entry struct{ uri, name string }

func (e entry) mimeType() string {
	switch {
	case strings.HasPrefix(e.uri, fileScheme):
		return mimeType(e.name, "")
	case strings.HasPrefix(e.uri, bufferPrefix):
		return mimeType(e.name, "text/plain")
	case strings.HasPrefix(e.uri, diffPrefix):
		return diffMIME
	}
	return "text/plain"
}

// listedResource is one entry of resources/list.
type listedResource struct {
	URI      string `json:"uri"`
	Name     string `json:"name"`
	MIMEType string `json:"mimeType,omitempty"`
}

type listResult struct {
	Resources  []listedResource `json:"resources"`
	NextCursor *string          `json:"nextCursor,omitempty"`
}

// list answers one page. The cursor is the last URI of the page before, so
// that a list that changes meanwhile neither repeats nor skips what stayed.
func (s *Server) list(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		Cursor *string `json:"cursor"`
	}
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	var after string
	if p.Cursor != nil {
		raw, err := base64.RawURLEncoding.DecodeString(*p.Cursor)
		if err != nil || len(raw) == 0 {
			return nil, &Error{Code: codeInvalidParams, Message: fmt.Sprintf("params.cursor: %q is none of ours", *p.Cursor)}
		}
		after = string(raw)
	}
	scan, cancel := context.WithTimeout(ctx, firstListWait)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	s.scanner.wait(scan)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case s.life.Err() != nil:
		return nil, context.Cause(s.life)
	}
	return page(s.scanner.take(), after), nil
}

func page(all []entry, after string) listResult {
	if after != "" {
		i, found := slices.BinarySearchFunc(all, after, func(e entry, uri string) int { return strings.Compare(e.uri, uri) })
		if found {
			i++
		}
		all = all[i:]
	}
	r := listResult{}
	if len(all) > pageSize {
		all = all[:pageSize]
		cursor := base64.RawURLEncoding.EncodeToString([]byte(all[pageSize-1].uri))
		r.NextCursor = &cursor
	}
	r.Resources = make([]listedResource, len(all))
	for i, e := range all {
		r.Resources[i] = listedResource{URI: e.uri, Name: e.name, MIMEType: e.mimeType()}
	}
	return r
}

// wait returns when the list is made from the folders of now, or ctx ends.
func (s *scanner) wait(ctx context.Context) {
	for {
		s.mu.Lock()
		ready := s.folders != nil && slices.Equal(s.folders, s.state.roots())
		published := s.published
		s.mu.Unlock()
		if ready {
			return
		}
		select {
		case <-published:
		case <-ctx.Done():
			return
		}
	}
}

// take returns the list and remembers that it was served.
func (s *scanner) take() []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = true
	return s.entries
}

// publish makes the list anew, and tells the client when it differs from the
// one before.
func (s *scanner) publish() {
	s.texts = s.findTexts()
	s.republish()
}

// findTexts lists the trees and the open documents.
func (s *scanner) findTexts() []entry {
	several := len(s.trees) > 1
	var list []entry
	add := func(f *folder, rel string) {
		e := entry{uri: fileURI(f, rel, several)}
		e.name = strings.TrimPrefix(e.uri, fileScheme) // shares its memory
		if name := displayName(f, rel, several); e.name != name {
			e.name = name
		}
		list = append(list, e)
	}
	unseen := false
	for _, t := range s.trees {
		for dir, d := range t.dirs {
			unseen = unseen || !d.watched && len(d.files)+len(d.subs) > 0 // what cannot be read is not missed
			for _, name := range d.files {
				add(t.folder, path.Join(dir, name))
			}
		}
	}
	if unseen {
		s.state.Miss()
	}
	paths, untitled := s.state.open()
	for _, p := range paths {
		if f, rel, ok := s.state.folderOf(p); ok && rel != "" && !s.listed(f, rel) && !f.ignore.ignored(rel, false) {
			add(f, rel)
		}
	}
	for n, uri := range untitled {
		list = append(list, entry{uri: bufferURI(n), name: strings.ToValidUTF8(uri, "\uFFFD")})
	}
	return sorted(list)
}

// sorted orders entries by URI and drops doubles.
func sorted(list []entry) []entry {
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.uri, b.uri) })
	return slices.CompactFunc(list, func(a, b entry) bool { return a.uri == b.uri })
}

// republish puts what is quick to find among the texts that were listed last.
func (s *scanner) republish() {
	at, _ := slices.BinarySearchFunc(s.texts, diagnosticsScheme, func(e entry, uri string) int { return strings.Compare(e.uri, uri) })
	list := slices.Concat(s.texts[:at], s.state.diagnosticsEntries(), s.texts[at:])
	repositories, _ := s.state.sections()
	s.watchGit(repositories)
	if len(repositories) > 0 && s.git {
		list = append(list, diffEntries()...) // behind file://
	}

	folders := make([]*folder, len(s.trees))
	for i, t := range s.trees {
		folders[i] = t.folder
	}
	s.mu.Lock()
	s.folders = folders
	changed := !slices.Equal(s.entries, list)
	s.entries = list
	tell := changed && s.served
	close(s.published)
	s.published = make(chan struct{})
	s.mu.Unlock()
	if tell {
		s.outbox.listChanged()
	}
}

// displayName is the path as a person reads it.
func displayName(f *folder, rel string, several bool) string {
	if several {
		rel = f.name + "/" + rel
	}
	return strings.ToValidUTF8(rel, "\uFFFD")
}

func (s *scanner) listed(f *folder, rel string) bool {
	for _, t := range s.trees {
		if t.folder.path == f.path {
			return t.has(rel)
		}
	}
	return false
}
