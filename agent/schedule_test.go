package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// schedules is how many there are; each is a test of its own, so that
// -run 'TestRandomSchedules/417$' runs one again.
const schedules = 1000

// Random schedules: whatever happens at whatever time, each run ends and soon
// after its cancel, each call has one result in the history, one line in the
// audit and one outcome told, nothing that a person wrote is lost or comes
// twice, and the history is one that a provider takes.
func TestRandomSchedules(t *testing.T) {
	for seed := range uint64(schedules) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &schedule{world: newWorld(t), seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), written: map[string]bool{}}
				s.play()
			})
		})
	}
}

// schedule is one of them.
type schedule struct {
	*world
	seed uint64
	rnd  *rand.Rand // of the test's goroutine
	runs int

	mu      sync.Mutex
	calls   int
	written map[string]bool // what a person wrote; true: it must be in the history
}

// stream is a source of randomness of its own.
func (s *schedule) stream(of uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, of)) }

func (s *schedule) play() {
	s.task.Limits = agent.Limits{Steps: 1 + s.rnd.IntN(6), ParallelTools: 1 + s.rnd.IntN(4), ToolResultBytes: 200 + s.rnd.IntN(2000)}
	if s.rnd.IntN(4) == 0 {
		s.task.Limits.Tokens = 1 + s.rnd.IntN(20000)
	}
	s.task.Approval.Default = []string{"", "ask", "allow", "deny"}[s.rnd.IntN(4)]
	if s.rnd.IntN(2) == 0 {
		s.task.Approval.Ask = asksAboutAll
	}
	s.host.Answer = randomAnswers(s.stream(2))
	for range 1 + s.rnd.IntN(2) {
		s.actingByArguments()
		s.round()
		s.reload()
	}
	s.host.Answer = agenttest.Always(agent.DecisionOnce)
	s.task.Limits = agent.Limits{}
	_, llm := s.must("the last")
	s.look(llm.Last().Messages)
	s.close()
}

// round lets some runs of the session work beside each other.
func (s *schedule) round() {
	var wg sync.WaitGroup
	for range 1 + s.rnd.IntN(3) {
		ctx, cancel := context.WithCancelCause(s.t.Context())
		s.runs++
		task := s.task
		task.RunID = fmt.Sprint("run", s.runs)
		mark := fmt.Sprintf("<prompt %d>", s.runs)
		task.Prompt = mark + []string{" go", " see @fake:file://doc.md and @fake:file://none", " see @fake:file://x/stubborn"}[s.rnd.IntN(3)]
		task.LLM = agenttest.NewScript(s.t, randomScript(s.stream(uint64(10+s.runs))))
		if s.rnd.IntN(2) == 0 {
			task.Steer = &agent.Steer{}
			s.steer(task)
		}
		var cancelled time.Time  // written before ctx is cancelled
		after := 3 * time.Minute // at the latest
		if s.rnd.IntN(3) > 0 {
			after = time.Duration(s.rnd.IntN(12000)) * time.Millisecond
		}
		timer := time.AfterFunc(after, func() {
			cancelled = time.Now()
			cancel(agent.ErrCancelled)
		})
		wg.Go(func() { // ends by the cancel at the latest
			defer timer.Stop()
			res, err := s.work(ctx, task)
			s.ended(mark, res, err)
			s.left(task.Steer.Close())
			if ctx.Err() != nil {
				if took := time.Since(cancelled); took > grace {
					s.t.Errorf("%s ended %v after its cancel", task.RunID, took)
				}
			}
		})
	}
	wg.Wait()
}

// reload lets another process take the session up: it finds what this one had.
func (s *schedule) reload() {
	before := s.agent.History(s.dir, s.task.Session)
	if s.rnd.IntN(2) == 0 || len(before) == 0 { // none had its turn
		return
	}
	s.agent.Close()
	s.restart()
	if after, err := s.agent.OnDisk(s.dir, s.task.Session); err != nil || fmt.Sprint(before) != fmt.Sprint(after) {
		s.t.Errorf("the history was\n%v\nand is, read from disk,\n%v\n%v", before, after, err)
	}
}

// steer adds texts at random times.
func (s *schedule) steer(task agent.Task) {
	for i := range 1 + s.rnd.IntN(3) {
		text := fmt.Sprintf("<added %d to %s>", i, task.RunID)
		time.AfterFunc(time.Duration(s.rnd.IntN(6000))*time.Millisecond, func() {
			err := task.Steer.Add(text)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.written[text] = err == nil
		})
	}
}

// ended checks what a run tells.
func (s *schedule) ended(mark string, res agent.Result, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && res.Status != agent.StatusCompleted && res.Status != agent.StatusStopped || err != nil && res.Status != agent.StatusCancelled && res.Status != agent.StatusFailed {
		s.t.Errorf("%s: status %s, error %v", res.RunID, res.Status, err)
	}
	ids := map[string]agent.Outcome{}
	for _, c := range res.ToolCalls {
		if ids[c.ID] != "" || c.Status == "" {
			s.t.Errorf("%s: call %+v", res.RunID, c)
		}
		ids[c.ID] = c.Status
	}
	s.calls += len(ids)
	s.written[mark] = err == nil // one that was cancelled may have waited for its turn
	if pe, ok := errors.AsType[*agent.ProviderError](err); ok && pe.Kind == agent.KindConfig {
		s.t.Errorf("%s: %v", res.RunID, err)
	}
}

