package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"agentls/lsp"
	"agentls/mcp"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the versions of agentls, Go, LSP and MCP", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), versions())
			return err
		},
	}
}

// versions is what there is to say, a line each.
func versions() string {
	return fmt.Sprintf("agentls %s\n%s %s/%s\nLSP %s\nMCP %s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, lsp.ProtocolVersion, mcp.ProtocolVersions)
}
