package mcp

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// snap makes a server as the manager knows it.
func snap(name string, resources []Resource, templates ...Template) serverSnapshot {
	for i := range resources {
		resources[i].Server = name
	}
	s := serverSnapshot{name: name, mention: name, resources: resources, templates: templates, version: 1}
	s.index = newIndex(&s)
	return s
}

// named makes resources of "URI name".
func named(list ...string) (out []Resource) {
	for _, r := range list {
		uri, name, _ := strings.Cut(r, " ")
		out = append(out, Resource{URI: uri, Name: name})
	}
	return out
}

func inserts(items []Candidate) (out []string) {
	for _, c := range items {
		out = append(out, strings.TrimPrefix(c.Insert, "@"))
	}
	return out
}

func TestComplete(t *testing.T) {
	high := named("docs://z/guide guide")
	high[0].Priority = 1
	servers := []serverSnapshot{
		snap("workspace", named("file://README.md README.md", "file://cmd/main.go cmd/main.go", "file://domain/a.go domain/a.go", "file://lib/readmodel.go lib/readmodel.go",
			"file://My%20Notes.md", "file://x/main/b.go x/main/b.go")),
		snap("docs", append(high, named("docs://a/auth Authentication", "docs://b/Bar", "ui://app/x.html app", "urn:x:y", "docs://o/odd) odd", "no-scheme plain")...),
			Template{URITemplate: "docs://page/{id}", Name: "page"}, Template{URITemplate: "docs://index", Name: "index"}),
		snap("tools-only", nil),
	}
	check := func(prefix string, want ...string) {
		t.Helper()
		items, incomplete := complete(servers, nil, prefix, 100)
		if got := inserts(items); !slices.Equal(got, want) || incomplete {
			t.Errorf("%q (incomplete %v):\n got %q\nwant %q", prefix, incomplete, got, want)
		}
	}
	starts := func(prefix string, want ...string) {
		t.Helper()
		items, _ := complete(servers, nil, prefix, 100)
		got := inserts(items)
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%q:\n got %q\nwant %q first", prefix, got, want)
		}
	}
	// A bare '@': the servers that have something, then what has priority.
	starts("", "docs:", "workspace:", "docs:docs://z/guide", "docs:docs://a/auth")
	check("docs:", "docs:docs://z/guide", "docs:docs://a/auth", "docs:docs://b/Bar", "docs:<docs://o/odd)>", "docs:<no-scheme>", "docs:urn:x:y", "docs:docs://page/", "docs:docs://index")
	starts("wor", "workspace:", "workspace:file://README.md")
	starts("WORK", "workspace:")
	// Prefix of the name or of its last segment, then a word, then inside one.
	starts("main", "workspace:file://cmd/main.go", "workspace:file://x/main/b.go", "workspace:file://domain/a.go")
	starts("workspace:main.", "workspace:file://cmd/main.go")
	starts("readme", "workspace:file://README.md")
	starts("workspace:fi", "workspace:file://README.md", "workspace:file://cmd/main.go")
	starts("workspace:file://do", "workspace:file://domain/a.go")
	starts("Workspace:FILE://DO", "workspace:file://domain/a.go")
	check("workspace:file://dom", "workspace:file://domain/a.go")
	check("docs:<docs://o/o", "docs:<docs://o/odd)>")
	check(`docs:"docs://o/o`, "docs:<docs://o/odd)>")
	check("authent", "docs:docs://a/auth")
	// Letters in order.
	check("rdmdl", "workspace:file://lib/readmodel.go")
	check("docs:atcn", "docs:docs://a/auth")
	// In a template's variable what was typed stays.
	check("docs:docs://page/4", "docs:docs://page/4")
	check("docs:docs://pa", "docs:docs://page/")
	// Nothing.
	check("zzz")
	check("docs:zzz")
	check("app/x")
	check("a\nb")
	check("a\x00b")
	check("docs:\x01")
	check(strings.Repeat("x", maxQuery+1))
	check("nobody:x")
}

func TestCompleteLeavesOut(t *testing.T) {
	list := named("x://shown", "ui://a", "UI://b", "x://user", "x://both", "x://new\nline", "")
	list[3].Audience = []string{"user"}
	list[4].Audience = []string{"user", "assistant"}
	servers := []serverSnapshot{snap("s", list), snap("none", named("ui://only"))}
	items, incomplete := complete(servers, nil, "", 100)
	if got := inserts(items); !slices.Equal(got, []string{"s:", "s:x://both", "s:x://shown"}) || incomplete {
		t.Errorf("%q %v", got, incomplete)
	}
}

