package mcp

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// referenceMentions reads a text by the words of CONTRACT §6 "Mentions", slowly
// and with nothing of what it is held against. known has the URIs that each
// server lists, by mention name.
func referenceMentions(text string, known map[string][]string) (found []Mention) {
	fence := ""
	for start := 0; start < len(text); {
		end := start
		for end < len(text) && text[end] != '\n' && text[end] != '\r' {
			end++
		}
		l := referenceLine{text: text[start:end], at: start, known: known, found: &found}
		run := referenceFence.FindStringSubmatch(l.text)
		switch {
		case fence == "" && run != nil && (run[1][0] == '~' || !strings.Contains(run[2], "`")):
			fence = run[1]
			l.read(0, end-start, true)
		case fence != "" && run != nil && strings.HasPrefix(run[1], fence) && strings.TrimSpace(run[2]) == "":
			fence = ""
		case fence != "":
			l.read(0, end-start, true)
		default:
			l.outside()
		}
		start = end + 1
	}
	return found
}

var (
	referenceFence  = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})((?s:.*))$")
	referenceName   = regexp.MustCompile(`^@([A-Za-z0-9._-]*)(:?)`)
	referenceScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	// The path goes on: what is known is the beginning of another URI.
	referenceGoesOn = regexp.MustCompile(`^([A-Za-z0-9_/%~-]|\.[A-Za-z0-9_])`)
)

type referenceLine struct {
	text  string
	at    int // in the whole text
	known map[string][]string
	found *[]Mention
}

// outside reads a line that is in no fence: what matching quotes hold is told
// as quoted.
func (l referenceLine) outside() {
	for i := 0; i < len(l.text); {
		switch c := l.text[i]; c {
		case '@':
			i = l.mention(0, i, len(l.text), false)
		case '"', '`':
			open := i
			for i++; c == '`' && i < len(l.text) && l.text[i] == '`'; i++ {
			}
			if before, n := utf8.DecodeLastRuneInString(l.text[:open]); n > 0 && !unicode.IsSpace(before) {
				continue // it opens nothing
			}
			if from, to, ok := l.closing(i, l.text[open:i]); ok {
				l.read(i, from, true)
				i = to
			}
		default:
			i++
		}
	}
}

// closing finds the quote that is as long as the opening one and stands before
// white space, punctuation or the line's end.
func (l referenceLine) closing(i int, quote string) (from, to int, ok bool) {
	for i < len(l.text) {
		if l.text[i] != quote[0] {
			i++
			continue
		}
		from := i
		for i++; quote[0] == '`' && i < len(l.text) && l.text[i] == '`'; i++ {
		}
		after, n := utf8.DecodeRuneInString(l.text[i:])
		if i-from == len(quote) && (n == 0 || unicode.IsSpace(after) || unicode.IsPunct(after) || unicode.IsSymbol(after)) {
			return from, i, true
		}
	}
	return 0, 0, false
}

func (l referenceLine) read(from, to int, quoted bool) {
	for i := from; i < to; {
		if l.text[i] == '@' {
			i = l.mention(from, i, to, quoted)
		} else {
			i++
		}
	}
}

// mention reads what stands at an '@' and returns where to go on.
func (l referenceLine) mention(from, i, to int, quoted bool) int {
	head := referenceName.FindStringSubmatch(l.text[i:to])
	next := i + 1 + len(head[1])
	before, n := utf8.DecodeLastRuneInString(l.text[from:i])
	begins := n == 0 || unicode.IsSpace(before) || strings.ContainsRune("\"'`<", before) || unicode.In(before, unicode.Ps, unicode.Pi)
	uris, server := l.known[head[1]]
	if head[1] == "" || head[2] == "" || !begins || quoted && !server {
		return next
	}
	rest := l.text[next+1 : to]
	uri, size := referenceURI(rest, uris)
	if uri == "" {
		return next
	}
	m := Mention{Start: l.at + i, End: l.at + next + 1 + size, Name: head[1], URI: uri, Known: slices.Contains(uris, uri), Quoted: quoted}
	if server {
		m.Server = "config " + head[1]
	}
	*l.found = append(*l.found, m)
	return next + 1 + size
}

