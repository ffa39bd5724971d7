package llamatest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Model is one of the models that are written here. Both are of llama's
// architecture and a few hundred kilobytes. A token is a character or a part
// of a word that requests are full of.
type Model int

const (
	// Table is a model whose next token depends on the last one alone. Its
	// template (template.jinja) looks at the last message: a user's with the
	// word CALL is answered with a call of a tool, one with the word ENDLESS
	// with words until the context is full, one with the word THINK with
	// [Thought] and [Sentence], everything else with [Sentence]. Whoever can
	// submit a plan or a review does, and says [Sentence] afterwards: the plan
	// has one step, [Word], and the review approves.
	Table Model = iota
	// Gibberish has random weights: its answers are split UTF-8, control
	// characters and halves of tags, until a limit ends them.
	Gibberish
)

// Sentence is what [Table] says.
const Sentence = "A little table knows these words."

// Thought is what [Table] thinks, where it does.
const Thought = "Hmm let me see"

// Word is what [Table] writes where a schema asks for a text that is not empty.
const Word = "stripes"

// Tool is the name of the tool that [Table] prefers where the grammar lets it
// choose, by itself or of a server named "fake".
const Tool = "zebra"

// The sizes of both models.
const (
	width   = 64
	heads   = 4
	hidden  = 64
	maxRank = 9
)

// The kinds of tokens, as llama.cpp numbers them.
const (
	kindNormal  = 1
	kindUnknown = 2
	kindControl = 3
	kindUser    = 4
	kindUnused  = 5
	kindByte    = 6
)

// vocabulary is what a model reads and writes.
type vocabulary struct {
	tokens []string
	kinds  []int32
	ids    map[string]int
}

const (
	begin, end = "<s>", "</s>"
	say        = "<say>"
	use        = "<use>"
	endless    = "<endless>"
	ponder     = "<ponder>"
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	callOpen   = "<tool_call>"
	callClose  = "</tool_call>"
	newline    = "<0x0A>"
)

// sentence is Sentence in tokens; a token's space is written as U+2581.
func sentence() []string {
	return []string{"A", "▁little", "▁table", "▁knows", "▁these", "▁words", "."}
}

// round is said again and again after <endless>.
func round() []string { return []string{"▁and", "▁on", "▁so"} }

// common are the words that requests with tools are full of. Each is a token,
// and so is each of its beginnings, because the tokenizer joins two at a time;
// without them a request takes ten times as long to read.
func common() []string {
	return strings.Fields(`"description":" "properties":{ "parameters":{ "type":" string" object" integer" boolean" "function "name":" "required":[
		▁the ▁and ▁of ▁to ▁is ▁it ▁in ▁with ▁that ▁file ▁tool ▁server ▁resource ▁not ▁for ▁name ▁line ▁path ▁folder ▁list`)
}

// preferred is what wins where a grammar leaves a choice, the first first: ends
// before beginnings, the tools that are meant, and what their arguments are to
// say.
func preferred() []string {
	return []string{`"`, Word, "}", callClose, end, "]", "{", ":", ",", "submit_plan", "submit_review", "mcp__fake__" + Tool, Tool, "approve", "m", "1"}
}

// thought is what is thought after <ponder>, before the sentence.
func thought() []string { return []string{"Hmm", "▁let", "▁me", "▁see"} }

func newVocabulary() *vocabulary {
	v := &vocabulary{ids: map[string]int{}}
	v.add(kindUnknown, "<unk>")
	v.add(kindControl, begin, end)
	for i := range 256 {
		v.add(kindByte, fmt.Sprintf("<0x%02X>", i))
	}
	v.add(kindUser, "<|turn|>", "<|over|>", say, use, endless, ponder, thinkOpen, thinkClose, callOpen, callClose)
	for c := '!'; c <= '~'; c++ {
		v.add(kindNormal, string(c))
	}
	v.add(kindNormal, "▁")
	for _, word := range common() {
		letters := []rune(word)
		for n := 2; n <= len(letters); n++ {
			v.add(kindNormal, string(letters[:n]))
		}
	}
	v.add(kindNormal, sentence()...)
	v.add(kindNormal, round()...)
	v.add(kindNormal, thought()...)
	v.add(kindNormal, preferred()...)
	for len(v.tokens)%32 != 0 {
		v.add(kindUnused, fmt.Sprintf("<unused%d>", len(v.tokens)))
	}
	return v
}

func (v *vocabulary) add(kind int32, tokens ...string) {
	for _, t := range tokens {
		if _, there := v.ids[t]; there {
			continue
		}
		v.ids[t] = len(v.tokens)
		v.tokens, v.kinds = append(v.tokens, t), append(v.kinds, kind)
	}
}