func TestCompleteRanks(t *testing.T) {
	list := named("x://b b", "x://a a", "x://c c", "x://ab ab", "x://d ad")
	list[2].Priority = 0.5
	list[0].Title, list[0].Name = "Aaa", "zzz"
	servers := []serverSnapshot{snap("s", list)}
	check := func(recent map[usedKey]uint64, prefix string, want ...string) {
		t.Helper()
		items, _ := complete(servers, recent, prefix, 100)
		if got := inserts(items); !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", prefix, got, want)
		}
	}
	check(nil, "s:", "s:x://c", "s:x://b", "s:x://a", "s:x://ab", "s:x://d")
	check(nil, "s:a", "s:x://a", "s:x://b", "s:x://ab", "s:x://d")
	r := recency{}
	r.use("s", "x://d")
	r.use("s", "x://gone")
	r.use("other", "x://a")
	r.use("s", "x://ab")
	check(r.snapshot(), "s:", "s:x://ab", "s:x://d", "s:x://c", "s:x://b", "s:x://a")
	check(r.snapshot(), "", "s:x://ab", "s:x://d", "s:", "s:x://c", "s:x://b", "s:x://a")
	// A better match stands before a recent one.
	check(r.snapshot(), "s:a", "s:x://a", "s:x://ab", "s:x://d", "s:x://b")
	for i := range 2 * maxRecent {
		r.use("s", fmt.Sprint(i))
	}
	if got := r.snapshot(); len(got) != maxRecent || got[usedKey{"s", fmt.Sprint(2*maxRecent - 1)}] == 0 {
		t.Errorf("%d remembered", len(got))
	}
}

// Seen of mcp-go's examples/everything: test://static/resource, and a hundred
// that go on from it.
func TestCompleteOffersWhatIsTypedWhole(t *testing.T) {
	list := []Resource{{URI: "test://static/resource", Name: "zzz"}, {URI: "TEST://static/resource", Name: "zz"}}
	for i := range 150 {
		list = append(list, Resource{URI: fmt.Sprintf("test://static/resource/%d", i), Name: "a", Priority: 1})
	}
	items, incomplete := complete([]serverSnapshot{snap("s", list)}, nil, "s:test://static/resource", 100)
	if len(items) != 100 || !incomplete || items[0].Insert != "@s:test://static/resource" {
		t.Errorf("%d items, incomplete %v, the first is %s", len(items), incomplete, items[0].Insert)
	}
	for _, c := range items[1:] {
		if c.Resource.URI == "test://static/resource" {
			t.Error("it is offered twice")
		}
	}
	hidden := snap("s", []Resource{{URI: "ui://app", Name: "x"}})
	if items, _ := complete([]serverSnapshot{hidden}, nil, "s:ui://app", 100); len(items) > 0 {
		t.Errorf("%q", inserts(items))
	}
}

// Seen of @primeng/mcp 22.1.1, whose templates span what it lists, and of
// @cyanheads/git-mcp-server 2.15.3, whose template has no variable.
func TestCompleteOffersNoTemplateForWhatIsListed(t *testing.T) {
	s := snap("s", named("ui2://a/button.md button", "ui2://a/b listed", "git://wd wd"),
		Template{URITemplate: "ui2://a/{component}.md", Name: "docs"}, Template{URITemplate: "ui2://a/{component}/api.json", Name: "api"},
		Template{URITemplate: "ui2://a/b{?x}", Name: "more"}, Template{URITemplate: "git://wd", Name: "a template"})
	for prefix, want := range map[string][]string{
		"s:ui2://a/button.md": {"s:ui2://a/button.md"},
		"s:git://wd":          {"s:git://wd"},
		"s:git":               {"s:git://wd"},
		"s:ui2://a/c":         {"s:ui2://a/c", "s:ui2://a/c"}, // what is typed may go on to be either
		"s:ui2://a/b":         {"s:ui2://a/b", "s:ui2://a/button.md"},
	} {
		items, _ := complete([]serverSnapshot{s}, nil, prefix, 100)
		if got := inserts(items); !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", prefix, got, want)
		}
	}
}

