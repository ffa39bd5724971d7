package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// showTime is how long a client may take to show a document.
const showTime = 5 * time.Second

var (
	errCannotShow = errors.New("this editor cannot show documents")
	errNotShown   = errors.New("the editor did not show it")
	errSlowToShow = errors.New("the editor does not answer")
)

// showDocument lets the client show a file: at a place, or (nil) wherever it
// likes. Without focus the user's keys go on to where they went.
func (s *Server) showDocument(ctx context.Context, path string, focus bool, at *protocol.Position) error {
	params := protocol.ShowDocumentParams{URI: uri.File(path), TakeFocus: &focus}
	if at != nil {
		params.Selection = &protocol.Range{Start: *at, End: *at}
	}
	return s.show(ctx, params)
}

// openExternal lets the client open a URL outside of it, in a browser.
func (s *Server) openExternal(ctx context.Context, url string) error {
	outside := true
	return s.show(ctx, protocol.ShowDocumentParams{URI: uri.URI(url), External: &outside, TakeFocus: &outside})
}

// show sends window/showDocument, where the client can.
func (s *Server) show(ctx context.Context, params protocol.ShowDocumentParams) error {
	if w := s.peer.caps.Window; w == nil || w.ShowDocument == nil || !w.ShowDocument.Support {
		return errCannotShow
	}
	ctx, cancel := context.WithTimeoutCause(ctx, showTime, errSlowToShow)
	defer cancel()
	var result protocol.LSPAny
	if err := s.call(ctx, "window/showDocument", params, &result); err != nil {
		return err
	}
	if shown := lenient[struct {
		Success bool `json:"success"`
	}](json.RawMessage(result)); !shown.Success {
		return errNotShown
	}
	return nil
}
