package lsp

import (
	"context"
	"encoding/json"
	"fmt"

	"go.lsp.dev/protocol"

	"agentls/mcp/workspace"
)

// fileOperations asks for what the editor itself does to files and folders
// (LSP 3.17, workspace.fileOperations). A stock client tells it to who asked
// here, so nothing is registered later for it.
func fileOperations() *protocol.FileOperationOptions {
	scheme := "file"
	all := protocol.FileOperationRegistrationOptions{
		Filters: []protocol.FileOperationFilter{{Scheme: &scheme, Pattern: protocol.FileOperationPattern{Glob: "**/*"}}},
	}
	return &protocol.FileOperationOptions{DidCreate: all, DidRename: all, DidDelete: all}
}

// watchedFiles is workspace/didChangeWatchedFiles.
func (s *Server) watchedFiles(params []byte) error {
	kinds := map[integer]workspace.ChangeKind{1: workspace.Created, 2: workspace.Changed, 3: workspace.Deleted}
	type member struct {
		URI  string  `json:"uri"`
		Type integer `json:"type"`
	}
	return s.fileNews(params, "changes", func(raw json.RawMessage) []workspace.FileChange {
		m := lenient[member](raw)
		kind, known := kinds[m.Type]
		if _, path := canonical(m.URI); path != "" && known {
			return []workspace.FileChange{{Path: path, Kind: kind}}
		}
		return nil
	})
}

// createdFiles and deletedFiles are workspace/didCreateFiles and
// workspace/didDeleteFiles.
func (s *Server) createdFiles(params []byte) error { return s.operated(params, workspace.Created) }
func (s *Server) deletedFiles(params []byte) error { return s.operated(params, workspace.Deleted) }

func (s *Server) operated(params []byte, kind workspace.ChangeKind) error {
	return s.fileNews(params, "files", func(raw json.RawMessage) []workspace.FileChange {
		m := lenient[struct {
			URI string `json:"uri"`
		}](raw)
		if _, path := canonical(m.URI); path != "" {
			return []workspace.FileChange{{Path: path, Kind: kind}}
		}
		return nil
	})
}

// renamedFiles is workspace/didRenameFiles: of a folder that is renamed only
// the folder is told.
func (s *Server) renamedFiles(params []byte) error {
	type member struct {
		Old string `json:"oldUri"`
		New string `json:"newUri"`
	}
	return s.fileNews(params, "files", func(raw json.RawMessage) []workspace.FileChange {
		m := lenient[member](raw)
		_, from := canonical(m.Old)
		_, to := canonical(m.New)
		if from == "" || to == "" {
			return nil
		}
		s.renamed(m.Old, m.New)
		return []workspace.FileChange{{Path: from, Kind: workspace.Deleted}, {Path: to, Kind: workspace.Created}}
	})
}

// fileNews hands on what the members of a list say. One that says nothing that
// can be understood costs itself alone.
func (s *Server) fileNews(params []byte, list string, read func(json.RawMessage) []workspace.FileChange) error {
	var p map[string]json.RawMessage
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	var members []json.RawMessage
	if err := json.Unmarshal(p[list], &members); err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	var news []workspace.FileChange
	odd := 0
	for _, raw := range members {
		changes := read(raw)
		if changes == nil {
			odd++
		}
		news = append(news, changes...)
	}
	s.settings.files.kick() // it looks at all of them
	s.o.State.FilesChanged(news)
	if odd > 0 {
		return fmt.Errorf("%d of %d members of %s name no change of a file", odd, len(members), list)
	}
	return nil
}

// askForFiles registers for every file once the workspace has folders that
// cannot be watched from here: of others the editor's news would be second, and
// many. It ends with ctx.
func (s *Server) askForFiles(ctx context.Context) {
	ws := s.peer.caps.Workspace
	if ws == nil || ws.DidChangeWatchedFiles == nil || !deref(ws.DidChangeWatchedFiles.DynamicRegistration) {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-s.o.State.Unwatched():
	}
	options, _ := json.Marshal(map[string]any{"watchers": []map[string]string{{"globPattern": "**/*"}}}) // strings always encode
	s.registerAtClient(ctx, protocol.Registration{ID: "agentls.workspace", Method: "workspace/didChangeWatchedFiles", RegisterOptions: options})
}

// registerAtClient asks the client to send what it tells only to who asked. A
// client that refuses is heard as far as it goes.
func (s *Server) registerAtClient(ctx context.Context, list ...protocol.Registration) {
	ctx, cancel := context.WithTimeout(ctx, clientTime)
	defer cancel()
	err := s.call(ctx, "client/registerCapability", protocol.RegistrationParams{Registrations: list}, nil)
	if err != nil && !isCancel(err) {
		s.o.Log.Info("the client will not tell of changed settings and files", "error", err)
	}
}
