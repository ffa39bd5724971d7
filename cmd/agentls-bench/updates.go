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

// The storm: a server that tells of so many changed resources.
const (
	stormRate = 10000 // a second
	storm     = 5 * time.Second
	// debounce is the shortest time between two refetches of a list (CONTRACT §9).
	debounce = 300 * time.Millisecond
	// bounded is the memory that a storm may take, in MB.
	bounded = 32
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
	s, err := b.start(ctx, setup{provider: p, servers: map[string]mcptest.Options{"s0": {Resources: mcptest.Int(10000), Log: log}}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	if err := s.listed(ctx, 10000); err != nil {
		return nil, err
	}
	probe := s.newProbe("see @doc42", "see @s0:file://doc4321.md")
	const apart = 5 * time.Millisecond
	n := b.samples(900)
	quiet, err := probe.times(ctx, n, apart)
	if err != nil {
		return nil, err
	}
	before, err := s.resident(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := received(log, "resources/list", "resources/read")
	if err != nil {
		return nil, err
	}
	var result struct{ Text string }
	ended := make(chan error, 1)
	start := time.Now()
	_, wait := s.ask(fmt.Sprintf(`call mcp__s0__updates {"rate":%d,"seconds":%g}`, stormRate, b.wait(storm).Seconds()), "storm")
	go func() { ended <- wait(ctx, &result) }() // ends with the run, or with ctx
	if err := pause(ctx, b.wait(200*time.Millisecond)); err != nil {
		return nil, err
	}
	var loud took
	var most float64
	for more := true; more; {
		t, err := probe.times(ctx, 20, apart)
		if err != nil {
			return nil, err
		}
		loud = append(loud, t...)
		mb, err := s.resident(ctx)
		if err != nil {
			return nil, err
		}
		most = max(most, mb)
		select {
		case err := <-ended:
			if err != nil {
				return nil, err
			}
			more = false
		default:
		}
	}
	lasted := time.Since(start)
	again, err := received(log, "resources/list", "resources/read")
	if err != nil {
		return nil, err
	}
	sent, err := strconv.Atoi(result.Text)
	if err != nil {
		return nil, fmt.Errorf("the storm's answer is %q", result.Text)
	}
	what := fmt.Sprintf("%.0f `resources/updated` a second for %s", float64(sent)/lasted.Seconds(), lasted.Round(time.Second/10))
	windows := int(lasted / debounce)
	slower := float64(loud.p99()) / float64(quiet.p99())
	return []row{
		{
			what + ": completion at 10,000 resources", "p99 ≤ 2× as without",
			fmt.Sprintf("%s (%s against %s; p50 %s against %s)", ratio(slower, 1), ms(loud.p99()), ms(quiet.p99()), ms(loud.p50()), ms(quiet.p50())), slower <= 2,
		},
		{"the same: lists and resources fetched again", "≤ 1 in a debounce window", fmt.Sprintf("%d in %d windows", again-asked, windows), again-asked <= windows},
		{"the same: memory", fmt.Sprintf("bounded: ≤ %d MB more", bounded), fmt.Sprintf("%+.0f MB at most (%.0f MB before)", most-before, before), most-before <= bounded},
	}, nil
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
