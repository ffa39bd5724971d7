package agent

import (
	"context"
	"encoding/json"
	"time"
)

// Host is what a run needs from its front end. lsp implements it on the
// editor, cmd on the terminal.
type Host interface {
	Editor
	// Ask puts a question to a person and waits. An error is ctx's, with its
	// cause; silence, dismissal and the deadline are answers with
	// DecisionDeny and a reason.
	Ask(ctx context.Context, q Question) (Answer, error)
	// Emit tells an event. It never blocks on a slow client. The agent calls
	// it for one event of a run at a time, and never after the run.
	Emit(Event)
}

// Editor is what has files open.
type Editor interface {
	// Document returns the text of the file at an absolute path as the front
	// end has it, unsaved changes included; ok is false when the file is not
	// open there.
	Document(path string) (text string, ok bool)
	// Edit replaces the text of an open file there, and saves it where it was
	// saved before (CONTRACT §6, Edits). It comes back when the text is
	// confirmed; what has begun when ctx ends is brought to its end, in 2 s at
	// most. Errors: ErrNotOpen, ErrStale, ErrUnconfirmed, or why the front end
	// refused.
	Edit(ctx context.Context, e Edit) (Edited, error)
	// Diagnostics gives what language servers report about an open file since
	// it was edited last, `line:column: severity: message [source code]` each,
	// as data. It waits for that until ctx ends; without news it is empty.
	Diagnostics(ctx context.Context, path string) []string
}

// Task is one prompt with all that a run needs from above.
type Task struct {
	RunID   string
	Session string // 1–128 printable characters
	Folder  string // absolute path that the session is bound to
	// Workspace is the absolute path that remembered answers are bound to: a
	// session may be from another folder than those that are open. "": Folder.
	Workspace string
	// Folders gives the workspace folders of now, that file tools stay inside;
	// nil: there are none.
	Folders func() []Folder
	// TrustWanted is called when a folder that is not trusted has instructions
	// for the agent; it must not block. Nil: the person is told instead.
	TrustWanted func()
	Prompt      string // user input: mentions in it are expanded
	Action      Action // what to do with the attachment; "": the prompt says it
	// Attachment is a document of the editor, given beside the prompt and
	// never scanned for mentions; may be nil.
	Attachment *Attachment
	// MCPPrompt is a prompt of an MCP server whose messages come first; the
	// prompt may then be empty. Nil: there is none.
	MCPPrompt *PromptUse
	LLM       LLM
	Approval  Approval
	Limits    Limits
	Mode      Mode // how to work; "": ModeReAct
	Host      Host
	Steer     *Steer // what a person adds meanwhile; nil: nothing can be added
}

// Attachment is a document or a part of it, as the editor has it.
type Attachment struct {
	Path       string // relative to the folder where possible
	LanguageID string
	StartLine  int // 1-based; 0: the whole document
	EndLine    int
	Text       string
	Truncated  bool
	// Whole is all the text of the document that Text is of: the run knows what
	// it looked like. "": that is not known.
	Whole string
	Moved bool // it changed since the part was chosen: the part may be another
	// Diagnostics are those that touch it, `line:column: severity: message
	// [source code]` each, further lines indented. They are data, as the text is.
	Diagnostics []string
	Chosen      bool // the task is about these diagnostics
}

// Limits bound one run (CONTRACT §2). Zero values mean the defaults.
type Limits struct {
	Steps           int // model calls
	Tokens          int // prompt + completion, summed over the run
	MentionChars    int // code points of one mention
	ToolResultBytes int
	ParallelTools   int
}

// DefaultLimits are the limits of CONTRACT §2.
func DefaultLimits() Limits {
	return Limits{Steps: 50, Tokens: 300000, MentionChars: 200000, ToolResultBytes: 51200, ParallelTools: 4}
}

// Approval is the configured policy (CONTRACT §7).
type Approval struct {
	Default string // "ask", "allow" or "deny"
	Allow   []string
	Ask     []string
	Deny    []string
	Timeout time.Duration // how long a question stays open
}

