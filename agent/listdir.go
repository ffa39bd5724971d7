package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// maxEntries is how many entries of a directory are told.
const maxEntries = 1000

const listDirSchema = `{"properties":{` +
	`"path":{"description":"Path of the directory, relative to the workspace folder, or absolute inside of it. Without it the workspace folder.","type":"string"}` +
	`},"type":"object"}`

func listDirTool() *tool {
	return &tool{name: "list_dir", description: prompt("list_dir.md"), schema: json.RawMessage(listDirSchema), run: listDir}
}

// listDir lists a directory, less what is ignored.
func listDir(ctx context.Context, e env, args json.RawMessage) (output, error) {
	var in struct {
		Path string `json:"path"`
	}
	if err := into(args, &in); err != nil {
		return output{}, err
	}
	if len(e.folders) > 1 && filepath.Clean(in.Path) == "." {
		return output{text: folderList(e.folders)}, nil
	}
	at, err := e.resolve(in.Path)
	if err != nil {
		return output{}, err
	}
	f, err := at.open()
	if err != nil {
		return output{}, err
	}
	defer func() { _ = f.Close() }() // only read from
	var found []string
	for ctx.Err() == nil {
		some, err := f.ReadDir(256)
		for _, d := range some {
			if name := entryName(e, at, d); name != "" {
				found = append(found, name)
			}
		}
		if errors.Is(err, io.EOF) || len(found) > 100*maxEntries {
			break
		}
		if err != nil {
			if info, e := f.Stat(); e == nil && !info.IsDir() {
				return output{}, fmt.Errorf("%q is a file; read_file reads it", at.shown)
			}
			return output{}, at.failure(err)
		}
	}
	slices.Sort(found)
	if len(found) == 0 {
		return output{text: "[nothing in " + at.shown + " that is not ignored]"}, nil
	}
	if n := len(found) - maxEntries; n > 0 {
		found = append(found[:maxEntries:maxEntries], fmt.Sprintf("[%d more; search_code with a glob finds files by name]", n))
	}
	return output{text: strings.Join(found, "\n")}, nil
}

// entryName is how an entry is listed; empty for one that is not.
func entryName(e env, at place, d fs.DirEntry) string {
	name := d.Name()
	if name == ".git" || e.ignored(filepath.Join(at.real, name), d.IsDir()) || e.ignored(filepath.Join(at.abs, name), d.IsDir()) {
		return ""
	}
	switch {
	case d.IsDir():
		return name + "/"
	case d.Type()&fs.ModeSymlink != 0:
		return name + " (symbolic link)"
	case d.Type().IsRegular():
		if info, err := d.Info(); err == nil {
			return fmt.Sprintf("%s (%d bytes)", name, info.Size())
		}
	}
	return name
}

// folderList is the root of a workspace with several folders.
func folderList(all folders) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s/ (%s)\n", f.name, f.given)
	}
	return b.String()
}
