package lsp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"go.lsp.dev/protocol"

	"agentls/mcp/workspace"
)

// fakeState records what documents mirror.
type fakeState struct {
	docs   map[string]workspace.Document
	writes int
}

func (f *fakeState) SetDocument(d workspace.Document) {
	if f.docs == nil {
		f.docs = make(map[string]workspace.Document)
	}
	f.docs[d.URI] = d
	f.writes++
}

func (f *fakeState) CloseDocument(uri string) { delete(f.docs, uri) }

func openParams(uri, text string) []byte {
	return mustJSON(map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "agentls", "version": 1, "text": text}})
}

func changeParams(uri string, version int, changes ...any) []byte {
	return mustJSON(map[string]any{"textDocument": map[string]any{"uri": uri, "version": version}, "contentChanges": changes})
}

func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func edit(line, char, endLine, endChar int, text string) map[string]any {
	return map[string]any{"text": text, "range": map[string]any{
		"start": map[string]int{"line": line, "character": char}, "end": map[string]int{"line": endLine, "character": endChar},
	}}
}

func TestDidChange(t *testing.T) {
	check := func(name, text, changes, want string) {
		t.Helper()
		d := newDocuments(&fakeState{})
		if err := d.didOpen(openParams("file:///a", text)); err != nil {
			t.Fatal(err)
		}
		params := fmt.Sprintf(`{"textDocument":{"uri":"file:///a","version":2},"contentChanges":%s}`, changes)
		if err := d.didChange([]byte(params)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if doc, _ := d.get("file:///a"); doc.text != want || doc.version != 2 {
			t.Errorf("%s: %q (version %d), want %q", name, doc.text, doc.version, want)
		}
	}
	r := func(a, b, c, d int, text string) string { return string(mustJSON(edit(a, b, c, d, text))) }
	check("full", "old", `[{"text":"new"}]`, "new")
	check("null range is full, no insertion at the top", "old", `[{"range":null,"text":"new"}]`, "new")
	check("insert", "ab", "["+r(0, 1, 0, 1, "X")+"]", "aXb")
	check("one after the other", "ab", "["+r(0, 0, 0, 0, "X\n")+","+r(1, 0, 1, 1, "")+"]", "X\nb")
	check("CRLF", "a\r\nb\r\n", "["+r(1, 0, 1, 1, "c")+"]", "a\r\nc\r\n")
	check("lone CR ends a line", "a\rb", "["+r(1, 0, 1, 1, "c")+"]", "a\rc")
	check("character behind the line's end", "a\r\nb", "["+r(0, 9, 0, 9, "X")+"]", "aX\r\nb")
	check("line behind the last", "a", "["+r(5, 3, 9, 9, "X")+"]", "aX")
	check("surrogates count two", "😀b", "["+r(0, 2, 0, 3, "c")+"]", "😀c")
	check("inside a surrogate pair is its start", "😀b", "["+r(0, 1, 0, 2, "")+"]", "b")
	check("range the wrong way round", "abc", "["+r(0, 2, 0, 1, "X")+"]", "aXc")
	check("floats and huge numbers", "abc", `[{"range":{"start":{"line":0.0,"character":1.0},"end":{"line":1e99,"character":99999999999}},"text":"X"}]`, "aX")
	check("lone surrogate in the text", "", `[{"text":"\ud800"}]`, "\ufffd")
	check("text after full", "old", `[{"text":"one\n"},`+r(1, 0, 1, 0, "two")+`]`, "one\ntwo")
	check("joins CR and LF", "a\rb\nc", "["+r(1, 0, 1, 1, "")+","+r(1, 0, 1, 1, "X")+"]", "a\r\nX")
	check("empty list", "a", `[]`, "a")
}

func TestDidChangeIsAllOrNothing(t *testing.T) {
	d := newDocuments(&fakeState{})
	if err := d.didOpen(openParams("file:///a", "abc")); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		`[{"text":"x"},{"range":{"start":{"line":"x"}}, "text":"y"}]`, `[{"text":"x"},{}]`, `[{"text":"x"},5]`, `{}`,
	} {
		if err := d.didChange([]byte(`{"textDocument":{"uri":"file:///a","version":2},"contentChanges":` + bad + `}`)); err == nil {
			t.Errorf("%s: no error", bad)
		}
		if doc, _ := d.get("file:///a"); doc.text != "abc" || doc.version != 1 {
			t.Errorf("%s: %q", bad, doc.text)
		}
	}
}

