package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// scheduleModes are the modes that schedules are played in.
var scheduleModes = []agent.Mode{agent.ModeReAct, agent.ModePlan}

// The places at which runs are cancelled.
const (
	atStart          = "before the queue"
	atQueue          = "queued"
	atServers        = "waiting for servers"
	atExpansion      = "expanding the prompt"
	atSettle         = "waiting for lists"
	atRound          = "between rounds"
	atFirst          = "before the first token"
	atBackOff        = "in a back-off"
	atReasoning      = "in the reasoning"
	atText           = "in the text"
	atAnswer         = "between an answer and its calls"
	atPending        = "before a call"
	atGate           = "as the gate decides"
	atQuestion       = "in a question"
	atAnswered       = "as a person answers"
	atTool           = "in a tool"
	atDeafTool       = "in a tool that never reacts"
	atEdit           = "in an edit of the editor's"
	atResult         = "between calls"
	atDiagnostics    = "in the diagnostics"
	atAddedExpansion = "expanding what was added"
	atDisk           = "writing the session"
	atEnd            = "after the last answer"
)

// And those of the modes that plan.
const (
	atPlanQuestion = "in the question about a plan"
	atPlanAnswered = "as a person answers a plan"
	atStep         = "in a step's model call"
	atStepPending  = "before a call of a step"
	atStepQuestion = "in a question of a step"
	atStepEnd      = "between steps"
	atPlanned      = "in the model call after a plan"
	atReview       = "in a reviewer's model call"
	atRework       = "in the model call after a review"
)

// placesOf are the places of a mode, in about the order of a run.
func placesOf(mode agent.Mode) []string {
	places := []string{
		atStart, atQueue, atServers, atExpansion, atSettle, atRound, atFirst, atBackOff, atReasoning, atText, atAnswer, atPending, atGate,
		atQuestion, atAnswered, atTool, atDeafTool, atEdit, atResult, atDiagnostics, atAddedExpansion, atDisk, atEnd,
	}
	if mode.Plans() {
		places = append(places, atPlanQuestion, atPlanAnswered, atStep, atStepPending, atStepQuestion, atStepEnd, atPlanned)
	}
	if mode == agent.ModeTeam {
		places = append(places, atReview, atRework)
	}
	return places
}

// momentary are the places at which a run is for no time at all.
var momentary = []string{atStart, atRound, atAnswer, atPending, atGate, atAnswered, atResult, atEnd, atPlanAnswered, atStepPending, atStepEnd}

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
	switch r.aim { // or hardly any would come there
	case atEdit, atDiagnostics:
		r.task.Approval = agent.Approval{Default: "allow"}
	case atAddedExpansion:
		r.task.Limits.Steps += 2
	}
	if r.task.Mode.Plans() {
		r.task.Limits.Steps += 2
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
	if err := agenttest.CheckThreads(r.llm.Requests()); err != nil {
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

// told compares the events with the result; r.here is held.
func (r *scheduledRun) told(res agent.Result) {
	seen := map[string]bool{}
	for _, c := range res.ToolCalls {
		if seen[c.ID] || c.Status == "" || r.states[c.ID] != agent.ToolCallState(c.Status) {
			r.t.Errorf("%s: the call %+v, of which was told %q", r.name, c, r.states[c.ID])
		}
		seen[c.ID] = true
	}
	for id, state := range r.states {
		if !seen[id] {
			r.t.Errorf("%s: the call %s, told as %s, is not in the result", r.name, id, state)
		}
	}
	if r.usage != res.Usage || r.used != res.Usage {
		r.t.Errorf("%s: the usage %+v, of which was told %+v, and the model said %+v", r.name, res.Usage, r.usage, r.used)
	}
	if r.steps != res.Steps {
		r.t.Errorf("%s: %d steps, of which %d were told", r.name, res.Steps, r.steps)
	}
	var plan []agent.PlanStep
	if r.plan != nil {
		plan = r.plan.Steps
	}
	if !reflect.DeepEqual(plan, res.Plan) {
		r.t.Errorf("%s: the plan %+v, of which was told %+v", r.name, res.Plan, plan)
	}
	for _, s := range plan {
		if s.Status == agent.StepPending || s.Status == agent.StepRunning || s.Status == agent.StepCancelled && r.cancelled.IsZero() {
			r.t.Errorf("%s ended with the step %+v", r.name, s)
		}
	}
}

// event sees what the run tells, in order.
func (r *scheduledRun) event(e agent.Event) {
	r.here.Lock()
	if r.ended {
		r.t.Errorf("%s tells after its end: %+v", r.name, e)
	}
	place := ""
	switch e.Kind {
	case agent.EventStep:
		r.steps++
		place = atRound
	case agent.EventUsage:
		r.usage = *e.Usage
	case agent.EventNotice:
		if strings.Contains(e.Delta, "cannot be kept on disk") {
			defer r.lose()
		}
	case agent.EventPlan:
		place = r.planEvent(e.Plan)
	case agent.EventToolCall:
		place = r.callEvent(*e.ToolCall)
		if e.ToolCall.State == agent.ToolPending && e.Part != "" {
			defer func() { r.in(atStepPending)() }()
		}
	}
	r.here.Unlock()
	r.in(place)()
}

// planEvent holds the steps of a plan against their order, and gives the place;
// r.here is held.
func (r *scheduledRun) planEvent(now *agent.PlanState) (place string) {
	was := r.plan
	r.plan = now
	if was == nil || was.Plan != now.Plan {
		was = &agent.PlanState{Plan: now.Plan, Steps: make([]agent.PlanStep, len(now.Steps))}
		if r.counts["plans"]++; now.Plan != r.counts["plans"] {
			r.t.Errorf("%s: plan %d is the %d.", r.name, now.Plan, r.counts["plans"])
		}
	}
	for i, s := range now.Steps {
		before := was.Steps[i].Status
		if s.Status == before {
			continue
		}
		ok := false
		switch s.Status {
		case agent.StepPending:
			ok = before == ""
		case agent.StepRunning:
			ok = before == agent.StepPending
		case agent.StepCompleted, agent.StepFailed:
			ok, place = before == agent.StepRunning, atStepEnd
		case agent.StepSkipped:
			ok = before == agent.StepPending
		case agent.StepCancelled:
			ok = (before == agent.StepPending || before == agent.StepRunning) && !r.cancelled.IsZero()
		}
		if !ok {
			r.t.Errorf("%s: the step %s of plan %d went from %q to %q", r.name, s.ID, now.Plan, before, s.Status)
		}
	}
	return place
}

// lose notes that the session's file lacks something.
func (r *scheduledRun) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unkept = true
}

// callEvent holds a call's states against their order, and gives the place;
// r.here is held.
func (r *scheduledRun) callEvent(e agent.ToolCallEvent) (place string) {
	was, known := r.states[e.ID]
	r.states[e.ID] = e.State
	if e.State == agent.ToolPending && e.Part == "" {
		r.ownCalls++
	}
	switch {
	case e.State == agent.ToolPending && known, e.State == agent.ToolRunning && was != agent.ToolPending && was != agent.ToolRunning,
		known && was != agent.ToolPending && was != agent.ToolRunning, e.State != agent.ToolPending && !known:
		r.t.Errorf("%s: the call %s went from %q to %q", r.name, e.ID, was, e.State)
	}
	switch e.State {
	case agent.ToolPending:
		return atPending
	case agent.ToolRunning:
		return ""
	}
	return atResult
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
