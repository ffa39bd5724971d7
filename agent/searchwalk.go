package agent

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"agentls/mcp/workspace"
)

// How a search is spread.
const (
	batchFiles   = 64 // files of one folder that are searched in a row
	batchesAhead = 64 // that were found and not yet taken: what bounds memory and open folders
)

// batch is some files of one folder.
type batch struct {
	in      *searchedDir
	files   []fs.DirEntry
	hits    []string // lines for the model
	skipped int
	panic   any
	done    chan struct{} // closed when it was searched
}

// searchedDir is a folder whose files are searched.
type searchedDir struct {
	f     folder
	rel   string // from f
	open  *dirHandle
	users atomic.Int32 // the walk, and batches that are not done; the last closes it
}

func (d *searchedDir) release() {
	if d.users.Add(-1) == 0 {
		d.open.close()
	}
}

// walk searches the folders: one goroutine finds the files, in order, some
// search them, and this one takes what was found, in the order of the walk.
func (s *search) walk(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	work, order := make(chan *batch), make(chan *batch, batchesAhead)
	var all sync.WaitGroup
	defer all.Wait() // they end with ctx
	defer cancel()
	all.Go(func() {
		defer close(order)
		defer close(work)
		w := walker{s: s, ctx: ctx, work: work, order: order}
		for _, f := range s.e.folders {
			if root, err := openDir(f.real); err == nil {
				w.dir(&searchedDir{f: f, open: root})
			}
		}
	})
	for range min(runtime.GOMAXPROCS(0), 8) {
		all.Go(func() {
			var room buffers
			for b := range work {
				s.search(ctx, b, &room)
			}
		})
	}
	for b := range order {
		<-b.done
		if b.panic != nil {
			panic(b.panic) // on the goroutine that the gate watches
		}
		if s.take(b); s.full {
			return
		}
	}
}

// walker goes through folders.
type walker struct {
	s           *search
	ctx         context.Context //nolint:containedctx // it is the walk's lifetime
	work, order chan<- *batch
}

// dir hands out the files of a folder and goes on into those inside. The order
// is that of [filepath.WalkDir] with the files of a folder before its folders.
func (w *walker) dir(d *searchedDir) {
	d.users.Add(1)
	defer d.release()
	if w.ctx.Err() != nil {
		return
	}
	entries, err := d.open.list()
	if err != nil {
		return // what cannot be read is passed over
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	var files []fs.DirEntry
	var dirs []string
	for _, e := range entries {
		rel := filepath.Join(d.rel, e.Name())
		switch {
		case e.Name() == ".git":
		case e.IsDir() && !w.s.e.folders.isOther(d.f, rel) && !w.s.ignores(d.f, rel, true):
			dirs = append(dirs, e.Name())
		case e.Type().IsRegular() && w.s.wants(rel) && !secretIn(d, e.Name()) && !w.s.ignores(d.f, rel, false):
			files = append(files, e)
		}
	}
	for some := range slices.Chunk(files, batchFiles) {
		b := &batch{in: d, files: some, done: make(chan struct{})}
		d.users.Add(1)
		select {
		case w.work <- b:
		case <-w.ctx.Done():
			d.release()
			return
		}
		select {
		case w.order <- b:
		case <-w.ctx.Done():
			return
		}
	}
	for _, name := range dirs {
		if in, err := d.open.dir(name); err == nil {
			w.dir(&searchedDir{f: d.f, rel: filepath.Join(d.rel, name), open: in})
		}
	}
}

// isOther reports whether a directory of a folder is another folder, which is
// searched by itself.
func (all folders) isOther(f folder, rel string) bool {
	return slices.ContainsFunc(all, func(other folder) bool { return other.real == filepath.Join(f.real, rel) })
}

// secretIn judges a file by its name and that of its folder.
func secretIn(d *searchedDir, name string) bool {
	return workspace.SecretName(filepath.Join(filepath.Base(filepath.Join(d.f.real, d.rel)), name))
}

func (s *search) ignores(f folder, rel string, dir bool) bool {
	return s.e.ignored(filepath.Join(f.real, rel), dir) || f.given != f.real && s.e.ignored(filepath.Join(f.given, rel), dir)
}

func (s *search) wants(rel string) bool {
	return s.glob == nil || s.glob.MatchString(filepath.ToSlash(rel))
}

// buffers are the room that one goroutine uses again and again.
type buffers struct {
	text, lower []byte
}

// search searches a batch.
func (s *search) search(ctx context.Context, b *batch, room *buffers) {
	defer close(b.done)
	defer b.in.release()
	defer func() { b.panic = recover() }()
	size := 0
	for _, e := range b.files {
		if ctx.Err() != nil {
			return
		}
		text, ok := s.text(b, e.Name(), room)
		if !ok {
			continue
		}
		s.match.lines(ctx, text, &room.lower, func(n int, line []byte) bool {
			hit := s.hit(b.in, e.Name(), n, line)
			b.hits = append(b.hits, hit)
			size += len(hit)
			return len(b.hits) <= s.limit && size <= s.e.limit // one more tells that there are more
		})
		if len(b.hits) > s.limit || size > s.e.limit {
			return
		}
	}
}

// hit is a line that matched, for the model.
func (s *search) hit(d *searchedDir, name string, n int, line []byte) string {
	line = bytes.TrimSpace(line)
	line = line[:min(len(line), utf8.UTFMax*(searchedLine+1))] // it may be all of a large file
	shown := s.e.folders.show(d.f, filepath.Join(d.rel, name))
	return fmt.Sprintf("%s:%d: %s\n", shown, n, ellipsis(strings.ToValidUTF8(string(line), "\uFFFD"), searchedLine))
}

// text is what a file holds, the editor's text where it is open there.
func (s *search) text(b *batch, name string, room *buffers) (text []byte, ok bool) {
	rel := filepath.Join(b.in.rel, name)
	at := place{abs: filepath.Join(b.in.f.given, rel), real: filepath.Join(b.in.f.real, rel)}
	if text, open := document(at, s.e.host); open {
		return []byte(text), true
	}
	text, err := b.in.open.read(name, searchedFile, &room.text)
	if err == errLarge { //nolint:errorlint // as read gives it
		b.skipped++
	}
	return text, err == nil && !isBinary(text)
}

var errLarge = fmt.Errorf("over %d bytes", searchedFile)

// headBytes is how much of a file is read before it is judged.
const headBytes = 32 << 10

// readInto reads a file of size bytes into room, which grows for it; of a
// binary file the head alone.
func readInto(size int64, room *[]byte, read func([]byte) (int, error)) []byte {
	if int64(cap(*room)) < size {
		*room = make([]byte, size+size/2)
	}
	text := (*room)[:size]
	n := 0
	for n < len(text) {
		upto := len(text)
		if n == 0 {
			upto = min(upto, headBytes)
		}
		k, err := read(text[n:upto])
		first := n == 0
		n += max(k, 0)
		if k <= 0 || err != nil || first && isBinary(text[:n]) {
			break // shorter than it was, or it cannot be read on
		}
	}
	return text[:n]
}
