package openai

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"agentls/agent"
)

// BenchmarkChunkLatency measures the time from the provider's write of a
// chunk to its delta, at 1,000 chunks a second, beside a bare reader of the
// same socket.
func BenchmarkChunkLatency(b *testing.B) {
	const chunks = 1000
	paced := func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		next := time.Now()
		for range chunks {
			next = next.Add(time.Millisecond)
			time.Sleep(time.Until(next))
			_, _ = fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1764450000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%019d\"},\"finish_reason\":null}]}\n\n", time.Now().UnixNano())
			_ = rc.Flush()
		}
		say(w, there, done)
	}
	report := func(b *testing.B, took []time.Duration, n int) {
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "chunks/s")
		if len(took) < n*chunks {
			b.Errorf("%d chunks of %d", len(took), n*chunks)
		}
	}
	b.Run("agentls", func(b *testing.B) {
		l := serve(b, paced)
		var took []time.Duration
		n := 0
		for b.Loop() {
			n++
			if _, err := l.Complete(b.Context(), prompt, func(d agent.Delta) {
				var sent int64
				if _, err := fmt.Sscanf(d.Text, "%019d", &sent); err == nil {
					took = append(took, time.Duration(time.Now().UnixNano()-sent))
				}
			}); err != nil {
				b.Fatal(err)
			}
		}
		report(b, took, n)
	})
	b.Run("bare", func(b *testing.B) {
		l := serve(b, func(w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			next := time.Now()
			for range chunks {
				next = next.Add(time.Millisecond)
				time.Sleep(time.Until(next))
				_ = binary.Write(w, binary.BigEndian, time.Now().UnixNano())
				_ = rc.Flush()
			}
		})
		var took []time.Duration
		n := 0
		for b.Loop() {
			n++
			resp, err := http.Post(l.endpoint("/x"), "", nil)
			if err != nil {
				b.Fatal(err)
			}
			for {
				var sent int64
				if binary.Read(resp.Body, binary.BigEndian, &sent) != nil {
					break
				}
				took = append(took, time.Duration(time.Now().UnixNano()-sent))
			}
			_ = resp.Body.Close()
		}
		report(b, took, n)
		http.DefaultClient.CloseIdleConnections()
	})
}

// BenchmarkChunkCost measures the processor's time for a chunk, from the
// bytes of a stream to its delta.
func BenchmarkChunkCost(b *testing.B) {
	var stream []byte
	for range 1000 {
		stream = append(stream, "data: "+hello+"\n\n"...)
	}
	stream = append(stream, "data: "+there+"\n\ndata: [DONE]\n\n"...)
	l, err := New(Options{BaseURL: "http://provider.test/v1", Model: "m"})
	if err != nil {
		b.Fatal(err)
	}
	l.client.Transport = fixed(stream)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Complete(b.Context(), prompt, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/chunk")
}

// BenchmarkRequest measures what it takes to write a long history.
func BenchmarkRequest(b *testing.B) {
	req := agent.Request{}
	text := string(slices.Repeat([]byte("some words of a file, \"quoted\"\n"), 150))
	for i := range 250 {
		req.Messages = append(req.Messages, agent.Message{Role: []agent.Role{agent.User, agent.Assistant}[i%2], Text: text})
	}
	l, err := New(Options{BaseURL: "http://provider.test/v1", Model: "m"})
	if err != nil {
		b.Fatal(err)
	}
	l.client.Transport = fixed("data: " + there + "\n\n")
	for b.Loop() {
		if _, err := l.Complete(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}
