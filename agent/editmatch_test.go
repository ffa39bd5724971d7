package agent

import (
	"strings"
	"testing"
)

func TestReplaceAll(t *testing.T) {
	type edits = []replacement
	for _, c := range []struct {
		name, text string
		edits      edits
		want       string
	}{
		{"one", "a\nb\nc\n", edits{{"b", "B"}}, "a\nB\nc\n"},
		{"one after the other", "a\nb\n", edits{{"a", "x"}, {"x\nb", "y"}}, "y\n"},
		{"a line goes", "a\nb\nc\n", edits{{"b\n", ""}}, "a\nc\n"},
		{"CRLF by \\n", "a\r\nb\r\nc\r\n", edits{{"a\nb", "x\ny\nz"}}, "x\r\ny\r\nz\r\nc\r\n"},
		{"CRLF by CRLF", "a\r\nb\r\n", edits{{"a\r\nb\r\n", "x\r\n"}}, "x\r\n"},
		{"LF by CRLF", "a\nb\n", edits{{"a\r\nb", "x\r\ny"}}, "x\ny\n"},
		{"around a line's end", "a\r\nb\r\n", edits{{"a", "x"}, {"\nb", "\nc\nd"}}, "x\r\nc\r\nd\r\n"},
		{"the rest of mixed endings", "a\r\nb\r\nc\nd\r\n", edits{{"b", "B\nB"}}, "a\r\nB\r\nB\r\nc\nd\r\n"},
		{"byte order mark", "\uFEFFa\nb", edits{{"a", "x"}}, "\uFEFFx\nb"},
		{"no last newline", "a\nb", edits{{"b", "c"}}, "a\nc"},
		{"astral", "𝄞 é\n", edits{{"é", "𝄟"}}, "𝄞 𝄟\n"},
		{"\\r before CRLF", "a\r\r\nb\r\n", edits{{"b", "c\nd"}}, "a\r\r\nc\r\nd\r\n"},
		{"a lone \\r", "a\rb", edits{{"a\rb", "c"}}, "c"},
	} {
		got, err := replaceAll(c.text, c.edits, true)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

// What the model reads lets it mend the call.
func TestReplaceAllSaysWhatIsWrong(t *testing.T) {
	const text = "package main\n\nfunc main() {\n\tfmt.Println(\"hello\")\n\tfmt.Println(\"hello\")\n}\n"
	type edits = []replacement
	for _, c := range []struct {
		name  string
		edits edits
		want  []string
	}{
		{"empty", edits{{"", "x"}}, []string{"edit 1:", "empty", "write_file"}},
		{"equal", edits{{"main", "x"}, {"hello", "hello"}}, []string{"edit 1 of 2", "occurs 2 times", "at lines 1, 3"}},
		{"equal but for endings", edits{{"x\n", "x\r\n"}}, []string{"equal"}},
		{"many", edits{{"fmt.Println(\"hello\")", "x"}}, []string{"occurs 2 times", "at lines 4, 5", "more of the text around"}},
		{"overlapping", edits{{"l", "x"}}, []string{"occurs 6 times"}},
		{"indented otherwise", edits{{"func main() {\n    fmt.Println(\"hello\")\n", "x"}}, []string{"does not occur", "     3\tfunc main() {\n     4\t\tfmt.Println(\"hello\")"}},
		{"misspelt", edits{{"fnc main() {", "x"}}, []string{"does not occur", "     3\tfunc main() {"}},
		{"nowhere near", edits{{"zzzzz", "x"}}, []string{"No line is like it"}},
		{"gone by the edit before", edits{{"package main\n", ""}, {"package main", "x"}}, []string{"edit 2 of 2", "does not occur"}},
	} {
		got, err := replaceAll(text, c.edits, true)
		if err == nil || got != "" {
			t.Fatalf("%s: %q", c.name, got)
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q is not in: %v", c.name, w, err)
			}
		}
		if len(err.Error()) > 3000 {
			t.Errorf("%s: %d bytes", c.name, len(err.Error()))
		}
	}
	long := strings.Repeat(strings.Repeat("x", 100000)+"\n", 50)
	if _, err := replaceAll(long, edits{{strings.Repeat("x", 99990) + "y", "z"}}, true); err == nil || len(err.Error()) > 5000 {
		t.Errorf("long lines are told whole: %.200v", err)
	}
}

// In a text of one kind of line endings an edit does what replacing does that
// knows nothing of them; and all of it or nothing.
func FuzzReplaceAll(f *testing.F) {
	f.Add("a\nb\nc\n", "b", "B", "c", "d\ne", true)
	f.Add("aaa", "aa", "", "a", "b", false)
	f.Add("\n\n", "\n\n", "\n", "\n", "x", true)
	f.Fuzz(func(t *testing.T, text, old1, new1, old2, new2 string, crlf bool) {
		text, old1, new1, old2, new2 = lf(text), lf(old1), lf(new1), lf(old2), lf(new2)
		if strings.Contains(text+old1+new1+old2+new2, "\r") || crlf && !strings.Contains(text, "\n") {
			return
		}
		want, fails := text, false
		for _, e := range [][2]string{{old1, new1}, {old2, new2}} {
			n := 0
			for i := range len(want) {
				if e[0] != "" && strings.HasPrefix(want[i:], e[0]) {
					n++
				}
			}
			if fails = fails || n != 1 || e[0] == e[1]; !fails {
				want = strings.Replace(want, e[0], e[1], 1)
			}
		}
		given := text
		if crlf {
			given, want = strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(want, "\n", "\r\n")
		}
		got, err := replaceAll(given, []replacement{{old1, new1}, {old2, new2}}, true)
		switch {
		case fails && (err == nil || got != ""):
			t.Errorf("%q: %q, want an error", given, got)
		case !fails && (err != nil || got != want):
			t.Errorf("%q: %q, %v, want %q", given, got, err, want)
		}
	})
}
