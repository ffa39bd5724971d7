package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agentls/agent"
)

// slashHelp lists what a `/` line can be.
func slashHelp(s *Server, _ *slashRequest) (local, error) {
	return func(context.Context) (string, error) {
		var b strings.Builder
		b.WriteString("A line that begins with `/` at the start of a prompt is a command:\n\n")
		for _, c := range agent.SlashCommands() {
			fmt.Fprintf(&b, "- %s — %s\n", code(strings.TrimSpace("/"+c.Name+" "+c.Usage)), c.About)
		}
		b.WriteString("\n`@server:scheme://path` in a prompt puts a resource into it.\n")
		list := s.o.Manager.PromptList()
		if len(list) == 0 {
			b.WriteString("\nNo MCP server that is ready offers prompts.\n")
			return b.String(), nil
		}
		b.WriteString("\nPrompts of the MCP servers, `[…]` need not be given; lines below go to the model with them:\n\n")
		var lines []string
		for _, p := range list {
			if text, ok := agent.SlashPromptName(p.Name, p.Prompt.Name); ok {
				lines = append(lines, bullet(code(text+promptUsage(p.Prompt)), s.tell(cmp.Or(p.Prompt.Description, p.Prompt.Title))))
			}
		}
		b.WriteString(bounded(lines))
		return b.String(), nil
	}, nil
}

// slashCancel cancels the runs of a session, at once.
func slashCancel(s *Server, q *slashRequest) (local, error) {
	ids := s.runs.cancel(agent.ErrCancelled, func(x *run) bool { return x.session == q.session && x.local == nil })
	text := "Nothing runs in this session."
	switch n := len(ids); {
	case n == 1:
		text = "The run is cancelled."
	case n > 1:
		text = fmt.Sprintf("%d runs are cancelled.", n)
	}
	return func(context.Context) (string, error) { return text, nil }, nil
}

// slashClear empties a session.
func slashClear(s *Server, q *slashRequest) (local, error) {
	if s.runs.hasLive(q.session) {
		return nil, q.badf("must wait: a run works on this session; end it with /cancel in a prompt of its own, or wait")
	}
	folders := s.sessionFolders()
	return func(context.Context) (string, error) {
		err := s.o.Agent.ClearSession(folders, q.session)
		switch {
		case errors.Is(err, agent.ErrNoSession):
			return "This session is empty already.", nil
		case err != nil:
			return "", s.sessionFailed(q.command, q.session, err)
		}
		return "The session is empty: the model remembers nothing of what stands above.", nil
	}, nil
}

// slashAudit shows the last lines of the audit.
func slashAudit(s *Server, q *slashRequest) (local, error) {
	n := 10
	if len(q.Args) > 0 {
		var err error
		if n, err = strconv.Atoi(q.Args[0].Value); err != nil || n < 1 || n > 1000 {
			return nil, q.badf("takes a number from 1 to 1000, not %q", clip(q.Args[0].Value, 40))
		}
	}
	return func(context.Context) (string, error) {
		lines, err := s.o.Audit.Read(agent.AuditFilter{Limit: n})
		if err != nil {
			return "", failed("the audit log cannot be read: %s; look whether its files are yours, in %s", s.tell(err.Error()), filepath.Join(s.o.StateDir, "audit"))
		}
		if len(lines) == 0 {
			return "No tool was called yet.", nil
		}
		var b strings.Builder
		fmt.Fprintf(&b, "The last %s, the newest last:\n\n", count(len(lines), "line of the audit", "lines of the audit"))
		for _, e := range lines {
			tool := e.Tool
			if e.Server != "" {
				tool = e.Server + "/" + tool
			}
			about := string(e.Outcome) + ", decided by " + s.tell(e.DecidedBy)
			if e.Reason != "" {
				about += ": " + s.tell(e.Reason)
			}
			if len(e.Arguments) > 0 {
				about += " · " + code(cleanTo(s.o.Secrets.Redact(string(e.Arguments)), 120))
			}
			b.WriteString(bullet(e.Time.Local().Format("2006-01-02 15:04:05")+" "+code(tool), about))
		}
		return b.String(), nil
	}, nil
}

// slashUndo gives files the texts back that they had before the session's last
// run that changed some.
func slashUndo(s *Server, q *slashRequest) (local, error) {
	if s.runs.hasLive(q.session) {
		return nil, q.badf("must wait: a run works on this session; end it with /cancel in a prompt of its own, or wait")
	}
	folders := s.sessionFolders()
	return func(ctx context.Context) (string, error) {
		id, asked, err := s.o.Agent.LastChange(ctx, folders, q.session)
		var undone agent.Undone
		if err == nil {
			undone, err = s.undo(ctx, id)
		}
		switch {
		case errors.Is(err, agent.ErrNoRun), errors.Is(err, agent.ErrNoSession):
			return "No run of this session is known that changed files and was not undone.", nil
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err != nil:
			return "", failed("/undo: %s", s.tell(err.Error()))
		}
		return "The run of “" + s.shown(asked, headMax) + "”:\n\n" + undoneText(s, undone), nil
	}, nil
}

// undoneText says what became of a run's edits.
func undoneText(s *Server, u agent.Undone) string {
	var b strings.Builder
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			b.WriteString(title + "\n\n" + bounded(lines) + "\n")
		}
	}
	var restored, refused, untracked []string
	for _, uri := range u.Restored {
		restored = append(restored, bullet(code(s.shortName(uri)), ""))
	}
	for _, r := range u.Refused {
		refused = append(refused, bullet(code(s.shortName(r.URI)), s.tell(r.Reason)))
	}
	for _, tool := range u.Untracked {
		untracked = append(untracked, bullet(code(tool), ""))
	}
	list("As before the run:", restored)
	list("Left as they are:", refused)
	list("These tools of the run may have changed more, which cannot be undone:", untracked)
	if b.Len() == 0 {
		return "There is nothing to undo."
	}
	return strings.TrimSpace(b.String())
}

// shortName is a file's URI as a person knows the file.
func (s *Server) shortName(uri string) string {
	if _, path := canonical(uri); path != "" {
		return s.shortPath(path)
	}
	return uri
}

// The Markdown of answers. Foreign text passes clean before.

// bulletMost is how many items a list in an answer has.
const bulletMost = 100

// bounded joins items; of many it says how many are not shown.
func bounded(items []string) string {
	if n := len(items) - bulletMost; n > 0 {
		items = append(slices.Clone(items[:bulletMost]), fmt.Sprintf("- … and %d more\n", n))
	}
	return strings.Join(items, "")
}

// bullet is an item of a list.
func bullet(what, about string) string {
	if about == "" {
		return "- " + what + "\n"
	}
	return "- " + what + " — " + about + "\n"
}

// code makes foreign text a code span, which it cannot end (CommonMark §6.1).
func code(text string) string {
	text = clean(text)
	if text == "" {
		return "` `"
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if text[0] == '`' || text[len(text)-1] == '`' {
		text = " " + text + " "
	}
	return fence + text + fence
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}
