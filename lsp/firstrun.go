package lsp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.lsp.dev/protocol"
)

// firstRun tells the person once, on this machine, that nothing is configured
// and what to do in this editor. It ends with that.
func (s *Server) firstRun(ctx context.Context) {
	for _, known := range []<-chan struct{}{s.settings.whole, s.settings.known} {
		select {
		case <-known:
		case <-ctx.Done():
			return
		}
	}
	cfg := s.cfg.Load()
	if !cfg.Unset || cfg.Notifications == "off" || !s.isFirstRun() {
		return
	}
	text := "agentls: no model is set up yet, so a stand-in without one answers. To choose one, " + s.howToSetUp() + ". In a shell, `agentls doctor` says what it finds."
	s.showMessage(protocol.MessageTypeInfo, text)
	s.logMessage(protocol.MessageTypeInfo, text)
}

// isFirstRun notes in <state> that the person was told. Of two editors that
// start at once one is the first.
func (s *Server) isFirstRun() bool {
	name := filepath.Join(s.o.StateDir, "firstrun.json")
	err := os.MkdirAll(s.o.StateDir, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_, err = f.WriteString("{\"version\": 1}\n")
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		s.o.Log.Warn("it cannot be noted that the first run was", "file", name, "error", err)
	}
	return !errors.Is(err, fs.ErrExist)
}

// setUpTitle is the code action that sets a model up.
const setUpTitle = "Set up a model…"

// howToSetUp says how a person runs agentls.setup in this editor.
func (s *Server) howToSetUp() string {
	if s.peer.features.approvals {
		return "run agentls.setup, or write it into " + clean(s.o.Config.File())
	}
	action := fmt.Sprintf("choose the code action “%s” in a file whose name ends in %s", setUpTitle, promptExtension)
	switch strings.ToLower(s.peer.name) {
	case "helix":
		return "run :lsp-workspace-command agentls.setup, or " + action
	case "neovim":
		return "run :lua vim.lsp.buf_request(0, 'workspace/executeCommand', {command = 'agentls.setup'}), or " + action
	}
	return action + ", or let your editor run the command agentls.setup"
}
