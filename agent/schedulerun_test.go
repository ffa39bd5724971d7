package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// soon is how long a run may take after its cancel (CONTRACT §5).
const soon = 500 * time.Millisecond

// scheduledRun is a run of a schedule, and where it is.
type scheduledRun struct {
	*schedule
	name   string
	task   agent.Task
	host   *agenttest.Host
	llm    *agenttest.LLM
	cancel context.CancelCauseFunc

	// Where it is cancelled: the nth time that it is at a place, and so much
	// later.
	aim  string
	nth  int
	late time.Duration

	here      sync.Mutex // guards what follows; taken last
	at        map[string]int
	counts    map[string]int
	cancelled time.Time // zero: it was not
	ended     bool
	states    map[string]agent.ToolCallState
	ownCalls  int // of the session's conversation
	steps     int
	usage     agent.Usage // that was told
	used      agent.Usage // that the model told
	plan      *agent.PlanState
}

// newRun draws what the n-th run is about and where it is cancelled.
func (s *schedule) newRun(n int) *scheduledRun {
	r := &scheduledRun{
		schedule: s, name: fmt.Sprint("run", n), at: map[string]int{}, counts: map[string]int{}, states: map[string]agent.ToolCallState{},
	}
	rnd := r.chance("task")
	r.host = &agenttest.Host{On: r.event, Answer: r.answer, Found: r.diagnostics, Editing: r.editing}
	r.host.Open(s.dir+"/open.txt", "one\n")
	r.task = s.task
	r.task.RunID, r.task.Host = r.name, r.host
	r.task.Mode = scheduleModes[rnd.IntN(len(scheduleModes))]
	r.task.Prompt = r.mark() + []string{" go", " see @fake:file://mentioned and @fake:file://none", " see @fake:file://x/stubborn"}[rnd.IntN(3)]
	r.llm = agenttest.NewScript(s.t, r.script)
	r.task.LLM = scheduledModel{r}
	places := placesOf(r.task.Mode)
	for _, place := range rare {
		if slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	switch rnd.IntN(8) {
	case 0: // it goes its way
	case 1:
		r.aim, r.late = atStart, milliseconds(rnd, 12000)
	default:
		r.aim, r.nth = places[rnd.IntN(len(places))], max(rnd.IntN(5)-2, 0)
		if rnd.IntN(2) == 0 && !slices.Contains(momentary, r.aim) {
			r.late = milliseconds(rnd, 1000)
		}
	}
	if mode, place, ok := s.aimed(); ok {
		r.task.Mode, r.aim, r.nth, r.late = mode, place, 0, 0
	}
	switch r.aim { // or hardly any would come there
	case atEdit, atDiagnostics:
		r.task.Approval = agent.Approval{Default: "allow"}
	case atQuestion, atAnswered, atStepQuestion:
		r.task.Approval = agent.Approval{Default: "ask"}
	case atAddedExpansion:
		r.task.Limits.Steps += 2
	}
	if r.task.Mode.Plans() {
		r.task.Limits.Steps += 2
	}
	if r.aim == atCompaction || rnd.IntN(8) == 0 {
		r.llm.Of.ContextWindow = 7000 + rnd.IntN(3000)
		r.task.Limits.Steps += 4
	}
	if rnd.IntN(2) == 0 || r.aim == atAddedExpansion {
		r.task.Steer = &agent.Steer{}
	}
	return r
}

func (r *scheduledRun) mark() string { return "<prompt of " + r.name + ">" }

// chance is that of the schedule, for this run.
func (r *scheduledRun) chance(of ...any) *rand.Rand { return r.schedule.chance(r.name, of) }

// count counts how often something happened, from 0.
func (r *scheduledRun) count(what string) int {
	r.here.Lock()
	defer r.here.Unlock()
	r.counts[what]++
	return r.counts[what] - 1
}

// in says that the run is at a place until leave is called. Here it is
// cancelled, if that was drawn.
func (r *scheduledRun) in(place string) (leave func()) {
	if place == "" {
		return func() {}
	}
	r.here.Lock()
	r.at[place]++
	now := place == r.aim && r.nth == 0
	if place == r.aim {
		r.nth--
	}
	r.here.Unlock()
	if now && r.late == 0 {
		r.stop()
	} else if now {
		time.AfterFunc(r.late, r.stop)
	}
	return sync.OnceFunc(func() {
		r.here.Lock()
		defer r.here.Unlock()
		r.at[place]--
	})
}

// stop cancels the run, once, and counts where it is.
func (r *scheduledRun) stop() {
	r.here.Lock()
	defer r.here.Unlock()
	if !r.cancelled.IsZero() || r.ended {
		return
	}
	for place, n := range r.at {
		if n > 0 {
			r.tally.cancel(r.task.Mode, place)
		}
	}
	r.cancelled = time.Now()
	r.cancel(agent.ErrCancelled)
}

// starts is called by whatever must not start after a cancel. What starts at
// the time of the cancel may have been on its way.
func (r *scheduledRun) starts(what string) {
	r.here.Lock()
	defer r.here.Unlock()
	if !r.cancelled.IsZero() && time.Now().After(r.cancelled) {
		r.t.Errorf("%s: %s started %v after the cancel", r.name, what, time.Since(r.cancelled))
	}
}

// work runs it to its end, three minutes after its start at the latest.
func (r *scheduledRun) work() {
	ctx, cancel := context.WithCancelCause(context.WithValue(r.t.Context(), scheduledKey{}, r))
	defer cancel(nil)
	r.cancel = cancel
	timer := time.AfterFunc(3*time.Minute, r.stop)
	defer timer.Stop()
	r.in(atStart)()
	r.steer()
	r.in(atQueue) // until atTurn
	res, err := r.schedule.work(ctx, r.task)
	r.finished(ctx, res, err)
}

// atTurn is called when the run has its session's turn.
func (r *scheduledRun) atTurn() {
	r.here.Lock()
	r.at[atQueue] = 0
	r.here.Unlock()
	r.mu.Lock()
	r.turn = r
	r.mu.Unlock()
}

// steer adds texts at random times.
func (r *scheduledRun) steer() {
	rnd := r.chance("steer")
	for i := range 1 + rnd.IntN(3) {
		if r.task.Steer == nil {
			return
		}
		text := fmt.Sprintf("<added-%d-to-%s>", i, r.name)
		r.note(text, false)
		if rnd.IntN(2) == 0 || r.aim == atAddedExpansion {
			text += " @fake:file://added"
		}
		time.AfterFunc(milliseconds(rnd, 6000), func() {
			r.note(text, r.task.Steer.Add(text) == nil)
		})
	}
}

// note says whether what a person wrote must be in the history.
func (r *scheduledRun) note(text string, must bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written[strings.Fields(text)[0]] = must
}

// finished checks what the run tells at its end.
func (r *scheduledRun) finished(ctx context.Context, res agent.Result, err error) {
	left := r.task.Steer.Close()
	r.here.Lock()
	r.ended = true
	if late := time.Since(r.cancelled); !r.cancelled.IsZero() && late > soon {
		r.t.Errorf("%s ended %v after its cancel", r.name, late)
	}
	if (err == nil) != (res.Status == agent.StatusCompleted || res.Status == agent.StatusStopped) || err != nil && res.Status != agent.StatusCancelled && res.Status != agent.StatusFailed {
		r.t.Errorf("%s: status %s, error %v", r.name, res.Status, err)
	}
	if (res.Status == agent.StatusCancelled) != errors.Is(err, agent.ErrCancelled) || errors.Is(err, agent.ErrCancelled) && ctx.Err() == nil {
		r.t.Errorf("%s: status %s, error %v, and it was cancelled: %v", r.name, res.Status, err, ctx.Err())
	}
	if pe, ok := errors.AsType[*agent.ProviderError](err); ok && pe.Kind == agent.KindConfig {
		r.t.Errorf("%s: %v", r.name, err)
	}
	r.told(res)
	if err := agenttest.CheckThreads(r.llm.Requests()); err != nil && r.llm.Of.ContextWindow == 0 {
		r.t.Errorf("%s: %v", r.name, err)
	}
	r.here.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn == r {
		r.turn = nil
	}
	if r.calls >= 0 {
		r.calls += r.ownCalls
	}
	r.written[r.mark()] = err == nil // one that was cancelled may have waited for its turn
	for _, text := range left {
		r.written[strings.Fields(text)[0]] = false // it is told so, and need not be in the history
	}
}

// asked reports whether the model was asked already.
func (r *scheduledRun) asked() bool { return len(r.llm.Requests()) > 0 }

// inTool reports whether a tool is at work.
func (r *scheduledRun) inTool() bool {
	r.here.Lock()
	defer r.here.Unlock()
	return r.at[atTool]+r.at[atDeafTool] > 0
}

// quiet holds that nothing was going on at last.
func (r *scheduledRun) quiet() {
	r.here.Lock()
	defer r.here.Unlock()
	var left []string
	for place, n := range r.at {
		if n > 0 && place != atQueue { // which a run that never had its turn does not leave
			left = append(left, place)
		}
	}
	if len(left) > 0 {
		slices.Sort(left)
		r.t.Errorf("%s was still %s", r.name, strings.Join(left, ", "))
	}
}
