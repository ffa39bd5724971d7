package agent

import (
	"regexp"
	"testing"
	"unicode"
)

// What is not seen neither reaches the model in what a server says of itself
// and its tools, nor keeps a closing tag from being seen as one.
func TestUnseen(t *testing.T) {
	spread := regexp.MustCompile(`^` + unseen + `$`)
	n := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !Unseen(r) {
			continue
		}
		n++
		if unicode.IsGraphic(r) && !unicode.In(r, unicode.Mn, unicode.Lo, unicode.So) {
			t.Errorf("%U is seen", r)
		}
		if !spread.MatchString(string(r)) {
			t.Errorf("%U parts a closing tag", r)
		}
		if r != '\n' && r != '\t' && visible("a"+string(r)+"b") != "ab" {
			t.Errorf("%U is visible", r)
		}
	}
	if n < 4000 {
		t.Errorf("only %d", n)
	}
	const text = "Straße, déjà vu, 日本語, العربية, 한국어, 😀 – “x”\n\ty"
	if got := visible(text); got != text {
		t.Errorf("%q", got)
	}
}
