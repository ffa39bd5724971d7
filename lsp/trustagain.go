package lsp

import (
	"context"
	"slices"

	"go.lsp.dev/protocol"

	"agentls/mcp"
)

// askServer lets the question about a project's server be asked once more.
// Never blocks.
func (q *questions) askServer(name string) {
	select {
	case q.again <- name:
	default: // many are on their way
	}
}

// trustServer asks a person about a project's server that was refused, or never
// answered about.
func (q *questions) trustServer(ctx context.Context, name string) {
	if _, already := q.asking.LoadOrStore(name, true); already {
		return
	}
	defer q.asking.Delete(name)
	for _, info := range q.s.o.Manager.Servers() {
		if info.Name != name || info.Status != mcp.StatusUntrusted {
			continue
		}
		if w := q.trustQuestion(name); w != nil {
			w.showAgain()
			return
		}
		if !q.folderIsTrusted(ctx) {
			q.trustFolder(ctx, true) // with it the manager asks about its servers
			return
		}
		a, err := q.settle(ctx, q.serverQuestion(info))
		if err != nil || !yes(a) {
			return
		}
		if _, err := q.s.o.Manager.Trust(name, true, info.Fingerprint); err != nil {
			q.s.showMessage(protocol.MessageTypeError, "agentls: "+q.s.tell(name)+" was not started: "+q.s.tell(err.Error()))
		}
		return
	}
}

// folderIsTrusted reports, without a question, whether project servers may be
// asked about.
func (q *questions) folderIsTrusted(ctx context.Context) bool {
	if q.s.peer.trusted {
		return true
	}
	select {
	case q.folder.turn <- struct{}{}:
		defer func() { <-q.folder.turn }()
	case <-ctx.Done():
		return false
	}
	return !slices.ContainsFunc(q.s.folders(), func(folder string) bool { return !q.isTrusted(folder) })
}
