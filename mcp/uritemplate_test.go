package mcp

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/yosida95/uritemplate/v3"
)

func TestParseURITemplate(t *testing.T) {
	for _, text := range []string{"", "a{", "a}", "{}", "{+}", "{a", "{{a}}", "{a{b}}", "{a:}", "{a:x}", "{a:0}", "{a b}", "{/}", "x{a,}", strings.Repeat("{a}", maxTemplateSteps+1)} {
		if p, ok := parseURITemplate(text); ok || len(p.steps) != 0 {
			t.Errorf("%q is taken for a template: %+v", text, p)
		}
	}
	for _, text := range []string{"plain://x", "{a}", "x://{a}/{b}", "x://{a,b}", "{+a}", "x{?a,b*}", "{;a}{&b}{#c}{.d}{/e*}", "{a:3}", "{path*}", "x://{a_b.c%20d}"} {
		if _, ok := parseURITemplate(text); !ok {
			t.Errorf("%q is not taken for a template", text)
		}
	}
}

func TestTemplateMatches(t *testing.T) {
	check := func(template string, want bool, uris ...string) {
		t.Helper()
		p, ok := parseURITemplate(template)
		for _, uri := range uris {
			if got := p.matches(uri, new(maxTemplateTries)); got != want || !ok {
				t.Errorf("%s matches %s: %v", template, uri, got)
			}
		}
	}
	check("demo://text/{id}", true, "demo://text/1", "demo://text/%2F", "demo://text/a b")
	check("demo://text/{id}", false, "", "demo://text", "demo://text/", "demo://text/1/2", "demo://blob/1", "xdemo://text/1")
	check("file:///{+path}", true, "file:///a/b.md")
	check("file:///{path*}", true, "file:///a/b.md")
	check("x://{a}-{b}.md", true, "x://p-q-r.md")
	check("x://{a}-{b}.md", false, "x://p-.md", "x://pq.md", "x://p-q.md5/")
	check("x://{a,b}", true, "x://1,2")
	check("x://s{?q,n}", true, "x://s", "x://s?q=1&n=2", "x://s?n=2", "x://s?q=&n=2")
	check("x://s{?q,n}", false, "x://s?m=2", "x://s?", "x://s&n=2", "x://s?q=1?n=2&q=1")
	check("x://{a}{/b,c}{#d}", true, "x://1/2/3#4", "x://1#4", "x://1/2")
	check("x://{a}{.ext}", true, "x://1.md")
	check("git://log", true, "git://log")
	check("git://log", false, "git://logs", "git://lo")
	// What would take for ever to be told is no.
	p, _ := parseURITemplate(strings.Repeat("{+a}", 60) + "!")
	within(t, time.Second, "a template of many variables", func() {
		if p.matches(strings.Repeat("x", 2000), new(maxTemplateTries)) {
			t.Error("it matches")
		}
	})
}

