package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"agentls/agent"
	"agentls/mcp"
)

func mcpCommand(p program) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "See and manage the MCP servers of the current folder", Args: subcommand,
		Long: `mcp starts the servers that count in the current folder, as an editor there would:
those of your own configuration, and those of the project as far as you trust them.
It shows what they offer, and ends them again. What it reads is audited.`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var asJSON bool
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")

	add := func(use, short, long string, args cobra.PositionalArgs, f func(*shell, []string) error) *cobra.Command {
		sub := &cobra.Command{
			Use: use, Short: short, Long: long, Args: args,
			RunE: func(c *cobra.Command, args []string) error {
				folder, err := workingFolder()
				if err != nil {
					return err
				}
				parts := newParts(p, hasTerminal(p))
				defer parts.close()
				host := openTerminal(p, parts.secrets)
				name, _, _ := strings.Cut(use, " ")
				host.quiet = name == "list" || name == "trust"
				if name == "list" {
					host.tty = nil // who looks is asked nothing
				} else if len(args) > 0 {
					host.about = args[0]
				}
				stop := parts.relay(host, nil)
				defer stop()
				cfg := parts.openFolder(c.Context(), folder)
				parts.tell(p.stderr, cfg.Problems)
				return f(&shell{ctx: c.Context(), folder: folder, parts: parts, out: c.OutOrStdout(), host: host, json: asJSON, servers: cfg.Servers, approval: cfg.Approval}, args)
			},
		}
		cmd.AddCommand(sub)
		return sub
	}
	one, two := exactly(1), exactly(2)
	add("list", "List the servers, with what each offers", "", exactly(0), func(s *shell, _ []string) error { return s.list() })
	add("resources SERVER", "List a server's resources", "", one, func(s *shell, a []string) error { return s.resources(a[0]) })
	add("prompts SERVER", "List a server's prompts", "", one, func(s *shell, a []string) error { return s.prompts(a[0]) })
	add("tools SERVER", "List a server's tools", "", one, func(s *shell, a []string) error { return s.tools(a[0]) })
	add("read SERVER URI", "Print a resource", `read prints a resource as it is, when it goes to a file or a pipe; on a terminal
without what would drive that. Only its own URI counts: agentls mcp resources
SERVER lists them.`, two, func(s *shell, a []string) error { return s.read(a[0], a[1]) })
	add("trust [SERVER]", "Trust this folder, and let a server that came with it start", `trust shows all of what a server that came with this folder would start, and asks
whether it may from now on. It is asked for again when that changes. Without a
SERVER it is the folder alone that you trust: for its AGENTS.md and for git.
Without a terminal nothing is asked: the command is the yes.`, cobra.MaximumNArgs(1), func(s *shell, a []string) error {
		if len(a) == 0 {
			return s.trustFolder()
		}
		return s.trust(a[0])
	})
	var redirect string
	login := add("login SERVER", "Log in to a remote server with your browser", `login opens the server's page in your browser, and prints its address. Where the
browser is on another machine, the address that it ended on is pasted here, or
given to another shell with --redirect-url.`, one, func(s *shell, a []string) error { return s.login(a[0], redirect) })
	login.Flags().StringVar(&redirect, "redirect-url", "", "the `address` that the browser ended on, for a login that waits in another shell or editor here")
	add("logout SERVER", "End the login of a remote server", `logout forgets a server's tokens here, and tells the server where it can be told.`, one, func(s *shell, a []string) error { return s.logout(a[0]) })
	return cmd
}

// exactly refuses any other number of arguments, and says which there are.
func exactly(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("usage: %s", c.UseLine())
		}
		return nil
	}
}

// shell is one `agentls mcp …` command at work.
type shell struct {
	ctx      context.Context //nolint:containedctx // of the command that the value is
	folder   string
	parts    *parts
	out      io.Writer
	host     *terminal
	json     bool
	servers  []mcp.ServerConfig
	approval agent.Approval
}

func (s *shell) fail(format string, args ...any) error {
	fmt.Fprintln(s.host.notes, "agentls: "+oneLine(s.parts.secrets.Redact(fmt.Sprintf(format, args...)), 2000))
	return exitError(exitFailed)
}

