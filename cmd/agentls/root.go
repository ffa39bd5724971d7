package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"agentls/agent"
)

// reaperArgument makes the process the reaper of another agentls: it ends that
// one's children when it was killed. Not for people.
const reaperArgument = "__reap"

// holdArgument makes the process one that becomes a child of another agentls.
const holdArgument = "__hold"

func rootCommand(p program) *cobra.Command {
	var socket string
	root := &cobra.Command{
		Use:   "agentls",
		Short: "A language server that puts an MCP-native agent into any editor",
		Long: `agentls serves the Language Server Protocol on standard input and output: your
editor starts it, and is the front end of an AI agent then. The commands below do
the same work from a shell.

See what it is, with no key and no network:  agentls demo
Set up a model:                              agentls init
Find out what is not right yet:              agentls doctor
Talk to it here:                             agentls chat`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version,
		Args:          subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("listen") {
				if cmd.Flags().Changed("stdio") {
					return errors.New("--listen and --stdio are two ways to serve; leave one of them out")
				}
				return listen(cmd.Context(), p, socket)
			}
			if isTerminal(p.stdin) {
				return cmd.Help()
			}
			return serve(cmd.Context(), p)
		},
	}
	// Editors pass it to every language server.
	root.Flags().Bool("stdio", true, "serve on standard input and output (always so)")
	root.Flags().StringVar(&socket, "listen", "", "serve one client at a time on a Unix socket at this `path`, to debug")
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"begin", "To begin:", []*cobra.Command{initCommand(p), doctorCommand(p), demoCommand(p)}},
		{"work", "To work:", []*cobra.Command{askCommand(p), chatCommand(p)}},
		{"look", "To look after things:", []*cobra.Command{mcpCommand(p), auditCommand(p), configCommand(p)}},
		{"more", "More:", []*cobra.Command{versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
		}
		root.AddCommand(g.commands...)
	}
	root.SetHelpCommandGroupID("more")
	root.SetCompletionCommandGroupID("more")
	root.SetVersionTemplate(versions())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())
	})
	complete(p, root)
	return root
}

// subcommand refuses an argument where a command should stand, and says which
// was perhaps meant.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("unknown command %.100q for %q%s", args[0], c.CommandPath(), agent.Suggest(args[0], names))
}

func isTerminal(r any) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a file descriptor fits
}
