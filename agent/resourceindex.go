package agent

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode"

	"agentls/mcp"
)

// indexTag marks what a server has to read.
const indexTag = "resource_index"

// Bounds of the index, which stands in each request.
const (
	indexEntries  = 200 // of all servers
	indexShare    = 32  // it may take this part of the window
	indexTopLevel = 20  // files of the workspace's top level
	indexPerList  = 50  // of a server's templates
	longestURI    = 500 // bytes; a longer one is found by list_resources
)

// resourceIndex tells the model which resources there are: what it does not know
// of it cannot read. What stands in it once stays as it is until the run ends, as
// providers cache by prefix; servers that come later follow. Its zero value is
// empty. Safe for concurrent use.
type resourceIndex struct {
	mu      sync.Mutex
	servers map[string]bool
	blocks  []string
	bytes   int
	entries int
}

// indexed is what is told of one server.
type indexed struct {
	server string
	lines  []indexLine
	total  int    // resources and templates that could be told of
	note   string // below the lines
}

// indexLine is a resource or a template for the model.
type indexLine struct {
	uri, text string
	place     int // among those of the server
}

// resources is the index for a request: of each server that is ready and whose
// list is there. No list is waited for.
func (t *thread) resources(set toolset) []string {
	x := &t.index
	x.mu.Lock()
	defer x.mu.Unlock()
	var come []indexed
	var want func(server, uri string) uint64
	for _, s := range t.a.manager.Servers() {
		if s.Status != mcp.StatusReady || x.servers[s.Name] || !t.a.manager.HasResources(s.Name) {
			continue
		}
		if list, err := t.a.manager.Resources(s.Name); err == nil && list.Fetched {
			if want == nil {
				want = t.indexWishes()
			}
			come = append(come, indexOf(s.Name, list, want))
		}
	}
	if len(come) == 0 {
		return slices.Clone(x.blocks)
	}
	room := 3 * t.window() / indexShare // three bytes a token
	room = 1<<(bits.Len(uint(max(room, 2)))-1) - x.bytes
	room, entries := room*3/4, (indexEntries-x.entries)*3/4 // the rest is for those that come later
	// Who needs least comes first, and leaves what it does not need to the others.
	slices.SortStableFunc(come, func(a, b indexed) int { return cmp.Compare(a.bytes(), b.bytes()) })
	for i := range come {
		come[i].fit(max(room/(len(come)-i), 0), entries/(len(come)-i))
		room -= come[i].bytes()
		entries -= len(come[i].lines)
		x.bytes += come[i].bytes()
		x.entries += len(come[i].lines)
	}
	slices.SortFunc(come, func(a, b indexed) int { return cmp.Compare(a.server, b.server) })
	names := map[string]map[string]string{}
	for _, one := range set.byName {
		if one.virtual {
			if names[one.server] == nil {
				names[one.server] = map[string]string{}
			}
			names[one.server][one.name] = one.model
		}
	}
	for _, one := range come {
		if x.servers == nil {
			x.servers = map[string]bool{}
		}
		x.servers[one.server] = true
		for _, l := range one.lines {
			t.run.s.listed.note(one.server, l.uri)
		}
		if text := one.block(names[one.server]); text != "" {
			x.blocks = append(x.blocks, text)
		}
	}
	return slices.Clone(x.blocks)
}

// indexWishes says how much a resource is wanted in the index, the most first:
// what the prompt mentions, what stood there before in the session, what was
// used last.
func (t *thread) indexWishes() func(server, uri string) uint64 {
	mentioned := map[[2]string]bool{}
	for _, m := range t.a.manager.Mentions(t.task.Prompt) {
		mentioned[[2]string{m.Server, m.URI}] = true
	}
	recency := t.a.manager.Recency()
	return func(server, uri string) uint64 {
		switch {
		case mentioned[[2]string{server, uri}]:
			return 1 << 62
		case t.run.s.listed.has(server, uri):
			return 1<<61 + recency(server, uri)
		}
		return recency(server, uri)
	}
}

