package lsp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"go.lsp.dev/jsonrpc2"
)

// frames reads everything and tells bodies and faults apart.
func frames(input io.Reader) (bodies []string, bad int, err error) {
	f := newFrameReader(input)
	for {
		body, err := f.next()
		if _, ok := errors.AsType[*badFrame](err); ok {
			bad++
			continue
		}
		if err != nil {
			return bodies, bad, err
		}
		bodies = append(bodies, string(body))
	}
}

func frame(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

func TestFrames(t *testing.T) {
	check := func(name, input string, bad int, end error, want ...string) {
		t.Helper()
		got, gotBad, err := frames(strings.NewReader(input))
		if strings.Join(got, "|") != strings.Join(want, "|") || gotBad != bad || !errors.Is(err, end) {
			t.Errorf("%s: %q, %d bad, %v; want %q, %d bad, %v", name, got, gotBad, err, want, bad, end)
		}
	}
	check("nothing", "", 0, io.EOF)
	check("two", frame("{}")+frame("[1]"), 0, io.EOF, "{}", "[1]")
	check("cut in the header", "Content-Len", 0, io.ErrUnexpectedEOF)
	check("cut behind the header", "Content-Length: 5\r\n\r\n", 0, io.ErrUnexpectedEOF)
	check("cut in the body", "Content-Length: 5\r\n\r\n{}", 0, io.ErrUnexpectedEOF)
	check("no newline for ever", strings.Repeat("x", 100<<10)+"\n"+frame("{}"), 1, io.EOF, "{}")
	check("header that never ends", strings.Repeat("A: b\r\n", 5000)+"\r\n"+frame("{}"), 1, io.EOF, "{}")
	check("length told too short", "Content-Length: 1\r\n\r\n{}"+frame("[]"), 1, io.EOF, "{", "[]")
	check("length told far too long", frame("{}")[:16]+"900000000\r\n\r\n{}"+frame("[]"), 1, io.EOF, "[]")
	check("another word in the header's place", "HTTP/1.1 200 OK\r\n"+frame("{}"), 1, io.EOF, "{}")
	check("header split by the reader's buffer", strings.Repeat("y", 64<<10-10)+frame("{}"), 1, io.EOF, "{}")
	check("plus sign and hex", "Content-Length: 0x2\r\n\r\n{}\n"+frame("[]"), 1, io.EOF, "[]")
}

// A length is believed when the bytes are there, not before.
func TestLengthAllocatesNothing(t *testing.T) {
	header := fmt.Sprintf("Content-Length: %d\r\n\r\n", maxBody)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		if _, _, err := frames(strings.NewReader(header + "{}")); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / 10; n > 2<<20 {
		t.Errorf("%d bytes allocated for a message of which 2 have come", n)
	}
}

func TestHopelessInputEnds(t *testing.T) {
	if _, _, err := frames(endless{}); !errors.Is(err, errHopeless) {
		t.Error(err)
	}
}

// endless is a peer that speaks something else, and does not stop.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return copy(b, strings.Repeat("x", 4096)), nil }

// FuzzFrames: whatever stands before it, a message behind a newline is found,
// unless it was claimed for a body.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"), false)
	f.Add([]byte("Content-Length: -2\r\n\r\n{}\ncontent-length: 1 \n\n{"), true)
	f.Add([]byte("\r\n\r\nX: y\r\n\r\nContent-Length: 99999999999999999999\r\n\r\n"), true)
	f.Fuzz(func(t *testing.T, garbage []byte, lengths bool) {
		if !lengths {
			garbage = bytes.ReplaceAll(bytes.ToLower(garbage), []byte("content"), nil)
		}
		const want = `{"found":true}`
		bodies, _, err := frames(bytes.NewReader(append(append(garbage, '\n'), frame(want)+frame("[]")...)))
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		if !lengths && !strings.HasSuffix(strings.Join(bodies, "|"), want+"|[]") {
			t.Fatalf("lost behind %q: %q", garbage, bodies)
		}
	})
}

// FuzzDecode: every body is a message or has an error that answers it.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":1.0,"method":"x","params":null}`, `{"id":{},"method":5}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1e99}}`, `[`, `5`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m := decode(body)
		if (m.Message == nil) == (m.bad == nil) {
			t.Fatalf("%q: %+v", body, m)
		}
		if call, ok := m.Message.(*jsonrpc2.Call); ok && !call.ID().IsValid() {
			t.Fatalf("%q: a call without an id", body)
		}
	})
}
