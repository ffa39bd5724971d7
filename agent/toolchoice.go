package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Bounds on what a request offers of the servers' tools.
const (
	maxTools       = 128   // in a request: providers refuse more (VS Code's HARD_TOOL_LIMIT)
	fewToolTokens  = 16000 // that they may take whatever the window is, if it has three times that
	toolShare      = 20    // they may take this part of a larger window
	reservedTools  = 16    // of maxTools, for those that are found in the run
	maxListedNames = 8000  // bytes, of the names of tools that are not offered
)

// toolKey names a tool of a server.
type toolKey struct{ server, name string }

func (t *tool) key() toolKey { return toolKey{t.server, t.name} }

// offering is which of the servers' tools a session's model is offered, where
// not all find room. It grows at its end, as providers cache by prefix. Its
// zero value has offered nothing. Safe for concurrent use.
type offering struct {
	mu     sync.Mutex
	order  []toolKey       // offered, in the order in which they came
	asked  []toolKey       // called, or found by find_tools; the newest last
	called map[string]bool // what the history called when it was loaded, by the names for the model; nil: not looked at yet
}

// ask notes a tool that is wanted from now on.
func (o *offering) ask(keys ...toolKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range keys {
		o.asked = append(slices.DeleteFunc(o.asked, func(old toolKey) bool { return old == k }), k)
	}
}

func (o *offering) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.order, o.asked, o.called = nil, nil, nil
}

// wish is what a request needs of the servers' tools.
type wish struct {
	room   int              // tokens that they may take
	prompt string           // what the user wants
	of     *offering        // the thread's; never nil
	offers func(*tool) bool // the tools that may be called at all; nil: every one
	whyNot string           // the others may not
}

// toolRoom is how many tokens the servers' tools may take of a request.
func (r *run) toolRoom() int { return min(r.budget()/3, max(r.window()/toolShare, fewToolTokens)) }

// choose names the tools and takes as many as a request may offer: our own,
// whatever they need, then all of the servers' if they find room. Else those by
// need (MCP.md row 51): what was called, found or named, small servers whole,
// what fits the prompt, then one of each server in turn; find_tools finds the
// others.
func choose(own, served []*tool, w wish) toolset {
	nameTools(slices.Concat(own, served))
	slices.SortFunc(served, byServer)
	set := toolset{byName: make(map[string]*tool, len(own)+len(served))}
	for _, t := range slices.Concat(own, served) {
		set.byName[t.model] = t
	}
	if w.offers != nil {
		set.withheld = map[string]string{}
		withheld := func(t *tool) bool {
			if w.offers(t) {
				return false
			}
			delete(set.byName, t.model)
			set.withheld[t.model] = w.whyNot
			return true
		}
		own, served = slices.DeleteFunc(slices.Clone(own), withheld), slices.DeleteFunc(slices.Clone(served), withheld)
	}
	own = slices.Clone(own[:min(len(own), maxTools-reservedTools)]) // sixty servers have as many with their virtual ones
	chosen := served
	scarce := slices.IndexFunc(own, func(t *tool) bool { return t.scarce })
	if count := len(own) + len(served); count > maxTools || tokensOf(served) > w.room {
		chosen = byNeed(served, w, maxTools-len(own))
		set.leave(served, chosen)
	} else if scarce >= 0 {
		own = slices.Delete(own, scarce, scarce+1)
	}
	for _, t := range slices.Concat(own, w.of.inOrder(chosen)) {
		set.specs = append(set.specs, t.spec())
	}
	return set
}

func tokensOf(tools []*tool) (n int) {
	for _, t := range tools {
		n += t.spec().tokens()
	}
	return n
}

// inOrder sorts what is offered: what was offered before first, as it stood.
func (o *offering) inOrder(chosen []*tool) []*tool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := make(map[toolKey]int, len(o.order))
	for i, k := range o.order {
		at[k] = i
	}
	place := func(t *tool) int {
		if i, ok := at[t.key()]; ok {
			return i
		}
		return len(o.order)
	}
	chosen = slices.Clone(chosen)
	slices.SortFunc(chosen, func(a, b *tool) int { return cmp.Or(cmp.Compare(place(a), place(b)), byServer(a, b)) })
	o.order = o.order[:0:0]
	for _, t := range chosen {
		o.order = append(o.order, t.key())
	}
	return chosen
}

