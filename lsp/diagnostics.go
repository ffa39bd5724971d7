package lsp

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"agentls/mcp/workspace"
)

// fetchPause is the least time between two requests for diagnostics.
const fetchPause = 200 * time.Millisecond

// textRange is a range, however its numbers are spelled.
type textRange struct {
	Start textPosition `json:"start"`
	End   textPosition `json:"end"`
}

func (r textRange) places() (start, end workspace.Position) {
	return workspace.Position{Line: uint32(r.Start.Line), Column: uint32(r.Start.Character)},
		workspace.Position{Line: uint32(r.End.Line), Column: uint32(r.End.Character)}
}

// readDiagnostics reads a list of other servers' diagnostics. What is odd in
// one costs neither the others nor the rest of it.
func readDiagnostics(raw json.RawMessage) []workspace.Diagnostic {
	var items []json.RawMessage
	_ = json.Unmarshal(raw, &items) // no list: nothing
	list := make([]workspace.Diagnostic, 0, len(items))
	for _, item := range items {
		if d, ok := readDiagnostic(item); ok {
			list = append(list, d)
		}
	}
	return list
}

func readDiagnostic(raw json.RawMessage) (d workspace.Diagnostic, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return d, false
	}
	d = workspace.Diagnostic{
		Severity: int(lenient[integer](fields["severity"])), Code: word(fields["code"]), Source: word(fields["source"]),
		Message: word(fields["message"]), Related: readRelated(fields["relatedInformation"]),
	}
	d.Position, d.End = lenient[textRange](fields["range"]).places()
	if d.End.Compare(d.Position) < 0 {
		d.End = d.Position
	}
	return d, true
}

func readRelated(raw json.RawMessage) (list []workspace.Related) {
	var items []json.RawMessage
	_ = json.Unmarshal(raw, &items) // no list: nothing
	for _, item := range items {
		r := lenient[struct {
			Location struct {
				URI   string    `json:"uri"`
				Range textRange `json:"range"`
			} `json:"location"`
			Message string `json:"message"`
		}](item)
		if r.Location.URI == "" {
			continue
		}
		_, path := canonical(r.Location.URI)
		at, _ := r.Location.Range.places()
		list = append(list, workspace.Related{URI: r.Location.URI, Path: path, Position: at, Message: r.Message})
	}
	return list
}

// word is a text, a number as it is written, or the value of an object that
// holds one: a message in Markdown, a code with its target; "" for anything
// else.
func word(raw json.RawMessage) string {
	var v any
	_ = json.Unmarshal(raw, &v) // v stays nil
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return string(raw)
	case map[string]any:
		var o struct {
			Value json.RawMessage `json:"value"`
		}
		if _, nested := v["value"].(map[string]any); !nested && json.Unmarshal(raw, &o) == nil {
			return word(o.Value)
		}
	}
	return ""
}

// noteDiagnostics keeps what the context of a code action shows of an open
// document: of a stock client there is no more to know. Beside what was seen
// elsewhere in the same version, in rng it is all there is. Of a client that
// tells its diagnostics itself nothing is taken.
func (s *Server) noteDiagnostics(uri string, rng textRange, list []workspace.Diagnostic) {
	d, open := s.docs.identity(uri)
	if !open || s.peer.features.diagnostics {
		return
	}
	list = s.ofOthers(d, list)
	noted := workspace.Diagnostics{URI: d.spelled, Path: d.path, Version: d.version, Glimpsed: true, List: list}
	if old, ok := s.o.State.DiagnosticsOf(d.path, d.spelled); ok && old.Version == d.version {
		start, end := rng.places()
		if end.Compare(start) < 0 {
			start, end = end, start
		}
		elsewhere := slices.DeleteFunc(slices.Clone(old.List), func(o workspace.Diagnostic) bool {
			return o.End.Compare(start) >= 0 && o.Compare(end) <= 0
		})
		noted.List = slices.Concat(list, elsewhere)
		if len(list) == 0 && len(elsewhere) == len(old.List) {
			return // as at most rests of the cursor
		}
	}
	s.o.State.SetDiagnostics(noted)
}

// ofOthers leaves out what we say of a prompt buffer ourselves: it is for the
// person who writes there.
func (s *Server) ofOthers(d document, list []workspace.Diagnostic) []workspace.Diagnostic {
	if !isPromptBuffer(d) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(o workspace.Diagnostic) bool { return o.Source == diagnosticSource })
}

// diagnosticsParams is the request agentls/diagnostics and the notification
// agentls/didChangeDiagnostics (CONTRACT §6).
type diagnosticsParams struct {
	URI string `json:"uri,omitzero"` // none: all documents
}