func TestOneDocumentHoweverItsURIIsSpelled(t *testing.T) {
	check := func(a, b string, same bool) {
		t.Helper()
		d := newDocuments(&fakeState{})
		if err := d.didOpen(openParams(a, "text")); err != nil {
			t.Fatal(err)
		}
		if _, ok := d.get(b); ok != same {
			t.Errorf("%s and %s: one document is %v, want %v", a, b, ok, same)
		}
	}
	check("file:///a/b.md", "file:///a/b.md", true)
	check("file:///a%2Fb.md", "file:///a/b.md", true)
	check("file:///%61/b.md", "FILE:///a/b.md", true)
	check("file:///a/b.md", "file:/a/b.md", true)
	check("file://localhost/a/b.md", "file:///a/b.md", true)
	check("file:///a/x/../b.md", "file:///a/b.md", true)
	check("file:///a/é.md", "file:///a/%C3%A9.md", true)
	check("file:///a/b c.md", "file:///a/b%20c.md", true)
	check("file:///c%3A/a.md", "file:///C:/a.md", true)
	check("file:///a/B.md", "file:///a/b.md", false)
	check("untitled:Untitled-1", "untitled:Untitled-1", true)
	check("untitled:a%20b", "untitled:a b", false)
	check("postgres://H/db?x=1", "postgres://h/db?x=1", false)
}

