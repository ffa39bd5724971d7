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
	if !cfg.Unset || cfg.Notifications == "off" {
		return
	}
	text := "agentls: no model is set up yet. " + s.howToSetUp() + "; `agentls doctor` in a shell says what it finds."
	switch err := s.noteFirstRun(); {
	case errors.Is(err, fs.ErrExist):
		return
	case err != nil: // a popup would come at each start
		s.o.Log.Warn("it cannot be noted that the first run was", "error", err)
	default:
		s.showMessage(protocol.MessageTypeInfo, text)
	}
	s.logMessage(protocol.MessageTypeInfo, text)
}

// noteFirstRun notes in <state> that the person was told; [fs.ErrExist]: it was
// noted before. Of two editors that start at once one is the first.
func (s *Server) noteFirstRun() error {
	if err := os.MkdirAll(s.o.StateDir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.o.StateDir, "firstrun.json"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("{\"version\": 1}\n")
	return errors.Join(err, f.Close())
}

// setUpTitle is the code action that sets a model up.
const setUpTitle = "Set up a model…"

// howToSetUp says how a person runs agentls.setup in this editor, in as few
// words as fit on one line: some have no more for a message.
func (s *Server) howToSetUp() string {
	action := fmt.Sprintf("Choose the code action “%s” in a *%s file", setUpTitle, promptExtension)
	name := strings.ToLower(s.peer.name)
	switch {
	case s.o.Own:
		return "Leave, and run `agentls init`"
	case s.peer.features.approvals && name == "neovim":
		return "Run :Agentls setup"
	case s.peer.features.approvals:
		return "Run agentls.setup, or write one into " + clean(s.o.Config.File())
	case name == "helix":
		return "Run :lsp-workspace-command agentls.setup"
	case name == "neovim", name == "zed", name == "eglot", name == "emacs": // a command takes a line of code there, or cannot be run
		return action
	}
	return action + ", or run the command agentls.setup"
}
