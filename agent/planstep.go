package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const failStepName = "fail_step"

const failStepSchema = `{"properties":{"reason":{"description":"Why the step cannot be done, what was tried, and what was done of it already.","minLength":1,"type":"string"}},"required":["reason"],"type":"object"}`

// failedStep is the reason of an ending by fail_step.
const failedStep = "failed_step"

// carryOut is the stepper of plan mode: a conversation of its own.
func (r *run) carryOut(ctx context.Context, s *planStep) (string, error) {
	return r.newStepThread(s).attempt(ctx, s.prompt())
}

// newStepThread is who carries out a step: it is offered all tools, and one to
// say that the step cannot be done.
func (r *run) newStepThread(s *planStep) *thread {
	t := r.newThread(part{name: fmt.Sprintf("step %d", s.n), system: "step.md", remind: remindOfResult})
	t.part.own = []*tool{failStepTool(t)}
	return t
}

// emptyReminder follows an empty answer in a step.
const emptyReminder = "[agentls: your answer is empty, so nobody knows what came of the step. Say what you did and what came of it, or call fail_step.]"

// remindOfResult tells who carries out a step to say what came of it: what it
// said before a call is no result.
func remindOfResult(answer string) string {
	if strings.TrimSpace(answer) != "" {
		return ""
	}
	return emptyReminder
}

// failStepTool ends a step that cannot be done.
func failStepTool(t *thread) *tool {
	return &tool{
		name: failStepName, anywhere: true, description: prompt("fail_step.md"), schema: json.RawMessage(failStepSchema),
		run: func(_ context.Context, _ env, args json.RawMessage) (output, error) {
			var in struct {
				Reason string `json:"reason"`
			}
			if err := into(args, &in); err != nil {
				return output{}, err
			}
			if strings.TrimSpace(in.Reason) == "" {
				return output{}, errors.New("the argument reason is missing: say why the step cannot be done")
			}
			t.stopBy(ending{reason: failedStep, why: in.Reason})
			return output{text: "The step has failed, for the reason that you gave."}, nil
		},
	}
}

// attempt gives a thread a prompt, and returns its last answer as the result of
// a step; an error says why there is none, or none that counts.
func (t *thread) attempt(ctx context.Context, prompt string) (result string, err error) {
	text, e, err := t.say(ctx, prompt)
	t.own.edits.took(t.edits.count())
	switch {
	case err != nil && ctx.Err() != nil:
		return text, context.Cause(ctx)
	case err != nil:
		return text, err
	case e.why != "":
		return text, errors.New(e.why)
	case strings.TrimSpace(e.text) == "":
		return text, errors.New("it ended without a word of what came of it")
	}
	return text, nil
}
