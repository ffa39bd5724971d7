package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// loops measures what agentls takes for a step: from the end of the provider's
// answer with a call to the next request with the call's result. The tool, a
// line of a small file, takes no time to speak of.
func loops(ctx context.Context, b *bench) ([]row, error) {
	dir, err := b.scratch()
	if err != nil {
		return nil, err
	}
	steps := b.samples(200)
	if err := os.WriteFile(filepath.Join(dir, "lines.txt"), []byte(numbered(steps+1)), 0o600); err != nil {
		return nil, err
	}
	p, err := newProvider(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	s, err := b.start(ctx, setup{provider: p, root: dir, limits: map[string]int{"steps": steps + 1}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	var all, early, late took
	for range b.samples(5) {
		p.forget()
		var res struct {
			Status    string
			ToolCalls []struct{ Status string }
		}
		_, wait := s.ask(fmt.Sprintf("loop %d", steps), "")
		if err := wait(ctx, &res); err != nil {
			return nil, err
		}
		if res.Status != "completed" || len(res.ToolCalls) != steps || strings.Contains(fmt.Sprint(res.ToolCalls), "failed") {
			return nil, fmt.Errorf("the run went wrong: %+v", res)
		}
		between := p.between()
		if len(between) != steps {
			return nil, fmt.Errorf("%d of %d steps were seen", len(between), steps)
		}
		all = append(all, between...)
		tenth := max(steps/10, 1)
		early, late = append(early, between[:tenth]...), append(late, between[steps-tenth:]...)
	}
	return []row{{
		fmt.Sprintf("a step of the loop, less the provider's own time: from an answer with a call to the request with its result (%d runs of %d steps)", b.samples(5), steps),
		"p50 ≤ 2 ms, p99 ≤ 10 ms",
		fmt.Sprintf("p50 %s, p99 %s (the first tenth of a run p50 %s, the last %s)", ms(all.p50()), ms(all.p99()), ms(early.p50()), ms(late.p50())),
		all.p50() <= 2*time.Millisecond && all.p99() <= 10*time.Millisecond,
	}}, nil
}

// numbered is n lines that differ.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of the file\n", i+1)
	}
	return b.String()
}