func TestStateFollowsTheEditor(t *testing.T) {
	state := &fakeState{}
	d := newDocuments(state)
	check := func(what, uri, text string, dirty bool) {
		t.Helper()
		d.flush()
		if got := state.docs[uri]; got.Text != text || got.Dirty != dirty {
			t.Errorf("%s: %q dirty %v, want %q dirty %v", what, got.Text, got.Dirty, text, dirty)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(d.didOpen(openParams("file:///a%20b", "x")))
	check("opened", "file:///a%20b", "x", false)
	if doc := state.docs["file:///a%20b"]; doc.Path != "/a b" && doc.Path != `\a b` {
		t.Errorf("path %q", doc.Path)
	}
	must(d.didChange(changeParams("file:///a b", 2, edit(0, 1, 0, 1, "y"))))
	check("changed", "file:///a%20b", "xy", true)
	must(d.didSave(openParams("file:///a%20b", "")))
	check("saved", "file:///a%20b", "xy", false)
	before := state.writes
	d.flush()
	if state.writes != before {
		t.Error("an unchanged document was written again")
	}
	must(d.didClose(openParams("file:///a%20b", "")))
	if len(state.docs) != 0 {
		t.Errorf("closed, and still there: %v", state.docs)
	}
}

func TestChangedIsClosedByTheNextChange(t *testing.T) {
	d := newDocuments(&fakeState{})
	if err := d.didOpen(openParams("file:///a", "")); err != nil {
		t.Fatal(err)
	}
	for _, next := range []func() error{
		func() error { return d.didChange(changeParams("file:///a", 2, edit(0, 0, 0, 0, "x"))) },
		func() error { return d.didClose(openParams("file:///a", "")) },
	} {
		c, other := d.changed(document{uri: "file:///a"}), d.changed(document{uri: "file:///b"})
		select {
		case <-c:
			t.Fatal("closed before a change")
		default:
		}
		if err := next(); err != nil {
			t.Fatal(err)
		}
		<-c
		select {
		case <-other:
			t.Fatal("closed by another document's change")
		default:
		}
	}
}

// naive is the slow and obvious version of positions.
type naive struct{ encoding protocol.PositionEncodingKind }

func (n naive) lines(text string) (lines []string) {
	for text != "" {
		i := strings.IndexAny(text, "\r\n")
		if i < 0 {
			break
		}
		lines = append(lines, text[:i])
		if strings.HasPrefix(text[i:], "\r\n") {
			i++
		}
		text = text[i+1:]
	}
	return append(lines, text)
}

func (n naive) offset(text string, line, character int) int {
	lines := n.lines(text)
	if line >= len(lines) {
		return len(text)
	}
	at := 0
	for range line {
		i := strings.IndexAny(text[at:], "\r\n")
		if strings.HasPrefix(text[at+i:], "\r\n") {
			i++
		}
		at += i + 1
	}
	units := 0
	for i, r := range lines[line] {
		size := map[protocol.PositionEncodingKind]int{
			protocol.PositionEncodingKindUTF8: len(string(r)), protocol.PositionEncodingKindUTF16: len(utf16.Encode([]rune{r})), protocol.PositionEncodingKindUTF32: 1,
		}[n.encoding]
		if units+size > character {
			return at + i
		}
		units += size
	}
	return at + len(lines[line])
}

// position counts from the beginning: the lines that have ended, and what
// stands in the last one.
func (n naive) position(text string, offset int) protocol.Position {
	line, start := 0, 0
	for i := range min(offset, len(text)) {
		if text[i] == '\n' || text[i] == '\r' && !strings.HasPrefix(text[i:], "\r\n") {
			line, start = line+1, i+1
		}
	}
	head := strings.TrimSuffix(text[start:min(offset, len(text))], "\r")
	units := len(head)
	switch n.encoding {
	case protocol.PositionEncodingKindUTF16:
		units = len(utf16.Encode([]rune(head)))
	case protocol.PositionEncodingKindUTF32:
		units = len([]rune(head))
	}
	return protocol.Position{Line: uint32(line), Character: uint32(units)}
}

var encodings = []protocol.PositionEncodingKind{
	protocol.PositionEncodingKindUTF8, protocol.PositionEncodingKindUTF16, protocol.PositionEncodingKindUTF32,
}

func FuzzPosition(f *testing.F) {
	f.Add("a\r\nb\rc\n😀d", uint8(2), uint8(1))
	f.Add("\r\r\n\n\n\r", uint8(9), uint8(0))
	f.Add("é😀你", uint8(0), uint8(3))
	f.Fuzz(func(t *testing.T, text string, line, character uint8) {
		text = strings.ToValidUTF8(text, "\ufffd") // as JSON gives it
		for _, encoding := range encodings {
			d := &documents{encoding: encoding}
			p := protocol.Position{Line: uint32(line), Character: uint32(character)}
			got, want := d.offset(text, p), naive{encoding}.offset(text, int(line), int(character))
			if got != want {
				t.Fatalf("%s %q %v: offset %d, want %d", encoding, text, p, got, want)
			}
			if b := newBuffer(text).offset(p, encoding); b != want {
				t.Fatalf("%s %q %v: buffer's offset %d, want %d", encoding, text, p, b, want)
			}
			if back := d.offset(text, d.position(text, got)); back != got {
				t.Fatalf("%s %q: offset %d is %v is offset %d", encoding, text, got, d.position(text, got), back)
			}
			for offset := range len(text) + 2 {
				if p, want := d.position(text, offset), (naive{encoding}.position(text, offset)); p != want {
					t.Fatalf("%s %q: offset %d is %v, want %v", encoding, text, offset, p, want)
				}
			}
		}
	})
}

// FuzzDidChange plays edits that the bytes of a seed describe.
func FuzzDidChange(f *testing.F) {
	f.Add("one\r\ntwo\rthree\nfour 😀\n", []byte{0, 0, 0, 3, 1, 2, 1, 1, 4, 2, 9, 9, 9, 9, 0})
	f.Add("\r\n\r\n", []byte{0, 0, 1, 0, 3, 1, 0, 2, 0, 4, 0, 0, 9, 9, 5})
	f.Fuzz(func(t *testing.T, text string, script []byte) {
		text = strings.ToValidUTF8(text, "\ufffd")
		pieces := []string{"", "x", "\n", "\r", "\r\n", "😀", "é\nlong enough to move the gap", "你"}
		for _, encoding := range encodings {
			d := newDocuments(&fakeState{})
			d.encoding = encoding
			if err := d.didOpen(openParams("file:///a", text)); err != nil {
				t.Fatal(err)
			}
			model := text
			for s := script; len(s) >= 5; s = s[5:] {
				a, b, c, e := int(s[0]%16), int(s[1]%16), int(s[2]%16), int(s[3]%16)
				piece := pieces[int(s[4])%len(pieces)]
				from, to := naive{encoding}.offset(model, a, b), naive{encoding}.offset(model, c, e)
				from, to = min(from, to), max(from, to)
				model = model[:from] + piece + model[to:]
				if err := d.didChange(changeParams("file:///a", 2, edit(a, b, c, e, piece))); err != nil {
					t.Fatal(err)
				}
			}
			if doc, _ := d.get("file:///a"); doc.text != model {
				t.Fatalf("%s: %q, want %q", encoding, doc.text, model)
			}
		}
	})
}

// TestManyEditsOfAHugeDocument takes minutes if an edit costs what the document
// is long.
func TestManyEditsOfAHugeDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("10 MB")
	}
	text := strings.Repeat("a line of some forty characters, or so.\n", 10<<20/40)
	d := newDocuments(&fakeState{})
	if err := d.didOpen(openParams("file:///huge", text)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(text, "\n")
	for i := range 10000 {
		// Typing on in the middle, and a replace-all, which comes last line first.
		e := edit(lines/2, i%30, lines/2, i%30, "x")
		if i >= 5000 {
			e = edit(lines-i, 0, lines-i, 1, "X")
		}
		if err := d.didChange(changeParams("file:///huge", i, e)); err != nil {
			t.Fatal(err)
		}
	}
	if doc, _ := d.get("file:///huge"); len(doc.text) != len(text)+5000 || !strings.HasPrefix(doc.text[len(doc.text)-5000*40:], "X line") {
		t.Errorf("%d bytes, want %d", len(doc.text), len(text)+5000)
	}
}

func BenchmarkTyping(b *testing.B) {
	for _, size := range []int{10 << 10, 1 << 20, 50 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			d := newDocuments(&fakeState{})
			text := strings.Repeat("a line of some forty characters, or so.\n", size/40)
			if err := d.didOpen(openParams("file:///a", text)); err != nil {
				b.Fatal(err)
			}
			at, rng := size/80, rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				line := at + rng.IntN(20)
				if err := d.didChange(changeParams("file:///a", 2, edit(line, 3, line, 3, "x"))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