func pairs(values map[string]string) string {
	var out []string
	for k, v := range values {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestTypedTemplate(t *testing.T) {
	// want: the variable and its text, or "…" and the rest of a literal; then the
	// values before.
	check := func(template, text, want string) {
		t.Helper()
		p, _ := parseURITemplate(template)
		in, ok := p.typed(text, new(maxTemplateTries))
		got := "no"
		switch {
		case ok && in.variable != nil:
			got = in.variable.name + ":" + text[in.at:]
		case ok:
			got = "…" + in.rest
		}
		if ok && len(in.values) > 0 {
			got += " " + pairs(in.values)
		}
		if got != want {
			t.Errorf("%q in %s: %q, want %q", text, template, got, want)
		}
	}
	check("demo://text/{id}", "demo://tex", "no")
	check("demo://text/{id}", "demo://text/", "id:")
	check("demo://text/{id}", "demo://text/12", "id:12")
	check("demo://text/{id}", "demo://text/12/", "no")
	check("demo://{a}/{b}", "demo://x", "a:x")
	check("demo://{a}/{b}", "demo://x/", "b: a=x")
	check("demo://{a}/{b}", "demo://x%20y/z", "b:z a=x y")
	check("demo://{a}/raw", "demo://x/r", "…aw a=x")
	check("demo://{a}/raw", "demo://x/raw", "… a=x")
	check("demo://{a}/raw", "demo://x/raws", "no")
	check("{+uri}", "", "uri:")
	check("{+uri}", "file:///x", "uri:file:///x")
	check("file:///{+path}/{name}", "file:///a/b/c", "name:c path=a/b")
	check("x://s{?q,n}", "x://s", "no")
	check("x://s{?q,n}", "x://s?", "…q=")
	check("x://s{?q,n}", "x://s?q=", "q:")
	check("x://s{?q,n}", "x://s?q=1&n=2", "n:2 q=1")
	check("x://s{?q,n}", "x://s?n=2", "n:2")
	check("x://{a}{?q}", "x://1?", "a:1?")
	check("x://{a}{/b}", "x://1/", "b: a=1")
}

func TestAfterAValue(t *testing.T) {
	check := func(template string, text string, whole bool) {
		t.Helper()
		p, _ := parseURITemplate(template)
		i := 0
		for p.steps[i].name == "" {
			i++
		}
		if got, w := p.after(i + 1); got != text || w != whole {
			t.Errorf("%s: %q %v", template, got, w)
		}
	}
	check("x://{a}", "", true)
	check("x://{a}/raw", "/raw", true)
	check("x://{a}/{b}", "/", false)
	check("x://{a,b}", ",", false)
	check("x://{a}{b}", "", false)
	check("x://{a}/s{?q}", "/s", true)
	check("x://{a}{?q}/{b}", "", false)
	check("x://{a}{/b}.md", "", false)
}

func TestEncodeValue(t *testing.T) {
	check := func(template, value, want string) {
		t.Helper()
		p, ok := parseURITemplate(template)
		if got := p.steps[0].encode(value); !ok || got != want {
			t.Errorf("%s of %q: %q, want %q", template, value, got, want)
		}
	}
	check("{a}", "a b/c%20é", "a%20b%2Fc%2520%C3%A9")
	check("{+a}", "a b/c%20é?", "a%20b/c%20%C3%A9?")
	check("{a*}", "a b/c", "a%20b/c")
	check("{a:2}", "äöü", "%C3%A4%C3%B6")
	check("{?a}", "x&y=z", "x%26y%3Dz")
}

// FuzzTemplate holds our reading of templates against another's writing: what
// uritemplate expands is an expansion for us, of values that expand to the
// same; and what is typed of it has come into the template.
func FuzzTemplate(f *testing.F) {
	f.Add("x://{a}/{b}", "1", "2 3")
	f.Add("x://{+a}/{b}", "a/b", "c")
	f.Add("x://s{?a,b}{#c}", "&", "%41")
	f.Add("x://{a,b}{/a}{.b}{;a}{&b}", "é", "")
	f.Add("{a:2}{b}", "abc", "d")
	f.Fuzz(func(t *testing.T, template, a, b string) {
		ours, ok := parseURITemplate(template)
		theirs, err := uritemplate.New(template)
		if !ok || err != nil || len(template)+len(a)+len(b) > 200 {
			t.Skip()
		}
		for _, s := range ours.steps {
			// What servers write for many segments is another thing in the RFC, and
			// it cuts what is encoded differently.
			if s.explode || s.most > 0 || s.name != "" && s.name != "a" && s.name != "b" {
				t.Skip()
			}
		}
		values := uritemplate.Values{"a": uritemplate.String(a), "b": uritemplate.String(b)}
		uri, err := theirs.Expand(values)
		if err != nil {
			t.Skip()
		}
		for _, s := range ours.steps {
			if strings.ContainsFunc(s.literal, func(r rune) bool { return r > '~' || r <= ' ' || strings.ContainsRune(`"%<>\^`+"`{|}'", r) }) {
				t.Skip() // the RFC encodes what servers give as it is
			}
		}
		if plain := func(s string) bool {
			return s != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
		}; !plain(a) || !plain(b) {
			t.Skip() // nothing can be read where nothing stands
		}
		if !ours.matches(uri, new(maxTemplateTries)) {
			t.Fatalf("%q of %s (%q, %q) does not match", uri, template, a, b)
		}
		for i := len(ours.literal()) + 1; i <= len(uri); i++ {
			if _, ok := ours.typed(uri[:i], new(maxTemplateTries)); !ok {
				t.Fatalf("%q, the beginning of %q, has not come into %s", uri[:i], uri, template)
			}
		}
	})
}
