package lsp

import (
	"context"
	"encoding/json"
	"slices"

	"go.lsp.dev/protocol"
)

// prepareInitialize answers from what is at hand: no server is waited for, and
// the configuration is local files. Whatever the client sends is taken as far
// as it can be understood; initialize never fails over it.
func prepareInitialize(s *Server, ctx context.Context, params []byte) (func(context.Context) (any, error), error) {
	var p map[string]json.RawMessage
	_ = json.Unmarshal(params, &p) // p stays empty
	s.peer = readPeer(p)
	s.docs.encoding = s.peer.encoding
	s.o.State.SetFolders(s.withTrust(initialFolders(p)))
	s.o.Manager.TrustFolder(s.peer.trusted)
	s.settings.configure(ctx, p["initializationOptions"])
	s.background.Go(s.buffers.begin)
	s.stage = running
	if pid := int(lenient[integer](p["processId"])); pid > 0 && s.o.Alive != nil && s.o.Alive(pid) {
		s.background.Go(func() { s.watch(s.alive, pid) })
	}
	result := s.initializeResult()
	return func(context.Context) (any, error) { return result, nil }, nil
}

func readPeer(p map[string]json.RawMessage) peer {
	client := lenient[struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}](p["clientInfo"])
	options := lenient[struct {
		WorkspaceTrusted bool `json:"workspaceTrusted"`
	}](p["initializationOptions"])
	caps := lenient[protocol.ClientCapabilities](p["capabilities"])
	words := lenient[struct {
		Agentls struct {
			RunEvents   bool `json:"runEvents"`
			Approvals   bool `json:"approvals"`
			Plans       bool `json:"plans"`
			Diagnostics bool `json:"diagnostics"`
			Save        bool `json:"save"`
			Servers     bool `json:"servers"`
			Model       bool `json:"model"`
		} `json:"agentls"`
	}](json.RawMessage(caps.Experimental)).Agentls
	literals := lenient[struct {
		TextDocument struct {
			CodeAction struct {
				CodeActionLiteralSupport json.RawMessage `json:"codeActionLiteralSupport"`
			} `json:"codeAction"`
		} `json:"textDocument"`
	}](p["capabilities"]).TextDocument.CodeAction.CodeActionLiteralSupport
	encoding := protocol.PositionEncodingKindUTF16
	if caps.General != nil && slices.Contains(caps.General.PositionEncodings, protocol.PositionEncodingKindUTF8) {
		encoding = protocol.PositionEncodingKindUTF8
	}
	return peer{
		name: client.Name, version: client.Version, caps: caps, trusted: options.WorkspaceTrusted, encoding: encoding,
		literals: len(literals) > 0 && string(literals) != "null" && string(literals) != "false",
		features: features{words.RunEvents, words.Approvals, words.Plans, words.Diagnostics, words.Save, words.Servers, words.Model},
	}
}

// announced are the features of ours that a client may look for in
// experimental.agentls.
//
//nolint:gochecknoglobals // a constant table
var announced = []string{"runEvents", "approvals", "plans", "diagnostics", "save", "servers", "model"}

func (s *Server) initializeResult() protocol.InitializeResult {
	yes, change, label := true, protocol.TextDocumentSyncKindIncremental, "agentls"
	experimental, _ := json.Marshal(map[string]any{"agentls": map[string]any{"version": s.o.Version, "features": announced, "config": s.o.Config.Dir}}) // strings: cannot fail
	return protocol.InitializeResult{
		ServerInfo: protocol.ServerInfo{Name: "agentls", Version: protocol.NewOptional(s.o.Version)},
		Capabilities: protocol.ServerCapabilities{
			PositionEncoding: s.peer.encoding,
			TextDocumentSync: &protocol.TextDocumentSyncOptions{
				OpenClose: &yes, Change: &change, Save: protocol.Boolean(true),
			},
			CompletionProvider: &protocol.CompletionOptions{
				TriggerCharacters: s.peer.completionTriggers(),
				ResolveProvider:   &yes,
			},
			CodeActionProvider: &protocol.CodeActionOptions{
				CodeActionKinds: []protocol.CodeActionKind{kindQuickFix, kindRefactor, kindRewrite}, ResolveProvider: &yes,
			},
			DocumentLinkProvider:   &protocol.DocumentLinkOptions{ResolveProvider: &yes},
			DocumentSymbolProvider: &protocol.DocumentSymbolOptions{Label: &label},
			FoldingRangeProvider:   protocol.Boolean(true),
			HoverProvider:          protocol.Boolean(true),
			SemanticTokensProvider: &protocol.SemanticTokensOptions{
				Legend: tokenLegend(), Full: protocol.Boolean(true), Range: protocol.Boolean(true),
			},
			CodeLensProvider: &protocol.CodeLensOptions{}, // each comes whole
			ExecuteCommandProvider: protocol.ExecuteCommandOptions{
				WorkDoneProgressOptions: protocol.WorkDoneProgressOptions{WorkDoneProgress: &yes},
				Commands:                s.commandNames(),
			},
			Workspace: &protocol.WorkspaceOptions{
				WorkspaceFolders: &protocol.WorkspaceFoldersServerCapabilities{
					Supported: &yes, ChangeNotifications: protocol.Boolean(true),
				},
				FileOperations: fileOperations(),
			},
			Experimental: experimental,
		},
	}
}

// initialized starts what talks to the client.
func (s *Server) initialized() {
	if s.stage != running || s.talking {
		return
	}
	s.talking = true
	s.inBackground("messages", s.relay)
	s.inBackground("questions", s.asks.serveRequests)
	s.inBackground("server news", s.followServers)
	s.inBackground("settings", s.settings.follow)
	s.prompts.start()
	s.inBackground("files", s.askForFiles)
	s.inBackground("first run", s.firstRun)
	if s.peer.features.diagnostics {
		s.inBackground("diagnostics", s.diagnostics.run)
	}
	if s.peer.features.model {
		s.inBackground("model news", s.followModel)
	}
}

func prepareShutdown(s *Server, _ context.Context, _ []byte) (func(context.Context) (any, error), error) {
	s.stage = shutDown
	return func(context.Context) (any, error) { return nil, nil }, nil
}
