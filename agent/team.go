package agent

import (
	"context"
	"errors"
	"fmt"
)

// How a team works on a plan.
const (
	teamWorkers = 2 // steps beside each other, at most
	sendBacks   = 2 // how often a reviewer may send a step back, at most
)

// carryOutAsTeam is the stepper of team mode: a worker carries the step out, and
// a reviewer looks at what came of it, each in a conversation of its own that
// goes on while the step is sent back. What is not approved in the end has
// failed; its result is kept.
func (r *run) carryOutAsTeam(ctx context.Context, s *planStep) (result string, err error) {
	worker := r.newStepThread(s)
	did := &deeds{}
	worker.part.deeds = did
	reviewer := r.newReviewer(s.n)
	words := s.prompt()
	for round := 1; ; round++ {
		now, err := worker.attempt(ctx, words)
		if now != "" {
			result = now
		}
		if err != nil {
			return result, err
		}
		s.tell("in review")
		verdict, err := reviewer.look(ctx, s.caseFor(round, result, did).words(r.toolResultBytes(), r.shelf()))
		switch {
		case ctx.Err() != nil:
			return result, context.Cause(ctx)
		case err != nil:
			return result, fmt.Errorf("not approved: %w", err)
		case verdict.approved:
			return result, nil
		case round > sendBacks:
			return result, errors.New("not approved, after it was sent back twice: " + verdict.notes)
		}
		s.tell("sent back: " + verdict.notes)
		words = sentBack(round, verdict.notes)
	}
}

// caseFor is what the reviewer is given of a step after a round of work.
func (s *planStep) caseFor(round int, result string, did *deeds) reviewCase {
	c := reviewCase{round: round, request: s.plan.r.asked(), task: s.Title + "\n\n" + s.Task, result: result}
	c.edits, c.calls, c.blind = did.take()
	return c
}

// sentBack tells a worker what its reviewer wants.
func sentBack(round int, notes string) string {
	return fmt.Sprintf("The reviewer has looked at your step and sends it back (%d of %d at most):\n%s\n\nMend what it is right about, then give the whole result again, with a word on each point.", round, sendBacks, block(notesTag, notes))
}

// tell says where a step is.
func (s *planStep) tell(note string) {
	s.plan.change(func() { s.Note = s.plan.r.a.tellable(note, maxStepNote) })
}
