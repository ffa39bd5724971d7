package openai

import (
	"slices"
	"testing"

	"agentls/agent"
)

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
