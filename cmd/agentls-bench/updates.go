package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"agentls/mcp/mcptest"
)

// What a storm is, and what it may cost.
const (
	stormRate = 10000 // resources/updated a second
	stormTime = 5 * time.Second
	// debounce is the shortest time between two refetches of a list (CONTRACT §9).
	debounce = 300 * time.Millisecond
	// bounded is the memory that it may take, in MB.
	bounded = 32
	// apart is the time between two completions.
	apart = 5 * time.Millisecond
)

// updates measures completion, refetches and memory while one server sends
// 10,000 resources/updated a second, against the same without.
func updates(ctx context.Context, b *bench) ([]row, error) {
	p, err := newProvider(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	dir, err := b.scratch()
	if err != nil {
		return nil, err
	}
	log := filepath.Join(dir, "fake.log")
	s, err := b.start(ctx, setup{provider: p, loud: true, servers: map[string]mcptest.Options{"s0": {Resources: mcptest.Int(10000), Log: log}}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	if err := s.listed(ctx, 10000); err != nil {
		return nil, err
	}
	probe, err := s.newProbe(ctx, "see @doc42", "see @s0:file://doc4321.md")
	if err != nil {
		return nil, err
	}
	return b.flood(ctx, s, probe, log, "10,000 resources")
}

// flood measures what a storm of the server s0 costs, whose log is given; what
// is completed stands in the rows.
func (b *bench) flood(ctx context.Context, s *server, probe *probe, log, what string) ([]row, error) {
	quiet, err := probe.times(ctx, b.samples(450), apart)
	if err != nil {
		return nil, err
	}
	before, err := s.resident(ctx)
	if err != nil {
		return nil, err
	}
	loud, err := b.storm(ctx, s, probe, log)
	if err != nil {
		return nil, err
	}
	after, err := probe.times(ctx, b.samples(450), apart) // so that both meet the same noise
	if err != nil {
		return nil, err
	}
	quiet = append(quiet, after...)
	windows := int(loud.lasted / debounce)
	slower := float64(loud.typing.p99()) / float64(quiet.p99())
	return []row{
		{
			fmt.Sprintf("%.0f `resources/updated` a second for %s: completion at %s", float64(loud.sent)/loud.lasted.Seconds(), loud.lasted.Round(time.Second/10), what), "p99 ≤ 2× as without",
			fmt.Sprintf("%s (%s against %s; p50 %s against %s)", ratio(slower, 1), ms(loud.typing.p99()), ms(quiet.p99()), ms(loud.typing.p50()), ms(quiet.p50())), slower <= 2,
		},
		{"the same: lists and resources fetched again", "≤ 1 in a debounce window", fmt.Sprintf("%d in %d windows", loud.fetched, windows), loud.fetched <= windows},
		{"the same: memory", fmt.Sprintf("bounded: ≤ %d MB more", bounded), fmt.Sprintf("%+.0f MB at most (%.0f MB before)", loud.most-before, before), loud.most-before <= bounded},
	}, nil
}

// storm is what was seen of one.
type storm struct {
	typing        took
	sent, fetched int
	lasted        time.Duration
	most          float64 // MB resident
}

// storm lets the server s0 send as much as it is told to, by a tool of its own,
// and types meanwhile.
func (b *bench) storm(ctx context.Context, s *server, probe *probe, log string) (seen storm, err error) {
	fetched := func() (int, error) { return received(log, "resources/list", "resources/read") }
	before, err := fetched()
	if err != nil {
		return seen, err
	}
	var result struct{ Text string }
	ended := make(chan error, 1)
	start := time.Now()
	_, wait := s.ask(fmt.Sprintf(`call mcp__s0__updates {"rate":%d,"seconds":%g}`, stormRate, b.wait(stormTime).Seconds()), "storm")
	go func() { ended <- wait(ctx, &result) }() // ends with the run, or with ctx
	if err := pause(ctx, b.wait(200*time.Millisecond)); err != nil {
		return seen, err
	}
	for more := true; more; {
		t, err := probe.times(ctx, 20, apart)
		if err != nil {
			return seen, err
		}
		mb, err := s.resident(ctx)
		if err != nil {
			return seen, err
		}
		seen.typing, seen.most = append(seen.typing, t...), max(seen.most, mb)
		select {
		case err := <-ended:
			if err != nil {
				return seen, err
			}
			more = false
		default:
		}
	}
	seen.lasted = time.Since(start)
	if seen.fetched, err = fetched(); err != nil {
		return seen, err
	}
	seen.fetched -= before
	if seen.sent, err = strconv.Atoi(result.Text); err != nil {
		return seen, fmt.Errorf("the storm's answer is %q", result.Text)
	}
	return seen, nil
}

// received counts the messages of some methods that a fake wrote into its log.
func received(log string, methods ...string) (n int, err error) {
	data, err := os.ReadFile(log)
	for line := range bytes.Lines(data) {
		var e mcptest.Entry
		if json.Unmarshal(line, &e) == nil && slices.Contains(methods, e.Method) { // the last may be under way
			n++
		}
	}
	return n, err
}
