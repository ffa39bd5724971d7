package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"agentls/mcp/mcptest"
)

// How many servers give how many resources each, so many a page.
const (
	hostServers   = 20
	hostResources = 5000
	hostPage      = 100
)

// hosts measures a host of servers with long lists: how long they take until
// all are listed, against one server with as many, what completion and memory do
// meanwhile, and what a storm of one of them costs the others.
func hosts(ctx context.Context, b *bench) ([]row, error) {
	many, one := took{}, took{}
	for range b.samples(3) {
		for _, w := range []struct {
			servers int
			to      *took
		}{{1, &one}, {hostServers, &many}} {
			s, listed, err := b.host(ctx, w.servers, nil, "", func(*server) error { return nil })
			if err != nil {
				return nil, err
			}
			*w.to = append(*w.to, listed)
			if err := s.Close(); err != nil {
				return nil, err
			}
		}
	}
	const total = hostServers * hostResources
	r := float64(many.p50()) / float64(one.p50())
	rows := []row{{
		fmt.Sprintf("from the start of the process until %d servers of %d resources, %d pages each, are all listed", hostServers, hostResources, hostResources/hostPage),
		fmt.Sprintf("≤ 1.5× as long as one of %d", total), fmt.Sprintf("%s (%s against %s)", ratio(r, 1), ms(many.p50()), ms(one.p50())), r <= 1.5,
	}}
	more, err := b.hostsAtWork(ctx)
	return append(rows, more...), err
}

// host starts agentls with n servers that have all resources together, and says
// how long they took to be listed. meanwhile runs until then.
func (b *bench) host(ctx context.Context, n int, p *provider, log string, meanwhile func(*server) error) (s *server, listed time.Duration, err error) {
	total := hostServers * max(hostPage, hostResources/b.less)
	u := setup{provider: p, loud: p != nil, tools: []string{"updates"}, servers: map[string]mcptest.Options{}}
	for i, name := range names(n) {
		o := mcptest.Options{Resources: mcptest.Int(total / n), Page: hostPage, Tree: uint64(i + 1)}
		if i == 0 {
			o.Log = log
		}
		u.servers[name] = o
	}
	start := time.Now()
	if s, err = b.start(ctx, u); err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if err := meanwhile(s); err != nil {
		return nil, 0, err
	}
	err = s.listed(ctx, total)
	return s, time.Since(start), err
}

// hostsAtWork measures completion and memory while the lists come, and in a
// storm after that.
func (b *bench) hostsAtWork(ctx context.Context) ([]row, error) {
	p, err := newProvider(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	dir, err := b.scratch()
	if err != nil {
		return nil, err
	}
	seen := arrival{}
	s, _, err := b.host(ctx, hostServers, p, filepath.Join(dir, "fake.log"), func(s *server) (err error) {
		seen, err = b.arriving(ctx, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	idle, err := b.idle(ctx, s)
	if err != nil {
		return nil, err
	}
	rows := []row{
		{
			// The servers take both processors meanwhile, and more.
			"the same: completion while they are listed", "p99 ≤ 50 ms",
			fmt.Sprintf("p50 %s, p99 %s (an echo beside it %s, %s)", ms(seen.typing.p50()), ms(seen.typing.p99()), ms(seen.floor.p50()), ms(seen.floor.p99())),
			seen.typing.p99() <= 50*time.Millisecond,
		},
		{"the same: memory while they are listed", "≤ 2× that after it", fmt.Sprintf("%.0f MB at most, %.0f MB after it", seen.most, idle), seen.most <= 2*idle},
	}
	probe, err := s.newProbe(ctx, "see @main", "see @s7:file://pkg4")
	if err != nil {
		return nil, err
	}
	more, err := b.flood(ctx, s, probe, filepath.Join(dir, "fake.log"), fmt.Sprintf("%d resources over %d servers", hostServers*hostResources, hostServers))
	return append(rows, more...), err
}

// arrival is what was seen while lists came.
type arrival struct {
	typing, floor took
	most          float64 // MB resident
}

// arriving types while the lists of a server that has just started come, beside
// an echo on the same processors.
func (b *bench) arriving(ctx context.Context, s *server) (seen arrival, err error) {
	const text = "see @s"
	early, err := s.newProbe(ctx, text)
	if err != nil {
		return seen, err
	}
	early.ask = early.ask[len(early.ask)-1:]
	echo, floor, _, err := b.echo(ctx, s, text)
	if err != nil {
		return seen, err
	}
	defer func() { _ = echo.Close() }()
	floor.ask = early.ask
	for end := time.Now().Add(b.wait(4 * time.Second)); time.Now().Before(end); {
		for _, one := range []struct {
			of *probe
			to *took
		}{{early, &seen.typing}, {floor, &seen.floor}} {
			t, err := one.of.times(ctx, 10, apart)
			if err != nil {
				return seen, err
			}
			*one.to = append(*one.to, t...)
		}
		mb, err := s.resident(ctx)
		if err != nil {
			return seen, err
		}
		seen.most = max(seen.most, mb)
	}
	return seen, nil
}