// left takes what a run did not read: it is told so, and need not be in the
// history where the run had no turn.
func (s *schedule) left(texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		s.written[text] = false
	}
}

// look checks what the model got at last.
func (s *schedule) look(messages []agent.Message) {
	s.mu.Lock() // somebody may still try to add
	defer s.mu.Unlock()
	var text strings.Builder
	results := 0
	for _, m := range messages {
		text.WriteString(m.Text + "\n")
		if m.Role == agent.ToolRole {
			results++
		}
	}
	if results != s.calls {
		s.t.Errorf("%d results of %d calls", results, s.calls)
	}
	for mark, must := range s.written {
		if n := strings.Count(text.String(), mark); n > 1 || n == 0 && must {
			s.t.Errorf("%s is in the history %d times", mark, n)
		}
	}
}

// actingByArguments lets every tool do what its arguments say.
func (s *schedule) actingByArguments() {
	do := func(ctx context.Context, args json.RawMessage) (string, error) {
		var in struct {
			Do string
			MS int
		}
		_ = json.Unmarshal(args, &in) // the zero value does nothing
		switch in.Do {
		case "wait":
			select {
			case <-time.After(time.Duration(in.MS) * time.Millisecond):
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		case "deaf":
			return "late", s.deaf(ctx)
		case "fail":
			return "", errors.New("no such thing")
		case "panic":
			panic("a tool's bug")
		case "long":
			return strings.Repeat("long line\n", 500), nil
		}
		return "did " + string(args), nil
	}
	s.actingBy(do)
}

func randomAnswers(rnd *rand.Rand) func(context.Context, agent.Question) (agent.Answer, error) {
	var mu sync.Mutex
	return func(ctx context.Context, q agent.Question) (agent.Answer, error) {
		mu.Lock()
		wait := time.Duration(rnd.IntN(1500)) * time.Millisecond
		late := rnd.IntN(10) == 0
		answer := []agent.Answer{
			{Decision: agent.DecisionOnce},
			{Decision: agent.DecisionSession},
			{Decision: agent.DecisionAlways},
			{},
			{Decision: agent.DecisionDeny, Reason: "not now"},
			{Decision: agent.DecisionOnce, Arguments: []byte(`{"text":"edited"}`)},
			{Decision: agent.DecisionOnce, Arguments: []byte(`7`)},
		}[rnd.IntN(7)]
		mu.Unlock()
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			if late { // whatever the person says now
				return answer, nil
			}
			return agent.Answer{}, context.Cause(ctx)
		}
		if a, ok := q.Recheck(); ok {
			return a, nil
		}
		return answer, nil
	}
}

func randomScript(rnd *rand.Rand) agenttest.Script {
	tools := []string{"mcp__fake__echo", "mcp__fake__sleep", "mcp__fake__stubborn", "mcp__fake__fail", "mcp__fake__error", "mcp__fake__panic", "mcp__fake__progress", "nosuch", "no such!"}
	for _, k := range callKinds {
		tools = append(tools, k.tool)
	}
	args := []string{
		"", "{}", `{"text":"x"}`, `{"uri":"file://doc.md"}`, "null", "[1]", `{"broken`, `{"path":"../x"}`,
		`{"do":"wait","ms":700}`, `{"do":"wait","ms":5000,"path":"a.txt"}`, `{"do":"deaf"}`, `{"do":"fail","command":"ls"}`, `{"do":"panic"}`, `{"do":"long"}`, `{"do":"long","url":"https://example.com/"}`,
	}
	return func(n int, _ agent.Request) agenttest.Step {
		hold := make(chan struct{})
		time.AfterFunc(time.Duration(rnd.IntN(2000))*time.Millisecond, func() { close(hold) })
		s := agenttest.Step{Wait: hold}
		if rnd.IntN(2) == 0 {
			s.Text = []string{"some ", fmt.Sprint("text ", n)}
		}
		if rnd.IntN(4) == 0 {
			s.Reasoning = []string{"hm"}
		}
		switch rnd.IntN(12) {
		case 0:
			s.Block = true
		case 1:
			s.Err = &agent.ProviderError{Kind: agent.KindNetwork, Message: "lost"}
		case 2:
			s.Panic = "bug"
		case 3:
			s.Err = &agent.ProviderError{Kind: agent.KindNetwork, Message: "lost", Retryable: true, Began: true}
		case 4, 5:
			s.Finish = []string{"", "length", "content_filter"}[rnd.IntN(3)]
		default:
			for range 1 + rnd.IntN(6) {
				id := fmt.Sprint("c", rnd.IntN(4)) // doubles happen
				s.Calls = append(s.Calls, call(id, tools[rnd.IntN(len(tools))], args[rnd.IntN(len(args))]))
			}
			if rnd.IntN(8) == 0 {
				s.Finish = "stop"
			}
		}
		return s
	}
}
