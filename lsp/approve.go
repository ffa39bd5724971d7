package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"agentls/agent"
)

const (
	silenceFrees    = 30 * time.Second  // a question without an answer lets the next one be shown
	questionTimeout = 600 * time.Second // where the configuration gives none
)

// allowOnce is the title of the least yes.
const allowOnce = "Allow once"

// decline is the title of the no to a server that wants to know something.
const decline = "Decline"

// Reasons of a denial that no person gave.
const (
	dismissed = "dismissed"     // an answer that is none
	closed    = "closed"        // the client took the question away
	noAnswer  = "no answer in " // the deadline, with a time
)

// questions holds what waits for a person (CONTRACT §7, Asking).
type questions struct {
	s       *Server
	silence time.Duration
	slot    chan struct{} // holds a token while a stock client shows a question
	folder  *folderTrust
	again   chan string // a project's server that a person wants to be asked about once more
	asking  sync.Map    // those that one is asked about so

	mu   sync.Mutex
	open []*question // in the order they came
}

func newQuestions(s *Server) *questions {
	return &questions{s: s, silence: silenceFrees, slot: make(chan struct{}, 1), folder: newFolderTrust(), again: make(chan string, 16)}
}

// questionKind is what a person is asked about (CONTRACT §4, agentls.approvals).
type questionKind string

// The kinds. Those of calls are the agent's words.
const (
	asksTool   questionKind = "tool"
	asksPlan   questionKind = "plan"
	asksElicit questionKind = "elicit" // a server wants to know something
	asksSample questionKind = "sample" // a server wants the model
	asksTrust  questionKind = "trust"
	asksInput  questionKind = "input" // agentls itself wants to know something
)

// question is one thing that waits for a person. Nothing in it changes once it
// is open.
type question struct {
	kind                             questionKind
	id, runID, session, server, tool string
	part                             string // of the run that asks; empty: its own conversation
	description                      string
	arguments                        json.RawMessage
	reason                           string
	changed                          bool                        // the tool's definition
	preview                          *agent.Preview              // what the call would change; nil: not known
	covers                           string                      // what a remembered yes covers; empty: nothing is remembered
	timeout                          time.Duration               // how long it stays open
	deadline                         time.Time                   // set by ask
	recheck                          func() (agent.Answer, bool) // nil: nothing to look at again

	message string              // for a stock client
	whole   string              // of what the message tells the beginning; empty: it tells all
	instead string              // what else to do where it cannot show the question; empty: agentls.approve
	choices []choice            // of a stock client; the first is the safe one; none: it cannot show the question
	elicit  *elicitation        // what is asked for beside a decision; nil: nothing
	plan    *agent.PlanState    // nil: it is about none
	shown   func(string) string // how titles of the plan are shown
	// document is where a stock client's person writes the answer; nil: nowhere.
	document *askedDocument
	// dialog asks a stock client in more than one step; nil: message and choices
	// are all. ok false: the question stays open.
	dialog func(ctx context.Context, w *question, ask askFunc) (answer agent.Answer, ok bool, err error)

	answer chan agent.Answer // gets the one answer
	again  chan struct{}     // 1 slot: it is to be shown once more
	free   func()            // lets a stock client's next question be shown; nil: it needs no leave
}

// choice is one action of window/showMessageRequest and what it decides.
type choice struct {
	title    string
	decision agent.Decision
	content  json.RawMessage // where the question wants more than a decision
}

// ask puts a question and waits for its one answer: of the client's own
// request, of agentls.approve, or the denial at the deadline. An error is
// ctx's cause; then everything that was shown is withdrawn, and a late answer
// does nothing.
func (q *questions) ask(ctx context.Context, w *question) (answer agent.Answer, err error) {
	if ctx.Err() != nil {
		return agent.Answer{}, context.Cause(ctx)
	}
	defer func() { // nothing is shown any more
		switch answer.Kept = w.free; {
		case err != nil && w.free != nil:
			w.free()
		case err == nil && w.free == nil && (answer.Decision == agent.DecisionSession || answer.Decision == agent.DecisionAlways):
			answer.Kept = q.lookAgain
		}
	}()
	w.answer, w.again = make(chan agent.Answer, 1), make(chan struct{}, 1)
	w.timeout = cmp.Or(w.timeout, questionTimeout)
	w.deadline = time.Now().Add(w.timeout)
	q.mu.Lock()
	q.open = append(q.open, w)
	q.mu.Unlock()
	q.s.refreshPromptBuffers()
	defer q.resolve(w.id, agent.Answer{})

	timer := time.NewTimer(w.timeout)
	defer timer.Stop()
	withdraw := q.present(ctx, w)
	defer func() { withdraw() }()
	for {
		select {
		case <-w.again:
			withdraw()
			if w.free != nil {
				w.free()
			}
			withdraw = q.present(ctx, w)
		case a := <-w.answer:
			if ctx.Err() != nil {
				return agent.Answer{}, context.Cause(ctx)
			}
			return a, nil
		case <-ctx.Done():
			return agent.Answer{}, context.Cause(ctx)
		case <-timer.C:
			q.resolve(w.id, deny(fmt.Sprintf(noAnswer+"%g s", w.timeout.Seconds())))
			return <-w.answer, nil
		}
	}
}

