package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agentls/mcp"
)

// promptTool is the audit's name for the asking for a prompt.
const promptTool = "prompts/get"

// PromptUse is a prompt of an MCP server, as a person asks for it: by a
// `/server:prompt` line or by a command.
type PromptUse struct {
	Server    string // configured name
	Name      string
	Arguments map[string]string
	Typed     string // what a person reads in the place of its messages
}

// GetPrompt asks for a prompt's messages, for a person, and audits it. Errors
// are those of [mcp.Manager.GetPrompt], or ctx's cause.
func (a *Agent) GetPrompt(ctx context.Context, u PromptUse) (mcp.PromptResult, error) {
	return a.getPrompt(ctx, u, "", "")
}

func (a *Agent) getPrompt(ctx context.Context, u PromptUse, runID, session string) (res mcp.PromptResult, err error) {
	begin := time.Now()
	type answer struct {
		res mcp.PromptResult
		err error
	}
	within, cancel := readDeadline(ctx)
	defer cancel()
	got, ok, err := await(within, a, func(ctx context.Context) answer {
		res, err := a.manager.GetPrompt(ctx, u.Server, u.Name, u.Arguments)
		return answer{res, err}
	})
	if err == nil {
		err = got.err
	}
	if within.Err() != nil && (!ok || err != nil) {
		err = context.Cause(within)
	}
	e := AuditEntry{
		Time: begin, RunID: runID, Session: session, Server: u.Server, Tool: promptTool, Outcome: Completed, DecidedBy: "command",
		Arguments: marshal(map[string]any{"name": u.Name, "arguments": u.Arguments}), DurationMS: time.Since(begin).Milliseconds(),
	}
	switch {
	case ctx.Err() != nil && err != nil:
		e.Outcome = Cancelled
	case err != nil:
		e.Outcome, e.Reason = Failed, a.tellable(err.Error(), 300)
	}
	a.audit.Write(e)
	return got.res, err
}

// typed is what a person asked for, as it was typed.
func (t Task) typed() string {
	switch {
	case t.MCPPrompt == nil:
		return t.Prompt
	case strings.TrimSpace(t.Prompt) == "":
		return t.MCPPrompt.Typed
	}
	return t.MCPPrompt.Typed + "\n" + t.Prompt
}

// title is what a session is called after its first task.
func (t Task) title() string {
	if t.MCPPrompt != nil {
		return t.typed()
	}
	return t.words()
}

// startsWith gets the messages of the task's MCP prompt, for which a server
// that is starting is waited for. An error is told before anything runs.
func (r *run) startsWith(ctx context.Context) error {
	u := r.task.MCPPrompt
	if u == nil {
		return nil
	}
	r.awaitServers(ctx)
	res, err := r.a.getPrompt(ctx, *u, r.task.RunID, r.task.Session)
	switch {
	case err == nil:
		r.given = r.promptMessages(res)
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	why := r.a.tellable(err.Error(), 300)
	if errors.Is(err, mcp.ErrNotReady) {
		why += "; `/mcp list` shows what its server does"
	}
	return &ProviderError{Kind: KindConfig, Message: fmt.Sprintf("The prompt %s cannot be used: %s", oneLine(u.Typed, 100), why), Err: err}
}

// promptMessages makes messages of what a prompt says: texts as the server gave
// them, all that is data in blocks that it cannot end. Nothing in them is
// expanded. What goes beyond the limit is left out, however many parts it has.
func (r *run) promptMessages(res mcp.PromptResult) []Message {
	reader := promptReader{server: r.task.MCPPrompt.Server, limit: r.task.Limits.MentionChars, left: r.task.Limits.MentionChars}
	var out []Message
	for _, m := range res.Messages {
		if reader.full {
			break
		}
		out = append(out, reader.message(m))
	}
	return out
}

// promptReader makes messages of a prompt's, up to a limit.
type promptReader struct {
	server string // configured name
	limit  int    // code points of all messages
	left   int
	images int  // so far
	full   bool // something was left out: nothing more is taken
}

func (p *promptReader) message(m mcp.PromptMessage) Message {
	role := User
	if m.Role == string(Assistant) {
		role = Assistant
	}
	var parts []string
	var images []Image
	for _, c := range m.Contents {
		text, img := p.content(c)
		unseen := ""
		switch {
		case img == nil:
		case role != User:
			unseen = "not shown: it is in a message of the assistant"
		case p.images == maxImages:
			unseen = "not shown: too many images"
		default:
			p.images++
			images = append(images, *img)
		}
		if unseen != "" {
			text = paragraphs(text, imageLine(img.MIMEType, decodedLen(img.Data), unseen))
		}
		p.left = max(p.left-utf8.RuneCountInString(text), 0)
		if parts = append(parts, text); p.full {
			break
		}
	}
	one := user(parts, images)
	one.Role = role
	return one
}

// content is one part of a prompt's message as text, and the image that it is.
func (p *promptReader) content(c mcp.Content) (text string, img *Image) {
	if p.left == 0 {
		p.full = true
		return truncated("prompt", p.limit), nil
	}
	if c.Type == "resource" {
		one := mention{Mention: mcp.Mention{Server: p.server, URI: c.URI}}
		one.fill([]mcp.Content{c}, p.left)
		if len(one.images) > 0 {
			img = &one.images[0]
		}
		p.full = one.result.Status == "truncated"
		return paragraphs(one.blocks...), img
	}
	if img = image(c); img != nil {
		return "", img // the message has it
	}
	_, text, _ = contentText(c)
	if text, p.full = clip(text, p.left); p.full {
		text = strings.TrimSuffix(text, "\n") + "\n" + truncated("prompt", p.limit)
	}
	return text, nil
}

// promptNote and goOnNote stand where a prompt of a server has no message of
// the user's: providers refuse histories whose roles do not alternate.
const (
	promptNote = "[agentls: the messages of a prompt that the user chose follow]"
	goOnNote   = "[agentls: go on from here]"
)

// withGiven puts the messages of the MCP prompt before what the user says, so
// that the user has the first and the last word and the roles alternate.
func (r *run) withGiven(own Message) []Message {
	if len(r.given) == 0 {
		return []Message{own}
	}
	return alternating(promptNote, append(slices.Clip(r.given), own))
}

// alternating joins messages of one role that follow each other, leaves out
// those that say nothing, and gives the user the first word, by a note, and the
// last.
func alternating(note string, messages []Message) []Message {
	var out []Message
	for _, m := range messages {
		said := strings.TrimSpace(m.Text) != "" || len(m.Images) > 0
		switch last := len(out) - 1; {
		case !said:
		case last < 0 && m.Role == Assistant:
			out = append(out, Message{Role: User, Text: note}, m)
		case last >= 0 && out[last].Role == m.Role:
			role := m.Role
			out[last] = user([]string{out[last].Text, m.Text}, append(slices.Clip(out[last].Images), m.Images...))
			out[last].Role = role
		default:
			out = append(out, m)
		}
	}
	if len(out) == 0 || out[len(out)-1].Role != User {
		out = append(out, Message{Role: User, Text: goOnNote})
	}
	return out
}
