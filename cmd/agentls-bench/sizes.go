package main

import (
	"context"
	"fmt"
	"time"

	"agentls/mcp/mcptest"
)

// size is a world with so many resources.
type size struct {
	resources, servers int
	slowest            took
	resident           float64 // MB, idle
}

// sizes measures what depends on the number of cached resources.
func sizes(ctx context.Context, b *bench) ([]row, error) {
	worlds := []*size{{0, 3, nil, 0}, {1000, 1, nil, 0}, {10000, 3, nil, 0}, {100000, 20, nil, 0}}
	var rows []row
	for _, w := range worlds {
		more, err := b.world(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("at %d resources: %w", w.resources, err)
		}
		rows = append(rows, more...)
	}
	none, small, middle, large := worlds[0], worlds[1], worlds[2], worlds[3]
	rows = append(rows, row{"resident memory, idle, 3 servers, 10,000 resources", "≤ 60 MB", fmt.Sprintf("%.0f MB", middle.resident), middle.resident <= 60})
	up, further := float64(middle.slowest.p50())/float64(small.slowest.p50()), float64(large.slowest.p50())/float64(middle.slowest.p50())
	const linear, noise = 10, 1.1
	rows = append(rows, row{
		"completion over 1,000, 10,000 and 100,000 candidates, the slowest of some beginnings that match all or by single letters", "≤ 10× for each ten times as many",
		fmt.Sprintf("%s, then %s (p50 %s, %s, %s)", ratio(up, 1), ratio(further, 1), ms(small.slowest.p50()), ms(middle.slowest.p50()), ms(large.slowest.p50())),
		up <= linear && further <= linear,
	})
	some, all := middle.resident-none.resident, large.resident-none.resident
	rows = append(rows, row{
		"memory over 10,000 and 100,000 resources, less that of none", "≤ 10× for ten times as many",
		fmt.Sprintf("%s (%.1f MB, %.1f MB: %.0f B a resource; %.0f MB with none)", ratio(all, some), some, all, all*(1<<20)/float64(large.resources), none.resident),
		all <= some*linear*noise,
	})
	return rows, nil
}

// world starts a server with so many resources and measures it.
func (b *bench) world(ctx context.Context, w *size) (rows []row, err error) {
	p, err := newProvider(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	u := setup{provider: p, servers: map[string]mcptest.Options{}}
	each := (w.resources + w.servers - 1) / w.servers
	for i, name := range names(w.servers) {
		u.servers[name] = mcptest.Options{Resources: mcptest.Int(each), Tree: uint64(i + 1)}
	}
	s, err := b.start(ctx, u)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	if err := s.listed(ctx, w.resources); err != nil {
		return nil, err
	}
	if w.resident, err = b.idle(ctx, s); err != nil || w.resources == 0 {
		return nil, err
	}
	const thousand, hundredThousand = 1000, 100000
	if w.resources == thousand {
		r, err := b.againstEcho(ctx, s)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	if w.slowest, err = b.slowest(ctx, s, "see @elif", "see @main", "see @hndlr"); err != nil {
		return nil, err
	}
	if w.resources == hundredThousand {
		more, err := b.large(ctx, s)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// slowest gives the samples of the beginning that takes longest, each measured
// alone.
func (b *bench) slowest(ctx context.Context, s *server, texts ...string) (most took, err error) {
	probe, err := s.newProbe(ctx, texts...)
	if err != nil {
		return nil, err
	}
	for _, frame := range probe.ask {
		one := *probe
		one.ask = [][]byte{frame}
		t, err := one.times(ctx, b.samples(100), 0)
		if err != nil {
			return nil, err
		}
		if t.p50() > most.p50() {
			most = t
		}
	}
	return most, nil
}

// streams is how many runs stream beside the completions, each at streamRate
// chunks a second.
const streams, streamRate = 8, 100

// large measures completion over 100,000 resources, as somebody types, alone
// and with runs beside it.
func (b *bench) large(ctx context.Context, s *server) ([]row, error) {
	typed := []string{"see @handler_main", "see @s3:file://pkg7/cac", "see @tokenbuf", "see @hndlr", "see @queue"}
	n := b.samples(1000)
	probe, err := s.newProbe(ctx, typed...)
	if err != nil {
		return nil, err
	}
	alone, err := probe.times(ctx, n, 0)
	if err != nil {
		return nil, err
	}
	ends := make([]func() error, streams)
	for i := range ends {
		id, wait := s.ask(fmt.Sprintf("stream %d 0", streamRate), fmt.Sprint("stream", i))
		ends[i] = func() error { _, err := s.cancel(ctx, id, wait); return err }
	}
	if err := pause(ctx, b.wait(time.Second)); err != nil {
		return nil, err
	}
	beside, err := probe.times(ctx, n, 0)
	if err != nil {
		return nil, err
	}
	for _, end := range ends {
		if err := end(); err != nil { // a run that had ended would have proved nothing
			return nil, err
		}
	}
	typing := func(what string, t took) row {
		return row{
			what, "p50 ≤ 4 ms, p99 ≤ 10 ms", fmt.Sprintf("p50 %s, p99 %s", ms(t.p50()), ms(t.p99())),
			t.p50() <= 4*time.Millisecond && t.p99() <= 10*time.Millisecond,
		}
	}
	return []row{
		typing("completion of a mention at 100,000 cached resources over 20 servers, key by key", alone),
		typing(fmt.Sprintf("the same with %d runs that stream, each %d chunks a second", streams, streamRate), beside),
	}, nil
}
