package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agentls/agent"
)

// notice stands at the head of the first answer of a conversation.
const notice = "I am the offline stand-in of agentls, not a language model: I follow a few fixed rules. " +
	"For a real model run the command `agentls.setup` in your editor (in a prompt buffer it is the code action “Set up a model…”), or `agentls init` in a shell: they find what runs on this machine and what you have a key for. " +
	"Or set `OPENAI_API_KEY` and `OPENAI_MODEL`, or write `provider` and `providers` into the configuration; `agentls doctor` says where that is and what it finds."

// usage says what the rules are.
const usage = "I can quote resources that you mention (`@server:scheme://path`), and call a tool that you name, such as `call read_file {\"path\": \"README.md\"}` or `read_file README.md`. " +
	"With the word “slowly” I take my time, so that you can try out Cancel."

// Bounds of what is shown of one text.
const (
	shownLines = 8
	shownChars = 200 // of a line
	shownItems = 12  // resources, results, names of one server
	countTo    = 200 // when asked to go slowly: ten seconds of words
)

// turn is one call of the stand-in.
type turn struct {
	tools   []agent.ToolSpec
	first   bool   // no answer came before
	prompt  string // the user's own words; empty when only results came
	blocks  []block
	results []result
	calls   []agent.ToolCall
	asked   string // the last words of a user, also before the results
}

// result is what a tool gave.
type result struct{ tool, text string }

// newTurn reads the request: what came after the last answer.
func newTurn(req agent.Request) *turn {
	t := &turn{tools: req.Tools, first: true}
	last := -1
	calls := 0
	for i, m := range req.Messages {
		if m.Role == agent.Assistant {
			last, t.first = i, false
			calls += len(m.ToolCalls)
		}
	}
	names := map[string]string{}
	if last >= 0 {
		for _, c := range req.Messages[last].ToolCalls {
			names[c.ID] = c.Name
		}
	}
	for i, m := range req.Messages {
		switch {
		case m.Role == agent.ToolRole && i > last:
			t.results = append(t.results, result{names[m.ToolCallID], m.Text})
		case m.Role == agent.User && !strings.HasPrefix(m.Text, "[agentls:"): // else a note of agentls' own
			prompt, blocks := split(m.Text)
			if t.asked = prompt; i > last {
				t.prompt, t.blocks = prompt, blocks
			}
		}
	}
	t.calls = t.toolCalls(calls)
	return t
}

var slowly = regexp.MustCompile(`(?i)\bslowly\b`)

// slow reports whether the user asked to go slowly.
func (t *turn) slow() bool { return slowly.MatchString(t.asked) }

// answer is the text, not empty.
func (t *turn) answer() string {
	var parts []string
	if t.first {
		parts = append(parts, notice)
	}
	for _, r := range t.results[:min(len(t.results), shownItems)] {
		parts = append(parts, fmt.Sprintf("`%s` gave:\n%s", orTool(r.tool), quote(r.text)))
	}
	if n := len(t.results) - shownItems; n > 0 {
		parts = append(parts, fmt.Sprintf("… and %d results more.", n))
	}
	for _, b := range t.blocks[:min(len(t.blocks), shownItems)] {
		parts = append(parts, b.shown())
	}
	if n := len(t.blocks) - shownItems; n > 0 {
		parts = append(parts, fmt.Sprintf("… and %d more.", n))
	}
	for _, c := range t.calls {
		parts = append(parts, fmt.Sprintf("I call `%s` with `%s`.", c.Name, oneLine(c.Arguments)))
	}
	if len(t.results)+len(t.blocks)+len(t.calls) == 0 || t.first && len(t.calls) == 0 {
		parts = append(parts, t.connected(), usage)
	}
	if t.slow() && len(t.calls) == 0 {
		parts = append(parts, count())
	}
	return strings.Join(parts, "\n\n")
}

func orTool(name string) string {
	if name == "" {
		return "the tool"
	}
	return name
}

// count gives a person time to try out Cancel.
func count() string {
	var b strings.Builder
	b.WriteString("I count slowly, as you asked; cancel me whenever you like:")
	for i := range countTo {
		fmt.Fprintf(&b, " %d", i+1)
	}
	return b.String()
}

// connected lists the tools offered, by server.
func (t *turn) connected() string {
	groups := map[string][]string{}
	for _, tool := range t.tools {
		server, name := serverOf(tool.Name)
		groups[server] = append(groups[server], name)
	}
	if len(groups) == 0 {
		return "Nothing is connected: no tool is offered to me."
	}
	var b strings.Builder
	b.WriteString("Connected:")
	servers := make([]string, 0, len(groups))
	for s := range groups {
		servers = append(servers, s)
	}
	slices.Sort(servers)
	for _, s := range servers {
		names := groups[s]
		slices.Sort(names)
		more := ""
		if n := len(names) - shownItems; n > 0 {
			names, more = names[:shownItems], fmt.Sprintf(" and %d more", n)
		}
		who := "built in"
		if s != "" {
			who = "MCP server `" + s + "`"
		}
		fmt.Fprintf(&b, "\n- %s: `%s`%s", who, strings.Join(names, "`, `"), more)
	}
	return b.String()
}

// serverOf parts the name of an MCP tool; a built-in one has no server.
func serverOf(name string) (server, short string) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", name
	}
	if server, short, ok = strings.Cut(rest, "__"); !ok || short == "" {
		return "", name
	}
	return server, short
}

// quote shows the first lines of a text as a Markdown quote.
func quote(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var b strings.Builder
	for i, l := range lines[:min(len(lines), shownLines)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimRight("> "+cut(strings.TrimRight(l, " \r")), " "))
	}
	if n := len(lines) - shownLines; n > 0 {
		fmt.Fprintf(&b, "\n> … (%d lines more)", n)
	}
	return b.String()
}

// cut bounds a line.
func cut(line string) string {
	n := 0
	for i := range line {
		if n++; n > shownChars {
			return line[:i] + "…"
		}
	}
	return line
}

func oneLine(s string) string { return cut(strings.Join(strings.Fields(s), " ")) }
