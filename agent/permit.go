package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"
)

// defaultTimeout is how long a question stays open where nothing is configured.
const defaultTimeout = 600 * time.Second

// maxAsked is how often one call is asked about anew, because what would run is
// not what was shown.
const maxAsked = 3

// permit is whether a call may run; the result says why not.
type permit struct {
	granted bool
	asked   bool // a person has seen just this call; an answer that was remembered is none
	edited  bool // a plan runs as a person changed it
	callResult
}

func granted(by, reason string) permit {
	return permit{granted: true, callResult: callResult{by: by, reason: reason}}
}

// permit decides about a call, by the rules or by a person, whose edited
// arguments it leaves in p.
func (a *Agent) permit(ctx context.Context, t *thread, p *pending) permit {
	changed := false // under a question that was already answered
	for range maxAsked {
		p.tool, _ = a.current(p.tool) // a tool that is gone fails in its call
		v := a.decide(t.run, p.tool, p.args)
		a.log.Info("tool call decided", "run", t.task.RunID, "server", p.tool.server, "tool", p.name, "decision", v.action, "by", v.by, "reason", redactText(a.secrets, v.reason))
		switch v.action {
		case actionAllow:
			p.real, p.of = v.real, v.covers.Fingerprint
			return granted(v.by, v.reason)
		case actionDeny:
			return denied(v)
		}
		if p.tool.plan {
			return a.putPlan(ctx, t, p, v)
		}
		v.changed = v.changed || changed
		shown := p.tool.definition
		may, again := a.put(ctx, t, p, v)
		if !again {
			return may
		}
		if now, ok := a.current(p.tool); ok && now.definition != shown {
			changed = true
		}
	}
	return rejected(Answer{By: "policy", Reason: "what would run changed each time it was asked about"})
}

// put asks a person and takes the answer. again: what was allowed is not what
// would run, as the tool's definition changed meanwhile, or arguments were
// edited to something that is always asked about.
func (a *Agent) put(ctx context.Context, t *thread, p *pending, v verdict) (may permit, again bool) {
	shown := p.tool.definition
	answer, err := t.task.Host.Ask(ctx, a.question(t, *p, v))
	if answer.Kept != nil {
		defer answer.Kept()
	}
	switch {
	case ctx.Err() != nil:
		return permit{callResult: notStarted("policy")}, false
	case err != nil:
		return rejected(Answer{By: "policy", Reason: "the question could not be put: " + err.Error()}), false
	case !answer.allows():
		return rejected(answer), false
	}
	asked, before := v, p.args
	if refusal, ok := a.edit(p, answer); !ok {
		return refusal, false
	}
	// Edited arguments go through the gate, and so does what was not edited:
	// links may lead elsewhere since it was shown, and a server may be another.
	// What is remembered is what was allowed.
	switch v = a.decide(t.run, p.tool, p.args); {
	case v.action == actionDeny:
		return denied(v), false
	case v.forced && v.reason != asked.reason, v.covers.Fingerprint != asked.covers.Fingerprint,
		v.given != asked.given && bytes.Equal(before, p.args): // other folders are open, in which it means another file
		return permit{}, true
	}
	if now, ok := a.current(p.tool); ok && now.definition != shown {
		return permit{}, true
	}
	if v.covers.none() || bytes.Equal(before, p.args) && v.covers.allowance != asked.covers.allowance {
		answer.Decision = DecisionOnce // it covers nothing, or what nobody was told
	}
	a.keep(t.run, p.tool, v, answer.Decision)
	p.real, p.of = v.real, v.covers.Fingerprint
	may = granted(decidedBy(answer), string(answer.Decision))
	may.asked = answer.By == ""
	return may, false
}

