package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"agentls/mcp"
)

// Bounds on what one prompt makes us read.
const (
	maxMentions   = 100 // further ones fail
	parallelReads = 8
)

// expansion is what a prompt becomes.
type expansion struct {
	blocks []string
	images []Image
}

// mention is one resource that a prompt mentions.
type mention struct {
	mcp.Mention
	result MentionResult
	blocks []string
	images []Image
}

// expand reads what a text of the user's mentions (CONTRACT §6): beside each other, each
// once, each with its own deadline. A failed read is told to the model, and
// the run goes on.
func (r *run) expand(ctx context.Context, text string) expansion {
	found := r.mentions(text)
	var g errgroup.Group
	g.SetLimit(parallelReads)
	for _, m := range found {
		if m.result.Status == "" {
			g.Go(func() error { // ends with its read, which ends with ctx
				r.readMention(ctx, m)
				return nil
			})
		}
	}
	_ = g.Wait() // the errors are in the results
	var e expansion
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range found {
		r.res.Mentions = append(r.res.Mentions, m.result)
		e.blocks = append(e.blocks, m.blocks...)
		for _, img := range m.images {
			if len(e.images) < maxImages {
				e.images = append(e.images, img)
			} else {
				e.blocks = append(e.blocks, imageLine(img.MIMEType, decodedLen(img.Data), "not shown: too many images"))
			}
		}
	}
	return e
}

// mentions returns what a text mentions, each once, in order. Those that
// are not to be read have their status already.
func (r *run) mentions(text string) []*mention {
	var out []*mention
	seen := map[[3]string]bool{}
	reads := 0
	for _, m := range r.a.manager.Mentions(text) {
		one := &mention{Mention: m, result: MentionResult{Server: m.Server, URI: m.URI}}
		switch {
		case m.Quoted && !m.Known && !m.Expands:
			continue // text like any other
		case m.Quoted:
			one.result.Status = "skipped"
		case m.Server == "":
			one.result.Server = m.Name
			one.result.Status = "unknown"
		}
		key := [3]string{one.result.Server, m.URI, one.result.Status}
		if seen[key] {
			continue
		}
		seen[key] = true
		if one.result.Status == "" {
			if reads++; reads > maxMentions {
				one.fail(fmt.Sprintf("more than %d resources are mentioned", maxMentions))
			}
		}
		if one.result.Status != "" {
			r.tell(one.result)
		}
		out = append(out, one)
	}
	return out
}

// readMention reads one mention, audits it and tells of it.
func (r *run) readMention(ctx context.Context, m *mention) {
	begin := time.Now()
	outcome := Completed
	defer func() {
		if p := recover(); p != nil {
			outcome = Failed
			r.a.log.Error("reading a mention panicked", "server", m.Server, "uri", r.a.secrets.Redact(m.URI), "panic", redactText(r.a.secrets, fmt.Sprint(p)), "stack", string(debug.Stack()))
			m.fail("internal error")
		}
		r.a.audit.Write(AuditEntry{
			Time: begin, RunID: r.task.RunID, Session: r.task.Session, Server: m.Server, Tool: "read_resource",
			Arguments: marshal(map[string]string{"uri": m.URI}), Outcome: outcome, DecidedBy: "mention",
			Reason: m.result.Error, DurationMS: time.Since(begin).Milliseconds(),
		})
		r.tell(m.result)
	}()
	contents, err := r.readResource(ctx, m.Server, m.URI)
	stale, isStale := errors.AsType[*mcp.StaleError](err)
	switch {
	case err == nil, isStale && ctx.Err() == nil:
		if isStale {
			m.result.Error = r.a.tellable(stale.Error(), 300)
		}
		r.a.manager.Used(m.Server, m.URI)
		m.fill(contents, r.task.Limits.MentionChars)
	case ctx.Err() != nil:
		outcome = Cancelled
		m.fail("cancelled")
	default:
		outcome = Failed
		m.fail(r.a.tellable(r.a.readError(m.Server, m.URI, err), 600))
	}
}

func (r *run) tell(m MentionResult) { r.emit(Event{Kind: EventMention, Mention: &m}) }