// referenceURI is the URI that rest begins with, and how much of rest it takes;
// "" for none.
func referenceURI(rest string, known []string) (uri string, size int) {
	longest := func(fits func(uri string) bool) (best string) {
		for _, uri := range known {
			if len(uri) > len(best) && fits(uri) {
				best = uri
			}
		}
		return best
	}
	for opening, closing := range map[string]string{"<": ">", `"`: `"`} {
		inside, ok := strings.CutPrefix(rest, opening)
		if !ok {
			continue
		}
		if uri := longest(func(uri string) bool { return strings.HasPrefix(inside, uri+closing) }); uri != "" {
			return uri, len(uri) + 2
		}
		uri, _, closed := strings.Cut(inside, closing)
		if !closed || !referenceScheme.MatchString(uri) {
			return "", 0
		}
		return uri, len(uri) + 2
	}
	uri = longest(func(uri string) bool {
		after, ok := strings.CutPrefix(rest, uri)
		return ok && !referenceGoesOn.MatchString(after)
	})
	if uri != "" {
		return uri, len(uri)
	}
	scheme := referenceScheme.FindString(rest)
	end := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	if end < 0 {
		end = len(rest)
	}
	if uri = referenceTrim(rest[:end]); scheme == "" || len(uri) <= len(scheme) {
		return "", 0
	}
	return uri, len(uri)
}

// referenceTrim drops what belongs to the sentence.
func referenceTrim(s string) string {
	pairs := map[string]string{
		")": "(", "]": "[", "}": "{", ">": "<", "）": "（", "］": "［", "｝": "｛", "」": "「", "』": "『", "】": "【", "》": "《", "〉": "〈", "〕": "〔",
	}
	for {
		_, n := utf8.DecodeLastRuneInString(s)
		last := s[len(s)-n:]
		opener, closes := pairs[last]
		switch {
		case closes && strings.Count(s, last) > strings.Count(s, opener):
		case n > 0 && !closes && utf8.ValidString(last) && strings.Contains(".,;:!?\"'`…。，；：！？、．｡､”’»", last):
		default:
			return s
		}
		s = s[:len(s)-n]
	}
}

// sameMentions holds a text against the reference.
func sameMentions(t *testing.T, text string, known map[string][]string) {
	t.Helper()
	w := world(known)
	index := map[string]*knownURIs{}
	for name := range known {
		_, index[name] = w.server(name)
	}
	got := findMentions(text, func(name string) (string, *knownURIs) {
		if k, ok := index[name]; ok {
			return "config " + name, k
		}
		return "", nil
	})
	if want := referenceMentions(text, known); !slices.Equal(got, want) {
		t.Fatalf("%q with %q:\n got %+v\nwant %+v", text, known, got, want)
	}
}

// Texts that are made of what the grammar is made of.
func TestMentionsAreThoseOfTheReference(t *testing.T) {
	pieces := []string{
		"@fs:", "@fs:", "@s3:", "@no:", "@", "@fs", ":", "file://a", "file://a", "file://a b", "file://a.md", "file://", "x:y", "urn:x", "a", "b", ".", ".md", "-", "_", "/", "%", "~", "!", "?", ",", ";",
		"<", ">", "<", ">", `"`, `"`, "'", "`", "`", "``", "```", "~~~", "~~~~", "(", ")", "[", "]", "{", "}", "（", "）", "「", "」", "》", "。", "”", "’", "»", "…", " ", " ", " ", "\n", "\n", "\r\n", "\r", "\t", "\u00a0", "\u3000",
		"é", "😀", "\xff", "\u0300", "\x01", "go", "   ", "    ", "me@",
	}
	known := map[string][]string{"fs": {"file://a", "file://a b", "file://a.md", "file://a)", `q:"`, "q:>x", "no scheme", "x:y."}, "s3": {}}
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	for range 100_000 {
		var text strings.Builder
		for range rng.IntN(14) {
			text.WriteString(pieces[rng.IntN(len(pieces))])
		}
		sameMentions(t, text.String(), known)
	}
}

func FuzzMentionsAgainstTheReference(f *testing.F) {
	for _, seed := range []string{"see @fs:file://a.md, ok", "`@fs:file://a b`", "```\n@fs:x://y\n```", "@fs:<a b> @fs:\"x:y z\"", "me@fs:x:y", "\"@fs:file://a\"", "@fs:file://é）", "\xff@fs:file://\xff", " ``@fs:x:y`` `", "@fs:q:\"\" x"} {
		f.Add(seed, "file://a b", "q:>")
	}
	f.Fuzz(func(t *testing.T, text, one, two string) {
		if one == "" || two == "" {
			return // no server lists an empty URI
		}
		sameMentions(t, text, map[string][]string{"fs": {"file://a", one, two}, "s3": {}})
	})
}
