package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"agentls/agent"
	"agentls/mcp/workspace"
)

type folderParam struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// initialFolders is the workspace as initialize tells it (CONTRACT §9).
func initialFolders(p map[string]json.RawMessage) []workspace.Folder {
	if list := foldersOf(lenient[[]folderParam](p["workspaceFolders"])); len(list) > 0 {
		return list
	}
	if list := foldersOf([]folderParam{{URI: lenient[string](p["rootUri"])}}); len(list) > 0 {
		return list
	}
	if root := lenient[string](p["rootPath"]); filepath.IsAbs(root) {
		return []workspace.Folder{{Path: filepath.Clean(root), Name: filepath.Base(root)}}
	}
	if dir, err := os.Getwd(); err == nil && isProject(dir) {
		return []workspace.Folder{{Path: dir, Name: filepath.Base(dir)}}
	}
	return nil
}

// foldersOf leaves out what is no folder on this machine.
func foldersOf(list []folderParam) (folders []workspace.Folder) {
	for _, f := range list {
		_, path := canonical(f.URI)
		if path == "" {
			continue
		}
		path = filepath.Clean(path)
		name := f.Name
		if name == "" {
			name = filepath.Base(path)
		}
		folders = append(folders, workspace.Folder{Path: path, Name: name})
	}
	return folders
}

// withTrust marks the folders that are trusted: by the editor, or by a person
// before.
func (s *Server) withTrust(folders []workspace.Folder) []workspace.Folder {
	for i := range folders {
		folders[i].Trusted = s.peer.trusted || s.o.Manager.FolderTrusted(folders[i].Path)
	}
	return folders
}

// isProject keeps a server that was started in some directory from taking it
// (the home directory, at worst) for a workspace.
func isProject(dir string) bool {
	return slices.ContainsFunc([]string{
		".git", ".hg", ".svn", ".jj", ".agentls", ".mcp.json", "AGENTS.md", "go.mod", "package.json", "pyproject.toml", "setup.py",
		"Cargo.toml", "pom.xml", "build.gradle", "build.gradle.kts", "composer.json", "Gemfile", "mix.exs", "CMakeLists.txt", "Makefile",
	}, func(marker string) bool {
		_, err := os.Stat(filepath.Join(dir, marker))
		return err == nil
	})
}

// changeFolders is workspace/didChangeWorkspaceFolders.
func (s *Server) changeFolders(params []byte) error {
	var p struct {
		Event struct {
			Added   json.RawMessage `json:"added"`
			Removed json.RawMessage `json:"removed"`
		} `json:"event"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	added, removed := foldersOf(lenient[[]folderParam](p.Event.Added)), foldersOf(lenient[[]folderParam](p.Event.Removed))
	has := func(list []workspace.Folder, path string) bool {
		return slices.ContainsFunc(list, func(f workspace.Folder) bool { return f.Path == path })
	}
	folders := slices.DeleteFunc(slices.Clone(s.o.State.Folders()), func(f workspace.Folder) bool { return has(removed, f.Path) })
	for _, f := range s.withTrust(added) {
		if !has(folders, f.Path) {
			folders = append(folders, f)
		}
	}
	s.o.State.SetFolders(folders)
	s.settings.reload()
	return nil
}

// inFolder finds the innermost workspace folder that holds a path; name is the
// path below it, with slashes.
func (s *Server) inFolder(path string) (folder, name string, ok bool) {
	for _, in := range s.folders() {
		rel, err := filepath.Rel(in, path)
		if err == nil && filepath.IsLocal(rel) && (!ok || len(in) > len(folder)) {
			folder, name, ok = in, filepath.ToSlash(rel), true
		}
	}
	return folder, name, ok
}

// folderFor is the folder that something about a path is bound to: the one that
// holds it, else the first; "" without folders.
func (s *Server) folderFor(path string) string {
	folder, _, ok := s.inFolder(path)
	if all := s.folders(); !ok && len(all) > 0 {
		return all[0]
	}
	return folder
}

// shownIn is a path below a folder as the model is told of it: where there are
// several folders the name of its folder comes first.
func (s *Server) shownIn(folder, name string) string {
	if all := s.o.State.Folders(); len(all) > 1 {
		if i := slices.IndexFunc(all, func(f workspace.Folder) bool { return f.Path == folder }); i >= 0 {
			return all[i].Unique + "/" + name
		}
	}
	return name
}

// folders are the absolute paths of the workspace folders.
func (s *Server) folders() []string {
	list := s.o.State.Folders()
	paths := make([]string, len(list))
	for i, f := range list {
		paths[i] = f.Path
	}
	return paths
}

// taskFolders are the folders of now, for the agent.
func (s *Server) taskFolders() []agent.Folder {
	var list []agent.Folder
	for _, f := range s.o.State.Folders() {
		list = append(list, agent.Folder{Path: f.Path, Name: f.Unique, Trusted: f.Trusted})
	}
	return list
}
