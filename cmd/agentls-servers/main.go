// Command agentls-servers connects the MCP servers of servers.json, which
// others wrote, through the manager that agentls itself uses, looks at all that
// they offer and writes what it saw into a table. It fails where one behaves
// otherwise than the list expects: a server changed, or we did.
//
// `make servers` installs the servers and runs it.
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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxTold is how many faults of a server are told: one kind may be found at
// each of its resources.
const maxTold = 10

// timeout bounds the whole: a server that hangs must not hang this.
const timeout = 10 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "agentls-servers: "+err.Error())
		os.Exit(1) //nolint:gocritic // nothing is left to be stopped
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("agentls-servers", flag.ContinueOnError)
	root := flags.String("root", ".", "the repository, in which the servers are installed")
	write := flags.String("write", "", "a file to write the table to")
	only := flags.String("only", "", "the servers to connect, with commas between")
	beside := flags.Int("beside", 3, "how many servers run at a time")
	verbose := flags.Bool("v", false, "tell all that was seen of each server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *write != "" && *only != "" {
		return errors.New("-write takes the whole table: leave out -only")
	}
	where, err := filepath.Abs(*root)
	if err != nil {
		return err
	}
	list, err := readList(filepath.Join(where, "cmd", "agentls-servers", "servers.json"))
	if err != nil {
		return err
	}
	if *only != "" {
		if list, err = pick(list, strings.Split(*only, ",")); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := time.Now()
	told := func(s *seen) { tell(out, s, *verbose) }
	all := visitAll(ctx, places(where), list, max(*beside, 1), told)
	faults := 0
	for _, s := range all {
		faults += len(s.faults)
	}
	_, _ = fmt.Fprintf(out, "%d servers in %v, %d faults\n", len(all), time.Since(start).Round(time.Second), faults)
	if faults > 0 {
		return fmt.Errorf("%d faults, see above: mend what is ours, or say in servers.json what is to be expected", faults)
	}
	if *write != "" {
		return os.WriteFile(*write, []byte(table(all)), 0o644)
	}
	return nil
}

// visitAll visits the servers, a few beside each other, and returns what was
// seen in the order of the list.
func visitAll(ctx context.Context, at place, list []server, beside int, told func(*seen)) []*seen {
	all := make([]*seen, len(list))
	turns := make(chan struct{}, beside)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range list {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			all[i] = visit(ctx, at, &list[i])
			mu.Lock()
			defer mu.Unlock()
			told(all[i])
		})
	}
	wg.Wait()
	return all
}

func pick(list []server, names []string) ([]server, error) {
	var out []server
	for _, name := range names {
		i := slices.IndexFunc(list, func(s server) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no server %q in servers.json", name)
		}
		out = append(out, list[i])
	}
	return out, nil
}

// tell prints a server in a line, and what is wrong with it in more.
func tell(out io.Writer, s *seen, verbose bool) {
	_, _ = fmt.Fprintf(out, "%-24s %-8s %6d ms  tools %-4s resources %-8s prompts %-3s %s\n",
		s.server.Name, s.status, s.started.Milliseconds(), s.tools, s.resources, s.prompts, s.outcome())
	for _, f := range s.faults[:min(len(s.faults), maxTold)] {
		_, _ = fmt.Fprintf(out, "    FAULT %s\n", f)
	}
	if verbose {
		for _, n := range append(slices.Clone(s.notes), s.details...) {
			_, _ = fmt.Fprintf(out, "    %s\n", n)
		}
	}
}
