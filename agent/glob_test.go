package agent

import (
	"testing"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob string
		yes  []string
		no   []string
	}{
		{"*.go", []string{"a.go", "x/y/a.go"}, []string{"a.got", "a.go/x"}},
		{"**/*.go", []string{"a.go", "x/a.go", "x/y/a.go"}, []string{"a.ts"}},
		{"src/*.go", []string{"src/a.go"}, []string{"src/x/a.go", "x/src/a.go"}},
		{"src/**", []string{"src/a", "src/x/y"}, []string{"srcx/a"}},
		{"/src/**/t.?s", []string{"src/t.ts", "src/a/b/t.js"}, []string{"src/t.tsx"}},
		{"*.{ts,tsx}", []string{"a.ts", "b/a.tsx"}, []string{"a.js"}},
		{"[a-c]*.md", []string{"b.md"}, []string{"d.md"}},
		{"[!a-c].md", []string{"d.md"}, []string{"a.md"}},
		{"a+b(c).md", []string{"a+b(c).md"}, []string{"aab(c).md"}},
		{"[", []string{"["}, []string{"a"}},
		{"}", []string{"}"}, nil},
	} {
		re, err := globRegexp(c.glob)
		if err != nil {
			t.Errorf("%s: %v", c.glob, err)
			continue
		}
		for _, p := range c.yes {
			if !re.MatchString(p) {
				t.Errorf("%s does not match %s", c.glob, p)
			}
		}
		for _, p := range c.no {
			if re.MatchString(p) {
				t.Errorf("%s matches %s", c.glob, p)
			}
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"**/*.go", "{a,{b,c}}", "[]]", "[^]", "{{{", `\`, "[[:alpha:]]", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if re, err := globRegexp(s); (re == nil) == (err == nil) {
			t.Errorf("%q: %v, %v", s, re, err)
		}
	})
}
