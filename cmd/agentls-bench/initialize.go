package main

import (
	"context"
	"fmt"
	"time"

	"agentls/mcp/mcptest"
)

// initialize measures from the start of the process to the answer, without
// servers and with ten of which three hang, in turns.
func initialize(ctx context.Context, b *bench) ([]row, error) {
	ten := setup{servers: map[string]mcptest.Options{}}
	for i, name := range names(10) {
		ten.servers[name] = mcptest.Options{Silent: i < 3}
	}
	measure := func(u setup) (time.Duration, error) {
		start := time.Now()
		s, err := b.start(ctx, u)
		d := time.Since(start)
		if err != nil {
			return 0, err
		}
		return d, s.Close()
	}
	var without, with took
	for range b.samples(60) {
		for _, one := range []struct {
			of setup
			to *took
		}{{setup{}, &without}, {ten, &with}} {
			d, err := measure(one.of)
			if err != nil {
				return nil, err
			}
			*one.to = append(*one.to, d)
		}
	}
	r := float64(with.p50()) / float64(without.p50())
	return []row{{
		"`initialize` answered after the process's start, 10 servers of which 3 hang", "≤ 50 ms, and ≤ 1.5× as long as with none",
		fmt.Sprintf("p50 %s (p99 %s), %s of %s", ms(with.p50()), ms(with.p99()), ratio(r, 1), ms(without.p50())),
		with.p50() <= 50*time.Millisecond && r <= 1.5,
	}}, nil
}