// Why a tool is offered, the best reason first.
const (
	needAsked = iota // called, or found
	needNamed        // in the prompt
	needSmall        // its server is offered whole
	needKept         // offered before, and fits the prompt
	needMatch        // fits the prompt
	needStood        // offered before
	needOther
)

// byNeed takes up to count tools that find room.
func byNeed(served []*tool, w wish, count int) []*tool {
	need, rank := needs(served, w)
	all := slices.Clone(served)
	slices.SortStableFunc(all, func(a, b *tool) int { return cmp.Or(cmp.Compare(need[a], need[b]), cmp.Compare(rank[a], rank[b])) })
	var out []*tool
	used, others := 0, 0 // tokens of all, and of those that nobody asked for
	for _, t := range all {
		n := t.spec().tokens()
		wanted := need[t] <= needNamed
		switch {
		case len(out) >= count, used+n > w.room:
			continue
		case !wanted && (len(out) >= count-reservedTools || others+n > w.room*3/4): // the rest is for what is found in the run
			continue
		}
		used += n
		if !wanted {
			others += n
		}
		out = append(out, t)
	}
	return out
}

// needs says of each tool why it would be offered, and its rank among those of
// the same need, the least first.
func needs(served []*tool, w wish) (need map[*tool]int, rank map[*tool]float64) {
	need, rank = make(map[*tool]int, len(served)), make(map[*tool]float64, len(served))
	give := func(t *tool, n int, r float64) {
		if had, ok := need[t]; !ok || n < had {
			need[t], rank[t] = n, r
		}
	}
	turn := map[string]float64{}
	for _, t := range served {
		turn[t.server]++ // one of each server in turn, so that none crowds out another
		give(t, needOther, turn[t.server])
	}
	score := map[*tool]float64{}
	for _, t := range searchTools(served, w.prompt) {
		score[t.tool] = t.score
		give(t.tool, needMatch, -t.score)
	}
	for t := range namedIn(served, w.prompt) {
		give(t, needNamed, 0)
	}
	small := smallServers(served, w.room/2)
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	for _, t := range served {
		if small[t.server] {
			give(t, needSmall, 0)
		}
		if i := slices.Index(w.of.order, t.key()); i >= 0 && score[t] > 0 {
			give(t, needKept, float64(i))
		} else if i >= 0 {
			give(t, needStood, float64(i))
		}
		if i := slices.Index(w.of.asked, t.key()); i >= 0 {
			give(t, needAsked, -float64(i))
		} else if w.of.called[t.model] {
			give(t, needAsked, 1) // before all of this process
		}
	}
	return need, rank
}

// smallServers are those that find room whole, the smallest first.
func smallServers(served []*tool, room int) map[string]bool {
	size := map[string]int{}
	for _, t := range served {
		size[t.server] += t.spec().tokens()
	}
	small := map[string]bool{}
	for _, name := range slices.SortedFunc(maps.Keys(size), func(a, b string) int { return cmp.Or(cmp.Compare(size[a], size[b]), cmp.Compare(a, b)) }) {
		if room -= size[name]; room < 0 {
			break
		}
		small[name] = true
	}
	return small
}

// leave notes of which servers tools are not offered, and what all of those
// servers' tools are called.
func (s *toolset) leave(served, chosen []*tool) {
	offered := make(map[*tool]bool, len(chosen))
	for _, t := range chosen {
		offered[t] = true
	}
	names := map[string][]string{}
	for _, t := range served {
		names[t.server] = append(names[t.server], cleanName(t.name))
		if !offered[t] {
			s.leftN++
			s.left = append(s.left, t.server)
		}
	}
	slices.Sort(s.left)
	s.left = slices.Compact(s.left)
	s.served, s.names = len(served), make([]string, 0, len(s.left))
	size := 0
	for _, server := range s.left {
		s.names = append(s.names, cleanName(server)+": "+strings.Join(names[server], ", "))
		size += len(s.names[len(s.names)-1])
	}
	if size > maxListedNames {
		s.names = nil
	}
}
