package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// shelves is a store in a directory of the test, and its shelf of a session.
func shelves(t testing.TB) (*store, shelf, *bytes.Buffer) {
	var log bytes.Buffer
	s := newStore(filepath.Join(t.TempDir(), "results"), slog.New(slog.NewTextHandler(&log, nil)))
	return s, s.of(sessionKey{"/f", "s"}), &log
}

func (s shelf) text(t testing.TB, id string) string {
	t.Helper()
	f, err := s.open(id)
	if err != nil {
		t.Fatalf("result %q: %v", id, err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What comes in pieces of any size is kept whole, and shown by its ends.
func TestKeptWhole(t *testing.T) {
	t.Parallel()
	_, shelf, _ := shelves(t)
	text := strings.Repeat("0123456789\n", 10000)
	for _, piece := range []int{1, 7, 999, 1000, 1001, 40000, len(text)} {
		k := shelf.keep(1000)
		for rest := text; rest != ""; {
			n := min(piece, len(rest))
			if m, err := k.Write([]byte(rest[:n])); m != n || err != nil {
				t.Fatalf("%d, %v", m, err)
			}
			rest = rest[n:]
		}
		k.Close()
		k.Close()
		shown := k.String()
		notice := fmt.Sprintf(" of 110000 bytes here, lines 54-9974 of 10000: read_result with id %q reads them]\n", k.id)
		if shelf.text(t, k.id) != text || len(shown) > 1000 || len(shown) < 900 || !strings.Contains(shown, notice) ||
			!strings.HasPrefix(shown, "0123") || !strings.HasSuffix(shown, "89\n") {
			t.Errorf("pieces of %d: %s: %d bytes\n%s", piece, k.id, len(shown), shown)
		}
	}
	if all := shelf.list(); len(all) != 1 || all[0].size != int64(len(text)) {
		t.Errorf("the same content is kept as %v", all)
	}
	short := shelf.keep(1000)
	short.add(text[:1000])
	short.Close()
	if short.String() != text[:1000] || short.id != "" || len(shelf.list()) != 1 {
		t.Errorf("a short one: %q, id %q", short, short.id)
	}
}

func TestKeptIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	s, one, _ := shelves(t)
	id := one.put("secret")
	for path, mode := range map[string]os.FileMode{s.dir: 0o700, one.dir: 0o700, filepath.Join(one.dir, id+".txt"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}

// A result belongs to its session, and no id is a path.
func TestResultBelongsToItsSession(t *testing.T) {
	t.Parallel()
	s, one, _ := shelves(t)
	id := one.put("mine")
	for _, key := range []sessionKey{{"/f", "other"}, {"/g", "s"}, {"/f\x00s", ""}, {"", "/f\x00s"}} {
		if f, err := s.of(key).open(id); err == nil {
			_ = f.Close()
			t.Errorf("%q reads it", key)
		}
	}
	other := s.of(sessionKey{"/f", "other"})
	theirs := other.put("theirs")
	for _, id := range []string{"", ".", "../" + filepath.Base(other.dir) + "/" + theirs, theirs, theirs + ".txt", strings.ToUpper(id), "part-1"} {
		if f, err := one.open(id); err == nil {
			_ = f.Close()
			t.Errorf("%q is read", id)
		}
	}
	one.copyTo(other) // as a fork does
	if other.text(t, id) != "mine" || other.text(t, theirs) != "theirs" {
		t.Error("a fork cannot read it")
	}
	if err := one.remove(); err != nil || len(one.list()) != 0 || other.text(t, id) != "mine" {
		t.Errorf("after its end: %v, %v", one.list(), err)
	}
}

// A result has a bound, which is said; the run's other output goes on.
func TestKeptHasABound(t *testing.T) {
	t.Parallel()
	s, shelf, _ := shelves(t)
	s.bounds.result = 5000
	k := shelf.keep(600)
	for range 10 {
		k.add(strings.Repeat("x", 999) + "\n")
	}
	k.add("the end")
	k.Close()
	if got := shelf.text(t, k.id); len(got) != 5000 {
		t.Errorf("%d bytes are kept", len(got))
	}
	if shown := k.String(); !strings.Contains(shown, "of 10007 bytes here, lines 1-10 of 11 (of which the first 5000 bytes are kept)") || !strings.HasSuffix(shown, "the end") {
		t.Errorf("shown:\n%s", shown)
	}
}

// What is beyond the bounds goes, the oldest first, and nothing else.
func TestStoreIsTidied(t *testing.T) {
	t.Parallel()
	s, one, _ := shelves(t)
	other := s.of(sessionKey{"/f", "other"})
	s.bounds = storeBounds{result: 1000, session: 3000, all: 5000, age: time.Hour}
	now := time.Now()
	put := func(at shelf, name string, age time.Duration) string {
		s.due = 1 << 20
		id := at.put(fmt.Sprintf("%-1000s", name))
		when := now.Add(-age)
		if err := os.Chtimes(filepath.Join(at.dir, id+storedSuffix), when, when); err != nil {
			t.Fatal(err)
		}
		return id
	}
	old := put(other, "old", 2*time.Hour)
	o1, o2, o3 := put(other, "o1", 30*time.Minute), put(other, "o2", 20*time.Minute), put(other, "o3", time.Minute)
	m1, m2, m3 := put(one, "m1", 10*time.Minute), put(one, "m2", 9*time.Minute), put(one, "m3", 8*time.Minute)
	leftover := filepath.Join(other.dir, "part-123")
	if err := os.WriteFile(leftover, []byte("from a crash"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(leftover, now.Add(-2*time.Hour), now.Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	empty := s.of(sessionKey{"/f", "empty"})
	put(empty, "e", 3*time.Hour)

	s.due = 0
	m4 := one.put(fmt.Sprintf("%-1000s", "m4"))
	there := map[string]bool{}
	for _, r := range append(one.list(), other.list()...) {
		there[r.id] = true
	}
	for id, want := range map[string]bool{old: false, o1: false, o2: true, o3: true, m1: false, m2: true, m3: true, m4: true} {
		if there[id] != want {
			t.Errorf("%s is there: %v, want %v", id, there[id], want)
		}
	}
	if _, err := os.Stat(leftover); err == nil {
		t.Error("what a crash left is there")
	}
	if _, err := os.Stat(empty.dir); err == nil {
		t.Error("an empty folder is there")
	}
}

// A disk that takes nothing: the result is cut for good and says so, and it is
// told once.
func TestStoreThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s, shelf, log := shelves(t)
	if err := os.WriteFile(s.dir, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	for range 2 {
		k := shelf.keep(500)
		k.add(strings.Repeat("line\n", 1000))
		k.Close()
		shown := k.String()
		if !strings.Contains(shown, "of 5000 bytes here; they are lost, because they could not be kept]") || k.id != "" || len(shown) > 500 {
			t.Errorf("shown:\n%s", shown)
		}
	}
	if n := strings.Count(log.String(), "cannot be kept"); n != 1 {
		t.Errorf("told %d times:\n%s", n, log)
	}
	if id := shelf.put("x"); id != "" {
		t.Errorf("id %q", id)
	}
}

// A write that fails in the middle leaves no part behind.
func TestKeptGivesUpWhenTheDiskIsFull(t *testing.T) {
	t.Parallel()
	_, shelf, log := shelves(t)
	k := shelf.keep(300)
	k.add(strings.Repeat("a", 1000))
	_ = k.file.Close() // further writes fail as on a full disk
	k.add(strings.Repeat("b", 1000))
	k.add("the end")
	k.Close()
	if shown := k.String(); !strings.Contains(shown, "of 2007 bytes here; they are lost") || !strings.HasSuffix(shown, "the end") {
		t.Errorf("shown:\n%s", shown)
	}
	if left := storedFiles(shelf.dir); len(left) > 0 || !strings.Contains(log.String(), "cannot be kept") {
		t.Errorf("left %v, log %s", left, log)
	}
}

// QwenLM/qwen-code#2439, charmbracelet/crush#3480: 64 MiB of output do not sit
// in memory.
func TestKeptStaysSmall(t *testing.T) {
	_, shelf, _ := shelves(t)
	piece := bytes.Repeat([]byte("x"), 32<<10)
	k := shelf.keep(51200)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 64 << 20 / len(piece) {
		_, _ = k.Write(piece)
	}
	k.Close()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	if got := shelf.list(); len(got) != 1 || got[0].size != 64<<20 {
		t.Errorf("kept %v", got)
	}
}

func TestReadResult(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, b.env.shelf, _ = shelves(t)
	b.env.limit = 1000
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	id := b.env.shelf.put(text.String())
	wide := b.env.shelf.put("first\n" + strings.Repeat("é", 1000) + "\nlast")
	rng := func(start, end int) fields { return fields{"start": start, "end": end} }
	tool := readResultTool()
	b.check(tool, fields{"id": id}, "line 1\nline 2\n", "ask for the rest with a range]")
	b.check(tool, fields{"id": id, "range": rng(1000, 1001)}, "line 1000\nline 1001\n[lines 1000-1001 of 2000]", "NOT line 999", "NOT line 1002")
	b.check(tool, fields{"id": id, "range": rng(1999, 0)}, "line 1999\nline 2000\n[lines 1999-2000 of 2000]")
	b.check(tool, fields{"id": id, "range": rng(2001, 0)}, "error:", "has 2000 lines, the range starts at 2001")
	b.check(tool, fields{"id": id, "range": rng(5, 3)}, "error:", "before its start")
	b.check(tool, fields{"id": wide, "range": rng(2, 2)}, "é\n[line 2 goes on for 1450 of its 2000 bytes: ask for it again with offset 550]")
	b.check(tool, fields{"id": wide, "range": rng(2, 2), "offset": 1980}, "éééééééééé\n[lines 2-2 of 3]", "NOT ééééééééééé")
	b.check(tool, fields{"id": wide, "range": rng(2, 2), "offset": 2001}, "error: line 2 has 2000 bytes, the offset is 2001")
	b.check(tool, fields{"id": wide, "range": rng(2, 2), "offset": -5}, "goes on for 1450")
	b.check(tool, fields{"id": "abcdefghijkl"}, "error:", `there is no result "abcdefghijkl"`, id+" (", wide+" (")
	b.check(tool, fields{"id": "../../etc/passwd"}, "error:", "there is no result")
	b.check(tool, fields{}, "error: the argument id is missing")
	b.check(tool, fields{"id": 5}, "error:", "must be of type string")
	b.check(tool, fields{"id": id, "range": fields{"start": "x"}}, "error:", "must be of type integer")
	b.env.shelf = (&store{}).of(sessionKey{})
	b.check(tool, fields{"id": id}, "error:", "none is kept now")
}

// A read of a long result ends with its run.
func TestReadResultIsCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, b.env.shelf, _ = shelves(t)
	id := b.env.shelf.put(strings.Repeat("line\n", 100000))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrCancelled)
	out, err := readResult(ctx, b.env, marshal(fields{"id": id}))
	if err == nil || err.Error() != ErrCancelled.Error() || out.text != "" {
		t.Errorf("%q, %v", out.text, err)
	}
}

// Whoever follows the notes reads the whole, whatever the text and the room.
func FuzzReadResult(f *testing.F) {
	f.Add("one\ntwo\nthree", 500, 1, 2, 0)
	f.Add(strings.Repeat("é", 180)+"\n\n\nx", 600, 2, 0, 7)
	f.Add(strings.Repeat("a\n", 150), 450, 0, -1, -1)
	f.Add("\n\xff\x00\r\n", 0, 5, 1, 9)
	f.Fuzz(func(t *testing.T, text string, limit, start, end, offset int) {
		if text == "" {
			return
		}
		_, shelf, _ := shelves(t)
		e := env{limit: min(max(limit, 0), 5000), shelf: shelf}
		id := shelf.put(text)
		out, err := readResult(t.Context(), e, marshal(fields{"id": id, "range": fields{"start": start, "end": end}, "offset": offset}))
		if err == nil && e.limit > 600 && len(out.text) > e.limit {
			t.Errorf("%d bytes at a limit of %d", len(out.text), e.limit)
		}
		if want := strings.TrimSuffix(strings.ToValidUTF8(text, "?"), "\n"); len(text) < 400 && want == strings.TrimSuffix(text, "\n") && !strings.Contains(text, "[line") {
			if got := readOn(t, e, id); got != want {
				t.Errorf("read %q, want %q", got, want)
			}
		}
	})
}

// readOn reads a result as a model would, part by part.
func readOn(t *testing.T, e env, id string) string {
	var b strings.Builder
	for line, offset := 1, 0; ; {
		out, err := readResult(t.Context(), e, marshal(fields{"id": id, "range": fields{"start": line, "end": line}, "offset": offset}))
		if err != nil {
			t.Fatalf("line %d, offset %d: %v", line, offset, err)
		}
		text, note, more := out.text, "", 0
		total := 1
		if at := strings.LastIndex(text, "\n[lines "); at >= 0 {
			var from, to int
			if _, err := fmt.Sscanf(text[at+1:], "[lines %d-%d of %d", &from, &to, &total); err != nil {
				t.Fatal(err)
			}
			text = text[:at]
		}
		text = strings.TrimSuffix(text, "\n")
		if at := strings.LastIndex(text, "\n[line "); at >= 0 {
			text, note = text[:at], text[at+1:]
			if _, err := fmt.Sscanf(note[strings.Index(note, "offset"):], "offset %d", &more); err != nil {
				t.Fatal(err)
			}
		}
		b.WriteString(text)
		switch {
		case more > offset:
			offset = more
		case more > 0:
			t.Fatalf("no way on from offset %d of line %d", offset, line)
		case line == total:
			return b.String()
		default:
			b.WriteString("\n")
			line, offset = line+1, 0
		}
	}
}