// indexOf orders what is told of a server by how much it is wanted: by the
// prompt, the session and the user, then by what the server says is important.
func indexOf(server string, list mcp.ResourceList, want func(server, uri string) uint64) indexed {
	type wish struct {
		r    *mcp.Resource
		want uint64
		at   int
	}
	var wanted, others []wish
	out := indexed{server: server}
	files, top := 0, 0
	for i := range list.Resources {
		r := &list.Resources[i]
		if r.UserInterface() || r.ForUserOnly() || len(r.URI) > longestURI || strings.ContainsFunc(r.URI, func(c rune) bool { return unicode.IsControl(c) || Unseen(c) }) {
			continue
		}
		w := wish{r: r, at: i, want: want(server, r.URI)}
		if path, ok := strings.CutPrefix(r.URI, "file://"); ok && server == workspaceServer {
			if files++; strings.Contains(path, "/") || top >= indexTopLevel {
				continue
			}
			top++
		} else {
			out.total++
		}
		if w.want > 0 || r.Priority > 0 {
			wanted = append(wanted, w)
		} else {
			others = append(others, w)
		}
	}
	slices.SortStableFunc(wanted, func(a, b wish) int {
		return cmp.Or(cmp.Compare(b.want, a.want), cmp.Compare(b.r.Priority, a.r.Priority))
	})
	all := append(wanted, others...)
	for _, w := range all[:min(len(all), indexEntries)] {
		out.lines = append(out.lines, indexLine{w.r.URI, indexText(w.r.URI, w.r.Name, w.r.Title, w.r.Description), w.at})
	}
	for i, one := range list.Templates[:min(len(list.Templates), indexPerList)] {
		out.total++
		out.lines = append(out.lines, indexLine{one.URITemplate, indexText("template "+one.URITemplate, one.Name, one.Title, one.Description), len(list.Resources) + i})
	}
	if out.total += top; files > 0 {
		out.note = fmt.Sprintf("[%d files in all; list_dir and search_code find them]", files)
	}
	return out
}

// indexText is a line about a resource. The URI stands first, byte for byte.
func indexText(uri string, about ...string) string {
	for _, part := range about {
		if part = oneLine(part, 100); part != "" && !strings.Contains(uri, part) {
			uri += " · " + part
		}
	}
	return uri
}

func (x indexed) bytes() (n int) {
	for _, l := range x.lines {
		n += len(l.text) + 1
	}
	return n
}

// fit takes what finds room, in the server's own order: what is told of a list
// that did not change does not depend on what was wanted first.
func (x *indexed) fit(room, entries int) {
	n := 0
	for n < len(x.lines) && n < entries && len(x.lines[n].text) < room {
		room -= len(x.lines[n].text) + 1
		n++
	}
	x.lines = x.lines[:n]
	slices.SortFunc(x.lines, func(a, b indexLine) int { return cmp.Compare(a.place, b.place) })
}

// block is what the model is told; "": there is nothing to read. tools are the
// names of the virtual tools.
func (x indexed) block(tools map[string]string) string {
	var b strings.Builder
	for _, l := range x.lines {
		b.WriteString(l.text + "\n")
	}
	if more := x.total - len(x.lines); more > 0 {
		fmt.Fprintf(&b, "[%d more; %s finds them, by a query too]\n", more, cmp.Or(tools["list_resources"], "list_resources"))
	}
	if b.WriteString(x.note); b.Len() == 0 {
		return ""
	}
	attributes := []string{"server", x.server}
	if name := tools["read_resource"]; name != "" {
		attributes = append(attributes, "read_with", name)
	}
	return block(indexTag, b.String(), attributes...)
}

// listed is which resources stood in a session's index. Its zero value knows
// none. Safe for concurrent use.
type listed struct {
	mu  sync.Mutex
	all map[[2]string]bool // server and URI
}

func (l *listed) note(server, uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil || len(l.all) > 10*indexEntries {
		l.all = map[[2]string]bool{}
	}
	l.all[[2]string{server, uri}] = true
}

func (l *listed) has(server, uri string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[[2]string{server, uri}]
}

func (l *listed) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = nil
}
