package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"agentls/mcp/workspace"
)

// maxWrite is the most that one call may write, in bytes.
const maxWrite = 5 << 20

// maxEdits is how many edits one call may hold.
const maxEdits = 1000

const editFileSchema = `{"properties":{` +
	`"edits":{"description":"What to replace, one after the other.","items":{"properties":{` +
	`"new":{"description":"The text in its place.","type":"string"},` +
	`"old":{"description":"The text that is replaced, exactly as it is in the file, with enough around it that it occurs once.","type":"string"}` +
	`},"required":["new","old"],"type":"object"},"minItems":1,"type":"array"},` +
	`"path":{"description":"Path of the file, relative to the workspace folder, or absolute inside of it.","type":"string"}` +
	`},"required":["edits","path"],"type":"object"}`

type editFileArgs struct {
	Path  string        `json:"path"`
	Edits []replacement `json:"edits"`
}

func editFileTool() *tool {
	return &tool{name: "edit_file", description: prompt("edit_file.md"), schema: json.RawMessage(editFileSchema), run: editFile, preview: previewEdit}
}

// editFile replaces texts in a file, all or none.
func editFile(ctx context.Context, e env, args json.RawMessage) (output, error) {
	in, at, err := editFileTarget(e, args)
	if err != nil {
		return output{}, err
	}
	out, err := e.change(ctx, at, "edit_file", func(f found) (string, error) {
		if _, err := e.unchanged(f); err != nil {
			return "", err
		}
		return in.apply(f, e.asked || !e.secret(at))
	})
	if err != nil {
		return output{}, err
	}
	if out.after == out.found.text {
		return output{text: fmt.Sprintf("The edits make no difference: %q is as it was.", at.shown)}, nil
	}
	return output{text: fmt.Sprintf("Edited %s: %v, from line %d.%s", at.shown, out.diff, out.diff.line, out.state())}, nil
}

func editFileTarget(e env, args json.RawMessage) (in editFileArgs, at place, err error) {
	if err := into(args, &in); err != nil {
		return in, at, err
	}
	size := 0
	for _, edit := range in.Edits {
		size += len(edit.Old) + len(edit.New)
	}
	switch {
	case in.Path == "":
		return in, at, errors.New("the argument path is missing")
	case len(in.Edits) == 0:
		return in, at, errors.New("the argument edits is missing or empty: give a list of {old, new}")
	case len(in.Edits) > maxEdits:
		return in, at, fmt.Errorf("there are %d edits, at most %d are taken at once", len(in.Edits), maxEdits)
	case size > maxWrite:
		return in, at, fmt.Errorf("the edits hold %d bytes, at most %d are taken at once", size, maxWrite)
	}
	for i, edit := range in.Edits {
		if err := writable(edit.New); err != nil {
			return in, at, fmt.Errorf("edit %d: %w", i+1, err)
		}
	}
	at, err = e.resolve(in.Path)
	return in, at, err
}

// secret reports whether what a file holds is not to be read unasked.
func (e env) secret(at place) bool {
	return slices.ContainsFunc([]string{at.abs, at.real}, func(path string) bool { return workspace.SecretName(path) || e.ignored(path, false) })
}

// apply gives the text of a file after the edits.
func (in editFileArgs) apply(f found, hints bool) (string, error) {
	if !f.exists() {
		return "", fmt.Errorf("there is no %q; list_dir shows what there is, and write_file makes a file", f.at.shown)
	}
	after, err := replaceAll(f.text, in.Edits, hints)
	if err != nil {
		return "", fmt.Errorf("%w.\nNothing was changed in %q", err, f.at.shown)
	}
	return after, nil
}

// previewEdit shows a person what an edit would change.
func previewEdit(e env, args json.RawMessage) (Preview, bool) {
	in, at, err := editFileTarget(e, args)
	if err != nil {
		return Preview{}, false
	}
	return preview(e, at, func(f found) (string, error) { return in.apply(f, false) })
}
