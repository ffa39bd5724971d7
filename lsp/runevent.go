package lsp

import (
	"slices"
	"sync"

	"agentls/agent"
)

// The kinds of run events that the front end adds to the agent's.
const (
	eventQueued   agent.EventKind = "queued"
	eventStarted  agent.EventKind = "started"
	eventApproval agent.EventKind = "approval"
	eventFinished agent.EventKind = "finished"
)

// runEvent is the notification agentls/runEvent (CONTRACT §5): who, which, and
// the one field that its kind has.
type runEvent struct {
	RunID    string               `json:"runId"`
	Session  string               `json:"session"`
	Seq      int                  `json:"seq"` // from 1, without gaps
	Kind     agent.EventKind      `json:"kind" contract:"'queued' | 'started' | 'mention' | 'text' | 'reasoning' | 'plan' | 'toolCall' | 'approval' | 'usage' | 'finished'"`
	Delta    string               `json:"delta,omitzero"`    // text, reasoning
	Mention  *agent.MentionResult `json:"mention,omitzero"`  // mention
	ToolCall *agent.ToolCallEvent `json:"toolCall,omitzero"` // toolCall
	Usage    *agent.Usage         `json:"usage,omitzero"`    // usage: of the run so far
	Approval *approvalEvent       `json:"approval,omitzero"` // approval
	Plan     *agent.PlanState     `json:"plan,omitzero"`     // plan: the whole, without the tasks
	// finished
	Status     runStatus     `json:"status,omitzero"`
	StopReason string        `json:"stopReason,omitzero"`
	Error      *failureEvent `json:"error,omitzero"`
	// Changed are files that the run changed, also one that did not complete.
	Changed []agent.ChangedFile `json:"changed,omitempty"`
}

// approvalEvent tells that a question of the run opened or was resolved.
type approvalEvent struct {
	ID       string         `json:"id"`
	Kind     questionKind   `json:"kind"`
	Server   string         `json:"server,omitzero"`
	Tool     string         `json:"tool"`
	State    string         `json:"state" contract:"'open' | 'resolved'"`
	Decision agent.Decision `json:"decision,omitzero"`
}

// failureEvent says why a run failed.
type failureEvent struct {
	Message   string          `json:"message"`
	Kind      agent.ErrorKind `json:"kind"`
	Retryable bool            `json:"retryable"`
}

// manyEvents that wait are too many to be told one by one.
const manyEvents = 256

// mailbox holds what a run has to tell and has not told yet. Putting never
// blocks; while the client is behind it is merged, so that it stays small:
// deltas of a kind that follow each other, the progress of one tool call, and
// where a plan stands.
type mailbox struct {
	behind func() bool   // whether the client does not keep up
	wake   chan struct{} // holds a token while there is something to take

	mu     sync.Mutex
	events []pending
	plan   int // the last one that was told of
	closed bool
}

// pending is an event on its way, with room for a growing delta.
type pending struct {
	agent.Event
	delta    []byte
	approval *approvalEvent
	first    bool // of its plan
}

func newMailbox(behind func() bool) *mailbox {
	return &mailbox{behind: behind, wake: make(chan struct{}, 1)}
}

// put adds an event; after close it is dropped.
func (m *mailbox) put(p pending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	if !m.merge(p) {
		if p.Kind == agent.EventPlan {
			p.first, m.plan = p.Plan.Plan != m.plan, p.Plan.Plan
		}
		p.delta = []byte(p.Delta)
		p.Delta = ""
		m.events = append(m.events, p)
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mailbox) merge(p pending) bool {
	switch p.Kind {
	case agent.EventText, agent.EventReasoning:
		if n := len(m.events); n > 0 && m.events[n-1].Kind == p.Kind && (m.behind() || n > manyEvents) {
			m.events[n-1].delta = append(m.events[n-1].delta, p.Delta...)
			return true
		}
	case agent.EventToolCall:
		for i := range m.events {
			if t := m.events[i].ToolCall; t != nil && t.ID == p.ToolCall.ID && t.Part == p.ToolCall.Part && t.State == p.ToolCall.State {
				m.events[i].ToolCall = p.ToolCall
				return true
			}
		}
	case agent.EventPlan:
		m.mergePlan(p)
	case agent.EventUsage:
		if n := len(m.events); n > 0 && m.events[n-1].Kind == p.Kind {
			m.events[n-1].Usage = p.Usage
			return true
		}
	}
	return false
}

// mergePlan drops where the plan stood before: the new state goes behind what it
// follows. The first of a plan stays, since calls name its steps.
func (m *mailbox) mergePlan(p pending) {
	if m.behind() || len(m.events) > manyEvents {
		m.events = slices.DeleteFunc(m.events, func(e pending) bool { return e.Kind == p.Kind && e.Plan.Plan == p.Plan.Plan && !e.first })
	}
}

// take gives what is there, in order.
func (m *mailbox) take() []pending {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	m.events = nil
	return events
}

// close gives the rest; nothing comes in any more.
func (m *mailbox) close() []pending {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	events := m.events
	m.events = nil
	return events
}

// writeEvent tells a client that has asked for them. Only the run's teller
// calls it, so that seq counts in the order of the wire.
func (x *run) writeEvent(e runEvent) {
	if !x.s.peer.features.runEvents {
		return
	}
	x.seq++
	e.RunID, e.Session, e.Seq = x.id, x.session, x.seq
	x.s.notify("agentls/runEvent", e)
}

// wire gives the event as it goes out. What the model wrote is content and
// goes as it is; names and what servers say on the side are cleaned.
func (p pending) wire(s *Server) runEvent {
	e := runEvent{Kind: p.Kind, Delta: string(p.delta), Usage: p.Usage, Approval: p.approval}
	if p.Mention != nil {
		m := *p.Mention
		m.Error = s.tell(m.Error)
		e.Mention = &m
	}
	if p.ToolCall != nil {
		t := *p.ToolCall
		t.Server, t.Tool, t.Message, t.Part = clean(t.Server), clean(t.Tool), s.tell(t.Message), clean(t.Part)
		e.ToolCall = &t
	}
	if p.Plan != nil {
		plan := agent.PlanState{Plan: p.Plan.Plan, Steps: slices.Clone(p.Plan.Steps)}
		for i := range plan.Steps {
			step := &plan.Steps[i]
			step.Task, step.Title, step.Note = "", s.tell(step.Title), s.tell(step.Note)
		}
		e.Plan = &plan
	}
	return e
}
