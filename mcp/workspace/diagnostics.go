package workspace

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	diagnosticsScheme = "diagnostics://"
	// allDiagnostics is the URI of all there are. A file of that name in the
	// only folder is diagnostics://%61ll.
	allDiagnostics = diagnosticsScheme + "all"
)

// The bounds on what a [State] keeps: what other language servers say is
// foreign text.
const (
	maxDiagnosed   = 2000 // documents
	maxPerDocument = 1000 // diagnostics
	maxDiagnostics = 20_000
	maxMessage     = 2000 // bytes of one message
	maxRelated     = 20   // places of one diagnostic
)

// Diagnostic is one problem that another language server found.
type Diagnostic struct {
	Position
	End      Position
	Severity int    // LSP's: 1 error, 2 warning, 3 information, 4 hint; anything else is an error
	Code     string // "" for none
	Source   string
	Message  string
	Related  []Related
}

// Position is a place in a text, from 0, in the editor's units.
type Position struct{ Line, Column uint32 }

// Compare orders positions as they stand in the text.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Related is a place that has to do with a diagnostic.
type Related struct {
	URI  string // the editor's
	Path string // absolute; empty for other schemes
	Position
	Message string
}

// Diagnostics are the problems of one document.
type Diagnostics struct {
	URI  string // the editor's
	Path string // absolute; empty for other schemes
	// Glimpsed: seen in passing, as they were then. They are forgotten when
	// the document gets another version than Version, or closes.
	Glimpsed bool
	Version  int32
	List     []Diagnostic
}

// key tells documents apart.
func (d *Diagnostics) key() string {
	if d.Path != "" {
		return "file " + pathKey(d.Path)
	}
	return d.URI
}

// TellsDiagnostics notes whether the editor tells all diagnostics by itself:
// then diagnostics://all is there, also while there are none.
func (s *State) TellsDiagnostics(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.diagnosing = on
	s.tellDiagnostics("", true)
}

// SetDiagnostics replaces those of one document; an empty list removes them.
func (s *State) SetDiagnostics(d Diagnostics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putDiagnostics(d)
}

// ReplaceDiagnostics replaces those of all documents.
func (s *State) ReplaceDiagnostics(all []Diagnostics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := map[string]bool{}
	for i := range all {
		keep[all[i].key()] = len(all[i].List) > 0
	}
	for key, old := range s.diagnosed {
		if !keep[key] {
			s.putDiagnostics(Diagnostics{URI: old.URI, Path: old.Path})
		}
	}
	for _, d := range all {
		s.putDiagnostics(d)
	}
}

// putDiagnostics keeps a document's diagnostics, within the bounds; s.mu is held.
func (s *State) putDiagnostics(d Diagnostics) {
	key := d.key()
	old, had := s.diagnosed[key]
	room := min(maxPerDocument, maxDiagnostics-s.diagnostics+len(old.List))
	if !had && len(s.diagnosed) >= maxDiagnosed {
		room = 0
	}
	d.List = tidy(d.List, room)
	s.diagnostics += len(d.List) - len(old.List)
	if len(d.List) == 0 {
		delete(s.diagnosed, key)
	} else {
		s.diagnosed[key] = d
	}
	if slices.EqualFunc(old.List, d.List, sameDiagnostic) && old.Glimpsed == d.Glimpsed {
		return // editors ask for code actions on every rest of the cursor
	}
	s.tellDiagnostics(d.Path, had != (len(d.List) > 0))
}

// forgetGlimpsed drops what was seen of a document that moved on, or, with
// closed, of one that closes; s.mu is held.
func (s *State) forgetGlimpsed(doc Document, closed bool) {
	key := (&Diagnostics{URI: doc.URI, Path: doc.Path}).key()
	if d, ok := s.diagnosed[key]; ok && d.Glimpsed && (closed || d.Version != doc.Version) {
		s.putDiagnostics(Diagnostics{URI: d.URI, Path: d.Path})
	}
}

// tellDiagnostics notes a change for every feed; s.mu is held.
func (s *State) tellDiagnostics(path string, presence bool) {
	for f := range s.feeds {
		f.documentChanged(docKey{kind: kindDiagnostics, path: path}, presence)
	}
}

