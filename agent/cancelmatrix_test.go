package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// callKind is a kind of call that a run can be cancelled around.
type callKind struct{ tool, args string }

// callKinds are all kinds: a tool of a server, the two virtual ones, and each
// built-in tool of CONTRACT §11.
var callKinds = []callKind{
	{"mcp__fake__work", `{"text":"x"}`},
	{"mcp__fake__list_resources", `{}`},
	{"mcp__fake__read_resource", `{"uri":"file://doc.md"}`},
	{"read_file", `{"path":"a.txt"}`},
	{"list_dir", `{"path":"."}`},
	{"search_code", `{"query":"x"}`},
	{"write_file", `{"path":"a.txt","content":"x"}`},
	{"edit_file", `{"path":"a.txt","edits":[{"old":"x","new":"y"}]}`},
	{"run_command", `{"command":"make test"}`},
	{"web_fetch", `{"url":"https://example.com/"}`},
	{"read_result", `{"id":"abcdefghijkl"}`},
	{"find_tools", `{"query":"x"}`},
}

// asksAboutAll are rules that make a question of every call.
var asksAboutAll = []string{"fake/*", "read_file", "list_dir", "search_code", "write_file", "edit_file", "run_command", "web_fetch", "read_result", "find_tools"}

// act is what every tool does in a cell of the matrix.
type act func(ctx context.Context) error

func instant(context.Context) error { return nil }

