package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestSearchCode(t *testing.T) {
	b := newBench(t)
	search := searchCodeTool()
	b.check(search, fields{"query": "one"}, "a.txt:1: one\n", "src/sub/util.ts:1: export const one = 1\n", "NOT vendor", "NOT SECRET", "NOT id_rsa", "NOT .git", "NOT bin.dat")
	b.check(search, fields{"query": "o.e"}, "[nothing found]")
	b.check(search, fields{"query": "O.E", "regex": true}, "[nothing found]")
	b.check(search, fields{"query": "(?i)^O.E$", "regex": true}, "a.txt:1: one\n", "NOT util.ts")
	b.check(search, fields{"query": "main(", "regex": true}, "no regular expression", "src/main.go:3: func main() {}")
	b.check(search, fields{"query": "one", "glob": "*.ts"}, "util.ts", "NOT a.txt")
	b.check(search, fields{"query": "one", "glob": "src/**"}, "util.ts", "NOT a.txt")
	b.check(search, fields{"query": "one", "glob": "[z-a]"}, "error: the glob")
	b.check(search, fields{}, "error: ", "query is missing")
	b.check(search, fields{"query": "one", "limit": "many"}, "error: ", `"limit" must be of type integer`)
	b.write("ws/lines", strings.Repeat("hit "+strings.Repeat("x", 500)+"\n", 2000))
	b.check(search, fields{"query": "hit", "limit": 3}, "lines:3: hit", "NOT lines:4:", "[more than these 3 lines match", "x…\n", "NOT "+strings.Repeat("x", 301))
	b.check(search, fields{"query": "hit"}, "lines:100:", "NOT lines:101:")
	text, _ := b.use(search, fields{"query": "hit", "limit": 1 << 30})
	if len(text) > b.env.limit {
		t.Errorf("%d bytes", len(text))
	}
	f, err := os.Create(filepath.Join(b.dir, "huge.log"))
	if err != nil || f.Truncate(searchedFile+1) != nil || f.Close() != nil {
		t.Fatal(err)
	}
	b.check(search, fields{"query": "nothing like it"}, "[1 files over 2 MiB were not searched]")
	b.write("ws/large.txt", strings.Repeat("filler\n", 200_000)+"the last line")
	b.check(search, fields{"query": "last line"}, "large.txt:200001: the last line")
	b.write("ws/large.bin", strings.Repeat("\x00", 50_000)+"\nthe last line")
	b.check(search, fields{"query": "last line"}, "NOT large.bin")
	b.desk[filepath.Join(b.dir, "a.txt")] = "unsaved needle\x00"
	b.check(search, fields{"query": "unsaved needle"}, "a.txt:1: unsaved")
}

func TestSearchEndsWithItsContext(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrCancelled)
	if _, err := searchCode(ctx, b.env, json.RawMessage(`{"query":"one"}`)); !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
}

// The same search gives the same lines, whoever was faster: files of a folder
// by name, then what is below.
func TestSearchIsInOrder(t *testing.T) {
	b := newBench(t)
	var want strings.Builder
	for i := range 300 { // more than a batch
		name := fmt.Sprintf("many/f%03d.txt", i)
		b.write("ws/"+name, strings.Repeat("x\n", i%7)+"needle "+fmt.Sprint(i)+"\nneedle\n")
		fmt.Fprintf(&want, "%s:%d: needle %d\n%s:%d: needle\n", name, i%7+1, i, name, i%7+2)
	}
	for i := range 40 {
		name := fmt.Sprintf("many/sub%02d/deep/g.txt", i)
		b.write("ws/"+name, "a needle")
		fmt.Fprintf(&want, "%s:1: a needle\n", name)
	}
	for range 20 {
		if text, err := b.use(searchCodeTool(), fields{"query": "needle", "limit": 1000}); err != nil || text != want.String() {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, limit := range []int{1, 63, 64, 65, 200, 639} {
			text, err := b.use(searchCodeTool(), fields{"query": "needle", "limit": limit})
			lines := strings.SplitAfter(want.String(), "\n")
			if rest, ok := strings.CutPrefix(text, strings.Join(lines[:limit], "")); err != nil || !ok || !strings.HasPrefix(rest, fmt.Sprintf("[more than these %d lines", limit)) {
				t.Fatalf("limit %d: %v\n%s", limit, err, text)
			}
		}
	}
}

// A hanging or slow search stops at a cancel, wherever it is.
func TestSearchStopsAtACancel(t *testing.T) {
	b := newBench(t)
	for i := range 2000 {
		b.write(fmt.Sprintf("ws/d%d/f%d.txt", i%50, i), "needle\n")
	}
	for _, after := range []int{1, 10, 500, 1999} {
		ctx, cancel := context.WithCancelCause(t.Context())
		d := &cancelDesk{after: after, cancel: func() { cancel(ErrCancelled) }}
		e := b.env
		e.host = d
		if _, err := searchCode(ctx, e, json.RawMessage(`{"query":"nowhere"}`)); !errors.Is(err, ErrCancelled) {
			t.Errorf("after %d: %v", after, err)
		}
		if more := d.asked - after; more > 2*runtime.GOMAXPROCS(0) { // that were under way
			t.Errorf("after %d: %d more files", after, more)
		}
	}
}

// cancelDesk cancels when it was asked for so many documents.
type cancelDesk struct {
	desk
	after  int
	cancel func()

	mu    sync.Mutex // nobody is told between the last document and the cancel
	asked int
}

func (d *cancelDesk) Document(string) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked++; d.asked == d.after {
		d.cancel()
	}
	return "", false
}

// A panic comes out where the gate takes it, not on a goroutine of the search.
func TestSearchPanicsWhereItIsCalled(t *testing.T) {
	b := newBench(t)
	b.env.host = panicDesk{}
	defer func() {
		if v := recover(); v != "a bug" {
			t.Errorf("recovered %v", v)
		}
	}()
	_, err := searchCode(t.Context(), b.env, json.RawMessage(`{"query":"x"}`))
	t.Errorf("no panic, but %v", err)
}

type panicDesk struct{ desk }

func (panicDesk) Document(string) (string, bool) { panic("a bug") }

// What is swapped after the walk saw it is not followed (veryfront-code#2226, openhuman#1898).
func TestSearchFollowsNoSwappedLink(t *testing.T) {
	b := newBench(t)
	b.write("ws/swap/a.txt", "plain\n")
	b.write("ws/swap/dir/b.txt", "plain\n")
	b.write("secret/b.txt", "one: outside\n")
	top, err := openDir(filepath.Join(b.dir, "swap"))
	if err != nil {
		t.Fatal(err)
	}
	defer top.close()
	if _, err := top.list(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", "dir"} {
		if err := os.RemoveAll(filepath.Join(b.dir, "swap", name)); err != nil {
			t.Fatal(err)
		}
	}
	b.link("../.env", "swap/a.txt")
	b.link("../../secret", "swap/dir")
	var room []byte
	if text, err := top.read("a.txt", searchedFile, &room); err == nil {
		t.Errorf("read %q", text)
	}
	if in, err := top.dir("dir"); err == nil {
		t.Errorf("went to %v", in)
	}
}