// lookAgain settles what an answer that is remembered settles too: a client with
// approvals has been shown all of it already.
func (q *questions) lookAgain() {
	for _, w := range q.waiting() {
		q.decided(w)
	}
}

// present shows a question until it is withdrawn.
func (q *questions) present(ctx context.Context, w *question) (withdraw func()) {
	showing, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { q.show(showing, w) }) // ends with showing
	return func() {
		cancel()
		wg.Wait()
	}
}

// showAgain asks for an open question to be shown once more: the client may
// have lost it. Never blocks.
func (w *question) showAgain() {
	select {
	case w.again <- struct{}{}:
	default:
	}
}

// settle is ask for what no rules depend on.
func (q *questions) settle(ctx context.Context, w *question) (agent.Answer, error) {
	answer, err := q.ask(ctx, w)
	if answer.Kept != nil {
		answer.Kept()
	}
	return answer, err
}

func deny(reason string) agent.Answer {
	return agent.Answer{Decision: agent.DecisionDeny, Reason: reason}
}

// resolve gives a question its answer and reports whether it was still open.
// The first answer counts.
func (q *questions) resolve(id string, a agent.Answer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.open, func(w *question) bool { return w.id == id })
	if i < 0 {
		return false
	}
	q.open[i].answer <- a // never blocks: the question leaves the list with it
	q.open = slices.Delete(q.open, i, i+1)
	q.s.refreshPromptBuffers()
	return true
}

// waiting gives the open questions in the order they came.
func (q *questions) waiting() []*question {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.open)
}

// find gives an open question; nil when there is none of the id.
func (q *questions) find(id string) *question {
	for _, w := range q.waiting() {
		if w.id == id {
			return w
		}
	}
	return nil
}

// asksAbout reports whether a question about the trust of the server, or of
// the folder, is open.
func (q *questions) asksAbout(server string) bool { return q.trustQuestion(server) != nil }

// trustQuestion is that question; nil: none is open.
func (q *questions) trustQuestion(server string) *question {
	open := q.waiting()
	i := slices.IndexFunc(open, func(w *question) bool { return w.kind == asksTrust && (w.server == server || w.server == "") })
	if i < 0 {
		return nil
	}
	return open[i]
}

// toolQuestion makes a question of the agent's. What nothing is remembered of
// is not offered to be.
func toolQuestion(s *Server, a agent.Question) *question {
	w := &question{
		id: cmp.Or(a.ID, newID()), kind: questionKind(cmp.Or(a.Kind, string(asksTool))), runID: a.RunID, session: a.Session, part: a.Part, server: a.Server, tool: a.Tool,
		description: a.Description, arguments: a.Arguments, reason: a.Reason, changed: a.DefinitionChanged, covers: a.Covers, preview: a.Preview,
		timeout: a.Timeout, recheck: a.Recheck,
		choices: []choice{
			{title: "Deny", decision: agent.DecisionDeny},
			{title: allowOnce, decision: agent.DecisionOnce},
		},
	}
	if a.Covers != "" {
		w.choices = append(w.choices,
			choice{title: allowSession, decision: agent.DecisionSession},
			choice{title: "Always allow", decision: agent.DecisionAlways})
	}
	switch {
	case a.Sample != nil:
		w.sampleQuestion(s, a)
		return w
	case a.Plan != nil:
		w.planQuestion(s, a)
		return w
	}
	if a.Destructive {
		w.reason += ". " + destructive // what a client with approvals shows
	}
	w.message = toolMessage(s, a)
	return w
}

// decisions are those that a question offers, the safe one first.
func (w *question) decisions() []agent.Decision {
	out := make([]agent.Decision, len(w.choices))
	for i, c := range w.choices {
		out[i] = c.decision
	}
	return slices.Compact(out)
}
