package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// searches measures search_code over a tree of 100,000 files against ripgrep
// over the same with the same ignore rules, in turns, so that both meet the
// same cache and the same load.
func searches(ctx context.Context, b *bench) ([]row, error) {
	n := b.samples(100_000)
	dir, err := b.scratch()
	if err != nil {
		return nil, err
	}
	if err := tree(dir, n); err != nil {
		return nil, err
	}
	p, err := newProvider(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	s, err := b.start(ctx, setup{provider: p, root: dir})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	rg, err := ripgrep(ctx)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, q := range []struct{ what, query string }{
		{"for a text", needle},
		{"for an expression", `return frob[a-z]+W\w+\(\d+\)$`},
	} {
		what := fmt.Sprintf("search_code %s over %d files, against ripgrep", q.what, n)
		r, err := s.compare(ctx, b, rg, dir, q.query)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		r.what, r.goal = what, "≤ 3× its wall time"
		rows = append(rows, r)
	}
	return rows, nil
}

// ripgrep is the path of one on the PATH, or of the one that ripgrep.sh
// installs; empty where there is none.
func ripgrep(ctx context.Context) (string, error) {
	for _, path := range []string{"rg", ".deps/ripgrep/rg", "../../.deps/ripgrep/rg"} {
		found, err := exec.LookPath(path)
		if err != nil {
			continue
		}
		if err := exec.CommandContext(ctx, found, "--version").Run(); err != nil {
			return "", fmt.Errorf("%s does not run: %w", found, err)
		}
		return filepath.Abs(found)
	}
	return "", nil
}

// compare searches in turns and compares what was found, too.
func (s *server) compare(ctx context.Context, b *bench, rg, dir, query string) (r row, err error) {
	args, err := json.Marshal(map[string]any{"query": query, "regex": true, "limit": 1000})
	if err != nil {
		return r, err
	}
	var ours, theirs took
	found := 0
	for i := range b.samples(9) + 1 { // the first fills the cache
		mine, n, err := s.searchCode(ctx, string(args))
		if err != nil {
			return r, err
		}
		if found = n; n == 0 {
			return r, errors.New("search_code found nothing")
		}
		if rg == "" {
			continue
		}
		his, n, err := runRipgrep(ctx, rg, dir, query)
		if err != nil {
			return r, err
		}
		if n != found {
			return r, fmt.Errorf("search_code found %d lines, ripgrep %d", found, n)
		}
		if i > 0 {
			ours, theirs = append(ours, mine), append(theirs, his)
		}
	}
	if rg == "" {
		return row{figure: notMeasured + "there is no ripgrep here, make setup-ripgrep installs one"}, nil
	}
	times := float64(ours.p50()) / float64(theirs.p50())
	r.figure = fmt.Sprintf("%.2g× (p50 %s against %s, %d lines of both)", times, ms(ours.p50()), ms(theirs.p50()), found)
	r.met = times <= 3
	return r, nil
}

// searchCode lets the agent search, and gives the time of the call and the
// number of lines found.
func (s *server) searchCode(ctx context.Context, args string) (took time.Duration, lines int, err error) {
	var res struct {
		Text      string
		ToolCalls []struct {
			Status     string
			DurationMS int64
		}
	}
	_, wait := s.ask("call search_code "+args, "")
	if err := wait(ctx, &res); err != nil {
		return 0, 0, err
	}
	if len(res.ToolCalls) != 1 || res.ToolCalls[0].Status != "completed" {
		return 0, 0, fmt.Errorf("the call went wrong: %+v", res)
	}
	return time.Duration(res.ToolCalls[0].DurationMS) * time.Millisecond, strings.Count(res.Text, needle), nil
}

func runRipgrep(ctx context.Context, rg, dir, query string) (took time.Duration, lines int, err error) {
	cmd := exec.CommandContext(ctx, rg, "--no-config", "--hidden", "--glob", "!.git", "--line-number", "--no-heading", query, dir)
	cmd.Stderr = os.Stderr
	start := time.Now()
	out, err := cmd.Output()
	return time.Since(start), bytes.Count(out, []byte("\n")), err
}
