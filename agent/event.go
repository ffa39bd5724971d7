package agent

import "encoding/json"

// EventKind is the kind of a run event (CONTRACT §5, agentls/runEvent).
type EventKind string

// The kinds that the agent emits. The front end adds queued, started,
// approval and finished.
const (
	EventMention   EventKind = "mention"
	EventText      EventKind = "text"
	EventReasoning EventKind = "reasoning"
	EventToolCall  EventKind = "toolCall"
	EventUsage     EventKind = "usage"
	EventPlan      EventKind = "plan"
	EventStep      EventKind = "step"   // not on the wire: a model call begins
	EventWaits     EventKind = "waits"  // not on the wire: the provider is asked again after a while
	EventNotice    EventKind = "notice" // not on the wire: a sentence for the person, one line without secrets
	EventAway      EventKind = "away"   // not on the wire: likewise, the servers that the run begins without
	EventHint      EventKind = "hint"   // not on the wire: likewise, something to know that is no fault
	EventChange    EventKind = "change" // not on the wire: a file was changed, and no person was asked about it
)

// Event is what a run tells its front end as it happens.
type Event struct {
	Kind     EventKind
	Delta    string         // text, reasoning, waits, notice, away, hint
	Part     string         // of the run that it is about: "step 2"; empty: the run's own conversation
	Step     int            // step: counts from 1, in each part
	Mention  *MentionResult // mention
	ToolCall *ToolCallEvent // toolCall
	Usage    *Usage         // usage: of the run so far
	Change   *Change        // change
	Plan     *PlanState     // plan: the whole each time, never changed afterwards
}

// Change is what a built-in tool made of a file.
type Change struct {
	Preview
	Open bool // it was changed in the editor, which may have asked
}

// ToolCallState is where a call stands.
type ToolCallState string

// The states that come before an outcome; the last event of a call carries
// its [Outcome] as state.
const (
	ToolPending ToolCallState = "pending" // being decided
	ToolRunning ToolCallState = "running"
)

// ToolCallEvent tells of one call.
type ToolCallEvent struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"` // the server's own name
	Server    string          `json:"server,omitempty"`
	Part      string          `json:"part,omitempty"` // of the run that calls: "step 2"; empty: the run's own conversation
	State     ToolCallState   `json:"state" contract:"ToolCallState | Outcome"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Message   string          `json:"message,omitempty"` // progress of the server, or why it was not run
}

// Outcome is how a call ended (CONTRACT §4 and §8).
type Outcome string

// The outcomes.
const (
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
	Rejected  Outcome = "rejected" // by a person, a dismissal or the deadline
	Denied    Outcome = "denied"   // by a rule
	Cancelled Outcome = "cancelled"
	Unknown   Outcome = "unknown" // cancelled, and the tool may or may not have acted
)
