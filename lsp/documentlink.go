package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"agentls/mcp"
)

const (
	// linkWait is how long a link that is opened waits for its server.
	linkWait = 10 * time.Second
	// linkHaste is how long all links together may take for a client that does
	// not resolve them: Neovim's gx waits a second.
	linkHaste = 700 * time.Millisecond
	// hastyReads is how many resources are read for such a client.
	hastyReads = 16
)

// linkData is the data of a link that is not resolved yet.
type linkData struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
}

// serveDocumentLink makes links of the mentions in a prompt buffer (LSP 3.18
// textDocument/documentLink): to the file or buffer that a resource is, else,
// by resolve, to a copy. A mention in quotes is none, and links in answers are
// the editor's own matter.
func serveDocumentLink(s *Server, ctx context.Context, m promptModel, _ promptParams) (any, error) {
	l := linker{s: s, servers: map[string]mcp.ServerInfo{}, targets: map[linkData]uri.URI{}}
	for _, info := range s.o.Manager.Servers() {
		l.servers[info.Name] = info
	}
	var spans []textSpan
	list := []protocol.DocumentLink{}
	var open []linkData // of those in list that have no target
	for _, b := range m.blocks {
		for _, mention := range b.mentions {
			if ctx.Err() != nil { // the disk is asked, which may be far away
				return nil, context.Cause(ctx)
			}
			data := linkData{mention.Server, mention.URI}
			if link, ok := l.link(mention, data); ok {
				spans = append(spans, textSpan{mention.Start, mention.End})
				list = append(list, link)
				if link.Target != nil {
					data = linkData{}
				}
				open = append(open, data)
			}
		}
	}
	for i, r := range s.rangesOf(m.doc.text, spans) {
		list[i].Range = r
	}
	if !s.peer.resolvesLinks() {
		if l.resolveAll(ctx, open); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for i, data := range open {
			if target := l.targets[data]; target != "" {
				list[i].Target = &target
			}
		}
	}
	return list, nil
}

// linker makes the links of one buffer.
type linker struct {
	s       *Server
	servers map[string]mcp.ServerInfo // by name
	targets map[linkData]uri.URI      // what was looked at; "": it is resolved later
}

// link makes the link of a mention, without its range.
func (l *linker) link(mention mcp.Mention, data linkData) (link protocol.DocumentLink, ok bool) {
	info, known := l.servers[mention.Server]
	if mention.Quoted || !known {
		return link, false
	}
	target, seen := l.targets[data]
	if !seen {
		target = l.s.localTarget(info, data.URI)
		l.targets[data] = target
	}
	tip := "Open " + l.s.tell(data.URI)
	switch {
	case target != "":
		link.Target = &target
	case !comes(info.Status) || mention.Server == workspaceServer && !mention.Known:
		return link, false // nothing could be opened
	default:
		tip = "Open a read-only copy of " + l.s.tell(data.URI)
		raw, err := json.Marshal(data)
		if err != nil {
			return link, false // strings: cannot fail
		}
		link.Data = protocol.LSPAny(raw)
	}
	if l.s.peer.linkTooltips() {
		link.Tooltip = &tip
	}
	return link, true
}

// comes reports whether a server is ready or will be by itself: editors ask for
// links when a document is opened, and not again before it changes.
func comes(status mcp.Status) bool {
	return status == mcp.StatusReady || status == mcp.StatusStarting || status == mcp.StatusRestarting
}

// resolveAll makes the copies for a client that does not resolve links, as many
// as there is time for. The rest stays without a target.
func (l *linker) resolveAll(ctx context.Context, open []linkData) {
	ctx, cancel := context.WithTimeoutCause(ctx, linkHaste, errSlowRead)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup // ends with the reads, which end with ctx
	started := map[linkData]bool{{}: true}
	for i := len(open) - 1; i >= 0 && len(started) <= hastyReads; i-- { // the prompt that is being written is the last
		data := open[i]
		if started[data] {
			continue
		}
		started[data] = true
		wg.Go(func() {
			var err error // is in the log
			defer l.s.recovered("textDocument/documentLink", &err)
			if path, err := l.s.copyResource(ctx, data); err == nil {
				mu.Lock()
				defer mu.Unlock()
				l.targets[data] = uri.File(path)
			}
		})
	}
	wg.Wait()
}