// documentDiagnostics is one document in the answer to the request.
type documentDiagnostics struct {
	URI         string          `json:"uri"`
	Version     integer         `json:"version,omitzero"`
	Diagnostics json.RawMessage `json:"diagnostics" contract:"lsp.Diagnostic[]"`
}

// diagnosticsFetcher follows the diagnostics of a client that tells them
// (CONTRACT §6).
type diagnosticsFetcher struct {
	s    *Server
	wake chan struct{} // 1 slot

	mu   sync.Mutex
	all  bool
	uri  string // the one document that changed; "" for none, or several
	news news
}

func newDiagnosticsFetcher(s *Server) *diagnosticsFetcher {
	return &diagnosticsFetcher{s: s, wake: make(chan struct{}, 1), news: newNews()}
}

// changed is agentls/didChangeDiagnostics: of one document, or of any.
func (f *diagnosticsFetcher) changed(params []byte) {
	if !f.s.peer.features.diagnostics {
		return
	}
	uri := lenient[diagnosticsParams](params).URI
	key, _ := canonical(uri)
	d, _ := f.s.docs.identity(uri)
	f.mu.Lock()
	f.news.tell(key, d.version)
	f.mu.Unlock()
	f.want(uri)
}

// want asks run to fetch the diagnostics of one document; "" is all.
func (f *diagnosticsFetcher) want(uri string) {
	f.mu.Lock()
	f.all = f.all || uri == "" || f.uri != "" && f.uri != uri
	f.uri = uri
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run fetches what changed, one request at a time, until ctx ends. Serve owns
// the goroutine.
func (f *diagnosticsFetcher) run(ctx context.Context) {
	f.s.o.State.TellsDiagnostics(true)
	f.want("")
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		f.mu.Lock()
		uri := f.uri
		if f.all {
			uri = ""
		}
		f.all, f.uri = false, ""
		told := f.news.told
		f.mu.Unlock()
		err := f.fetch(ctx, uri)
		if err != nil && !isCancel(err) {
			f.s.o.Log.Warn("the client does not give its diagnostics; those of before are kept", "error", err)
		}
		f.mu.Lock()
		f.news.fetch(told, err == nil)
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(fetchPause):
		}
	}
}

func (f *diagnosticsFetcher) fetch(ctx context.Context, uri string) error {
	ctx, cancel := context.WithTimeout(ctx, clientTime)
	defer cancel()
	params := diagnosticsParams{uri}
	var answer []json.RawMessage
	if err := f.s.call(ctx, "agentls/diagnostics", params, &answer); err != nil {
		return err
	}
	all := make([]workspace.Diagnostics, 0, len(answer))
	for _, item := range answer {
		one := lenient[documentDiagnostics](item)
		if one.URI == "" {
			continue
		}
		d := f.s.diagnosed(one.URI)
		doc, _ := f.s.docs.identity(one.URI)
		d.Version, d.List = version(one.Version), f.s.ofOthers(doc, readDiagnostics(one.Diagnostics))
		all = append(all, d)
	}
	if uri == "" {
		f.s.o.State.ReplaceDiagnostics(all)
		return nil
	}
	f.s.o.State.SetDiagnostics(f.s.diagnosed(uri)) // unless the answer has it
	for _, d := range all {
		f.s.o.State.SetDiagnostics(d)
	}
	return nil
}

// diagnosed is a document by its URI, as the State has it if it is open there.
func (s *Server) diagnosed(uri string) workspace.Diagnostics {
	if d, open := s.docs.identity(uri); open {
		return workspace.Diagnostics{URI: d.spelled, Path: d.path}
	}
	_, path := canonical(uri)
	return workspace.Diagnostics{URI: uri, Path: path}
}

// written writes diagnostics for the model, a bounded number of them.
func (s *Server) written(list []workspace.Diagnostic) (texts []string) {
	for _, d := range list[:min(len(list), attachDiagnostics)] {
		texts = append(texts, s.o.State.DiagnosticText(d))
	}
	if len(list) > attachDiagnostics {
		texts = append(texts, "[more diagnostics are left out]")
	}
	return texts
}

// touching writes the diagnostics of a document that touch its lines first to
// last, from 1; first 0 is the whole.
func (s *Server) touching(d document, first, last int) []string {
	known, _ := s.o.State.DiagnosticsOf(d.path, d.spelled)
	return s.written(slices.DeleteFunc(slices.Clone(known.List), func(o workspace.Diagnostic) bool {
		return first > 0 && (int(o.Line)+1 > last || int(o.End.Line)+1 < first)
	}))
}
