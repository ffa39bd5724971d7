package agent_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// dialogue makes random histories that are valid.
type dialogue struct {
	rnd     *rand.Rand
	history []agent.Message
	calls   int
	known   map[string]int // tokens by text: counting is the most of these tests
}

// tokens counts as agent.Tokens does.
func (d *dialogue) tokens(messages ...agent.Message) (n int) {
	if d.known == nil {
		d.known = map[string]int{}
	}
	for _, m := range messages {
		key := fmt.Sprint(m.Text, "\x00", len(m.Images), m.ToolCalls)
		if _, ok := d.known[key]; !ok {
			d.known[key] = agent.Tokens(m)
		}
		n += d.known[key]
	}
	return n
}

func (d *dialogue) text(most int) string {
	n := d.rnd.IntN(most) + 1
	if d.rnd.IntN(4) == 0 {
		n *= 20
	}
	word := []string{"word ", "é日本 ", "x", "func main() {\n", "0123456789 "}[d.rnd.IntN(5)]
	return fmt.Sprintf("%d: ", len(d.history)) + strings.Repeat(word, n/len(word)+1)
}

func (d *dialogue) add(m agent.Message) { d.history = append(d.history, m) }

// prompt adds a person's message and returns where it stands.
func (d *dialogue) prompt() int {
	m := agent.Message{Role: agent.User, Text: d.text(300)}
	if d.rnd.IntN(3) == 0 {
		m.Text += "\n\n<resource server=\"s\" uri=\"u:x\">\n" + d.text(3000) + "\n</resource>"
	}
	if d.rnd.IntN(6) == 0 {
		m.Images = []agent.Image{{MIMEType: "image/png", Data: "iVBORw0KGgo="}}
	}
	d.add(m)
	return len(d.history) - 1
}

// round adds an answer with calls and its results.
func (d *dialogue) round(most int) {
	a := agent.Message{Role: agent.Assistant}
	if d.rnd.IntN(2) == 0 {
		a.Text = d.text(200)
	}
	for range d.rnd.IntN(3) + 1 {
		d.calls++
		a.ToolCalls = append(a.ToolCalls, agent.ToolCall{
			ID: fmt.Sprintf("c%d", d.calls), Name: []string{"mcp__fake__echo", "read_result"}[d.rnd.IntN(2)],
			Arguments: fmt.Sprintf(`{"n":%d,"text":%q}`, d.calls, strings.Repeat("a", d.rnd.IntN(most))),
		})
	}
	d.add(a)
	for _, c := range a.ToolCalls {
		d.add(agent.Message{Role: agent.ToolRole, ToolCallID: c.ID, Text: d.text(most)})
	}
	if d.rnd.IntN(8) == 0 {
		d.add(agent.Message{Role: agent.User, Text: "[agentls: the images of the tool results above, in order]", Images: []agent.Image{{MIMEType: "image/png", Data: "iVBORw0KGgo="}}})
	}
	if d.rnd.IntN(12) == 0 { // a person steers
		d.add(agent.Message{Role: agent.User, Text: "rather " + d.text(100)})
	}
}

// fits says what is wrong with a view of a history.
func (d *dialogue) fits(v *agent.View, history []agent.Message, prompt, budget int, dir string) error {
	before := slices.Clone(history)
	const fixed = 50
	fit := v.Fit
	if isSummary(history[0]) {
		fit = v.FitBehind
	}
	got, err := fit(history, prompt, fixed, budget, dir)
	last := prompt
	for i := len(history) - 1; i > prompt; i-- {
		if history[i].Role == agent.Assistant {
			last = i
			break
		}
	}
	round := history[max(last, prompt+1):]
	size := d.tokens(history[prompt]) + d.tokens(round...)
	if isSummary(history[0]) {
		size += d.tokens(history[0])
	}
	switch {
	case !reflect.DeepEqual(before, history):
		return fmt.Errorf("the history was changed")
	case err != nil && fixed+size < budget/2:
		return fmt.Errorf("%w, for %d tokens that have to stay", err, size)
	case err != nil:
		return nil //nolint:nilerr // it is told where it does not fit
	}
	if err := agenttest.CheckHistory(append([]agent.Message{{Role: agent.System, Text: "s"}}, got...)); err != nil {
		return err
	}
	if n := fixed + d.tokens(got...); n > budget {
		return fmt.Errorf("%d tokens in a budget of %d", n, budget)
	}
	if !slices.ContainsFunc(got, func(m agent.Message) bool {
		return m.Role == agent.User && strings.Contains(m.Text, history[prompt].Text) && len(m.Images) >= len(history[prompt].Images)
	}) {
		return fmt.Errorf("the prompt is not there whole")
	}
	if isSummary(history[0]) && !strings.HasPrefix(got[0].Text, history[0].Text) {
		return fmt.Errorf("the summary is not there whole")
	}
	if fixed+size < budget/2 && !reflect.DeepEqual(got[len(got)-len(round):], round) {
		return fmt.Errorf("the last round is not there whole")
	}
	for _, m := range history[prompt+1:] {
		if m.Role == agent.User && len(m.Images) == 0 && !slices.ContainsFunc(got, func(g agent.Message) bool { return strings.Contains(g.Text, m.Text) }) {
			return fmt.Errorf("what a person added is not there: %.100q", m.Text)
		}
	}
	return nil
}

