package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const findToolsName = "find_tools"

const findToolsSchema = `{"properties":{"query":{"description":"Words of what is to be done, in English as the tools' descriptions mostly are, or names of tools.","type":"string"}},"required":["query"],"type":"object"}`

// mostFound is how many tools one search offers.
const mostFound = 8

// findToolsTool finds what is not offered for want of room. It is offered only
// then.
func findToolsTool() *tool {
	return &tool{
		name: findToolsName, anywhere: true, scarce: true, description: prompt("find_tools.md"), schema: json.RawMessage(findToolsSchema),
		run: func(_ context.Context, e env, args json.RawMessage) (output, error) {
			var in struct {
				Query string `json:"query"`
			}
			if err := into(args, &in); err != nil {
				return output{}, err
			}
			if strings.TrimSpace(in.Query) == "" {
				return output{}, errors.New("the argument query is missing")
			}
			return output{text: e.find(in.Query)}, nil
		},
	}
}

// find searches the servers' tools, and has what it finds offered from the next
// request on.
func (t *thread) find(query string) string {
	own, served := t.tools(true)
	nameTools(slices.Concat(own, served))
	served = slices.DeleteFunc(served, func(one *tool) bool { return !t.offers(one) })
	query, _ = clip(query, 2000)
	named := namedIn(served, query)
	found := slices.SortedFunc(maps.Keys(named), byServer)
	for _, one := range searchTools(served, query) {
		if !named[one.tool] {
			found = append(found, one.tool)
		}
	}
	if len(found) == 0 {
		return fmt.Sprintf("None of the %d tools of the MCP servers has these words. Try others, of what the tool does.", len(served))
	}
	var b strings.Builder
	more := len(found) - min(len(found), mostFound)
	room := t.toolRoom() / 2 // of what was found before something should stay
	var keys []toolKey
	for _, one := range found[:min(len(found), mostFound)] {
		if room -= one.spec().tokens(); room < 0 && len(keys) > 0 {
			more++
			continue
		}
		keys = append(keys, one.key())
		fmt.Fprintf(&b, "- %s: %s\n", one.model, oneLine(one.description, 300))
	}
	slices.Reverse(keys) // the best is the newest
	t.s.offering.ask(keys...)
	b.WriteString("They can be called from your next turn on.")
	if more > 0 {
		fmt.Fprintf(&b, " %d more have some of the words: ask more exactly if none of these fits.", more)
	}
	return b.String()
}

// toolset is what the next request offers.
func (t *thread) toolset() toolset {
	t.s.offering.begin(t.s)
	own, served := t.tools(t.task.Folders != nil && len(t.task.Folders()) > 0)
	w := wish{room: t.toolRoom(), prompt: t.wanted(), of: &t.s.offering}
	if t.part.offers != nil {
		w.offers, w.whyNot = t.offers, t.part.whyNot
	}
	set := choose(own, served, w)
	for _, mine := range t.part.own {
		if mine.gone != nil && mine.gone() != "" {
			set = set.without(mine.name, mine.gone())
		}
	}
	t.tellLeft(set)
	return set
}

// wanted is what decides which tools are needed: the prompt, the MCP prompt that
// it begins with, and what was added.
func (t *thread) wanted() string {
	const most = 4000
	texts := slices.Clone(t.wants)
	for i, text := range texts {
		if len(text) > 2*most {
			texts[i] = text[:most] + " " + text[len(text)-most:]
		}
	}
	return strings.Join(texts, "\n")
}

// begin takes what the session's history calls: it was loaded, maybe. The tools
// are looked for at each request, as their server may still be starting.
func (o *offering) begin(s *session) {
	o.mu.Lock()
	begun := o.called != nil
	o.mu.Unlock()
	if begun {
		return
	}
	called := map[string]bool{}
	for _, m := range s.messages() {
		for _, c := range m.ToolCalls {
			called[c.Name] = true
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.called = called
}

// tellLeft tells a person that not all tools are offered, and what to do: once
// in a run, and once of each server.
func (r *run) tellLeft(set toolset) {
	if set.leftN == 0 || r.tellsLeft() {
		return
	}
	isNew := false
	var servers []string
	for _, s := range set.left {
		_, told := r.a.leftTold.LoadOrStore(s, true)
		isNew = isNew || !told
		servers = append(servers, r.a.tellable(s, 60))
	}
	if !isNew {
		return
	}
	const most = 4
	if n := len(servers) - most; n > 0 {
		servers = append(servers[:most], fmt.Sprintf("%d more", n))
	}
	r.emit(Event{Kind: EventHint, Delta: fmt.Sprintf("The %d tools of the MCP servers do not all find room in a request: those of %s are offered by need, and found by the model. enabledTools in a server's configuration chooses them for good.", set.served, strings.Join(servers, ", "))})
}

// tellsLeft reports whether it was told that not all tools find room, and takes
// it for told from then on.
func (r *run) tellsLeft() (told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	told, r.leftTold = r.leftTold, true
	return told
}
