package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// chunkNumber finds the numbers that the provider puts into its chunks.
var chunkNumber = regexp.MustCompile(`\[(\d+)\]`)

// arrivals are the times from the provider's write of a chunk to here.
type arrivals struct {
	p     *provider
	mu    sync.Mutex
	took  took
	first time.Time
	last  time.Time
	err   error
}

// see looks for chunks in what came, which are in order.
func (a *arrivals) see(data []byte) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range chunkNumber.FindAllSubmatch(data, -1) {
		i, _ := strconv.Atoi(string(m[1]))
		at, ok := a.p.sentAt(i)
		if i != len(a.took) || !ok {
			a.err = fmt.Errorf("chunk %d came in the place of %d", i, len(a.took))
			return
		}
		if i == 0 {
			a.first = now
		}
		a.last, a.took = now, append(a.took, now.Sub(at))
	}
}

// rate is the chunks a second that came.
func (a *arrivals) rate() float64 { return float64(len(a.took)-1) / a.last.Sub(a.first).Seconds() }

// chunks measures from the provider's write of a chunk to its event on the
// wire, at 1,000 chunks a second, and what a bare reader of the same socket
// takes.
func chunks(ctx context.Context, b *bench) ([]row, error) {
	p, err := newProvider(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	s, err := b.start(ctx, setup{provider: p, features: []string{"runEvents"}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	n := b.samples(5000)
	prompt := fmt.Sprintf("stream 1000 %d", n)
	ours := &arrivals{p: p}
	s.take(func(frame []byte) bool {
		if !bytes.Contains(frame, []byte(`"agentls/runEvent"`)) {
			return false
		}
		if bytes.Contains(frame, []byte(`"kind":"text"`)) {
			ours.see(frame)
		}
		return true
	})
	_, wait := s.ask(prompt, "chunks")
	if err := wait(ctx, nil); err != nil {
		return nil, err
	}
	bare := &arrivals{p: p}
	if err := readBare(ctx, p, prompt, bare); err != nil {
		return nil, err
	}
	for _, a := range []*arrivals{ours, bare} {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.err == nil && len(a.took) != n {
			a.err = fmt.Errorf("%d of %d chunks came", len(a.took), n)
		}
		if a.err != nil {
			return nil, a.err
		}
	}
	const sustained = 980 // of 1,000: what pacing by timers leaves
	added := ours.took.p50() - bare.took.p50()
	return []row{
		{
			"from a provider's chunk to its event on the wire, less what a bare reader of the socket takes", "p50 ≤ 0.5 ms",
			fmt.Sprintf("p50 %s (%s less %s; p99 %s)", ms(added), ms(ours.took.p50()), ms(bare.took.p50()), ms(ours.took.p99())), added <= 500*time.Microsecond,
		},
		{
			fmt.Sprintf("chunks a second, sustained for %s", (time.Duration(n) * time.Millisecond).Round(time.Second)), "1,000",
			fmt.Sprintf("%.0f of %.0f that a bare reader gets", ours.rate(), bare.rate()), ours.rate() >= min(sustained, bare.rate()*0.99),
		},
	}, nil
}

// readBare reads a stream without any of agentls.
func readBare(ctx context.Context, p *provider, prompt string, a *arrivals) error {
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":%q}]}`, prompt)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buffer)
		a.see(buffer[:n])
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