// isSummary reports whether a message stands for what was before.
func isSummary(m agent.Message) bool {
	return m.Role == agent.User && strings.HasPrefix(m.Text, "[summary]")
}

// summary adds what stands for what was before: its first message; then a
// history may begin anywhere between two rounds.
func (d *dialogue) summary() {
	d.add(agent.Message{Role: agent.User, Text: "[summary] " + d.text(300)})
	for range d.rnd.IntN(3) {
		d.round(500)
	}
}

// Whatever the history, what a model gets of it is valid, fits, and holds the
// prompt, what a person added, and the last round.
func TestFitsAnyHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for seed := range uint64(18) {
		d := &dialogue{rnd: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // a test that can be repeated
		if seed >= 12 {
			d.summary()
		}
		v := &agent.View{}
		budget := []int{1500, 3000, 9000}[d.rnd.IntN(3)]
		for range d.rnd.IntN(6) + 1 {
			prompt := d.prompt()
			for step := range d.rnd.IntN(12) + 1 {
				if err := d.fits(v, d.history, prompt, budget, dir); err != nil {
					t.Fatalf("seed %d, %d messages, step %d, budget %d: %v", seed, len(d.history), step, budget, err)
				}
				d.round(budget / 4)
			}
			d.add(agent.Message{Role: agent.Assistant, Text: d.text(500)})
		}
	}
}

// The same from bytes: each is a choice.
func FuzzFit(f *testing.F) {
	f.Add(uint64(1), 2000, 3, 5)
	f.Add(uint64(7), 100, 1, 40)
	f.Add(uint64(9), 20000, 8, 2)
	f.Fuzz(func(t *testing.T, seed uint64, budget, prompts, rounds int) {
		d := &dialogue{rnd: rand.New(rand.NewPCG(seed, 2))} //nolint:gosec // likewise
		v := &agent.View{}
		budget = min(max(budget, 1), 20000)
		for range min(max(prompts, 1), 5) {
			prompt := d.prompt()
			for range min(max(rounds, 0), 10) {
				d.round(max(budget/4, 10))
			}
			if err := d.fits(v, d.history, prompt, budget, t.TempDir()); err != nil {
				t.Fatal(err)
			}
			d.add(agent.Message{Role: agent.Assistant, Text: d.text(500)})
		}
	})
}

