package main

import (
	"io"

	"github.com/spf13/cobra"

	"agentls/agent/config"
)

func configCommand(p program) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "About the configuration's files",
		Args:  subcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of config.json and mcp.json",
		Long: `schema prints the JSON schema (2020-12) of the user's config.json and mcp.json and
of a project's .agentls/config.json. With it an editor completes and checks the
keys and says what each means:

  agentls config schema > agentls.schema.json`,
		Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(p.stdout, config.Schema)
			return err
		},
	})
	return c
}