// tidy sorts diagnostics, bounds them, and drops doubles.
func tidy(list []Diagnostic, room int) []Diagnostic {
	list = slices.Clone(list)
	for i := range list {
		d := &list[i]
		d.Message, d.Source, d.Code = clip(d.Message, maxMessage), clip(d.Source, 100), clip(d.Code, 100)
		d.Related = slices.Clone(d.Related[:min(len(d.Related), maxRelated)])
		for j := range d.Related {
			d.Related[j].Message = clip(d.Related[j].Message, maxMessage)
		}
	}
	slices.SortStableFunc(list, compareDiagnostics)
	list = slices.CompactFunc(list, sameDiagnostic)
	return list[:min(len(list), max(room, 0))]
}

func sameDiagnostic(a, b Diagnostic) bool {
	return compareDiagnostics(a, b) == 0 && slices.Equal(a.Related, b.Related)
}

func compareDiagnostics(a, b Diagnostic) int {
	return cmp.Or(a.Position.Compare(b.Position), cmp.Compare(a.Severity, b.Severity), a.End.Compare(b.End),
		strings.Compare(a.Message, b.Message), strings.Compare(a.Source, b.Source), strings.Compare(a.Code, b.Code))
}

// clip cuts a text at a whole character.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// diagnosedFile is a document of the workspace that has diagnostics.
type diagnosedFile struct {
	f    *folder // nil for an unsaved buffer
	rel  string
	name string // for a person and the model
	Diagnostics
}

// DiagnosticsOf returns those of the document with the path or, where it has
// none, the editor's URI.
func (s *State) DiagnosticsOf(path, uri string) (Diagnostics, bool) {
	want := Diagnostics{URI: uri, Path: path}
	s.mu.RLock()
	d, ok := s.diagnosed[want.key()]
	s.mu.RUnlock()
	return d, ok
}

// diagnosedFiles returns what may be shown, sorted by name: not what is
// outside the folders or ignored, and no prompt buffer.
func (s *State) diagnosedFiles() []diagnosedFile {
	s.mu.RLock()
	several := len(s.folders) > 1
	all := make([]diagnosedFile, 0, len(s.diagnosed))
	for _, d := range s.diagnosed {
		file := diagnosedFile{Diagnostics: d}
		if n := s.untitled[d.URI]; d.Path == "" && n != 0 {
			file.name = bufferURI(n)
		} else if d.Path == "" || isPrompt(Document{URI: d.URI, Path: d.Path, LanguageID: s.docs[d.URI].LanguageID}) {
			continue
		}
		all = append(all, file)
	}
	s.mu.RUnlock()
	all = slices.DeleteFunc(all, func(file diagnosedFile) bool { return file.Path != "" && !s.shown(file.Path) })
	for i := range all {
		if file := &all[i]; file.Path != "" {
			file.f, file.rel, _ = s.folderOf(file.Path)
			file.name = displayName(file.f, file.rel, several)
		}
	}
	slices.SortFunc(all, func(a, b diagnosedFile) int { return strings.Compare(a.name, b.name) })
	return all
}

// shown reports whether a path is that of a file in the workspace which may
// be listed.
func (s *State) shown(path string) bool {
	f, rel, ok := s.folderOf(path)
	return ok && rel != "" && !f.ignore.ignored(rel, false)
}

// diagnosticsURI names the diagnostics of one file.
func diagnosticsURI(f *folder, rel string, several bool) string {
	uri := pathURI(diagnosticsScheme, f, rel, several)
	if uri == allDiagnostics {
		return diagnosticsScheme + "%61ll"
	}
	return uri
}

// diagnosticsEntries are the listed resources, by URI.
func (s *State) diagnosticsEntries() []entry {
	s.mu.RLock()
	tells, several := s.diagnosing, len(s.folders) > 1
	s.mu.RUnlock()
	files := s.diagnosedFiles()
	if !tells && len(files) == 0 {
		return nil
	}
	list := []entry{{uri: allDiagnostics, name: "all diagnostics"}}
	for _, file := range files {
		if file.f != nil {
			list = append(list, entry{uri: diagnosticsURI(file.f, file.rel, several), name: "diagnostics of " + file.name})
		}
	}
	return sorted(list)
}
