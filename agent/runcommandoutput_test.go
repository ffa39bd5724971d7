package agent

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// plainText is what is seen of an output that comes in pieces of n bytes.
func plainText(said string, n int) string {
	var out bytes.Buffer
	p := plainer{out: &out}
	for len(said) > 0 {
		k := min(n, len(said))
		_, _ = p.Write([]byte(said[:k]))
		said = said[k:]
	}
	p.Close()
	return out.String()
}

func TestPlainOutput(t *testing.T) {
	long := strings.Repeat("é", maxOpenLine)
	for _, c := range [][2]string{
		{"a\nb", "a\nb"},
		{"a\r\nb\r\n", "a\nb\n"},
		{"\x1b[31mred\x1b[0m \x1b[1;38;5;12mx\x1b[m", "red x"},
		{"\x1b]0;a title\x07text", "text"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"\x1bPdevice\x1b\\a\x1b_app\x1b\\b\x1b^pm\x1b\\c", "abc"},
		{"\x1b(Bcharset\x1b7\x1b8\x1b=\x1bc", "charset"},
		{"10%\r50%\r100%\n", "100%\n"},
		{"10%\r", "10%"},
		{"one\rtwo\r\r\nthree", "two\nthree"},
		{"old\r\x1b[Knew\n", "new\n"},
		{"old\x1b[2Knew\n", "new\n"},
		{"old\x1b[1Gnew\n", "new\n"},
		{"old\x1b[0Knew\n", "oldnew\n"},
		{"N\bNA\bAM\bM", "NAM"},
		{"é\bx", "x"},
		{"\b\bx", "x"},
		{"a\x00b\x07c\x0bd\x7fe\tf", "abcde\tf"},
		{"\xff\xfea\xc3(b\xe2\x82", "\uFFFDa\uFFFD(b\uFFFD"},
		{"a\u009b31mb\u0085", "a31mb"},
		{"\x1b]never ends\nnext", "\nnext"},
		{"\x1b[99\nnext\x1b", "\nnext"},
		{"\x1b[\xffrest", "rest"},
		{long, long},
		{long + "\rover", long + "\nover"},
		{"\x1b]" + strings.Repeat("x", maxEscape) + "shown", "shown"},
	} {
		for _, n := range []int{1, 2, 3, 7, 1 << 20} {
			if n < 7 && len(c[0]) > maxOpenLine {
				continue
			}
			if got := plainText(c[0], n); got != c[1] {
				t.Errorf("%.40q in pieces of %d:\n got %.60q\nwant %.60q", c[0], n, got, c[1])
			}
		}
	}
}

// Whatever comes, in whatever pieces: the same text, valid and without what
// could drive a terminal.
func FuzzPlainOutput(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb\x1b]0;x\x07\r\n", "\xff\x00\x9b", "é\b\b", "1\r2\x1b[K\x1b[2K", "\x1b\x1b\\", "\u0090x\u009c"} {
		f.Add(s, uint64(1))
	}
	f.Fuzz(func(t *testing.T, said string, seed uint64) {
		whole := plainText(said, len(said)+1)
		r := rand.New(rand.NewPCG(seed, 0))
		var out bytes.Buffer
		p := plainer{out: &out}
		for rest := said; rest != ""; {
			n := 1 + r.IntN(len(rest))
			_, _ = p.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		p.Close()
		if out.String() != whole {
			t.Errorf("%q: %q in pieces, %q at once", said, &out, whole)
		}
		if !utf8.ValidString(whole) {
			t.Errorf("%q: %q", said, whole)
		}
		for _, c := range whole {
			if unicode.IsControl(c) && c != '\n' && c != '\t' {
				t.Errorf("%q holds %q", said, c)
			}
		}
	})
}

func TestLastLineOfAnOutput(t *testing.T) {
	p := plainer{out: &bytes.Buffer{}}
	for _, c := range [][2]string{
		{"half a secret=abc", ""},
		{"def\n", "half a secret=abcdef"},
		{"\n  \n", "half a secret=abcdef"},
		{"5%\r", "5%"},
		{"\x1b[32m 10% \r", "10%"},
		{strings.Repeat("x", 2*maxLastLine) + "\n", strings.Repeat("x", maxLastLine)},
	} {
		fmt.Fprint(&p, c[0])
		if got := p.lastLine(); got != c[1] {
			t.Errorf("%.40q: %.40q", c[0], got)
		}
	}
}

func BenchmarkPlainOutput(b *testing.B) {
	var out bytes.Buffer
	p := plainer{out: &out}
	data := []byte(strings.Repeat("\x1b[32mok\x1b[0m  agentls/agent/config\t4.644s and more text of a usual line\r\n", 500))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		out.Reset()
		_, _ = p.Write(data)
	}
}
