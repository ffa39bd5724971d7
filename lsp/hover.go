package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/mcp"
)

const (
	// hoverWait is how long a hover waits for a server to read a resource.
	hoverWait = time.Second
	// hoverLines and hoverWidth are how much of a text is shown.
	hoverLines = 12
	hoverWidth = 120
	// hoverBytes is how much of a text is looked at for that.
	hoverBytes = 64 << 10
)

// serveHover tells what is at a place of a prompt (LSP 3.18
// textDocument/hover): a mention or a `/` line.
func serveHover(s *Server, ctx context.Context, m promptModel, p promptParams) (any, error) {
	if p.Position == nil {
		return nil, &paramsError{"position is needed"}
	}
	offset := s.docs.offset(m.doc.text, p.Position.position())
	b, ok := m.block(offset)
	if !ok {
		return nil, nil
	}
	text := newMarkup(s.peer.hoverFormat())
	var at textSpan
	if mention, ok := b.mention(offset); ok {
		at = textSpan{mention.Start, mention.End}
		s.hoverMention(ctx, text, mention)
	} else if l, ok := b.command(offset); ok {
		at = s.hoverSlash(text, m.doc.text, l)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case text.empty():
		return nil, nil
	}
	r := s.rangeOf(m.doc.text, at)
	return &protocol.Hover{Contents: text.content(), Range: &r}, nil
}

// hoverFormat is what the client takes in a hover.
func (p peer) hoverFormat() []protocol.MarkupKind {
	if doc := p.caps.TextDocument; doc != nil && doc.Hover != nil {
		return doc.Hover.ContentFormat
	}
	return nil
}

// hoverMention tells what a mention is, what becomes of it, and how its text
// begins.
func (s *Server) hoverMention(ctx context.Context, m *markup, mention mcp.Mention) {
	if mention.Server == "" {
		m.text("No MCP server is named ")
		m.code(s.tell(mention.Name))
		m.text(": this is sent as text" + s.tell(suggest(mention.Name, s.mentionNames())))
		return
	}
	info, _ := s.o.Manager.ServerNamed(mention.Name)
	var contents []mcp.Content
	var err error
	if info.Status == mcp.StatusReady && !mention.Quoted {
		ctx, cancel := context.WithTimeoutCause(ctx, hoverWait, errSlowRead)
		contents, err = s.peek(ctx, mention.Server, mention.URI)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		cancel()
	}
	r, stale, listed := s.o.Manager.Resource(mention.Server, mention.URI)
	if !listed {
		r = mcp.Resource{Server: mention.Server, URI: mention.URI}
	}
	size := int64(-1)
	if len(contents) > 0 {
		size = bodySize(contents)
		if r.MIMEType == "" {
			r.MIMEType = contents[0].MIMEType
		}
	}
	s.describe(m, r, stale && contents == nil, size)
	m.paragraph()
	m.text(s.tell(mention.Name) + separator)
	switch {
	case info.Status != mcp.StatusReady:
		m.text(s.notReady(info))
	case mention.Quoted:
		m.text("left alone: it stands in quotes, backticks or a fence")
	case contents != nil && errors.As(err, new(*mcp.StaleError)):
		m.text("not as it is now: " + s.tell(err.Error()))
	case errors.Is(err, mcp.ErrUnknownResource):
		known, _ := s.o.Manager.Resources(mention.Server)
		m.text("cannot be shown: " + s.tell(readProblem(err)+agent.PerhapsMeant(mention.URI, known.Resources)))
	case err != nil:
		m.text("cannot be shown: " + s.tell(readProblem(err)))
	case !listed && info.Resources != nil:
		m.text("not listed, but it can be read; " + s.sent(contents))
	default:
		m.text(s.sent(contents))
	}
	s.excerpt(m, mention.URI, contents)
}

var errSlowRead = errors.New("the server did not answer within a second")

// readProblem words a failed read.
func readProblem(err error) string {
	switch {
	case errors.Is(err, mcp.ErrUnknownResource):
		return "the server has no such resource"
	case errors.Is(err, mcp.ErrNotReady):
		return "the server is not ready"
	}
	return err.Error()
}

// sent says how contents go to the model (CONTRACT §6).
func (s *Server) sent(contents []mcp.Content) string {
	limit := cmp.Or(s.cfg.Load().Limits.MentionChars, agent.DefaultLimits().MentionChars)
	chars, binary := 0, 0
	for _, c := range contents {
		chars += utf8.RuneCountInString(c.Text)
		if c.Blob != "" {
			binary++
		}
	}
	switch {
	case chars > limit:
		return fmt.Sprintf("its first %d characters of %d are sent with the prompt", limit, chars)
	case binary > 0 && binary == len(contents) && agent.IsImage(contents[0]):
		return "sent with the prompt as an image, where the provider takes images"
	case binary > 0 && binary == len(contents):
		return "binary: its type and size are sent with the prompt"
	}
	return "sent with the prompt"
}

// excerpt shows the first lines of the first text.
func (s *Server) excerpt(m *markup, uri string, contents []mcp.Content) {
	for _, c := range contents {
		head := c.Text
		cut := len(head) > hoverBytes
		if cut { // at a line, so that no half of a secret is shown
			head = head[:hoverBytes]
			if i := strings.LastIndexAny(head, "\r\n"); i >= 0 {
				head = head[:i]
			}
		}
		lines, more := cleanLines(s.o.Secrets.Redact(head), hoverLines, hoverWidth)
		if lines == "" {
			continue
		}
		if more || cut {
			lines += "\n…"
		}
		m.block(lines, languageOf(uri, c.MIMEType))
		return
	}
}

// languageOf is what editors know the language of a resource by: its suffix,
// else its type.
func languageOf(uri, mime string) string {
	uri, _, _ = strings.Cut(uri, "?")
	if ext := strings.TrimPrefix(path.Ext(uri), "."); ext != "" && len(ext) <= 10 {
		return strings.ToLower(ext)
	}
	_, kind, _ := strings.Cut(mime, "/")
	kind, _, _ = strings.Cut(kind, ";")
	return strings.TrimPrefix(kind, "x-")
}

// mentionNames are the names that servers are mentioned by.
func (s *Server) mentionNames() (names []string) {
	for _, info := range s.o.Manager.Servers() {
		names = append(names, info.Mention)
	}
	return names
}
