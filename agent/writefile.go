package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const writeFileSchema = `{"properties":{` +
	`"content":{"description":"The whole text of the file.","type":"string"},` +
	`"path":{"description":"Path of the file, relative to the workspace folder, or absolute inside of it. Directories that are missing are made.","type":"string"}` +
	`},"required":["content","path"],"type":"object"}`

type writeFileArgs struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}

func writeFileTool() *tool {
	return &tool{name: "write_file", description: prompt("write_file.md"), schema: json.RawMessage(writeFileSchema), run: writeFile, preview: previewWrite}
}

// writeFile makes a file, or gives one that the session has read another text.
func writeFile(ctx context.Context, e env, args json.RawMessage) (output, error) {
	in, at, err := writeFileTarget(e, args)
	if err != nil {
		return output{}, err
	}
	out, err := e.change(ctx, at, "write_file", func(f found) (string, error) {
		after, err := in.apply(f)
		if err != nil || !f.exists() || after == f.text {
			return after, err
		}
		seen, err := e.unchanged(f)
		if err == nil && !seen {
			err = fmt.Errorf("%q exists and was not read in this session: read it first, or use edit_file. Nothing was changed", f.at.shown)
		}
		return after, err
	})
	switch {
	case err != nil:
		return output{}, err
	case !out.exists():
		return output{text: fmt.Sprintf("Created %s: %d lines.", at.shown, lineCount(out.after))}, nil
	case out.after == out.found.text:
		return output{text: fmt.Sprintf("%s has this text already; nothing was changed.", at.shown)}, nil
	}
	return output{text: fmt.Sprintf("Replaced %s: %v.%s", at.shown, out.diff, out.state())}, nil
}

func writeFileTarget(e env, args json.RawMessage) (in writeFileArgs, at place, err error) {
	if err := into(args, &in); err != nil {
		return in, at, err
	}
	switch {
	case in.Path == "":
		return in, at, errors.New("the argument path is missing")
	case in.Content == nil:
		return in, at, errors.New("the argument content is missing")
	case len(*in.Content) > maxWrite:
		return in, at, fmt.Errorf("the content has %d bytes, at most %d are written at once", len(*in.Content), maxWrite)
	case strings.HasSuffix(in.Path, "/"):
		return in, at, fmt.Errorf("%q names a directory; give the path of a file", oneLine(in.Path, 300))
	}
	if err := writable(*in.Content); err != nil {
		return in, at, err
	}
	at, err = e.resolve(in.Path)
	return in, at, err
}

// writable refuses what would make a file that is no text any more.
func writable(text string) error {
	if strings.ContainsRune(text, 0) {
		return errors.New("the text holds a NUL character: only text files are written")
	}
	return nil
}

// apply gives the text of the file: the content, with the line endings and the
// byte order mark of the file that it replaces.
func (in writeFileArgs) apply(f found) (string, error) {
	after := withEnding(*in.Content, lineEnding(f.text))
	if strings.HasPrefix(f.text, byteOrderMark) && !strings.HasPrefix(after, byteOrderMark) {
		after = byteOrderMark + after
	}
	return after, nil
}

func previewWrite(e env, args json.RawMessage) (Preview, bool) {
	in, at, err := writeFileTarget(e, args)
	if err != nil {
		return Preview{}, false
	}
	return preview(e, at, in.apply)
}
