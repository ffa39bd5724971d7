package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"agentls/agent"
)

// saveWithin is how long an editor may take to save.
const saveWithin = 2 * time.Second

// byteOrderMark is in front of some files, and of no document: editors take it
// away.
const byteOrderMark = "\uFEFF"

// save has the editor save an edited document, where it can be told to, and
// leaves in done what came of it. What the editor changes while it saves, by
// formatting for one, belongs to the edit.
func (s *Server) save(ctx context.Context, d document, done *agent.Edited) {
	if !s.peer.features.save && !s.savesRefactorings() {
		return
	}
	ctx, cancel := s.unhurried(ctx, saveWithin)
	defer cancel()
	if s.peer.features.save {
		var answer json.RawMessage
		err := s.call(ctx, "agentls/save", saveParams{[]string{d.spelled}}, &answer)
		if err == nil {
			err = saveFailure(answer)
		}
		if err != nil {
			s.o.Log.Warn("the editor did not save an edited document", "uri", d.spelled, "error", s.tell(err.Error()))
			return
		}
	}
	for {
		changed := s.docs.changed(d)
		now, ok := s.docs.current(d)
		if !ok {
			return
		}
		if !now.dirty || onDisk(now.path, now.text) {
			done.Saved = true
			if done.Text == d.text {
				done.Text = now.text
			}
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// saveParams is the request agentls/save (CONTRACT §6).
type saveParams struct {
	URIs []string `json:"uris"`
}

// saveReply answers it.
type saveReply struct {
	Saved  []string   `json:"saved"` // URIs; what counts is the document and the disk
	Failed []notSaved `json:"failed"`
	Error  string     `json:"error,omitzero"` // of a client that fails as a whole
}

// notSaved is a document that could not be saved.
type notSaved struct {
	URI    string `json:"uri"`
	Reason string `json:"reason"`
}

// saveFailure reads the answer to agentls/save. Nothing, true and an object
// without a word of a failure mean that all was saved.
func saveFailure(answer json.RawMessage) error {
	if string(answer) == "false" {
		return errors.New("it said no")
	}
	said := lenient[saveReply](answer)
	switch {
	case len(said.Failed) > 0:
		return errors.New(cmp.Or(said.Failed[0].Reason, "it gave no reason"))
	case said.Error != "":
		return errors.New(said.Error)
	}
	return nil
}

// onDisk reports whether a file holds a document's text.
func onDisk(path, text string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > int64(len(text)+len(byteOrderMark)) {
		return false
	}
	data, err := os.ReadFile(path)
	return err == nil && strings.TrimPrefix(string(data), byteOrderMark) == strings.TrimPrefix(text, byteOrderMark)
}
