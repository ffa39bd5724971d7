package mcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// world is what the servers of a test list, by mention name.
type world map[string][]string

func (w world) server(name string) (string, *knownURIs) {
	uris, ok := w[name]
	if !ok {
		return "", nil
	}
	var list []Resource
	for _, uri := range uris {
		list = append(list, Resource{URI: uri})
	}
	return "config " + name, newKnownURIs(list)
}

// checkMentions compares with one line a mention: the text it spans, then the
// URI unless that is the text behind "@name:", then its marks.
func checkMentions(t *testing.T, w world, text string, want ...string) {
	t.Helper()
	var got []string
	for _, m := range findMentions(text, w.server) {
		line := text[m.Start:m.End]
		if m.URI != strings.TrimPrefix(line, "@"+m.Name+":") {
			line += " = " + m.URI
		}
		if m.Server == "" {
			line += " unknown server"
		} else if m.Server != "config "+m.Name {
			t.Errorf("%q: server %q", text, m.Server)
		} else if !m.Known {
			line += " unknown"
		}
		if m.Quoted {
			line += " quoted"
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q:\n got %q\nwant %q", text, got, want)
	}
}

func TestMentions(t *testing.T) {
	w := world{
		"fs": {
			"file://README.md", "file:///a.md", "file://src", "file://src/main.go", "file://a", "file://a b", "file:///home/me/My Notes.md",
			"file://odd.", "file://x(1)", "file://q\"uo>te", "file://日本", "no-scheme.md",
		},
		"docs": {"file://api/auth"}, "postgres": {"postgres://postgres@127.0.0.1:55432/users/schema"}, "obsidian-mcp": {}, "mongodb": {}, "s3": {}, "db": {},
		"figma": {}, "gosdk": {"embedded:info"}, "urn": {}, "21st": {"demo://x"}, "my.server": {"demo://x"}, "1password": {"op://v/i"}, "a": {"x://1"}, "b": {"y://2"},
		"gh": {},
	}
	check := func(text string, want ...string) { t.Helper(); checkMentions(t, w, text, want...) }

	t.Run("plain", func(t *testing.T) {
		check("")
		check("no mention")
		check("@fs:file://README.md", "@fs:file://README.md")
		check("see @fs:file://README.md and @docs:file://api/auth", "@fs:file://README.md", "@docs:file://api/auth")
		check("a\n@fs:file://src\r\n\t@fs:file://a\r@fs:file://README.md", "@fs:file://src", "@fs:file://a", "@fs:file://README.md")
		check("@fs:file://new.md", "@fs:file://new.md unknown")
		check("@fs:FILE://README.md", "@fs:FILE://README.md unknown")
		check("@FS:file://README.md", "@FS:file://README.md unknown server")
	})
	// PaiCLI P1: an apostrophe is no quote.
	t.Run("an apostrophe is no quote", func(t *testing.T) {
		check("what's in @fs:file://README.md", "@fs:file://README.md")
		check("what's in @fs:file://README.md, isn't it", "@fs:file://README.md")
		check("'@fs:file://README.md'", "@fs:file://README.md")
	})
	// PaiCLI P2: punctuation of the sentence is not part of the URI.
	t.Run("sentence punctuation", func(t *testing.T) {
		check("(see @fs:file://README.md).", "@fs:file://README.md")
		check("(see @fs:file://new.md).", "@fs:file://new.md unknown")
		check("@fs:file:///a.md, please", "@fs:file:///a.md")
		check("(see @docs:file://api/auth).", "@docs:file://api/auth")
		for _, after := range []string{".", ",", ";", ":", "!", "?", "...", "，", "。", "；", "：", "！", "？", "、", ")", "]", "}", ">", "）", "】", "」", "》", "'", "\"", "`", "’", "”", ").", "），", "?!\")", "…"} {
			check("@fs:file://new.md"+after, "@fs:file://new.md unknown")
			check("@fs:file://README.md"+after+" x", "@fs:file://README.md")
		}
		check("@fs:file://f(1).md", "@fs:file://f(1).md unknown")
		check("(@fs:file://f(1))", "@fs:file://f(1) unknown")
		check("[@fs:file://f[1])]", "@fs:file://f[1] unknown")
		check("@fs:file://odd.", "@fs:file://odd.")
		check("@fs:file://odd..", "@fs:file://odd.")
		check("（@fs:file://日本）。", "@fs:file://日本")
		check("@fs:file://README.md是什么", "@fs:file://README.md")
	})
	// PaiCLI P3, P4 and the table of real servers.
	t.Run("schemes and server names", func(t *testing.T) {
		check("@postgres:postgres://postgres@127.0.0.1:55432/users/schema", "@postgres:postgres://postgres@127.0.0.1:55432/users/schema")
		check("@postgres:postgres://me@host/Order%20Items/schema", "@postgres:postgres://me@host/Order%20Items/schema unknown")
		for _, m := range []string{"@obsidian-mcp:obsidian-mcp://vaults", "@mongodb:exported-data://x", "@s3:s3://b/k", "@db:mysql+pymysql://u/t", "@figma:FIGMA://f/1", "@gh:git+ssh://h/p", "@urn:urn:isbn:123"} {
			check(m, m+" unknown")
		}
		check("@gosdk:embedded:info", "@gosdk:embedded:info")
		check("@21st:demo://x @my.server:demo://x @1password:op://v/i", "@21st:demo://x", "@my.server:demo://x", "@1password:op://v/i")
		check("@gosdk:1x://y @gosdk:+a://x @gosdk:://x @gosdk: x @gosdk:x @gosdk:x: @gosdk:")
	})
	// PaiCLI P5; editor-code-assistant/eca#379: an e-mail address is no mention.
	t.Run("other text with @", func(t *testing.T) {
		check("me@corp:http://x.y/z contact foo@docs:http://x")
		check("a@b.c @decorator git@host:x/y.git user@fs:file://README.md @fs @fs: @@fs:file://a @")
		check("@Component({selector: 'x'}) @param:type: x @import:url(\"http://x\") npm i @types/node@1:2")
		check("é@fs:file://a 看@fs:file://a _@fs:file://a_ x:@fs:file://a")
		check("@other:http://x.y/z, then", "@other:http://x.y/z unknown server")
		check("a@b.c and @fs:file://README.md", "@fs:file://README.md")
	})
	t.Run("where it may begin", func(t *testing.T) {
		for _, before := range []string{"", " ", "\t", "\u3000", "(", "[", "{", "<", "'", "\"", "`", "（", "「", "“", "«", "x ("} {
			check(before+"@fs:file://README.md", "@fs:file://README.md")
		}
		for _, before := range []string{"x", ")", "/", ".", "-", ":", "=", "@", "#", "”", "0"} {
			check(before + "@fs:file://README.md")
		}
	})
	t.Run("the longest known URI", func(t *testing.T) {
		check("open @fs:file:///home/me/My Notes.md now", "@fs:file:///home/me/My Notes.md")
		check("@fs:file://a b.", "@fs:file://a b")
		check("@fs:file://a bc", "@fs:file://a")
		check("@fs:file://src/main.go", "@fs:file://src/main.go")
		check("@fs:file://src/other.go", "@fs:file://src/other.go unknown")
		check("@fs:file://src/", "@fs:file://src/ unknown")
		check("@fs:file://README.md.bak", "@fs:file://README.md.bak unknown")
		check("@fs:file://README.md:12", "@fs:file://README.md")
		check("(@fs:file://x(1))", "@fs:file://x(1)")
		check("@a:x://1@b:y://2", "@a:x://1")
		check("@a:x://1,@b:y://2", "@a:x://1")
		check("@a:x://3@b:y://2", "@a:x://3@b:y://2 unknown")
		check("@fs:no-scheme.md @fs:other.md", "@fs:no-scheme.md")
	})
	t.Run("quoted URIs", func(t *testing.T) {
		check("@fs:<file:///home/me/My Notes.md>.", "@fs:<file:///home/me/My Notes.md> = file:///home/me/My Notes.md")
		check(`@fs:"file://b c" x`, `@fs:"file://b c" = file://b c unknown`)
		check("@fs:<file://b c>@fs:file://a", "@fs:<file://b c> = file://b c unknown")
		check("@fs:<file://q\"uo>te> x", "@fs:<file://q\"uo>te> = file://q\"uo>te")
		check("@fs:<no-scheme.md>", "@fs:<no-scheme.md> = no-scheme.md")
		check("@fs:<other.md> @fs:<> @fs:\"\" @fs:<file://a\n> @fs:\"file://a")
		check("@nobody:<x://a b>", "@nobody:<x://a b> = x://a b unknown server")
	})
	t.Run("inside quotes", func(t *testing.T) {
		check(`"@fs:file://README.md" "see @fs:file://a, ok".`, "@fs:file://README.md quoted", "@fs:file://a quoted")
		check("`cat @fs:file://README.md now`, @fs:file://src", "@fs:file://README.md quoted", "@fs:file://src")
		check("``x ` @fs:file://a`` @fs:file://a", "@fs:file://a quoted", "@fs:file://a")
		check("`@other:http://x` \"@other:http://x\"")
		check(`"open @fs:file://a`+"\n"+`and" @fs:file://src`, "@fs:file://a", "@fs:file://src")
		check(`5" @fs:file://a and 6" x`, "@fs:file://a")
		check(`x "a"b @fs:file://a" y`, "@fs:file://a quoted")
		check(`("@fs:file://README.md")`, "@fs:file://README.md")
		check("`a @fs:file://a b` c `@fs:file://src", "@fs:file://a b quoted", "@fs:file://src")
		check(`"" @fs:file://a`, "@fs:file://a")
		check("\"see `@fs:file://a\" @fs:file://src` x", "@fs:file://a quoted", "@fs:file://src")
	})
	t.Run("inside fences", func(t *testing.T) {
		check("```\n@fs:file://a\n```\n@fs:file://src", "@fs:file://a quoted", "@fs:file://src")
		check("~~~ sh\n@fs:file://a\n```\n@fs:file://a\n~~~~  \n@fs:file://src", "@fs:file://a quoted", "@fs:file://a quoted", "@fs:file://src")
		check("````\n```\n@fs:file://a\n```\n````\r\n@fs:file://src", "@fs:file://a quoted", "@fs:file://src")
		check("   ```\n   @fs:file://a\n   ```\n@fs:file://src", "@fs:file://a quoted", "@fs:file://src")
		check("    ```\n@fs:file://a", "@fs:file://a")
		check("```go\n@fs:file://a\n``` not the end\n@fs:file://src", "@fs:file://a quoted", "@fs:file://src quoted")
		check("```x``` @fs:file://a", "@fs:file://a")
		check("~~~ @fs:file://a ~~~\n@fs:file://src", "@fs:file://a quoted", "@fs:file://src quoted")
		check("``\n@fs:file://a\n``", "@fs:file://a")
		check("a ```\n@fs:file://a", "@fs:file://a")
		check("```\n@other:http://x\n```")
	})
}

// What completion inserts is read back as exactly that URI, whatever stands
// around it.
func TestInsertedMentionsAreReadBack(t *testing.T) {
	uris := []string{
		"file://a.md", "file://My Notes.md", "x:a>b", "x:a<b", `x:a"b`, `x:a"b>c`, "x:a`b", "x:a.", "x:a,", "x:a)", "x:a(", "x:(a)", "x:a]", "x:[a", "x:{a}", "x:a。",
		"x:a\u3000b", "x:a'", "x:'a'", "README.md", "x:", "1x:y", "x:a@b:c", "x:\"", "x:<>", "urn:x:y", "x:a（b", "x:a...", "x:？", "x:a b.", "x:a\u00a0",
	}
	for _, uri := range uris {
		for _, listed := range []world{{"s": {uri}}, {"s": uris}} {
			for _, before := range []string{"", "see ", "(", "what's ", "a \"b\" "} {
				for _, after := range []string{"", " and", ".", ", x", ")", ") y", "?", "\nnext", "'s", "。", "]"} {
					text := before + MentionText("s", uri) + after
					got := findMentions(text, listed.server)
					if len(got) != 1 || got[0].URI != uri || got[0].Quoted || !got[0].Known || text[got[0].Start:got[0].End] != MentionText("s", uri) {
						t.Errorf("%q: %+v, want %q", text, got, uri)
					}
				}
			}
		}
	}
	for _, uri := range []string{"file://a.md", "file://src/(x)/y.go", "postgres://me@h:1/x", "urn:isbn:1"} {
		if needsQuote(uri) {
			t.Errorf("%s is quoted", uri)
		}
	}
}

func FuzzMentions(f *testing.F) {
	for _, seed := range []string{"see @fs:file://a.md, ok", "`@fs:file://a b`", "```\n@fs:x://y\n```", "@fs:<a b> @fs:\"x:y z\"", "me@fs:x:y", "\"@fs:file://a\"", "@fs:file://é）", "\xff@fs:file://\xff"} {
		f.Add(seed, "file://a b")
	}
	f.Fuzz(func(t *testing.T, text, uri string) {
		w := world{"fs": {"file://a", uri}}
		fs, known := w.server("fs")
		servers := func(name string) (string, *knownURIs) {
			if name == "fs" {
				return fs, known
			}
			return "", nil
		}
		last := 0
		for _, m := range findMentions(text, servers) {
			if m.Start < last || m.End <= m.Start || m.End > len(text) {
				t.Fatalf("%q: %+v after %d", text, m, last)
			}
			last = m.End
			whole := text[m.Start:m.End]
			rest, ok := strings.CutPrefix(whole, "@"+m.Name+":")
			if !ok || rest != m.URI && rest != "<"+m.URI+">" && rest != `"`+m.URI+`"` || m.URI == "" {
				t.Fatalf("%q: %+v spans %q", text, m, whole)
			}
			_, listed := known.find(m.URI)
			if (m.Server == "") == (m.Name == "fs") || m.Known != (m.Name == "fs" && listed) || m.Quoted && m.Server == "" {
				t.Fatalf("%q: %+v", text, m)
			}
			if strings.ContainsAny(whole, "\r\n") {
				t.Fatalf("%q: %q goes over lines", text, whole)
			}
		}
		if uri == "" || strings.ContainsAny(uri, "\r\n") || strings.ContainsFunc(uri, func(r rune) bool { return r < ' ' || r == utf8.RuneError }) {
			return
		}
		inserted := "x " + MentionText("fs", uri)
		if got := findMentions(inserted, servers); len(got) != 1 || got[0].URI != uri || got[0].End != len(inserted) {
			t.Fatalf("%q: %+v", inserted, got)
		}
	})
}

// hostile texts make a reader that looks twice take minutes.
func hostile(n int) map[string]string {
	texts := map[string]string{}
	for _, unit := range []string{"@", "\"", " \"", " \"a", "`", " `a", "@fs:<", "@fs:\"", " @fs:<x:", " @fs:x:", "(@fs:a:", "<@fs:<", "@fs:file://a", " @fs:file://aaaa", "@a.", "[", ")", " @fs:x:)", "```\n", "~~~\n", "\n", " \"@fs:file://a\"", "é@", " ``` \"", "@fs:file://" + strings.Repeat("a", 300)} {
		texts[fmt.Sprintf("%.20q", unit)] = strings.Repeat(unit, n/len(unit))
	}
	var runs strings.Builder
	for i := 1; runs.Len() < n; i++ {
		runs.WriteString(" " + strings.Repeat("`", i) + "x@fs:file://a")
	}
	texts["runs"] = runs.String()
	texts["one token"] = "@fs:x://" + strings.Repeat("(", n/2) + strings.Repeat(")", n/2)
	texts["closers"] = "@fs:x://" + strings.Repeat(")", n)
	return texts
}

func hostileWorld() mentionable {
	var nested []string
	for i := range 2000 {
		nested = append(nested, "file://"+strings.Repeat("a", i))
	}
	fs, known := world{"fs": nested}.server("fs")
	return func(name string) (string, *knownURIs) {
		if name == "fs" {
			return fs, known
		}
		return "", nil
	}
}

func TestMentionsInHostileText(t *testing.T) {
	server := hostileWorld()
	for name, text := range hostile(1 << 20) {
		start := time.Now()
		findMentions(text, server)
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: %v", name, d)
		}
	}
}

func BenchmarkMentions(b *testing.B) {
	server := hostileWorld()
	texts := hostile(10 << 20)
	texts["prose"] = strings.Repeat("Lorem ipsum dolor sit amet, \"consectetur\" `adipiscing` elit (see @fs:file://aaaa).\n", (10<<20)/84)
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range texts {
			if !yield(name) {
				return
			}
		}
	}) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(texts[name])))
			for b.Loop() {
				findMentions(texts[name], server)
			}
		})
	}
}
