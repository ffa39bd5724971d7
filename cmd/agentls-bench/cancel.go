package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"agentls/mcp/mcptest"
)

// cancels measures from $/cancelRequest to the answer, of a run whose provider
// streams and of one whose tool never reacts.
func cancels(ctx context.Context, b *bench) ([]row, error) {
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
	s, err := b.start(ctx, setup{provider: p, features: []string{"runEvents"}, servers: map[string]mcptest.Options{"fake": {Log: log}}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	if err := s.listed(ctx, 1); err != nil {
		return nil, err
	}
	streaming, err := s.cancels(ctx, b.samples(300), "stream 1000 0", "stream", func(before int) error {
		return s.Await(ctx, before, "no text comes", isText)
	})
	if err != nil {
		return nil, err
	}
	// It hears of a hang-up at its next chunk.
	if err := eventually(ctx, "the provider does not see each hang-up", func() (bool, error) {
		return p.hungUp.Load() >= int64(len(streaming)), nil
	}); err != nil {
		return nil, err
	}
	calls := 0
	stuck, err := s.cancels(ctx, b.samples(20), "call mcp__fake__never {}", "stuck", func(int) error {
		calls++ // that the call runs is told before the server has it
		return eventually(ctx, "the server gets no call", func() (bool, error) {
			n, err := received(log, "tools/call")
			return n == calls, err
		})
	})
	if err != nil {
		return nil, err
	}
	return []row{
		{
			fmt.Sprintf("`$/cancelRequest` to the answer, the provider streams (%d runs)", len(streaming)), "p99 ≤ 20 ms",
			fmt.Sprintf("p99 %s (p50 %s)", ms(streaming.p99()), ms(streaming.p50())), streaming.p99() <= 20*time.Millisecond,
		},
		{
			fmt.Sprintf("the same with a tool that never reacts (%d runs)", len(stuck)), "p99 ≤ 500 ms",
			fmt.Sprintf("p99 %s (p50 %s)", ms(stuck.p99()), ms(stuck.p50())), stuck.p99() <= 500*time.Millisecond,
		},
	}, nil
}

// cancels runs a prompt n times, waits until it has begun, and gives the times
// from the cancel to the answer.
func (s *server) cancels(ctx context.Context, n int, prompt, session string, begun func(mark int) error) (t took, err error) {
	for i := range n {
		mark := s.Mark()
		id, wait := s.ask(prompt, fmt.Sprint(session, i))
		if err := begun(mark); err != nil {
			return nil, err
		}
		d, err := s.cancel(ctx, id, wait)
		if err != nil {
			return nil, err
		}
		t = append(t, d)
	}
	return t, nil
}
