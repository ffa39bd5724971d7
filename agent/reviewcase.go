package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Blocks of what a reviewer is given, and of what it gives a worker.
const (
	requestTag = "user_request"
	taskTag    = "step_task"
	resultTag  = "step_result"
	changesTag = "step_changes"
	callsTag   = "step_calls"
	notesTag   = "review_notes"
)

// deeds is what a thread did: its edits of files, as far as they are known, and
// its calls. A nil one takes nothing. Safe for concurrent use.
type deeds struct {
	mu    sync.Mutex
	edits []deedEdit
	calls []string // a line each
	blind []string // tools that may have changed what is not known here, sorted
}

// deedEdit is what became of a file in edits between which nobody else changed it.
type deedEdit struct {
	at            place
	before, after string
}

// edited takes an edit that was done.
func (d *deeds) edited(at place, before, after string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := len(d.edits) - 1; i >= 0; i-- {
		if d.edits[i].at.real != at.real {
			continue
		}
		if d.edits[i].after == before {
			d.edits[i].after = after
			return
		}
		break
	}
	d.edits = append(d.edits, deedEdit{at, before, after})
}

// called takes the end of a call. blind: it may have changed what is not known
// here.
func (d *deeds) called(e AuditEntry, blind bool) {
	if d == nil {
		return
	}
	name := oneLine(strings.TrimPrefix(e.Server+"/"+e.Tool, "/"), 200)
	line := fmt.Sprintf("%s: %s %s", e.Outcome, name, oneLine(string(e.Arguments), 300))
	if e.Outcome != Completed && e.Reason != "" {
		line += " (" + oneLine(e.Reason, 200) + ")"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, line)
	if blind && !slices.Contains(d.blind, name) {
		d.blind = append(d.blind, name)
		slices.Sort(d.blind)
	}
}

// take gives what was done since the last take.
func (d *deeds) take() (edits []deedEdit, calls, blind []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	edits, calls, blind = d.edits, d.calls, d.blind
	d.edits, d.calls, d.blind = nil, nil, nil
	return edits, calls, blind
}

// reviewCase is what a reviewer looks at: a step as it is after a round of work.
type reviewCase struct {
	round   int    // from 1
	request string // the user's words
	task    string
	result  string
	edits   []deedEdit
	calls   []string
	blind   []string
}

// words puts the case into limit bytes of blocks that cannot be left. What of
// a result or of the changes finds no room is kept on the shelf, for
// read_result.
func (c reviewCase) words(limit int, s shelf) string {
	var parts []string
	room := limit
	add := func(head, tag, body string, share int) {
		body = s.fit(body, min(room, share))
		room -= len(body)
		parts = append(parts, head+"\n"+block(tag, body))
	}
	if c.round == 1 {
		add("The user asked for:", requestTag, c.request, limit/8)
		add("The step that the worker was given:", taskTag, c.task, limit/4)
		add("The worker's result:", resultTag, c.result, limit/4)
	} else {
		parts = append(parts, fmt.Sprintf("The worker has answered your notes. This is the step after round %d; changes and calls are those since your last review.", c.round))
		add("The worker's result now:", resultTag, c.result, limit/4)
	}
	if len(c.calls) > 0 {
		add("The worker's calls, in the order in which they ended:", callsTag, lastLines(c.calls, limit/8), limit/8)
	} else {
		parts = append(parts, "The worker made no calls.")
	}
	switch diff := c.diff(); {
	case diff != "":
		add("What the worker's edits changed:", changesTag, diff, room)
	case len(c.blind) == 0:
		parts = append(parts, "The worker changed no file.")
	}
	if len(c.blind) > 0 {
		parts = append(parts, "What these tools changed is not shown, if they did: "+ellipsis(strings.Join(c.blind, ", "), 1000)+".")
	}
	return strings.Join(append(parts, "Look at it, then call submit_review."), "\n\n")
}

// diff is what the edits changed; one that was taken back is none.
func (c reviewCase) diff() string {
	var b strings.Builder
	for _, e := range c.edits {
		if e.before != e.after {
			b.WriteString(compare(e.at, e.before, e.after).Diff)
		}
	}
	return b.String()
}

// fit cuts a text to limit bytes; the whole is kept where it is longer.
func (s shelf) fit(text string, limit int) string {
	k := s.keep(limit)
	k.add(text)
	k.Close()
	return k.String()
}

// lastLines joins lines, the newest that find room in limit bytes.
func lastLines(lines []string, limit int) string {
	from := len(lines)
	for room := limit - 40; from > 0; from-- {
		if room -= len(lines[from-1]) + 1; room < 0 {
			break
		}
	}
	text := strings.Join(lines[from:], "\n")
	if from > 0 {
		text = fmt.Sprintf("[%d earlier calls are left out]\n%s", from, text)
	}
	return text
}
