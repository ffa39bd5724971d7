package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

// maxFile is the largest file that is read or searched whole.
const maxFile = 16 << 20

const readFileSchema = `{"properties":{` +
	`"path":{"description":"Path of the file, relative to the workspace folder, or absolute inside of it.","type":"string"},` +
	`"range":{"description":"Which lines to read, counted from 1, both included. Without it the whole file.","properties":{"end":{"minimum":1,"type":"integer"},"start":{"minimum":1,"type":"integer"}},"type":"object"},` +
	`"lineNumbers":{"description":"Put each line's number before it.","type":"boolean"}` +
	`},"required":["path"],"type":"object"}`

type readFileArgs struct {
	Path  string `json:"path"`
	Range *struct {
		Start int `json:"start"`
		End   int `json:"end"`
	} `json:"range"`
	LineNumbers bool `json:"lineNumbers"`
}

func readFileTool() *tool {
	return &tool{name: "read_file", description: prompt("read_file.md"), schema: json.RawMessage(readFileSchema), run: readFile}
}

// readFile gives the text of a file as the editor has it, unsaved changes
// included, else as it is on disk.
func readFile(_ context.Context, e env, args json.RawMessage) (output, error) {
	var in readFileArgs
	if err := into(args, &in); err != nil {
		return output{}, err
	}
	if in.Path == "" {
		return output{}, fmt.Errorf("the argument path is missing")
	}
	at, err := e.resolve(in.Path)
	if err != nil {
		return output{}, err
	}
	text, unsaved, err := fileText(at, e.host)
	if err != nil {
		return output{}, err
	}
	e.known.note(at, text)
	start, end := 1, 0
	if in.Range != nil {
		start, end = max(in.Range.Start, 1), in.Range.End
	}
	shown, err := lines(at.shown, strings.Lines(text), start, end, e.room(), in.LineNumbers)
	if err != nil {
		return output{}, err
	}
	if unsaved {
		shown = "[unsaved text of the editor: it differs from the file on disk]\n" + shown
	}
	return output{text: shown}, nil
}

// fileText returns a file's text, and whether it differs from what is on disk.
func fileText(at place, host Editor) (text string, unsaved bool, err error) {
	text, open := document(at, host)
	disk, err := diskText(at)
	switch {
	case open:
		return text, err != nil || disk != text, nil //nolint:nilerr // a file that cannot be read differs
	case err != nil:
		return "", false, err
	}
	return disk, false, nil
}

// diskText reads a text file, at most maxFile bytes of it.
func diskText(at place) (string, error) {
	f, err := at.open()
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", at.failure(err)
	case info.IsDir():
		return "", fmt.Errorf("%q is a directory; list_dir shows what is in it", at.shown)
	case info.Size() > maxFile:
		return "", fmt.Errorf("%q has %d bytes, at most %d are read; search_code finds lines in it", at.shown, info.Size(), maxFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return "", at.failure(err)
	}
	if isBinary(data) {
		return "", fmt.Errorf("%q is not text (%s, %d bytes) and cannot be read", at.shown, http.DetectContentType(data), len(data))
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}

// isBinary judges by what git judges by.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// lines returns lines start to end (0: the last) of a text, whole lines up to
// room bytes, and says which part of the whole it is. name is what an error
// calls it.
func lines(name string, text iter.Seq[string], start, end, room int, numbers bool) (string, error) {
	var b strings.Builder
	last, total := 0, 0
	full := false
	for line := range text {
		total++
		if total < start || end > 0 && total > end || full {
			continue
		}
		if numbers {
			line = fmt.Sprintf("%6d\t%s", total, line)
		}
		if full = b.Len() > 0 && b.Len()+len(line) > room; !full {
			b.WriteString(line)
			last = total
		}
	}
	switch {
	case total == 0:
		return "[the file is empty]", nil
	case start > total:
		return "", fmt.Errorf("%q has %d lines, the range starts at %d", name, total, start)
	case end > 0 && end < start:
		return "", fmt.Errorf("the range ends at %d, before its start %d", end, start)
	case start == 1 && last == total:
		return b.String(), nil
	}
	note := fmt.Sprintf("[lines %d-%d of %d]", start, last, total)
	if full {
		note = fmt.Sprintf("[lines %d-%d of %d; ask for the rest with a range]", start, last, total)
	}
	return strings.TrimSuffix(b.String(), "\n") + "\n" + note, nil
}
