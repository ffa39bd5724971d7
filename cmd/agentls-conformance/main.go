// Command agentls-conformance is what the conformance suite of MCP tests: a
// client over the servers' address that it is given, which does by
// [mcp.Manager] what the scenario of the suite asks of a host.
//
//	agentls-conformance URL            the client, as the suite starts it
//	agentls-conformance -suite FOLDER  runs the required sets against itself
//
// The suite says in the environment what it wants: MCP_CONFORMANCE_SCENARIO,
// MCP_CONFORMANCE_PROTOCOL_VERSION and MCP_CONFORMANCE_CONTEXT (JSON). The
// client exits with 1 and the reason on stderr where the scenario went wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agentls-conformance: "+err.Error())
		os.Exit(1) //nolint:gocritic // nothing is left to be stopped
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("agentls-conformance", flag.ContinueOnError)
	suite := flags.String("suite", "", "the folder of the installed suite, to run it against this program")
	unscored := flags.Bool("unscored", false, "with -suite: tell of the scenarios that count for nothing as well")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *suite != "" && flags.NArg() == 0:
		return runSuite(ctx, *suite, *unscored, os.Stdout)
	case *suite != "" || flags.NArg() != 1:
		return errors.New("give the URL of a server to test against, or -suite and the folder of the suite")
	}
	asked := scenario{name: os.Getenv("MCP_CONFORMANCE_SCENARIO"), version: os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"), url: flags.Arg(0)}
	if asked.name == "" {
		return errors.New("MCP_CONFORMANCE_SCENARIO is not set; this is a client for the conformance suite, see make conformance")
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &asked.given); err != nil {
			return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	return asked.run(ctx)
}
