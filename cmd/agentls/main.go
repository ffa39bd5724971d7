package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"agentls/mcp"
	"agentls/mcp/child"
)

// version is set by the build from the tag.
//

var version = "0.1.0-dev"

func main() {
	os.Exit(run(program{
		args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.LookupEnv, environ: os.Environ(),
	}))
}

// program is what a process has; tests make their own.
type program struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) (string, bool)
	environ        []string
}

// The exit codes of every command but serve, whose code LSP decides.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitCancelled = 130
)

// exitError ends a command with a code; the message has been printed.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// run is main without the process: it returns the exit code.
func run(p program) int {
	// The reaper outlives us on purpose, so it must not hear our signals.
	if len(p.args) == 1 && p.args[0] == reaperArgument {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		mcp.Reap(p.stdin)
		return exitOK
	}
	if len(p.args) > 0 && p.args[0] == holdArgument {
		return child.Hold(p.args[1:], p.environ)
	}
	// A write to an editor that is gone must fail, not kill: there are runs to
	// end and children to close. Ignored, the signal would be so in each child
	// too, and every pipeline that ends early would complain.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	cmd := rootCommand(p)
	cmd.SetArgs(p.args)
	cmd.SetIn(p.stdin)
	cmd.SetOut(p.stdout)
	cmd.SetErr(p.stderr)
	err := cmd.ExecuteContext(ctx)
	if code, ok := errors.AsType[exitError](err); ok {
		return int(code)
	}
	if err != nil {
		fmt.Fprintln(p.stderr, "agentls: "+err.Error())
		return exitUsage
	}
	return exitOK
}