func obeys(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// acting lets every kind of call do the same.
func (w *world) acting(do act) {
	w.actingBy(func(ctx context.Context, _ json.RawMessage) (string, error) { return "late", do(ctx) })
	w.servers.reading = func(ctx context.Context) error {
		w.acts.Add(1)
		return do(ctx)
	}
}

// actingBy lets every kind of call with arguments do the same, but the built-in
// tools that are left as they are.
func (w *world) actingBy(do func(context.Context, json.RawMessage) (string, error), left ...string) {
	run := func(ctx context.Context, args json.RawMessage) (string, error) {
		w.acts.Add(1)
		return do(ctx, args)
	}
	for _, k := range callKinds {
		if !strings.HasPrefix(k.tool, "mcp__") && !slices.Contains(left, k.tool) {
			w.agent.SetTool(k.tool, run)
		}
	}
	w.servers.mu.Lock() // a call that was left behind may still look
	defer w.servers.mu.Unlock()
	w.servers.tools = append(w.servers.tools, mcp.Tool{Server: "fake", Name: "work", Description: "Works", Schema: json.RawMessage(`{"type":"object"}`)})
	w.servers.call["fake/work"] = func(ctx context.Context, args json.RawMessage, _ func(mcp.Progress)) (mcp.ToolResult, error) {
		text, err := run(ctx, args)
		return mcp.ToolResult{Content: []mcp.Content{{Type: "text", Text: text}}}, err
	}
}

// cell is one point of the matrix, filled for one kind of call.
type cell struct {
	*world
	kind   callKind
	cancel func()
	llm    []agenttest.Step
	do     act
	// want are the outcomes of the two calls; none: they are not reached.
	want []agent.Outcome
	// idle is how many of them do not reach their tools.
	idle int
	// most is how long the answer may take.
	most time.Duration
	// kept stands in the history that the next prompt is asked with.
	kept []string
	// after is called when the run has ended.
	after func()
}

// both is an answer with two calls of the cell's kind.
func (c *cell) both() agenttest.Step {
	return agenttest.Step{Text: []string{"I call. "}, Calls: []agent.ToolCall{call("c1", c.kind.tool, c.kind.args), call("c2", c.kind.tool, c.kind.args)}}
}

// on cancels at the n-th event of a call in a state.
func (c *cell) on(state agent.ToolCallState, n int) {
	c.host.On = func(e agent.Event) {
		if e.ToolCall != nil && e.ToolCall.State == state {
			if n--; n == 0 {
				c.cancel()
			}
		}
	}
}

// grace is that of CONTRACT §5.
const grace = 300 * time.Millisecond

// cancelPoints are the points at which a run is cancelled. Where a point does
// not cancel by itself, the run is cancelled once all of it waits.
var cancelPoints = []struct {
	name string
	set  func(c *cell)
}{
	{"queued", func(c *cell) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { // ends by its cancel
			defer close(done)
			t := c.task
			t.RunID, t.Prompt, t.LLM = "first", "be before", agenttest.NewLLM(c.t, agenttest.Step{Block: true})
			_, _ = c.work(ctx, t)
		}()
		synctest.Wait()
		c.llm = []agenttest.Step{c.both()}
		c.after = func() { cancel(); <-done }
		c.kept = []string{"be before"}
	}},
	{"while servers start", func(c *cell) { c.servers.hang["WaitStarted"], c.llm = true, []agenttest.Step{c.both()} }},
	{"while lists settle", func(c *cell) { c.servers.hang["Settle"], c.llm = true, []agenttest.Step{c.both()} }},
	{"in the expansion", func(c *cell) {
		c.servers.hang["Read"], c.task.Prompt, c.llm = true, "be first @fake:file://doc.md", []agenttest.Step{c.both()}
		c.idle = -1 // the mention itself
	}},
	{"in an expansion that hangs", func(c *cell) {
		c.task.Prompt, c.most, c.llm = "be first @fake:file://x/stubborn", grace, []agenttest.Step{c.both()}
		c.idle = -1
	}},
	{"before the first token", func(c *cell) { c.llm = []agenttest.Step{{Block: true}} }},
	{"in the text", func(c *cell) {
		c.llm, c.kept = []agenttest.Step{{Text: []string{"partial "}, Block: true}}, []string{"partial \n\n[the run was cancelled here]"}
	}},
	{"in the reasoning", func(c *cell) { c.llm = []agenttest.Step{{Reasoning: []string{"hm"}, Block: true}} }},
	{"between the calls and the first of them", func(c *cell) {
		step := c.both()
		step.Then = func() { c.cancel() }
		c.task.Approval.Ask, c.host.Answer = asksAboutAll, func(context.Context, agent.Question) (agent.Answer, error) {
			c.t.Error("a question after the cancel")
			return agent.Answer{}, nil
		}
		c.llm, c.want, c.idle = []agenttest.Step{step}, []agent.Outcome{agent.Cancelled, agent.Cancelled}, 2
	}},
	{"at the gate", func(c *cell) {
		c.on(agent.ToolPending, 1)
		c.task.Limits.ParallelTools = 1
		c.llm, c.want, c.idle = []agenttest.Step{c.both()}, []agent.Outcome{agent.Cancelled, agent.Cancelled}, 2
	}},
	{"as the gate allows it", func(c *cell) {
		c.log.on = func(line string) {
			if strings.Contains(line, "tool call decided") {
				c.cancel()
			}
		}
		c.task.Limits.ParallelTools = 1
		c.llm, c.want, c.idle = []agenttest.Step{c.both()}, []agent.Outcome{agent.Cancelled, agent.Cancelled}, 2
	}},
	{"while questions are open", func(c *cell) { // obot-platform/obot#5697
		c.task.Approval.Ask, c.host.Answer = asksAboutAll, ask
		c.idle = 2
		c.llm, c.want = []agenttest.Step{c.both()}, []agent.Outcome{agent.Cancelled, agent.Cancelled}
	}},
	{"with the answer to a question", func(c *cell) {
		c.task.Approval.Ask, c.task.Limits.ParallelTools = asksAboutAll, 1
		c.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) {
			c.cancel()
			return agent.Answer{Decision: agent.DecisionAlways}, nil
		}
		c.idle = 2
		c.llm, c.want = []agenttest.Step{c.both()}, []agent.Outcome{agent.Cancelled, agent.Cancelled}
	}},
	{"as the tool starts", func(c *cell) {
		c.on(agent.ToolRunning, 1)
		c.task.Limits.ParallelTools, c.do, c.idle = 1, obeys, 1
		c.llm, c.want = []agenttest.Step{c.both()}, []agent.Outcome{agent.Cancelled, agent.Cancelled}
	}},
	{"in tools that obey", func(c *cell) {
		c.do, c.llm, c.want = obeys, []agenttest.Step{c.both()}, []agent.Outcome{agent.Cancelled, agent.Cancelled}
	}},
	{"in tools that never react", func(c *cell) { // agentclientprotocol/claude-agent-acp#680
		c.do, c.most = c.deaf, grace
		c.llm, c.want = []agenttest.Step{c.both()}, []agent.Outcome{agent.Unknown, agent.Unknown}
	}},
	{"between two calls of an answer", func(c *cell) {
		c.on(agent.ToolCallState(agent.Completed), 1)
		c.task.Limits.ParallelTools, c.idle = 1, 1
		c.llm, c.want = []agenttest.Step{c.both()}, []agent.Outcome{agent.Completed, agent.Cancelled}
	}},
	{"with the last result", func(c *cell) {
		c.on(agent.ToolCallState(agent.Completed), 2)
		c.llm, c.want = []agenttest.Step{c.both()}, []agent.Outcome{agent.Completed, agent.Completed}
	}},
	{"in the model call after the results", func(c *cell) {
		c.llm, c.want = []agenttest.Step{c.both(), {Text: []string{"so "}, Block: true}}, []agent.Outcome{agent.Completed, agent.Completed}
		c.kept = []string{"so \n\n[the run was cancelled here]"}
	}},
	{"while what a person added waits", func(c *cell) {
		c.task.Steer = &agent.Steer{}
		step := c.both()
		step.Then = func() {
			if err := c.task.Steer.Add("be quick"); err != nil {
				c.t.Error(err)
			}
		}
		c.do, c.llm, c.want = obeys, []agenttest.Step{step}, []agent.Outcome{agent.Cancelled, agent.Cancelled}
		c.kept = []string{"be quick"}
	}},
	{"in the expansion of what a person added", func(c *cell) {
		c.task.Steer = &agent.Steer{}
		step := c.both()
		step.Then = func() {
			c.servers.hang["Read"] = true
			if err := c.task.Steer.Add("see @fake:file://doc.md"); err != nil {
				c.t.Error(err)
			}
		}
		if strings.HasSuffix(c.kind.tool, "read_resource") {
			c.kind = callKinds[0] // it would hang itself
			step.Calls = c.both().Calls
		}
		c.llm, c.want, c.kept = []agenttest.Step{step}, []agent.Outcome{agent.Completed, agent.Completed}, []string{"see @fake"}
		c.idle = -1
	}},
	{"while an answer that broke off is asked for again", func(c *cell) {
		broken := agenttest.Step{Text: []string{"half "}, Err: &agent.ProviderError{Kind: agent.KindNetwork, Message: "lost", Retryable: true, Began: true}}
		c.llm, c.want = []agenttest.Step{c.both(), broken, {Block: true}}, []agent.Outcome{agent.Completed, agent.Completed}
		c.kept = []string{"half "}
	}},
}

