// Package workspace is the embedded MCP server "workspace": the folder's
// files, the editor's unsaved buffers and more as resources.
package workspace

// Folder is one workspace folder.
type Folder struct {
	Path string // absolute
	Name string
}

// Document is an open document as the editor has it.
type Document struct {
	Path       string // absolute; empty for untitled
	URI        string // the editor's URI
	LanguageID string
	Version    int32
	Text       string
	Dirty      bool // differs from what was last opened or saved
}

// State is what the editor told: folders and open texts. lsp writes it, the
// manager reads it. Safe for concurrent use; every method returns at once.
type State struct{}

// NewState returns an empty state.
func NewState() *State { panic("skeleton") }

// SetFolders replaces the folders. A folder that is new is scanned and
// watched in the background by the server that serves the state.
func (s *State) SetFolders(f []Folder) { panic("skeleton") }

// Folders returns the folders in the editor's order.
func (s *State) Folders() []Folder { panic("skeleton") }

// SetDocument stores an open document's text (didOpen, didChange, didSave).
func (s *State) SetDocument(d Document) { panic("skeleton") }

// CloseDocument forgets the document with the editor's URI.
func (s *State) CloseDocument(uri string) { panic("skeleton") }

// ByPath returns the open document of a file, if any.
func (s *State) ByPath(path string) (Document, bool) { panic("skeleton") }

// Ignored reports whether a path below a folder is ignored (.gitignore, .git).
func (s *State) Ignored(path string, dir bool) bool { panic("skeleton") }
