package main

import (
	"context"
	"fmt"
	"time"
)

// sessions measures what a long session costs a process that takes it up: the
// time to the first request, and memory, against a new session.
func sessions(ctx context.Context, b *bench) ([]row, error) {
	p, err := newProvider(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	home, err := b.scratch()
	if err != nil {
		return nil, err
	}
	turns := b.samples(1000)
	u := setup{provider: p, root: home, home: home}
	if err := b.fill(ctx, u, turns); err != nil {
		return nil, err
	}
	var fresh, long took
	var memory [2]float64 // of a new session, of the long one
	for range b.samples(5) {
		for i, session := range []string{"new", "long"} {
			t, mb, err := b.takeUp(ctx, u, p, fmt.Sprint(session), i*turns)
			if err != nil {
				return nil, err
			}
			memory[i] = max(memory[i], mb)
			if i == 0 {
				fresh = append(fresh, t)
			} else {
				long = append(long, t)
			}
		}
	}
	more := memory[1] - memory[0]
	return []row{
		{
			fmt.Sprintf("a new process takes up a session of %d turns: from the prompt to the provider's request", turns), "≤ 200 ms more than a new session",
			fmt.Sprintf("p50 %s (%s with a new one)", ms(long.p50()), ms(fresh.p50())), long.p50()-fresh.p50() <= 200*time.Millisecond,
		},
		{
			"the same: memory", "≤ 32 MB more", fmt.Sprintf("+%.1f MB (%.0f MB with a new one)", more, memory[0]), more <= 32,
		},
	}, nil
}

// fill gives a session so many turns.
func (b *bench) fill(ctx context.Context, u setup, turns int) error {
	s, err := b.start(ctx, u)
	if err != nil {
		return err
	}
	for range turns {
		_, wait := s.ask("stream 100000 50", "long")
		if err := wait(ctx, nil); err != nil {
			_ = s.Close()
			return err
		}
	}
	return s.Close()
}

// takeUp starts a process, asks in a session that must have so many turns, and
// gives the time until the provider was asked, and the memory afterwards.
func (b *bench) takeUp(ctx context.Context, u setup, p *provider, session string, turns int) (time.Duration, float64, error) {
	s, err := b.start(ctx, u)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = s.Close() }()
	if session == "new" {
		session = "" // each time
	}
	p.forget()
	start := time.Now()
	_, wait := s.ask("stream 100000 1", session)
	if err := wait(ctx, nil); err != nil {
		return 0, 0, err
	}
	came := p.asked()
	if len(came) != 1 || came[0].users < turns || turns == 0 && came[0].users != 1 {
		return 0, 0, fmt.Errorf("the provider got %+v, of a session of %d turns", came, turns)
	}
	mb, err := s.resident(ctx)
	return came[0].at.Sub(start), mb, err
}