// scores rank tokens where the tokenizer may choose: bytes come last.
func (v *vocabulary) scores() []float32 {
	out := make([]float32, len(v.tokens))
	for i, kind := range v.kinds {
		switch kind {
		case kindByte:
			out[i] = -1e4
		case kindNormal:
			out[i] = -float32(i)
		}
	}
	return out
}

// file makes the model's file for a context of so many tokens.
func (m Model) file(context int) *gguf {
	v, g, layers := newVocabulary(), &gguf{}, 1
	if m == Gibberish {
		layers = 2
	}
	g.text("general.architecture", "llama")
	g.text("general.name", "agentls test model")
	g.number("general.file_type", 0)
	for key, n := range map[string]int{
		"vocab_size": len(v.tokens), "context_length": context, "embedding_length": width, "block_count": layers, "feed_forward_length": hidden,
		"attention.head_count": heads, "attention.head_count_kv": heads, "rope.dimension_count": width / heads,
	} {
		g.number("llama."+key, n)
	}
	g.float("llama.attention.layer_norm_rms_epsilon", 1e-6)
	g.text("tokenizer.ggml.model", "llama")
	g.texts("tokenizer.ggml.tokens", v.tokens)
	g.floats("tokenizer.ggml.scores", v.scores())
	g.ints("tokenizer.ggml.token_type", v.kinds)
	g.number("tokenizer.ggml.unknown_token_id", v.ids["<unk>"])
	g.number("tokenizer.ggml.bos_token_id", v.ids[begin])
	g.number("tokenizer.ggml.eos_token_id", v.ids[end])
	g.flag("tokenizer.ggml.add_bos_token", false)
	g.flag("tokenizer.ggml.add_space_prefix", false)
	if m == Gibberish {
		m.random(g, v, layers)
	} else {
		m.table(g, v, layers)
	}
	return g
}

// table writes the weights of a table. Attention and feed-forward give
// nothing, so that what is left is output × norm(embedding of the last token);
// each token with a successor has a dimension of its own, all others share the
// first.
func (m Model) table(g *gguf, v *vocabulary, layers int) {
	next := map[string]string{use: callOpen, callOpen: newline, callClose: end, endless: round()[0]}
	chain := func(tokens ...string) {
		for i, t := range tokens[1:] {
			next[tokens[i]] = t
		}
	}
	chain(append(append([]string{say}, sentence()...), end)...)
	chain(append(round(), round()[0])...)
	chain(append(append([]string{ponder, thinkOpen}, thought()...), thinkClose, sentence()[0])...)
	preferred := preferred()
	embedding, output := make([]float32, len(v.tokens)*width), make([]float32, len(v.tokens)*width)
	dimension := map[string]int{}
	for i, t := range v.tokens {
		if _, leads := next[t]; leads {
			dimension[t] = len(dimension) + 1
		}
		embedding[i*width+dimension[t]] = 1
	}
	for from, to := range next {
		output[v.ids[to]*width+dimension[from]] = maxRank
	}
	for i, t := range preferred {
		output[v.ids[t]*width] = float32(len(preferred)-i) * maxRank / 2
	}
	g.tensor("token_embd.weight", len(v.tokens), width, embedding)
	g.tensor("output.weight", len(v.tokens), width, output)
	m.layers(g, layers, func(int) float32 { return 0 })
}

// random writes weights that mean nothing, the same each time.
func (m Model) random(g *gguf, v *vocabulary, layers int) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
	values := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(r.NormFloat64())
		}
		return out
	}
	g.tensor("token_embd.weight", len(v.tokens), width, values(len(v.tokens)*width))
	g.tensor("output.weight", len(v.tokens), width, values(len(v.tokens)*width))
	m.layers(g, layers, func(columns int) float32 { return float32(r.NormFloat64()) / float32(columns) })
}

func filled(n int, f func() float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = f()
	}
	return out
}

// layers writes the norms, all ones, and the matrices of each layer.
func (m Model) layers(g *gguf, layers int, weight func(columns int) float32) {
	one := func() float32 { return 1 }
	g.tensor("output_norm.weight", 0, width, filled(width, one))
	for i := range layers {
		name := func(s string) string { return fmt.Sprintf("blk.%d.%s.weight", i, s) }
		for _, norm := range []string{"attn_norm", "ffn_norm"} {
			g.tensor(name(norm), 0, width, filled(width, one))
		}
		for _, matrix := range []struct {
			name          string
			rows, columns int
		}{
			{"attn_q", width, width},
			{"attn_k", width, width},
			{"attn_v", width, width},
			{"attn_output", width, width},
			{"ffn_gate", hidden, width},
			{"ffn_up", hidden, width},
			{"ffn_down", width, hidden},
		} {
			g.tensor(name(matrix.name), matrix.rows, matrix.columns, filled(matrix.rows*matrix.columns, func() float32 { return weight(matrix.columns) }))
		}
	}
}