// anthropics/claude-code#77342: what is listed is the title, or the name; what is inserted
// is the URI.
func TestCandidates(t *testing.T) {
	s := snap("s", []Resource{{URI: "x://1", Name: "n", Title: "T"}, {URI: "x://2", Name: "n2"}, {URI: "x://3"}}, Template{URITemplate: "x://{v}", Title: "Tpl"})
	s.name = "config name"
	items, _ := complete([]serverSnapshot{s}, nil, "s:", 100)
	var got []string
	for _, c := range items {
		if c.Server != "config name" || c.Mention != "s" || (c.Resource == nil) == (c.Template == nil) {
			t.Errorf("%+v", c)
		}
		got = append(got, c.Label)
	}
	if want := []string{"T", "n2", "x://3", "Tpl"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// anomalyco/opencode#32098: many resources do not flood the list.
func TestCompleteIsBounded(t *testing.T) {
	servers := []serverSnapshot{many("big", 5000, 1), many("small", 100, 2)}
	check := func(prefix string, limit, want int, incomplete bool) {
		t.Helper()
		items, more := complete(servers, nil, prefix, limit)
		if len(items) != want || more != incomplete {
			t.Errorf("%q: %d items of %d, incomplete %v; want %d, %v", prefix, len(items), limit, more, want, incomplete)
		}
		seen := map[string]bool{}
		for _, c := range items {
			if seen[c.Insert] {
				t.Errorf("%q: %s twice", prefix, c.Insert)
			}
			seen[c.Insert] = true
		}
	}
	check("", 100, 100, true)
	check("", 10, 10, true)
	check("big:", 100, 100, true)
	check("small:", 100, 100, false)
	check("small:", 0, 100, false)
	check("small:", 99, 99, true)
	check("small:file", 100, 100, false)
	check("big:file", 100, 100, true)
	check("e", 100, 100, true)
	check("big:file://pkg", 100, 100, true)
	check("smal", 100, 100, true)
	uri := servers[0].resources[4321].URI
	check("big:"+uri, 100, 1, false)

	for _, prefix := range []string{"", "x", "s:"} {
		if items, incomplete := complete(nil, nil, prefix, 100); items != nil || incomplete {
			t.Errorf("%q of nothing: %q", prefix, inserts(items))
		}
	}
	// A list that is not searchable yet is no empty list.
	fresh := serverSnapshot{name: "s", mention: "s", resources: named("x://1")}
	if items, incomplete := complete([]serverSnapshot{fresh}, nil, "", 100); len(items) != 0 || !incomplete {
		t.Errorf("%q %v", inserts(items), incomplete)
	}
}

// What the quick search finds first is what looking at each resource finds.
func TestCompleteLikeASlowSearch(t *testing.T) {
	s := many("s", 3000, 3)
	for _, q := range []string{"a", "main", "file", "le", "pkg1", "1", "s/", ".go", "file://pkg2/", "config", "z", "e1", "://", "%"} {
		var slow [tiers]int
		for i := range s.index.rank {
			if b := bestTier(s.index.record(i), q); b >= tierInside {
				slow[b]++
			}
		}
		var quick [tiers]int
		var last [tiers]int
		all := s.index.search(q, 5000, tierInside, func(i int, b tier) {
			quick[b]++
			if want := bestTier(s.index.record(i), q); want != b || quick[b] > 1 && i <= last[b] {
				t.Errorf("%q: %q is of tier %d, want %d, after %d", q, s.index.record(i), b, want, last[b])
			}
			last[b] = i
		})
		if !all || quick != slow {
			t.Errorf("%q: %v (all %v), want %v", q, quick, all, slow)
		}
		var few [tiers]int
		all = s.index.search(q, 10, tierInside, func(i int, b tier) { few[b]++ })
		for b := range few {
			if few[b] > 10 || all && few[b] != slow[b] {
				t.Errorf("%q: %v of %v, all %v", q, few, slow, all)
			}
		}
		if n := few[tierExact] + few[tierPrefix]; n < min(10, slow[tierExact]+slow[tierPrefix]) {
			t.Errorf("%q: %v of %v", q, few, slow)
		}
	}
}

// The old list is completed until the new one can be searched.
func TestCompleteWhileAListIsReplaced(t *testing.T) {
	cache := newResourceCache("s")
	check := func(want ...string) {
		t.Helper()
		s := *cache.snap.Load()
		s.index = cache.index.Load()
		items, incomplete := complete([]serverSnapshot{s}, nil, "s:", 100)
		if got := inserts(items); !slices.Equal(got, want) || incomplete != (s.index == nil && len(s.resources) > 0) {
			t.Errorf("%q (incomplete %v), want %q", got, incomplete, want)
		}
	}
	check()
	cache.replace(listed[Resource]{items: named("x://1")}, listed[Template]{})
	check()
	cache.reindex()
	check("s:x://1")
	cache.replace(listed[Resource]{items: named("x://2")}, listed[Template]{})
	check("s:x://1")
	cache.reindex()
	check("s:x://2")
}

func FuzzComplete(f *testing.F) {
	for _, seed := range []string{"", "s:", "s:x", "re", "s:<x", "É", "\xff", "s:x://a b", "İ"} {
		f.Add(seed, "x://a b", "Näme")
	}
	f.Fuzz(func(t *testing.T, prefix, uri, name string) {
		s := snap("s", []Resource{{URI: uri, Name: name}, {URI: "x://a", Title: name}}, Template{URITemplate: uri + "{v}"})
		recent := map[usedKey]uint64{{"s", uri}: 1}
		items, _ := complete([]serverSnapshot{s}, recent, prefix, 3)
		if len(items) > 3 {
			t.Fatalf("%d items", len(items))
		}
		for _, c := range items {
			if c.Resource == nil {
				continue
			}
			got := findMentions(c.Insert, func(string) (string, *knownURIs) { return "s", s.index.known })
			if len(got) != 1 || got[0].URI != c.Resource.URI || got[0].End != len(c.Insert) {
				t.Fatalf("%q reads back as %+v", c.Insert, got)
			}
		}
	})
}

// many makes a server with n files of a source tree.
func many(name string, n int, seed uint64) serverSnapshot {
	rnd := rand.New(rand.NewPCG(seed, 0))
	words := strings.Fields("agent config server client session request handler main index util test resource mention complete search parse token buffer stream event queue worker cache store model view")
	word := func() string { return words[rnd.IntN(len(words))] }
	list := make([]Resource, n)
	for i := range list {
		path := fmt.Sprintf("pkg%d/%s/%s_%s%d.go", rnd.IntN(50), word(), word(), word(), i)
		list[i] = Resource{URI: "file://" + path, Name: path, MIMEType: "text/x-go"}
	}
	return snap(name, list)
}

func BenchmarkComplete(b *testing.B) {
	worlds := map[string][]serverSnapshot{"1000": {many("server0", 1000, 1)}, "100000": nil}
	for i := range 20 {
		worlds["100000"] = append(worlds["100000"], many(fmt.Sprintf("server%d", i), 5000, uint64(i)))
	}
	queries := []string{
		"", "s", "server1:", "e", "le", "fi", "main", "readme", "handler_main77", "hndlrmn", "qqq", "file://pkg4/agent", "server7:file://pkg", "server7:sess", "xyzzy_not_there",
		"file://pkg4/agent/server_nothing_like_this_is_here.go", strings.Repeat("e", 1000), strings.Repeat("file://", 100), "og.eli", "elif",
	}
	recent := map[usedKey]uint64{}
	for i := range uint64(maxRecent) {
		r := worlds["100000"][i%20].resources[i]
		recent[usedKey{r.Server, r.URI}] = i + 1
	}
	for _, size := range []string{"1000", "100000"} {
		servers := worlds[size]
		for _, q := range queries {
			b.Run(fmt.Sprintf("%s/%.20q", size, q), func(b *testing.B) {
				for b.Loop() {
					complete(servers, recent, q, 100)
				}
			})
		}
		if size == "1000" {
			templated := servers[0]
			for i := range maxTemplates / 2 {
				templated.templates = append(templated.templates, Template{URITemplate: fmt.Sprintf("file://{+path}/{name%d}-{v}.md{?q,r}", i)}, Template{URITemplate: fmt.Sprintf("many://{+a}{+b%d}{+c}-{+d}-{+e}!", i)})
			}
			templated.index = newIndex(&templated)
			for _, q := range []string{"server0:file://pkg", "server0:file://" + strings.Repeat("a/b-", 200), "server0:many://" + strings.Repeat("x", 1000)} {
				b.Run(fmt.Sprintf("%d templates/%.20q", maxTemplates, q), func(b *testing.B) {
					for b.Loop() {
						complete([]serverSnapshot{templated}, recent, q, 100)
					}
				})
			}
		}
		b.Run(size+"/typing", func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				for _, whole := range []string{"handler_main", "server3:file://pkg7/cac", "tokenbuf", "README"} {
					for i := range len(whole) + 1 {
						start := time.Now()
						complete(servers, recent, whole[:i], 100)
						took = append(took, time.Since(start))
					}
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{1000, 5000, 100_000} {
		s := many("s", n, 1)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				newIndex(&s)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			x := newIndex(&s)
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B/resource")
			runtime.KeepAlive(x)
		})
	}
}
