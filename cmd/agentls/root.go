package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
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
		Long: `agentls serves the Language Server Protocol on standard input and output:
configure your editor to start it. The subcommands do the same work from a shell.

Try it without any configuration:  agentls demo
Find out what is not right yet:    agentls doctor`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
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
	root.AddCommand(initCommand(p), askCommand(p), chatCommand(p), mcpCommand(p), auditCommand(p), doctorCommand(p), configCommand(p), demoCommand(p), versionCommand())
	return root
}

func isTerminal(r any) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a file descriptor fits
}
