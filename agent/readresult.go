package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
)

const readResultName = "read_result"

const readResultSchema = `{"properties":{` +
	`"id":{"description":"The id that the notice gives.","type":"string"},` +
	`"range":{"description":"Which lines to read, counted from 1, both included. Without it from the first, as many as find room.","properties":{"end":{"minimum":1,"type":"integer"},"start":{"minimum":1,"type":"integer"}},"type":"object"},` +
	`"offset":{"description":"How many bytes of the first line to leave out, as the note at the end of a line that was cut says.","minimum":0,"type":"integer"}` +
	`},"required":["id"],"type":"object"}`

type readResultArgs struct {
	ID    string `json:"id"`
	Range *struct {
		Start int `json:"start"`
		End   int `json:"end"`
	} `json:"range"`
	Offset int `json:"offset"`
}

func readResultTool() *tool {
	return &tool{name: readResultName, anywhere: true, description: prompt("read_result.md"), schema: json.RawMessage(readResultSchema), run: readResult}
}

// readResult gives lines of a result that the session keeps.
func readResult(ctx context.Context, e env, args json.RawMessage) (output, error) {
	var in readResultArgs
	if err := into(args, &in); err != nil {
		return output{}, err
	}
	if in.ID == "" {
		return output{}, errors.New("the argument id is missing")
	}
	f, err := e.shelf.open(in.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return output{}, errors.New(e.shelf.unknown(in.ID))
	}
	if err != nil {
		return output{}, fmt.Errorf("the result %q cannot be read: %w", in.ID, err)
	}
	defer func() { _ = f.Close() }() // only read from
	start, end := 1, 0
	if in.Range != nil {
		start, end = max(in.Range.Start, 1), in.Range.End
	}
	l := longLines{r: bufio.NewReader(f), from: start, offset: max(in.Offset, 0), most: max(e.room()-150, 64)}
	text, err := lines(in.ID, l.all(ctx), start, end, e.room(), false)
	if l.err != nil {
		return output{}, l.err
	}
	return output{text: text}, err
}

// unknown says that there is no such result, and which there are.
func (s shelf) unknown(id string) string {
	text := fmt.Sprintf("there is no result %q in this session: an id is as a notice gives it, and old results are deleted in time", oneLine(id, 100))
	const few = 10
	all := s.list()
	if len(all) == 0 {
		return text + "; none is kept now"
	}
	ids := make([]string, 0, few)
	for _, r := range all[:min(len(all), few)] {
		ids = append(ids, fmt.Sprintf("%s (%d bytes)", r.id, r.size))
	}
	return text + "; the newest that are kept: " + strings.Join(ids, ", ")
}

// longLines reads a text by lines. Of a line that is longer than most bytes
// the rest is left out, with a note that says how to go on.
type longLines struct {
	r      *bufio.Reader
	from   int // the first line that is wanted; those before are given empty
	offset int // where it begins, in bytes
	most   int
	err    error // why the reading ended early
}

// all gives the lines, each with its end.
func (l *longLines) all(ctx context.Context) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n := 1; ; n++ {
			line, ok := l.next(n)
			if l.err == nil {
				l.err = context.Cause(ctx)
			}
			if l.err != nil || !ok || !yield(line) {
				return
			}
		}
	}
}

// next reads the n-th line; ok is false after the last.
func (l *longLines) next(n int) (line string, ok bool) {
	skip, most := 0, l.most
	if n == l.from {
		skip = l.offset
	} else if n < l.from {
		most = 0
	}
	var b strings.Builder
	size, left := 0, skip
	for more := true; more; {
		part, err := l.r.ReadSlice('\n')
		ok = ok || len(part) > 0
		more = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !more && !errors.Is(err, io.EOF) {
			l.err = err
		}
		part = bytes.TrimSuffix(part, []byte("\n"))
		size += len(part)
		drop := min(left, len(part))
		left -= drop
		b.Write(part[drop:][:min(len(part)-drop, most-b.Len())])
	}
	text := b.String()
	switch at := skip + len(text); {
	case skip > 0 && left > 0:
		l.err = fmt.Errorf("line %d has %d bytes, the offset is %d", n, size, skip)
	case n >= l.from && at < size:
		text = clipEnd(text)
		at = skip + len(text)
		text += fmt.Sprintf("\n[line %d goes on for %d of its %d bytes: ask for it again with offset %d]", n, size-at, size, at)
	}
	return strings.ToValidUTF8(text, "?") + "\n", ok
}