// A request shares its prefix with the one before, but for a few: providers
// cache by prefix. What fits is not touched.
func TestViewIsStable(t *testing.T) {
	t.Parallel()
	d := &dialogue{rnd: rand.New(rand.NewPCG(1, 1))} //nolint:gosec // likewise
	v := &agent.View{}
	d.add(agent.Message{Role: agent.User, Text: "do it"})
	var before []agent.Message
	changed, thinned := 0, false
	for i := range 200 {
		got, err := v.Fit(slices.Clone(d.history), 0, 1000, 20000, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if !thinned && len(got) == len(d.history) && reflect.DeepEqual(got, d.history) {
			before = slices.Clone(got)
		} else if thinned = true; !reflect.DeepEqual(got[:min(len(before), len(got))], before) {
			changed++
			before = slices.Clone(got)
		} else {
			before = slices.Clone(got)
		}
		id := fmt.Sprintf("c%d", i)
		d.add(agent.Message{Role: agent.Assistant, ToolCalls: []agent.ToolCall{call(id, "mcp__fake__echo", "{}")}})
		d.add(agent.Message{Role: agent.ToolRole, ToolCallID: id, Text: strings.Repeat(fmt.Sprintf("line %d\n", i), 100)})
	}
	if !thinned || changed == 0 || changed > 25 {
		t.Errorf("thinned: %v; %d of 200 requests changed what the one before had", thinned, changed)
	}
}

// What was left out can be read, and is named for what it was.
func TestLeftOutIsReadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat("a line of the result\n", 400)
	history := []agent.Message{
		{Role: agent.User, Text: "first\n\n<resource server=\"s\" uri=\"u:x\">\n" + strings.Repeat("body ", 1500) + "\n</resource>"},
		{Role: agent.Assistant, ToolCalls: []agent.ToolCall{call("a", "mcp__fake__echo", "{}"), call("b", "read_result", "{}"), call("c", "write_file", `{"path":"x","content":"`+strings.Repeat("y", 6000)+`"}`)}},
		{Role: agent.ToolRole, ToolCallID: "a", Text: long},
		{Role: agent.ToolRole, ToolCallID: "b", Text: long},
		{Role: agent.ToolRole, ToolCallID: "c", Text: long, Stored: "abcdefghijkl"},
		{Role: agent.Assistant, Text: "done"},
		{Role: agent.User, Text: "second"},
	}
	v := &agent.View{}
	got, err := v.Fit(history, 6, 0, 1500, dir)
	if err != nil || len(got) != len(history) {
		t.Fatalf("%v: %d messages: %q", err, len(got), got)
	}
	contains(t, got[0].Text, "first\n\n[agentls left out what was attached here to save room: 7", " bytes; read_result with id ")
	contains(t, got[2].Text, "[agentls left this result out to save room: 8400 bytes, 400 lines; read_result with id ")
	contains(t, got[3].Text, "call read_result again")
	contains(t, got[4].Text, `read_result with id "abcdefghijkl" shows all of it`)
	contains(t, got[1].ToolCalls[2].Arguments, `"path":"x"`, "6000 bytes, left out by agentls to save room")
	if again, err := v.Fit(history, 6, 0, 1500, dir); err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("the same again: %v %q", err, again)
	}
	// A larger window shows all of it again.
	if all, err := v.Fit(history, 6, 0, 100000, dir); err != nil || !reflect.DeepEqual(all, history) {
		t.Errorf("for a larger window: %v %q", err, all)
	}
}

// A session that was cleared begins anew, whatever was left out before.
func TestViewOfAClearedSession(t *testing.T) {
	t.Parallel()
	d := &dialogue{rnd: rand.New(rand.NewPCG(5, 1))} //nolint:gosec // likewise
	v := &agent.View{}
	for range 20 {
		d.prompt()
		d.round(3000)
		d.add(agent.Message{Role: agent.Assistant, Text: "done"})
	}
	for n := len(d.history); n > 0; n -= 7 {
		short := slices.Clone(d.history[len(d.history)-n:])
		for len(short) > 0 && (short[0].Role != agent.User || len(short[0].Images) > 0) {
			short = short[1:]
		}
		short = append(short, agent.Message{Role: agent.User, Text: "go"})
		if err := d.fits(v, short, len(short)-1, 2500, t.TempDir()); err != nil {
			t.Fatalf("%d messages: %v", n, err)
		}
	}
}

// A last round that is too long alone is cut, each result to its share, rather
// than that the run fails; the rest can be read.
func TestLastRoundIsSqueezed(t *testing.T) {
	t.Parallel()
	history := []agent.Message{{Role: agent.User, Text: "do it"}, {Role: agent.Assistant}}
	for i := range 4 {
		id := fmt.Sprintf("c%d", i)
		history[1].ToolCalls = append(history[1].ToolCalls, call(id, "mcp__fake__echo", "{}"))
		history = append(history, agent.Message{Role: agent.ToolRole, ToolCallID: id, Text: strings.Repeat(fmt.Sprintf("line of %d\n", i), 10+i*500)})
	}
	history = append(history, agent.Message{Role: agent.User, Text: "[agentls: the images of the tool results above, in order]", Images: []agent.Image{{MIMEType: "image/png", Data: "iVBORw0KGgo="}}})
	v := &agent.View{}
	got, err := v.Fit(history, 0, 500, 3000, t.TempDir())
	if err != nil || len(got) != len(history) || agent.Tokens(got...)+500 > 3000 {
		t.Fatalf("%v: %d messages, %d tokens", err, len(got), agent.Tokens(got...))
	}
	if got[2].Text != history[2].Text {
		t.Errorf("a short result was cut: %q", got[2].Text)
	}
	for _, m := range got[3:6] {
		contains(t, m.Text, "bytes here, lines ", "read_result with id ")
	}
	contains(t, got[6].Text, "left out by agentls to save room")
	if _, err := v.Fit(history, 0, 500, 700, t.TempDir()); err == nil {
		t.Error("it fits into nothing")
	}
}
