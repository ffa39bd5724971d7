package lsp

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"agentls/agent"
	"agentls/lsp/lsptest"
)

// report gives the median and the 99th percentile of what was measured.
func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "ms-p50")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "ms-p99")
}

// tickLLM streams a numbered delta a millisecond and notes when.
type tickLLM struct {
	n    int
	mu   sync.Mutex
	sent map[int]time.Time
}

func (l *tickLLM) Complete(ctx context.Context, _ agent.Request, on func(agent.Delta)) (agent.Response, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := range l.n {
		<-tick.C
		l.mu.Lock()
		l.sent[i] = time.Now()
		l.mu.Unlock()
		on(agent.Delta{Text: fmt.Sprintf("<%d>", i)})
	}
	return agent.Response{Text: "done", FinishReason: "stop"}, nil
}

// BenchmarkDeltaToWire: from a delta of the model, 1,000 a second, to the
// write that holds its event.
func BenchmarkDeltaToWire(b *testing.B) {
	var took []time.Duration
	for b.Loop() {
		llm := &tickLLM{n: 1000, sent: map[int]time.Time{}}
		next := 0
		w := newWorld(b, setup{llm: llm, init: lsptest.Init{Features: []string{"runEvents"}}, tap: func(p []byte) {
			now := time.Now()
			llm.mu.Lock()
			defer llm.mu.Unlock()
			for bytes.Contains(p, fmt.Appendf(nil, "<%d>", next)) {
				took = append(took, now.Sub(llm.sent[next]))
				next++
			}
		}})
		result[agent.Result](b, w.ask("hi", nil))
		if next < llm.n {
			b.Fatalf("%d of %d deltas came", next, llm.n)
		}
	}
	report(b, took)
}
