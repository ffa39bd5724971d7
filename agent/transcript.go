package agent

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// What agentls says in a history of how a run ended.
const (
	interruptedNote = "[the run was interrupted here]"       // below what it had said when its process ended
	unreadNote      = "[the run ended before this was read]" // below what a person added
)

// recordType says what a record changes.
type recordType string

// The records, in the order in which a run writes them.
const (
	recordRun    recordType = "run"    // a run begins: Turn, RunID, Title, Text as typed, Message of the user
	recordPrompt recordType = "prompt" // Message, expanded, and Text, as typed, take the place of the run's prompt; Entries follow it
	recordStep   recordType = "step"   // an answer begins: what streamed of the one before is void
	recordText   recordType = "text"   // Text, a piece of the answer
	recordCalls  recordType = "calls"  // Message asks for calls, which come now
	recordResult recordType = "result" // Message answers one of them; the last one for a call counts
	recordSettle recordType = "settle" // all results are there; Text, if any, is a note below the last
	recordSteer  recordType = "steer"  // Text is what a person adds; a prompt or add that follows has it
	recordAdd    recordType = "add"    // Entries follow what is there
	recordStaged recordType = "staged" // Entries that anew brings in: half of them, as a crash leaves it, change nothing
	recordAnew   recordType = "anew"   // all before is void but the last Staged of these entries; Turn, Title
	recordEnd    recordType = "end"    // the run ended: Turn, Status, StopReason, Usage
	// recordSummary: Summary stands for what is before it, for a model. Programs
	// that do not know it pass over it, and leave out by their own means.
	recordSummary recordType = "summary"
)

// record is one change of a session and, as JSON, one line of its file.
// Sessions change by records alone: what is loaded is what was in memory.
type record struct {
	Type       recordType `json:"t"`
	At         time.Time  `json:"at,omitzero"`
	Turn       int        `json:"turn,omitempty"` // of the run, from 1; before what may be long
	Title      string     `json:"title,omitempty"`
	RunID      string     `json:"runId,omitempty"`
	Steers     int        `json:"steers,omitempty"` // how many that were added the message has
	Staged     int        `json:"staged,omitempty"`
	Status     string     `json:"status,omitempty"`
	StopReason string     `json:"stopReason,omitempty"`
	Usage      *Usage     `json:"usage,omitempty"`
	Text       string     `json:"text,omitempty"`
	Message    *Message   `json:"message,omitempty"`
	Entries    []entry    `json:"entries,omitempty"`
	Summary    *summary   `json:"summary,omitempty"` // of an anew too
}

// entry is a message of a history and what is known of it beside.
type entry struct {
	Message
	At    time.Time `json:"at,omitzero"`
	RunID string    `json:"runId,omitempty"` // of a run's first message
	Asked string    `json:"asked,omitempty"` // likewise: the prompt as typed
}

// bytes is about how long an entry is.
func (e entry) bytes() int {
	n := len(e.Text) + len(e.Asked)
	for _, img := range e.Images {
		n += len(img.Data)
	}
	for _, c := range e.ToolCalls {
		n += len(c.Arguments)
	}
	return n
}

// transcript is what a session's records come to.
type transcript struct {
	entries []entry
	staged  []entry  // see recordStaged
	round   *round   // calls whose results are not all there
	partial []byte   // of the answer that is streaming
	added   []string // by a person, and in no message yet
	prompt  int      // the entry of the run's prompt
	turns   int      // runs so far
	running bool     // the last one has not ended
	last    *record  // the last end
	begun   time.Time
	title   string   // of the first prompt
	summary *summary // stands for the beginning of entries; nil: nothing does
}

// round is an answer with calls on its way to a history.
type round struct {
	answer  entry
	results map[string]entry
}

// apply makes one change. A record that does not fit, as of a file that was
// damaged, changes nothing.
func (t *transcript) apply(r record) {
	switch r.Type {
	case recordRun:
		t.interrupt()
		t.staged = nil
		t.running, t.turns, t.begun, t.title = true, max(t.turns+1, r.Turn), r.At, cmp.Or(t.title, r.Title)
		t.prompt = len(t.entries)
		if r.Message != nil {
			t.entries = append(t.entries, entry{Message: *r.Message, At: r.At, RunID: r.RunID, Asked: r.Text})
		}
	case recordPrompt:
		if r.Message != nil && t.running && t.prompt < len(t.entries) {
			t.entries[t.prompt].Message, t.entries[t.prompt].Asked = *r.Message, r.Text
			t.entries = slices.Insert(t.entries, t.prompt+1, r.Entries...)
			t.added = t.added[min(max(r.Steers, 0), len(t.added)):]
		}
	case recordSteer:
		if t.running {
			t.added = append(t.added, r.Text)
		}
	case recordStep:
		t.partial = nil
	case recordText:
		t.partial = append(t.partial, r.Text...)
	case recordCalls:
		t.settle("")
		if t.partial = nil; r.Message != nil {
			t.round = &round{answer: entry{Message: *r.Message, At: r.At}, results: map[string]entry{}}
		}
	case recordResult:
		if r.Message != nil && t.round != nil {
			t.round.results[r.Message.ToolCallID] = entry{Message: *r.Message, At: r.At}
		}
	case recordSettle:
		t.settle(r.Text)
	case recordAdd:
		t.settle("")
		t.partial = nil
		t.entries = append(t.entries, r.Entries...)
		t.added = t.added[min(max(r.Steers, 0), len(t.added)):]
	case recordStaged:
		t.staged = append(t.staged, r.Entries...)
	case recordAnew:
		staged := t.staged[max(len(t.staged)-max(r.Staged, 0), 0):]
		*t = transcript{entries: staged, turns: max(r.Turn, 0), title: r.Title, begun: r.At}
		t.summarised(r.Summary)
	case recordSummary:
		t.summarised(r.Summary)
	case recordEnd:
		t.interrupt()
		t.turns, t.last = max(t.turns, r.Turn), &r
	}
}

