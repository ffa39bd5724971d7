package agent

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"strings"
	"sync"
)

// kept takes a result of any length as it comes: what is longer than limit
// goes to the session's shelf, and only its beginning and its end stay in
// memory. Safe for concurrent use; a write never fails.
type kept struct {
	shelf shelf
	limit int

	mu    sync.Mutex
	size  int64  // bytes that came
	lines int64  // line ends in them
	head  []byte // the first limit bytes
	tail  []byte // the last limit bytes at least, of what came after head
	sum   hash.Hash
	file  *os.File
	saved int64 // bytes in file
	err   error // why the whole is not kept
	id    string
}

// keep returns a writer for a result of which the model sees limit bytes. The
// caller closes it.
func (s shelf) keep(limit int) *kept { return &kept{shelf: s, limit: max(limit, 0)} }

// keep returns a writer for a result that may be long; see [kept].
func (e env) keep(limit int) *kept { return e.shelf.keep(limit) }

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(p)
	k.size += int64(n)
	k.lines += int64(bytes.Count(p, []byte("\n")))
	if first := min(k.limit-len(k.head), n); first > 0 {
		k.head = append(k.head, p[:first]...)
		p = p[first:]
	}
	if len(p) == 0 {
		return n, nil
	}
	if k.sum == nil {
		k.sum = sha256.New()
		if k.file, k.err = k.shelf.create(); k.err != nil {
			k.shelf.store.failed(k.err)
		}
		k.save(k.head)
	}
	k.save(p)
	k.tail = append(k.tail, p[max(0, len(p)-k.limit):]...)
	if len(k.tail) > 2*k.limit {
		k.tail = append(k.tail[:0], k.tail[len(k.tail)-k.limit:]...)
	}
	return n, nil
}

// add writes a string, of which it makes no second copy.
func (k *kept) add(s string) {
	piece := make([]byte, min(len(s), 64<<10))
	for rest := s; rest != ""; {
		n := copy(piece, rest)
		_, _ = k.Write(piece[:n])
		rest = rest[n:]
	}
}

// save writes to the file as long as that works and its bound is not reached.
func (k *kept) save(p []byte) {
	_, _ = k.sum.Write(p) // a hash never fails
	if k.file == nil {
		return
	}
	p = p[:min(int64(len(p)), k.shelf.store.bounds.result-k.saved)]
	if _, err := k.file.Write(p); err != nil {
		k.discard(err)
		return
	}
	k.saved += int64(len(p))
}

// discard gives the file up.
func (k *kept) discard(err error) {
	k.err = err
	_ = k.file.Close()
	_ = os.Remove(k.file.Name())
	k.file = nil
	k.shelf.store.failed(err)
}

// Close ends the writing; what was longer than the limit has its id then.
func (k *kept) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil {
		return
	}
	id, err := k.shelf.settle(k.file, k.sum.Sum(nil), k.saved)
	if err != nil {
		k.shelf.store.failed(err)
	}
	k.file, k.id, k.err = nil, id, err
}

// String is the text for the model, limit bytes at most: cut in the middle,
// with a notice that says how to read the rest. It follows Close.
func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size <= int64(k.limit) {
		return validWithin(string(k.head), k.limit)
	}
	tail := k.tail
	if len(tail) < k.limit {
		tail = append(bytes.Clone(k.head), tail...)
	}
	return cut{
		head: string(k.head), tail: string(tail[len(tail)-k.limit:]), size: k.size, breaks: k.lines,
		id: k.id, saved: k.saved, lost: k.err != nil && k.shelf.dir != "",
	}.fit(k.limit)
}

// cut is a text that is shown without its middle.
type cut struct {
	head, tail   string // its beginning and its end, each as long as may be shown
	size, breaks int64  // its bytes and line ends
	id           string // under which it is kept; empty: it is not
	saved        int64  // bytes that are kept
	lost         bool   // it should have been kept
}

// fit returns limit bytes at most, the notice included. The result is valid
// UTF-8 and shares no memory with a longer text.
func (c cut) fit(limit int) string {
	room := limit - len(c.notice(c.size, c.breaks, c.breaks))
	if room <= 0 {
		return c.notice(c.size, 0, c.breaks)[:max(limit, 0)] // ASCII
	}
	head := c.head[:room*2/3]
	tail := c.tail[len(c.tail)-room/3:]
	from := int64(strings.Count(head, "\n"))
	to := c.breaks - int64(strings.Count(tail, "\n"))
	return strings.ToValidUTF8(clipEnd(head), "?") +
		c.notice(c.size-int64(len(head)+len(tail)), from, to) +
		strings.ToValidUTF8(clipStart(tail), "?")
}

// notice says what is missing: size bytes from the line after from line ends
// to the one after to.
func (c cut) notice(size, from, to int64) string {
	switch {
	case c.id != "":
		part, total := "", c.breaks
		if !strings.HasSuffix(c.tail, "\n") {
			total++
		}
		if c.saved < c.size {
			part = fmt.Sprintf(" (of which the first %d bytes are kept)", c.saved)
		}
		return fmt.Sprintf("\n[agentls cut %d of %d bytes here, lines %d-%d of %d%s: read_result with id %q reads them]\n",
			size, c.size, from+1, min(to+1, total), total, part, c.id)
	case c.lost:
		return fmt.Sprintf("\n[agentls cut %d of %d bytes here; they are lost, because they could not be kept]\n", size, c.size)
	}
	return fmt.Sprintf("\n[agentls cut %d of %d bytes here]\n", size, c.size)
}
