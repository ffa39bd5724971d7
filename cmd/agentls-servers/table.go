package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agentls/mcp"
)

// seen is what a visit saw of a server.
type seen struct {
	server *server

	status    mcp.Status
	err       string
	protocol  string
	started   time.Duration // from the configuration to ready, or to failed
	ended     time.Duration
	rss       int64 // bytes, of all its processes together
	processes int

	toolList     []mcp.Tool
	resourceList []mcp.Resource
	templateList []mcp.Template
	promptList   []mcp.Prompt
	toolBytes    int // of their names, descriptions and schemas as JSON

	tools, resources, prompts string // as they are shown

	mentioned, hidden, completes, killed int
	reads, calls, notified               []string
	cancelled, logs                      bool

	faults  []string
	notes   []string
	details []string
}

func (s *seen) fault(format string, a ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, a...))
}

func (s *seen) note(format string, a ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, a...))
}

func (s *seen) detail(format string, a ...any) {
	s.details = append(s.details, fmt.Sprintf(format, a...))
}

func (s *seen) did(list *[]string, what string) {
	if !slices.Contains(*list, what) {
		*list = append(*list, what)
	}
}

// count words what the lists hold.
func (s *seen) count() {
	for _, t := range s.toolList {
		raw, err := json.Marshal(map[string]any{"name": t.Name, "title": t.Title, "description": t.Description, "inputSchema": t.Schema})
		if err == nil {
			s.toolBytes += len(raw)
		}
	}
	s.tools = fmt.Sprint(len(s.toolList))
	s.resources = fmt.Sprintf("%d/%d", len(s.resourceList), len(s.templateList))
	s.prompts = fmt.Sprint(len(s.promptList))
}

// outcome says in a few words how the visit went.
func (s *seen) outcome() string {
	switch {
	case len(s.faults) > 0:
		return fmt.Sprintf("%d faults", len(s.faults))
	case s.server.Expect.Fails != "":
		return "fails as expected"
	default:
		return "ok"
	}
}

const preface = `# What was seen of servers that others wrote

Written by %s: the %d servers of servers.json, connected through the manager that agentls uses. Each is
started with a folder and a home of its own and listed; each resource that it lists is mentioned (what completion
inserts has to be read as that URI, in three kinds of sentences), one is read, a value completed, a prompt got and a
harmless tool called, as far as it has any; some are made to notify, and some have a call cancelled. Then it is killed,
has to come back with all that it had, and is called again. After its end no process of it may be left, found by a
variable in its environment. Whatever differs from the list is a fault, and then this file is not written.

Era: L is the protocol up to 2025-11-25 (` + "`initialize`" + `), which is tried first, M that since 2026-07-28 (` + "`server/discover`" + `), with which
those that know both are visited once more. Start: from the
configuration to ready or failed, cold and %s. RSS: of all processes of the server after its lists were
fetched. Tools: how many, and how much JSON. Resources: resources / templates. Mentioned: those that were offered and
read back; + those that completion has to leave out (` + "`ui://`" + `, for the user only).

| server | era | start ms | RSS MB | tools (kB) | resources | prompts | mentioned | read | called | also | outcome |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`

// table words all that was seen, as Markdown.
func table(all []*seen) string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, preface, "`make servers`", len(all), "three beside each other")
	for _, s := range all {
		b.WriteString(s.row())
	}
	return b.String()
}

func (s *seen) row() string {
	if s.server.Expect.Fails != "" {
		return line(s.server.what(), "", s.startCell(), "", "", "", "", "", "", "", s.server.Note, "fails as expected: "+s.server.Expect.Fails)
	}
	mentioned := fmt.Sprint(s.mentioned)
	if s.hidden > 0 {
		mentioned += fmt.Sprintf(" + %d", s.hidden)
	}
	return line(s.server.what(), s.era(), s.startCell(), fmt.Sprint((s.rss+2_500_000)/5_000_000*5),
		fmt.Sprintf("%s (%.1f)", s.tools, float64(s.toolBytes)/1000), s.resources, s.prompts, mentioned,
		list(code(s.reads)), list(code(s.calls)), s.also(), s.outcome())
}

// startCell rounds: the machine is noisier than the servers differ.
func (s *seen) startCell() string {
	unit := 50 * time.Millisecond
	if s.started > time.Second {
		unit = 500 * time.Millisecond
	}
	return fmt.Sprint(max(s.started.Round(unit), unit).Milliseconds())
}

func (s *seen) also() string {
	var words []string
	if s.completes > 0 {
		words = append(words, "values completed")
	}
	if s.server.Do.Prompt != nil {
		words = append(words, "prompt `"+s.server.Do.Prompt.Name+"`")
	}
	if s.cancelled {
		words = append(words, "a call cancelled")
	}
	if len(s.notified) > 0 {
		words = append(words, "notified: "+strings.Join(s.notified, ", "))
	}
	if s.logs {
		words = append(words, "sends log messages")
	}
	x := s.server.excuse()
	for _, why := range []struct{ what, text string }{{"not read", x.Read}, {"no prompt got", x.Prompt}, {"not called", x.Call}} {
		if why.text != "" {
			words = append(words, why.what+": "+why.text)
		}
	}
	if s.server.Note != "" {
		words = append(words, s.server.Note)
	}
	return strings.Join(words, "; ")
}

func (s *seen) era() string {
	switch {
	case s.protocol >= newest:
		return "M " + s.protocol
	case s.server.Modern:
		return "L " + s.protocol + ", M"
	default:
		return "L " + s.protocol
	}
}

// code marks what is a name, a cell's bar and end kept out.
func code(words []string) (out []string) {
	for _, w := range words {
		out = append(out, "`"+strings.NewReplacer("|", `\|`, "\n", " ", "`", "'").Replace(w)+"`")
	}
	return out
}

func list(words []string) string { return strings.Join(words, ", ") }

func line(cells ...string) string {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "\n", " ")
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
