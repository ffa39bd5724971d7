package agent

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Parameters of BM25: how soon a word that is repeated counts no more, and how
// much a long text counts for less.
const (
	bm25Repeat = 1.2
	bm25Length = 0.5
)

// toolWords is what a tool can be found by: how much each word counts in it.
type toolWords struct {
	count map[string]float64
	sum   float64
}

// wordsOfTool reads a tool's name, title, description, arguments and server.
func wordsOfTool(t *tool) toolWords {
	w := toolWords{count: map[string]float64{}}
	add := func(text string, weight float64) {
		for _, word := range searchWords(text) {
			w.count[word] += weight
			w.sum += weight
		}
	}
	add(t.name, 3)
	add(t.title, 2)
	add(t.server, 1)
	description, _ := clip(t.description, maxDescription)
	add(description, 1)
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(t.schema, &schema) == nil {
		for name := range schema.Properties {
			add(name, 0.5)
		}
	}
	return w
}

// searchWords splits a text into the words to search by, in lower case and
// without endings: createIssue, issues_created and “Creating an issue” have
// the same. Of scripts that put no spaces between words, each two characters
// that follow each other are one.
func searchWords(text string) (out []string) {
	var word []rune
	end := func() {
		for ; len(word) > 2 && unspaced(word[0]); word = word[1:] {
			out = append(out, string(word[:2]))
		}
		if w := stem(strings.ToLower(string(word))); len(w) > 1 && !stopWords[w] {
			out = append(out, w)
		}
		word = word[:0]
	}
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			end()
			continue
		case len(word) > 0 && unspaced(r) != unspaced(word[0]) && !unicode.IsMark(r):
			end()
		case unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]):
			end()
		}
		word = append(word, r)
	}
	end()
	return out
}

func unspaced(r rune) bool {
	return r > 0xdff && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// stem takes the common endings off an English word.
func stem(w string) string {
	for _, ending := range []string{"ing", "ies", "ed", "es", "s", "e"} {
		if rest, ok := strings.CutSuffix(w, ending); ok && len(rest) >= 3 {
			if ending == "ies" {
				rest += "y"
			}
			return rest
		}
	}
	return w
}

// stopWords say nothing of what is looked for, as stem leaves them.
//
//nolint:gochecknoglobals // a constant table
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("a an and are as at be but by can do does for from had has have how i if in into is it its me my no not of on or our please so that the their them then there they this tool to use was we what when where which who will with would you your") {
		m[stem(w)], m[w] = true, true
	}
	return m
}()

// ranked is a tool and how well it fits.
type ranked struct {
	*tool
	score float64
}

// searchTools returns the tools that a text has words of, the best first.
func searchTools(tools []*tool, text string) []ranked {
	query := searchWords(text)
	slices.Sort(query)
	query = slices.Compact(query)
	if len(query) == 0 || len(tools) == 0 {
		return nil
	}
	docs := make([]toolWords, len(tools))
	length, with := 0.0, map[string]float64{}
	for i, t := range tools {
		docs[i] = t.words()
		length += docs[i].sum
		for _, w := range query {
			if docs[i].count[w] > 0 {
				with[w]++
			}
		}
	}
	n := float64(len(tools))
	length = max(length/n, 1)
	var out []ranked
	for i, t := range tools {
		score := 0.0
		for _, w := range query {
			if f := docs[i].count[w]; f > 0 {
				rare := math.Log(1 + (n-with[w]+0.5)/(with[w]+0.5))
				score += rare * f * (bm25Repeat + 1) / (f + bm25Repeat*(1-bm25Length+bm25Length*docs[i].sum/length))
			}
		}
		if score > 0 {
			out = append(out, ranked{t, score})
		}
	}
	slices.SortFunc(out, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.score, a.score), byServer(a.tool, b.tool)) })
	return out
}

// namedIn returns the tools that a text names, by their own names or those for
// the model.
func namedIn(tools []*tool, text string) map[*tool]bool {
	words := map[string]bool{}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }) {
		words[w] = true
	}
	out := map[*tool]bool{}
	for _, t := range tools {
		if words[t.name] || words[t.model] {
			out[t] = true
		}
	}
	return out
}