// edit takes edited arguments.
func (a *Agent) edit(p *pending, answer Answer) (refusal permit, ok bool) {
	if answer.Arguments == nil || bytes.Equal(answer.Arguments, p.args) {
		return permit{}, true
	}
	args, err := p.tool.arguments(string(answer.Arguments))
	if err != nil {
		answer.Reason = "the edited arguments cannot be used: " + err.Error()
		return rejected(answer), false
	}
	p.args = args
	return permit{}, true
}

// question words what a person is asked.
func (a *Agent) question(th *thread, p pending, v verdict) Question {
	q := Question{
		ID: randomID(), Kind: "tool", RunID: th.task.RunID, Session: th.task.Session, Part: th.part.name, Server: p.tool.server, Tool: p.name,
		Title: p.tool.title, Description: p.tool.description, Destructive: p.tool.destructive, Arguments: p.args, Reason: v.reason, DefinitionChanged: v.changed,
		Covers: v.covers.text, Timeout: th.task.Approval.Timeout,
	}
	if p.tool.preview != nil {
		if shown, ok := p.tool.preview(th.env(), p.args); ok {
			q.Preview = &shown
		}
	}
	if q.Timeout <= 0 {
		q.Timeout = defaultTimeout
	}
	if v.changed {
		q.Reason = "the tool's definition changed since it was allowed"
	}
	if p.tool.plan {
		q.Kind, q.Plan = "plan", th.proposed(p.args)
	}
	t, args := p.tool, p.args
	q.Recheck = func() (Answer, bool) {
		now, _ := a.current(t)
		if now.definition != t.definition {
			return Answer{}, false // it will be asked about as it is now
		}
		switch v := a.decide(th.run, t, args); v.action {
		case actionAllow:
			return Answer{Decision: DecisionOnce, By: v.by, Reason: v.reason}, true
		case actionDeny:
			return Answer{Decision: DecisionDeny, By: v.by, Reason: v.reason}, true
		}
		return Answer{}, false
	}
	return q
}

func (a Answer) allows() bool {
	return a.Decision == DecisionOnce || a.Decision == DecisionSession || a.Decision == DecisionAlways
}

func decidedBy(answer Answer) string {
	if answer.By == "" {
		return "user"
	}
	return answer.By
}

// denied is the refusal of a rule.
func denied(v verdict) permit {
	return permit{callResult: callResult{
		status: Denied, by: v.by, reason: v.reason,
		text: "This call is not allowed: " + v.reason + "." + notRun + " Do not try it in another way; go on without it or say what is needed.",
	}}
}

// rejected is the refusal of a person, of a dismissal or of the deadline; or of
// a rule that was found when a waiting question was looked at again.
func rejected(answer Answer) permit {
	by := decidedBy(answer)
	if strings.HasPrefix(by, "rule:") {
		return denied(verdict{by: by, reason: answer.Reason})
	}
	text := "The user rejected this call"
	if by == "policy" {
		text = "This call was rejected"
	}
	if reason := strings.TrimSpace(answer.Reason); reason != "" {
		text += ": " + ellipsis(reason, 2000)
	}
	return permit{callResult: callResult{
		status: Rejected, by: by, reason: cmp.Or(strings.TrimSpace(answer.Reason), "denied by the "+by), // the audit's lines all have one
		text: strings.TrimRight(text, ".") + "." + notRun + " Do not repeat it unchanged; other calls are not concerned.",
	}}
}

// randomID is 128 random bits in hex: what waits for an answer cannot be
// guessed.
func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// keep remembers an answer for as long as the person said.
func (a *Agent) keep(r *run, t *tool, v verdict, d Decision) {
	switch d {
	case DecisionSession:
		r.s.allow(v.covers.allowance, t.definition)
	case DecisionAlways:
		r.s.allow(v.covers.allowance, t.definition) // holds also where the file cannot be written
		if err := a.remember.store(v.covers.allowance, t.definition); err != nil {
			a.log.Warn("an approval could not be kept for always", "tool", t.name, "server", t.server, "error", err)
		}
	}
}