// deaf does not react to its context.
func (w *world) deaf(context.Context) error {
	<-w.servers.stubborn
	return nil
}

// TestCancelMatrix cancels at every point around every kind of call. Each time
// the run ends within the grace, each call has one result and one line in the
// audit (the world's own check), the history stays valid for a provider (the
// model's own check), nothing comes late, and the next prompt works
// (openai/codex#26956, charmbracelet/crush#2492, vybestack/llxprt-code#282).
func TestCancelMatrix(t *testing.T) {
	for _, p := range cancelPoints {
		t.Run(p.name, func(t *testing.T) {
			for _, k := range callKinds {
				t.Run(k.tool, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := &cell{world: newWorld(t), kind: k, do: instant}
						c.task.Prompt = "be first"
						c.task.Approval.Default = "allow"
						p.set(c)
						c.acting(c.do)
						c.check()
					})
				})
			}
		})
	}
}

// check runs the cell's prompt, cancels it, and looks at what is left.
func (c *cell) check() {
	c.t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	began, cancelled := time.Time{}, false
	c.cancel = func() {
		if !cancelled {
			began, cancelled = time.Now(), true
			cancel(agent.ErrCancelled)
		}
	}
	type answer struct {
		res agent.Result
		err error
	}
	done := make(chan answer, 1)
	go func() { // ends with the run
		t := c.task
		t.LLM = agenttest.NewLLM(c.t, c.llm...)
		res, err := c.work(ctx, t)
		done <- answer{res, err}
	}()
	synctest.Wait()
	c.cancel()
	got := <-done
	if took := time.Since(began); took > c.most {
		c.t.Errorf("the answer took %v", took)
	}
	if !errors.Is(got.err, agent.ErrCancelled) || got.res.Status != agent.StatusCancelled {
		c.t.Errorf("the run ended with %s, %v", got.res.Status, got.err)
	}
	ids := map[string]agent.Outcome{}
	for _, one := range got.res.ToolCalls {
		ids[one.ID] = one.Status
	}
	var outcomes []agent.Outcome
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		outcomes = append(outcomes, ids[id])
	}
	equal(c.t, "outcomes", outcomes, c.want)
	if n := int(c.acts.Load()); n != len(c.want)-c.idle {
		c.t.Errorf("%d calls reached their tools, want %d", n, len(c.want)-c.idle)
	}
	c.log.on = nil
	if c.after != nil {
		c.after()
	}
	c.nothingLate()
	c.nextWorks()
	c.agent.Close()
}