// readResource reads with a deadline, and comes back soon after ctx ends
// whatever the server does.
func (r *run) readResource(ctx context.Context, server, uri string) ([]mcp.Content, error) {
	ctx, cancel := readDeadline(ctx)
	defer cancel()
	type answer struct {
		contents []mcp.Content
		err      error
	}
	got, ok, err := await(ctx, r.a, func(ctx context.Context) answer {
		contents, err := r.a.manager.Read(ctx, server, uri)
		return answer{contents, err}
	})
	switch {
	case err != nil:
		return nil, err
	case !ok, got.err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return got.contents, got.err
}

// readError words a failed read for the model and the user.
func (a *Agent) readError(server, uri string, err error) string {
	switch {
	case errors.Is(err, mcp.ErrUnknownResource):
		return "resource not found" + a.perhaps(server, uri)
	case errors.Is(err, mcp.ErrNotReady):
		return "the MCP server is not ready"
	}
	return err.Error()
}

// perhaps ends an error about an unknown URI.
func (a *Agent) perhaps(server, uri string) string {
	list, err := a.manager.Resources(server)
	if err != nil {
		return ""
	}
	return PerhapsMeant(uri, list.Resources)
}

func (m *mention) fail(reason string) {
	m.result.Status, m.result.Error = "failed", reason
	m.blocks = []string{errorBlock(reason, "server", m.Server, "uri", m.URI)}
}

// fill makes the blocks of what was read, about limit code points of text at
// most; what comes after a cut is left out. The result may have an error
// already: why it is not what the server has now.
func (m *mention) fill(contents []mcp.Content, limit int) {
	m.result.Status = "expanded"
	if len(contents) == 0 {
		contents = []mcp.Content{{}}
	}
	left := limit
	for _, c := range contents {
		body, cut := m.body(c, left)
		if cut {
			m.result.Status = "truncated"
			body = strings.TrimSuffix(body, "\n") + "\n" + truncated("resource", limit)
		}
		uri := m.URI
		if len(contents) > 1 && c.URI != "" {
			uri = c.URI
		}
		attributes := []string{"server", m.Server, "uri", uri, "mimeType", c.MIMEType}
		if m.result.Error != "" {
			attributes = append(attributes, "stale", m.result.Error)
		}
		m.blocks = append(m.blocks, block("resource", body, attributes...))
		if cut {
			return
		}
		left = max(left-utf8.RuneCountInString(body), 0)
	}
}

// body is a content's text, or the line that stands for what is no text.
func (m *mention) body(c mcp.Content, left int) (body string, cut bool) {
	if c.Blob == "" {
		return clip(c.Text, left)
	}
	_, body, img := contentText(c)
	if img != nil {
		m.images = append(m.images, *img)
	}
	return body, left == 0
}

// truncated is the line that follows a text that was cut.
func truncated(what string, limit int) string {
	return "[" + what + " truncated by agentls at " + strconv.Itoa(limit) + " chars]"
}

// attach returns the block of a document that came beside the prompt.
func attach(d *Attachment, limit int) string {
	attributes := []string{"path", d.Path, "language", d.LanguageID}
	if d.StartLine > 0 {
		attributes = append(attributes, "lines", fmt.Sprintf("%d-%d", d.StartLine, max(d.StartLine, d.EndLine)))
	}
	body, cut := clip(d.Text, limit)
	switch {
	case cut:
		body = strings.TrimSuffix(body, "\n") + "\n" + truncated("document", limit)
	case d.Truncated:
		body = strings.TrimSuffix(body, "\n") + "\n[document truncated]"
	}
	if d.Moved {
		body = strings.TrimSuffix(body, "\n") + "\n[the document changed after this part was chosen: what is meant may stand a little above or below]"
	}
	return block("document", body, attributes...) + diagnostics(d)
}

// diagnostics returns the block of what was reported about a document, ""
// when nothing was.
func diagnostics(d *Attachment) string {
	if len(d.Diagnostics) == 0 {
		return ""
	}
	attributes := []string{"path", d.Path}
	if d.Chosen {
		attributes = append(attributes, "chosen", "true")
	}
	return "\n\n" + block("diagnostics", strings.Join(d.Diagnostics, "\n"), attributes...)
}

// content is the user message of a task: the prompt, then what belongs to it.
func (e expansion) content(prompt string, d *Attachment, limit int) string {
	parts := []string{prompt}
	if d != nil {
		parts = append(parts, attach(d, limit))
	}
	return strings.Join(append(parts, e.blocks...), "\n\n")
}