func (s *shell) settled(only ...string) []mcp.ServerInfo { return s.parts.settled(s.ctx, only...) }

// ready waits for one server.
func (s *shell) ready(name string) error {
	for _, info := range s.settled(name) {
		switch info.Status {
		case mcp.StatusReady:
			return nil
		case mcp.StatusUntrusted:
			return s.fail("%s came with this folder and is not trusted; look at it with `agentls mcp list`, then `agentls mcp trust %s`", name, name)
		case mcp.StatusDisabled:
			return s.fail("%s is disabled in %s", name, info.Source)
		case mcp.StatusNeedsLogin:
			return s.fail("%s is %s: %s. Here that is `agentls mcp login %s`", name, info.Status, info.Error, name)
		default:
			return s.fail("%s is %s: %s", name, info.Status, info.Error)
		}
	}
	return s.fail("no server is called %q; `agentls mcp list` shows those of this folder", name)
}

// print writes v as JSON, or rows below their heads as a table of cleaned cells,
// no wider than the terminal.
func (s *shell) print(v any, rows [][]string) error {
	if s.json {
		return writeJSON(s.out, v)
	}
	if len(rows) == 1 {
		_, err := fmt.Fprintln(s.host.notes, "There are none.")
		return err
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = oneLine(cell, 120)
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	most := columns(s.out)
	for line := range strings.Lines(table.String()) {
		if line = strings.TrimRight(line, "\n"); most > 0 {
			line = cutCells(line, most)
		}
		if _, err := fmt.Fprintln(s.out, line); err != nil {
			return err
		}
	}
	return nil
}

func (s *shell) list() error {
	all := s.settled()
	rows := [][]string{{"NAME", "STATUS", "TOOLS", "RESOURCES", "PROMPTS", "FROM", ""}}
	for _, i := range all {
		what := i.Error
		if what == "" && i.Status == mcp.StatusUntrusted {
			what = words(startWords(i.Command, i.Args, i.URL))
		}
		rows = append(rows, []string{i.Name, string(i.Status), count(i.Tools), count(i.Resources), count(i.Prompts), i.Source, what})
	}
	if err := s.print(all, rows); err != nil || s.json || columns(s.out) == 0 {
		return err
	}
	for _, i := range all { // what a terminal cut
		if i.Error != "" {
			s.host.note("! %s: %s", i.Name, i.Error)
		}
	}
	return nil
}

// startWords is what a server is started with: a command line, or an address.
func startWords(command string, args []string, url string) []string {
	if command == "" {
		return []string{url}
	}
	return append([]string{command}, args...)
}

func count(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func (s *shell) resources(name string) error {
	if err := s.ready(name); err != nil {
		return err
	}
	l, err := s.parts.manager.ListResources(s.ctx, name)
	if err != nil {
		return s.fail("%s: %v", name, err)
	}
	rows := [][]string{{"URI", "NAME", "TYPE", "DESCRIPTION"}}
	for _, r := range l.Resources {
		rows = append(rows, []string{r.URI, first(r.Title, r.Name), r.MIMEType, r.Description})
	}
	for _, t := range l.Templates {
		rows = append(rows, []string{t.URITemplate, first(t.Title, t.Name), t.MIMEType, t.Description})
	}
	return s.print(map[string]any{"resources": l.Resources, "templates": l.Templates}, rows)
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func (s *shell) prompts(name string) error {
	if err := s.ready(name); err != nil {
		return err
	}
	list, err := s.parts.manager.ListPrompts(s.ctx, name)
	if err != nil {
		return s.fail("%s: %v", name, err)
	}
	rows := [][]string{{"NAME", "ARGUMENTS", "DESCRIPTION"}}
	for _, p := range list {
		var args []string
		for _, a := range p.Arguments {
			n := a.Name
			if !a.Required {
				n += "?"
			}
			args = append(args, n)
		}
		rows = append(rows, []string{p.Name, strings.Join(args, " "), first(p.Description, p.Title)})
	}
	return s.print(map[string]any{"prompts": list}, rows)
}

func (s *shell) tools(name string) error {
	if err := s.ready(name); err != nil {
		return err
	}
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"inputSchema"`
	}
	list := []tool{}
	rows := [][]string{{"NAME", "DESCRIPTION"}}
	for _, t := range s.parts.manager.Tools() {
		if t.Server == name {
			list = append(list, tool{t.Name, t.Description, t.Schema})
			rows = append(rows, []string{t.Name, t.Description})
		}
	}
	return s.print(map[string]any{"tools": list}, rows)
}

// read prints the text as it is when it goes to a file or a pipe.
func (s *shell) read(name, uri string) error {
	if err := s.ready(name); err != nil {
		return err
	}
	began := time.Now()
	contents, err := s.parts.manager.Read(s.ctx, name, uri)
	s.auditRead(name, uri, began, err)
	if err != nil {
		var meant string
		if errors.Is(err, mcp.ErrUnknownResource) {
			list, _ := s.parts.manager.ListResources(s.ctx, name) // none is no guess
			meant = agent.PerhapsMeant(uri, list.Resources)
		}
		return s.fail("%s: %s: %v%s", name, uri, err, meant)
	}
	if s.json {
		return s.print(map[string]any{"contents": contents}, nil)
	}
	for _, c := range contents {
		text := c.Text
		if c.Blob != "" {
			text = fmt.Sprintf("[%s, %d bytes of base64; use --json]\n", c.MIMEType, len(c.Blob))
		} else if isTerminal(s.out) {
			text = printable(text)
		}
		if _, err := io.WriteString(s.out, text); err != nil {
			return err
		}
	}
	return nil
}

func (s *shell) auditRead(name, uri string, began time.Time, err error) {
	s.parts.audit.Write(agent.CommandEntry(s.ctx, name, "read_resource", map[string]string{"uri": uri}, began, err))
}

// show tells all of what a project's server would start.
func (s *shell) show(c *mcp.ServerConfig) {
	tell := func(format string, args ...any) { fmt.Fprintf(s.host.notes, format+"\n", args...) }
	tellDefinition(tell, c.Name, c.Source, c.Shown, c.Reads)
	for _, rule := range s.approval.Unasked(c.Name) {
		tell("· your own rule %s lets its tools run unasked", word(rule))
	}
}

// trust shows what would start and, when a person is there, asks once more.
func (s *shell) trust(name string) error {
	var cfg *mcp.ServerConfig
	for i := range s.servers {
		if s.servers[i].Name == name {
			cfg = &s.servers[i]
		}
	}
	switch {
	case cfg == nil:
		return s.fail("no server is called %q; `agentls mcp list` shows those of this folder", name)
	case !cfg.Project:
		return s.fail("%s is in your own configuration and needs no trust", name)
	}
	s.show(cfg)
	if err := s.rememberFolder("Trust this folder and start it from now on?"); err != nil {
		return err
	}
	s.parts.manager.TrustFolder(true)
	info, err := s.parts.manager.Trust(name, true, cfg.Fingerprint)
	if errors.Is(err, mcp.ErrFingerprint) {
		return s.fail("%s has changed just now; run the command again", name)
	}
	if err != nil {
		return s.fail("%s: %v", name, err)
	}
	for _, i := range s.settled(name) {
		if i.Name == name {
			info = i
		}
	}
	if info.Status == mcp.StatusFailed || info.Status == mcp.StatusNeedsLogin {
		return s.fail("%s is trusted, but %s: %s", name, info.Status, info.Error)
	}
	_, err = fmt.Fprintf(s.out, "%s is trusted and %s\n", name, info.Status)
	return err
}

// rememberFolder stores that the folder is trusted; a person who is there is
// asked once more.
func (s *shell) rememberFolder(question string) error {
	if s.host.tty != nil {
		fmt.Fprint(s.host.tty, question+" [y/N] ")
		line, err := s.host.tty.readLine(s.ctx)
		if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y") {
			return s.fail("not trusted")
		}
	}
	if err := s.parts.manager.RememberFolder(s.folder); err != nil {
		return s.fail("the folder's trust cannot be stored: %v", err)
	}
	return nil
}

// trustFolder trusts the folder, and none of its servers: what AGENTS.md says
// counts, and git may run.
func (s *shell) trustFolder() error {
	if err := s.rememberFolder("Trust this folder? Its AGENTS.md then tells the agent how to work, and git shows changes in it."); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "%s is trusted; its servers are asked about on their own\n", printable(s.folder))
	return err
}