// Question asks a person about one tool call.
type Question struct {
	ID          string // 128-bit random, hex
	Kind        string // "tool", "sample" or "plan"
	RunID       string
	Session     string
	Part        string // of the run that asks: "step 2"; empty: the run's own conversation
	Server      string // empty for a built-in tool
	Tool        string // the server's own name
	Title       string // what the server calls it for people; empty: nothing else
	Description string
	// Destructive: its server says that the tool may delete or overwrite
	// something. That it does not say so means nothing.
	Destructive bool
	Arguments   json.RawMessage
	Reason      string // which rule made it a question
	// DefinitionChanged: the tool's definition differs from the one that was
	// allowed before.
	DefinitionChanged bool
	// Covers is what DecisionSession and DecisionAlways would allow from then
	// on, in words; empty: both count as DecisionOnce.
	Covers string
	// Preview shows what the call would change; nil: it is not known, or
	// nothing.
	Preview *Preview
	// Sample is what a question of kind "sample" is about; nil: of another kind.
	Sample *SampleQuestion
	// Plan is what a question of kind "plan" is about, with all its steps pending;
	// nil: of another kind.
	Plan *PlanState
	// Recheck looks at the rules again, before a question that waited in a
	// queue is shown: decided is true when it need not be asked any more.
	Recheck func() (a Answer, decided bool)
	Timeout time.Duration
}

// Decision is a person's answer.
type Decision string

// The decisions.
const (
	DecisionOnce    Decision = "once"
	DecisionSession Decision = "session"
	DecisionAlways  Decision = "always"
	DecisionDeny    Decision = "deny"
)

// Answer answers a [Question]. Its zero value denies.
type Answer struct {
	Decision  Decision
	Reason    string          // for the model, of a denial: "dismissed", "no answer in 600 s", or the person's words
	Arguments json.RawMessage // edited arguments; nil: as asked
	Content   json.RawMessage // what was asked for, of questions that want more than a decision
	// Plan answers a question of kind "plan"; nil: the run stops, and Reason says
	// why ("dismissed", "no answer in 600 s").
	Plan *PlanAnswer
	// Kept is called once the answer counts: what is remembered of it decides
	// the next Recheck. May be nil.
	Kept func()
	By   string // audit's decidedBy: "user", "command", "rule:…"; empty: "user"
}

// How a run ended. The wire knows the first two (CONTRACT §4): the others
// come with an error.
const (
	StatusCompleted = "completed"
	StatusStopped   = "stopped"
	StatusCancelled = "cancelled"
	StatusFailed    = "failed"
)

// Result is the RunResult of CONTRACT §4.
type Result struct {
	RunID      string `json:"runId"`
	Session    string `json:"session"`
	Status     string `json:"status" contract:"RunStatus"` // completed or stopped; beside an error cancelled or failed
	Text       string `json:"text"`
	Steps      int    `json:"steps"`
	StopReason string `json:"stopReason"` // end_turn, max_steps, max_tokens, length, content_filter, loop, plan_stopped …
	// Note says of a stopped run what stopped it and how to go on.
	Note      string           `json:"note,omitempty"`
	Mentions  []MentionResult  `json:"mentions"`
	ToolCalls []ToolCallResult `json:"toolCalls"`
	Changed   []ChangedFile    `json:"changed"`
	Untracked []string         `json:"untracked"`
	Usage     Usage            `json:"usage"`
	Plan      []PlanStep       `json:"plan,omitempty"` // the last plan that ran
}

// ChangedFile is a file that a run changed.
type ChangedFile struct {
	URI   string `json:"uri"`
	Saved bool   `json:"saved"`
}

// MentionResult says what became of a mention.
type MentionResult struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
	Status string `json:"status" contract:"'expanded' | 'truncated' | 'failed' | 'skipped' | 'unknown'"`
	Error  string `json:"error,omitempty"`
}

// ToolCallResult is one call of a run.
type ToolCallResult struct {
	ID         string  `json:"id"`
	Tool       string  `json:"tool"` // the server's own name
	Server     string  `json:"server,omitempty"`
	Status     Outcome `json:"status"`
	DurationMS int64   `json:"durationMs"`
}
