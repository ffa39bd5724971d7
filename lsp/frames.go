package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of what a peer may send (CONTRACT §1: stdout and stdin carry framed
// LSP and nothing else, so anything beyond them is no LSP).
const (
	maxHeader = 8 << 10   // bytes of one header block
	maxBody   = 64 << 20  // bytes of one message
	maxLost   = 256 << 20 // bytes without a header before the peer is given up
)

// errHopeless ends the connection: the peer speaks something else.
var errHopeless = fmt.Errorf("no LSP header in %d MiB of input", maxLost>>20)

// badFrame is a frame that cannot be used; the reader goes on behind it.
type badFrame struct{ message string }

func (e *badFrame) Error() string { return e.message }

// frameReader reads messages framed as LSP's base protocol has it, and finds
// the next header again after garbage.
type frameReader struct {
	r    *bufio.Reader
	lost bool // the next header has to be searched
	// resumed is the length of a header that was found behind garbage, or -1.
	resumed int
	tail    []byte // the end of the garbage, which may begin the next header
}

// overlap is longer than any header that is searched for.
const overlap = 64

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 64<<10), resumed: -1}
}

// next returns the body of the next frame, in memory of its own. The error is
// a *badFrame when reading may go on, else io.EOF between frames,
// io.ErrUnexpectedEOF inside one, errHopeless, or the reader's own.
func (f *frameReader) next() ([]byte, error) {
	if f.lost {
		n, err := f.search()
		if err != nil {
			return nil, err
		}
		f.lost, f.resumed = false, n
	}
	length, err := f.header()
	switch {
	case err != nil:
		return nil, err
	case length > maxBody:
		// A header cannot stand inside JSON (a string holds no raw newline), so
		// searching for the next one is right whether the length is true or not.
		f.lost = true
		return nil, &badFrame{fmt.Sprintf("message of %d bytes: at most %d are taken", length, maxBody)}
	case length == 0:
		return nil, &badFrame{"Content-Length is 0"}
	}
	return f.body(length)
}

// body reads n bytes, without believing n before they are there.
func (f *frameReader) body(n int) ([]byte, error) {
	if n <= 1<<20 {
		b := make([]byte, n)
		_, err := io.ReadFull(f.r, b)
		return b, cut(err)
	}
	var b bytes.Buffer
	_, err := io.CopyN(&b, f.r, int64(n))
	return b.Bytes(), cut(err)
}

func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// header reads a header block up to its blank line and returns Content-Length.
func (f *frameReader) header() (length int, err error) {
	length, f.resumed = f.resumed, -1
	size, fields := 0, length >= 0
	for {
		line, err := f.r.ReadSlice('\n')
		size += len(line)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			f.skip(line)
			return 0, f.garbage(nil)
		case err == nil && size > maxHeader:
			return 0, f.garbage(line)
		case errors.Is(err, io.EOF) && size == 0 && !fields:
			return 0, io.EOF
		case err != nil:
			return 0, cut(err)
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, ok := bytes.Cut(line, []byte(":"))
		switch {
		case len(line) == 0 && length >= 0:
			return length, nil
		case len(line) == 0 && !fields:
			// A stray blank line between messages harms nobody.
		case len(line) == 0:
			f.lost = true
			return 0, &badFrame{"header without Content-Length"}
		case !ok || !isFieldName(name):
			return 0, f.garbage(line)
		case strings.EqualFold(string(name), "Content-Length"):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil || length < 0 {
				f.lost = true
				return 0, &badFrame{fmt.Sprintf("Content-Length %.40q is no length", bytes.TrimSpace(value))}
			}
			fields = true
		default:
			fields = true
		}
	}
}

// garbage is a line that is no header, or too much for one. A true header may
// stand at its end: the rest of a body whose length was told too short has no
// newline.
func (f *frameReader) garbage(line []byte) error {
	if n, ok := headerAtEnd(bytes.TrimRight(line, "\r\n")); ok {
		f.resumed = n
	} else {
		f.lost = true
	}
	return &badFrame{fmt.Sprintf("%.60q where a header was expected", line)}
}

// skip remembers the end of what is passed over.
func (f *frameReader) skip(chunk []byte) {
	if len(chunk) > overlap {
		f.tail = f.tail[:0]
	}
	f.tail = append(f.tail, chunk[max(0, len(chunk)-overlap):]...)
}

// search skips input up to and including the next Content-Length line.
func (f *frameReader) search() (length int, err error) {
	for lost := 0; lost < maxLost; {
		chunk, err := f.r.ReadSlice('\n')
		lost += len(chunk)
		f.skip(chunk)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return 0, err
		}
		n, ok := headerAtEnd(bytes.TrimRight(f.tail, "\r\n"))
		f.tail = f.tail[:0]
		if ok {
			return n, nil
		}
	}
	return 0, errHopeless
}

// headerAtEnd finds `Content-Length: n` at the end of a line.
func headerAtEnd(line []byte) (length int, ok bool) {
	const name = "content-length:"
	i := bytes.LastIndexByte(line, ':')
	if i < len(name)-1 || !strings.EqualFold(string(line[i+1-len(name):i+1]), name) {
		return 0, false
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[i+1:])))
	return n, err == nil && n >= 0
}

func isFieldName(b []byte) bool {
	for _, c := range b {
		if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return len(b) > 0
}
