// Command agentls-bench measures the built binary from outside, on a pipe, as
// an editor meets it, against the goals that the design sets. It prints a table
// and, with -write, puts it into a file.
//
// Machines are noisy, so what can be is compared within one run: read the
// ratios. A goal that is missed is told in the table and is no failure; what
// could not be measured is one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"agentls/mcp/mcptest"
)

func main() {
	mcptest.Main() // this binary is also the fake MCP servers
	echoMain()     // and the echo
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "agentls-bench: "+err.Error())
		os.Exit(1) //nolint:gocritic // nothing is left to be stopped
	}
}

// section measures some rows.
type section struct {
	name    string
	measure func(context.Context, *bench) ([]row, error)
}

func sections() []section {
	return []section{
		{"initialize", initialize},
		{"chunks", chunks},
		{"cancel", cancels},
		{"updates", updates},
		{"sizes", sizes},
		{"hosts", hosts},
		{"loop", loops},
		{"session", sessions},
		{"search", searches},
	}
}

// bench is what every section needs.
type bench struct {
	binary string // the agentls under test
	self   string // for the fakes
	dir    string // scratch
	less   int    // divides the number of samples, and what is waited for
	folder int    // counts scratch folders
}

// samples is n, or less.
func (b *bench) samples(n int) int { return max(n/b.less, 2) }

// wait is d, or less.
func (b *bench) wait(d time.Duration) time.Duration { return d / time.Duration(b.less) }

// timeout bounds the whole: a server that hangs must not hang this.
const timeout = 10 * time.Minute

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("agentls-bench", flag.ContinueOnError)
	binary := flags.String("agentls", "bin/agentls", "the built binary")
	write := flags.String("write", "", "a file to write the table to")
	only := flags.String("only", "", "the sections to measure, with commas between: initialize, chunks, cancel, updates, sizes, hosts, loop, session, search")
	less := flags.Int("less", 1, "take so many times fewer samples, for a try")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *write != "" && (*only != "" || *less != 1) {
		return errors.New("-write takes the whole table: leave out -only and -less")
	}
	b := &bench{less: max(*less, 1)}
	var err error
	if b.binary, err = filepath.Abs(*binary); err != nil {
		return err
	}
	if _, err := os.Stat(b.binary); err != nil {
		return fmt.Errorf("no binary to measure, make build makes it: %w", err)
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "agentls-bench-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.dir) }()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := report{facts: newFacts(ctx, b.binary)}
	for _, s := range sections() {
		if *only != "" && !strings.Contains(","+*only+",", ","+s.name+",") {
			continue
		}
		start := time.Now()
		rows, err := s.measure(ctx, b)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(out, "# %s took %s\n", s.name, time.Since(start).Round(time.Second))
		r.rows = append(r.rows, rows...)
	}
	r.facts.loadAfter = loadAverage()
	r.print(out)
	if *write == "" {
		return nil
	}
	return os.WriteFile(*write, r.markdown(), 0o644) //nolint:gosec // a page of the repository
}