// nothingLate lets go what was left behind: it changes and tells nothing.
func (c *cell) nothingLate() {
	c.t.Helper()
	synctest.Wait()
	history, events := c.agent.History(c.dir, "s"), len(c.host.Events())
	close(c.servers.stubborn)
	synctest.Wait()
	time.Sleep(time.Minute) // of the fake clock
	if n := len(c.host.Events()); n != events {
		c.t.Errorf("%d events after the run", n-events)
	}
	if now := c.agent.History(c.dir, "s"); fmt.Sprint(now) != fmt.Sprint(history) {
		c.t.Errorf("the history changed from\n%v\nto\n%v", history, now)
	}
	if len(c.want) > 0 && c.want[0] == agent.Unknown && strings.Contains(fmt.Sprint(history), "late") {
		c.t.Errorf("a late result is in the history: %v", history)
	}
}

// nextWorks asks again: the model gets what was kept, and a call of the same
// kind works.
func (c *cell) nextWorks() {
	c.t.Helper()
	clear(c.servers.hang)
	c.host.On, c.host.Answer = nil, agenttest.Always(agent.DecisionOnce)
	c.acting(instant)
	c.task.RunID, c.task.Steer = "next", nil
	asked := len(c.host.Questions())
	res, llm := c.must("next", agenttest.Call(call("c1", c.kind.tool, c.kind.args)))
	equal(c.t, "the next run's outcomes", statuses(res), []agent.Outcome{agent.Completed})
	first := llm.Requests()[0].Messages
	text := ""
	for _, m := range first {
		text += m.Text + "\n"
	}
	contains(c.t, text, c.kept...)
	if n := len(c.host.Questions()) - asked; n != len(c.task.Approval.Ask)/len(asksAboutAll) {
		c.t.Errorf("%d questions: was a late answer remembered?", n)
	}
	if last := first[len(first)-1]; last.Role != agent.User || last.Text != "next" {
		c.t.Errorf("the last message is %+v", last)
	}
	if n := len(results(llm.Requests()[0])); n != len(c.want) {
		c.t.Errorf("%d results for %d calls", n, len(c.want))
	}
}
