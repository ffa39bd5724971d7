package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// stepper is how a step is carried out: plan and team differ in this alone. An
// error means that the step failed, and says why in words for the planner; the
// result is kept all the same. It comes back soon after ctx ended.
type stepper func(ctx context.Context, s *planStep) (result string, err error)

// planStep is a step while it is carried out. What stands in it changes by
// planned.change alone.
type planStep struct {
	PlanStep
	n      int // its place, from 1
	plan   *planned
	result string // whole
	why    string // it failed, was skipped or cancelled
}

// planned is a plan that was accepted.
type planned struct {
	r      *run
	number int  // which of the run's, from 1
	edited bool // by the person
	do     stepper
	beside int // steps at the same time, at most

	mu     sync.Mutex // guards what the steps come to
	steps  []*planStep
	barred string // why no model can be asked any more: the run's own is told the same
}

// work carries the steps out: each once all that it depends on is done, in the
// plan's order, at most so many beside each other. It comes back when all that
// began have ended.
func (p *planned) work(ctx context.Context) {
	type answer struct {
		s      *planStep
		result string
		err    error
	}
	done := make(chan answer)
	running := 0
	for {
		for running < p.beside && p.halts(ctx) == "" {
			s := p.next()
			if s == nil {
				break
			}
			running++
			p.change(func() { s.Status = StepRunning })
			go func() { // ends with its step, which ends soon after ctx; work waits for it
				result, err := p.attempt(ctx, s)
				done <- answer{s, result, err}
			}()
		}
		if running == 0 {
			break
		}
		a := <-done
		running--
		p.end(ctx, a.s, a.result, a.err)
	}
	p.leave(ctx)
	p.r.own.write("\n\n")
}

// attempt carries a step out; a panic fails it.
func (p *planned) attempt(ctx context.Context, s *planStep) (result string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = p.r.panicked(fmt.Sprintf("step %d", s.n), v)
		}
	}()
	return p.do(ctx, s)
}

// halts says why no further step begins; "": nothing keeps it from that.
func (p *planned) halts(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return "the run was cancelled before it began"
	case p.r.tokensLeft() <= 0:
		return fmt.Sprintf("the limit of %d tokens (limits.tokens) was reached before it began", p.r.task.Limits.Tokens)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.barred
}

// next is the first step that can begin; nil: none can now.
func (p *planned) next() *planStep {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.steps, func(s *planStep) bool {
		return s.Status == StepPending && !slices.ContainsFunc(p.needs(s), func(on *planStep) bool { return on.Status != StepCompleted })
	})
	if i < 0 {
		return nil
	}
	return p.steps[i]
}

// needs are the steps that one depends on, in the plan's order.
func (p *planned) needs(s *planStep) (on []*planStep) {
	for _, other := range p.steps {
		if slices.Contains(s.DependsOn, other.ID) {
			on = append(on, other)
		}
	}
	return on
}

// end takes down what a step came to, and skips what cannot begin any more.
func (p *planned) end(ctx context.Context, s *planStep, result string, err error) {
	p.change(func() {
		s.result = result
		switch {
		case err == nil:
			s.Status, s.Note = StepCompleted, p.r.a.tellable(result, maxStepNote)
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			s.Status, s.why = StepCancelled, "the run was cancelled while it was carried out"
		default:
			s.Status, s.why = StepFailed, err.Error()
			if pe, ok := errors.AsType[*ProviderError](err); ok && pe.lasts() {
				p.barred = "no model can be asked: " + pe.Message
			}
		}
		p.ended(s)
		if s.Status == StepFailed {
			p.skip()
		}
	})
}

// skip gives up all that depends on what was not done.
func (p *planned) skip() {
	for again := true; again; {
		again = false
		for _, s := range p.steps {
			if s.Status != StepPending {
				continue
			}
			for _, on := range p.needs(s) {
				if on.Status == StepFailed || on.Status == StepSkipped {
					s.Status, s.why = StepSkipped, fmt.Sprintf("it depends on step %d, which was not done", on.n)
					p.ended(s)
					again = true
					break
				}
			}
		}
	}
}

// leave says of the steps that did not begin why they did not.
func (p *planned) leave(ctx context.Context) {
	if !slices.ContainsFunc(p.steps, func(s *planStep) bool { return s.Status == StepPending }) {
		return
	}
	status, why := StepSkipped, p.halts(ctx)
	if ctx.Err() != nil {
		status = StepCancelled
	}
	p.change(func() {
		for _, s := range p.steps {
			if s.Status == StepPending {
				s.Status, s.why = status, why
				p.ended(s)
			}
		}
	})
}

// maxStepNote is how much of a result or reason a plan's state shows, in
// characters.
const maxStepNote = 160

// ended notes for a person how a step ended, and writes its line.
func (p *planned) ended(s *planStep) {
	if s.why != "" {
		s.Note = p.r.a.tellable(s.why, maxStepNote)
	}
	p.r.own.write(s.line())
}

// change changes what the steps come to, and tells the whole.
func (p *planned) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	state := p.state()
	p.r.planStands(state)
}

// state is how far the plan is, without tasks. It is nobody else's.
func (p *planned) state() *PlanState {
	state := &PlanState{Plan: p.number, Steps: make([]PlanStep, len(p.steps))}
	for i, s := range p.steps {
		state.Steps[i] = s.PlanStep
		state.Steps[i].Task = ""
	}
	return state
}

// planStands tells how far the run's plan is.
func (r *run) planStands(state *PlanState) {
	r.mu.Lock()
	r.res.Plan = state.Steps
	r.mu.Unlock()
	r.emit(Event{Kind: EventPlan, Plan: state})
}