// summarised takes a summary that fits.
func (t *transcript) summarised(s *summary) {
	if s.fits(t.entries) {
		t.summary = s
	}
}

// settle adds the round to the history: the answer, the results in the order
// of its calls, and the images of all in a message of the user's. A call
// without a result gets one that says so (charmbracelet/crush#2622).
func (t *transcript) settle(note string) {
	if t.round == nil {
		return
	}
	r := *t.round
	t.round = nil
	t.entries = append(t.entries, r.answer)
	var images []Image
	var at time.Time
	for _, c := range r.answer.ToolCalls {
		e, ok := r.results[c.ID]
		if !ok {
			e = entry{Message: Message{Role: ToolRole, ToolCallID: c.ID, Text: noResult}, At: r.answer.At}
		}
		images = append(images, e.Images...)
		e.Images = nil
		at = e.At
		t.entries = append(t.entries, e)
	}
	if note != "" && len(r.answer.ToolCalls) > 0 {
		last := &t.entries[len(t.entries)-1]
		last.Text += "\n\n" + note
	}
	if len(images) > 0 {
		t.entries = append(t.entries, entry{Message: Message{
			Role: User, Text: imagesNote + ", in order]", Images: images[:min(len(images), maxImages)],
		}, At: at})
	}
}

// interrupt ends a run, also one that did not come to its end: what was
// received is kept, and what a person added too late, and the roles go on
// alternating.
func (t *transcript) interrupt() {
	t.settle("")
	text := string(t.partial)
	t.partial = nil
	open := t.running && len(t.entries) > 0 && t.entries[len(t.entries)-1].Role != Assistant
	t.running = false
	if strings.TrimSpace(text) != "" || open {
		t.entries = append(t.entries, entry{Message: Message{Role: Assistant, Text: noted(text, interruptedNote)}, At: t.begun})
	}
	if len(t.added) > 0 {
		t.entries = append(t.entries, entry{Message: user(t.added, nil), At: t.begun}, entry{Message: Message{Role: Assistant, Text: unreadNote}, At: t.begun})
		t.added = nil
	}
}

// noted is a text, which may be empty, with a note below it.
func noted(text, note string) string {
	if strings.TrimSpace(text) == "" {
		return note
	}
	return text + "\n\n" + note
}

// messages is the history for a model. The slice is the caller's own, the
// calls and images in it are not.
func (t *transcript) messages() []Message {
	out := make([]Message, len(t.entries))
	for i, e := range t.entries {
		out[i] = e.Message
	}
	return out
}

// How many entries stand in one record of a whole transcript, and of how many
// bytes, one aside: no line gets too long to be read.
const (
	wholeEntries = 64
	wholeBytes   = 16 << 20
)

// whole is the records that make a transcript to this one, whatever it was.
func (t *transcript) whole() []record {
	var list []record
	from, size := 0, 0
	for i, e := range t.entries {
		n := e.bytes()
		if i-from == wholeEntries || i > from && size+n > wholeBytes {
			list = append(list, record{Type: recordStaged, Entries: t.entries[from:i]})
			from, size = i, 0
		}
		size += n
	}
	if from < len(t.entries) {
		list = append(list, record{Type: recordStaged, Entries: t.entries[from:]})
	}
	return append(list, record{Type: recordAnew, At: t.begun, Turn: t.turns, Title: t.title, Staged: len(t.entries), Summary: t.summary})
}

// valid returns a message whose texts are as they come back from a file.
func (m Message) valid() Message {
	m.Text = validText(m.Text)
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i, c := range m.ToolCalls {
		m.ToolCalls[i] = ToolCall{validText(c.ID), validText(c.Name), validText(c.Arguments)}
	}
	m.ToolCallID = validText(m.ToolCallID)
	return m
}

func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
