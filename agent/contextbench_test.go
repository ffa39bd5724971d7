package agent

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// turns is a history of n prompts, each with a round of calls and an answer.
func turns(n, resultBytes int) []Message {
	var h []Message
	for i := range n {
		id := fmt.Sprintf("c%d", i)
		h = append(h,
			Message{Role: User, Text: fmt.Sprintf("prompt %d: look at the file and say what is in it", i)},
			Message{Role: Assistant, ToolCalls: []ToolCall{{ID: id, Name: "read_file", Arguments: `{"path":"a.go"}`}}},
			Message{Role: ToolRole, ToolCallID: id, Text: strings.Repeat(fmt.Sprintf("line %d of the file\n", i), resultBytes/20)},
			Message{Role: Assistant, Text: fmt.Sprintf("answer %d: there is much in it, and it is well made", i)},
		)
	}
	return append(h, Message{Role: User, Text: "go on"})
}

// What a request costs when the history has 1,000 turns: the first that is
// fitted, and each one after it, when little is new.
func BenchmarkFit1000Turns(b *testing.B) {
	f := fit{
		vocabulary: o200k, shelf: newStore(b.TempDir(), slog.New(slog.DiscardHandler)).of(sessionKey{"f", "s"}),
		history: turns(1000, 2000), fixed: 2000, all: true, budget: 119808, usual: 119808,
	}
	f.prompt = len(f.history) - 1
	o200k.exact("loaded")
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			var v excerpt
			if _, n, _ := v.fit(f); n > f.budget {
				b.Fatal(n)
			}
		}
	})
	b.Run("next", func(b *testing.B) {
		var v excerpt
		v.fit(f)
		for b.Loop() {
			if _, n, _ := v.fit(f); n > f.budget {
				b.Fatal(n)
			}
		}
	})
	b.Run("within", func(b *testing.B) { // nothing to leave out
		var v excerpt
		f.budget, f.usual = 100<<20, 100<<20
		for b.Loop() {
			v.fit(f)
		}
	})
}

// The cost of counting, a MB of texts of 8 KB each.
func BenchmarkTokens(b *testing.B) {
	for name, v := range map[string]*vocabulary{"o200k": o200k, "cl100k": cl100k} {
		text := strings.Repeat("func (r *run) count(text string) int { return len(text) / 4 } // about\n", 115)[:8000]
		v.exact("loaded")
		b.Run(name, func(b *testing.B) {
			b.SetBytes(125 * 8000)
			for b.Loop() {
				for range 125 {
					v.count(text)
				}
			}
		})
	}
}