// prepareDocumentLinkResolve gives a link its target: a copy of what its server
// has now. Whatever the client sent comes back, also a link of somebody else.
func prepareDocumentLinkResolve(s *Server, _ context.Context, params []byte) (serveFunc, error) {
	var link map[string]json.RawMessage
	if err := json.Unmarshal(params, &link); err != nil || link == nil {
		return nil, &paramsError{"params must be a document link"}
	}
	var data linkData
	var target string
	if json.Unmarshal(link["target"], &target) == nil && target != "" || json.Unmarshal(link["data"], &data) != nil || data.Server == "" {
		return answerNow(json.RawMessage(params)), nil //nolint:nilerr // a link of somebody else, or a whole one
	}
	return func(ctx context.Context) (any, error) {
		info, ok := s.serverInfo(data.Server)
		if !ok {
			return nil, failed("no MCP server is named %s any more; look in /mcp list for those that are", clip(data.Server, 100))
		}
		target := s.localTarget(info, data.URI)
		if target == "" {
			ctx, cancel := context.WithTimeoutCause(ctx, linkWait, errors.New("the server does not answer"))
			defer cancel()
			path, err := s.copyResource(ctx, data)
			if err != nil {
				return nil, s.linkError(ctx, info, data, err)
			}
			target = uri.File(path)
		}
		raw, err := json.Marshal(string(target))
		if err != nil {
			return nil, err
		}
		link["target"] = raw
		return link, nil
	}, nil
}

// linkError says why a link cannot be opened, and what to do.
func (s *Server) linkError(ctx context.Context, info mcp.ServerInfo, data linkData, err error) error {
	switch cause := context.Cause(ctx); {
	case cause != nil && isCancel(cause):
		return cause
	case cause != nil:
		err = cause
	case errors.Is(err, mcp.ErrNotReady):
		return failed("%s cannot be opened: %s", s.tell(data.URI), s.notReady(info))
	}
	return failed("%s of %s cannot be opened: %s", s.tell(data.URI), s.tell(data.Server), s.tell(readProblem(err)))
}

// localTarget is the editor's URI of what a resource is, if the editor can open
// the thing itself: a file or unsaved buffer of the workspace, or a file of this
// machine that a program on it names. "": it cannot.
func (s *Server) localTarget(info mcp.ServerInfo, resource string) uri.URI {
	if info.Name != workspaceServer {
		// A server elsewhere has other files, and what names a host would be
		// asked for by opening it.
		if _, path := canonical(resource); info.Command != "" && isLocalFileURI(resource) && s.isOpenOrFile(path) {
			return s.editorURI(path)
		}
		return ""
	}
	s.docs.flush()
	path, editor, ok := s.o.State.Locate(resource)
	switch {
	case !ok:
		return ""
	case path == "":
		return uri.URI(editor)
	}
	return s.editorURI(path)
}

// isLocalFileURI reports a file URI that names no host (RFC 8089).
func isLocalFileURI(u string) bool {
	const scheme = "file:///"
	return len(u) > len(scheme) && strings.EqualFold(u[:len(scheme)], scheme) && !strings.ContainsAny(u[len(scheme):len(scheme)+1], `/\`)
}

func (s *Server) isOpenOrFile(path string) bool {
	if path == "" {
		return false
	}
	if _, open := s.docs.identity(string(uri.File(path))); open {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// editorURI is a path's URI, as the editor spells it if it has the file open.
func (s *Server) editorURI(path string) uri.URI {
	u := uri.File(path)
	if doc, open := s.docs.identity(string(u)); open {
		return uri.URI(doc.spelled)
	}
	return u
}

func (p peer) linkTooltips() bool {
	doc := p.caps.TextDocument
	return doc != nil && doc.DocumentLink != nil && deref(doc.DocumentLink.TooltipSupport)
}

// resolvesLinks reports whether the client resolves links. Neovim's gx does
// not, and asks for them only when it is pressed.
func (p peer) resolvesLinks() bool { return !strings.EqualFold(p.name, "neovim") }
