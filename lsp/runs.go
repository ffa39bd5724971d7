package lsp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

const (
	keepFinished = 50   // finished runs that agentls.runs still lists
	maxLive      = 1000 // runs that run or wait at one time
)

// runStatus is where a run stands (CONTRACT §4, agentls.runs).
type runStatus string

// The states of a run.
const (
	runQueued    runStatus = "queued"
	runRunning   runStatus = "running"
	runWaiting   runStatus = "waiting" // for a person
	runCompleted runStatus = "completed"
	runStopped   runStatus = "stopped" // a limit was hit
	runFailed    runStatus = "failed"
	runCancelled runStatus = "cancelled"
)

func (t runStatus) live() bool { return t == runQueued || t == runRunning || t == runWaiting }

// runs owns every run: it can end each and waits for all.
type runs struct {
	s *Server
	// grace is how long a cancelled run may take until it is answered over its
	// head (CONTRACT §5).
	grace time.Duration
	nonce string // parts the untitled buffers of this connection from all others

	mu     sync.Mutex
	list   []*run                   // as they came: the live ones and the last finished ones
	queues map[string][]*run        // the live runs of each session; the first has the turn
	keeps  map[string]chan struct{} // of each session: closed when the last run's answer is kept
	active int                      // runs between begin and end
	turns  uint64                   // how often one began or ended
	ended  error                    // why no run is taken any more; nil: they are
}

func newRuns(s *Server) *runs {
	return &runs{s: s, grace: 500 * time.Millisecond, nonce: newID(), queues: map[string][]*run{}, keeps: map[string]chan struct{}{}}
}

// newID returns 128 random bits in hex.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}

// add takes a run: it gets its place in its session's queue, and starts when
// all before it have ended. It fails with a [paramsError], or with a cancel
// when the connection is ending.
func (r *runs) add(x *run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		return r.ended
	}
	live := 0
	for _, other := range r.list {
		if other.id == x.id {
			return badf("agentls.ask: runId %q is in use; leave it out to get a new one", clip(x.id, 128))
		}
		if other.status.live() {
			live++
		}
	}
	if live >= maxLive {
		return badf("%d runs wait already; cancel some with agentls.cancel", live)
	}
	x.status = runQueued
	x.startedAt = time.Now()
	r.list = append(r.list, x)
	queue := append(r.queues[x.queue()], x)
	r.queues[x.queue()] = queue
	if len(queue) == 1 {
		close(x.turn)
	}
	x.before = r.keeps[x.queue()]
	x.kept = make(chan struct{})
	r.keeps[x.queue()] = x.kept
	x.start()
	r.s.refreshPromptBuffers()
	return nil
}

// keptBy says that a run has nothing more to keep, nor any before it in its
// session: their tellers come to an end as its own.
func (r *runs) keptBy(x *run) {
	if x.before != nil {
		<-x.before
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	close(x.kept)
	if r.keeps[x.queue()] == x.kept {
		delete(r.keeps, x.queue())
	}
}

// hasBegun reports whether a run ever left its queue.
func (r *runs) hasBegun(x *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return x.begun
}

// begin moves a run out of the queue. It returns the cause when the run was
// cancelled before.
func (r *runs) begin(x *run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := context.Cause(x.ctx); err != nil {
		return err
	}
	x.status, x.begun = runRunning, true
	x.startedAt = time.Now()
	if x.local == nil { // a command of ours changes no file behind a person's back
		r.active++
		r.turns++
	}
	r.s.refreshPromptBuffers()
	return nil
}

// activity reports whether a run is active, and a number that changes whenever
// one begins or ends.
func (r *runs) activity() (active bool, turns uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active > 0, r.turns
}

// wait counts the questions of a run that are open, by +1 and -1.
func (r *runs) wait(x *run, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.questions += n
	switch {
	case !x.status.live():
	case x.questions > 0:
		x.status = runWaiting
	default:
		x.status = runRunning
	}
	r.s.refreshPromptBuffers()
}

// record is what is kept of a finished run: its texts may be large.
func (x *run) record() *run {
	r := &run{
		id: x.id, session: x.session, mode: x.mode, head: x.head, status: x.status, startedAt: x.startedAt, gone: x.gone,
		sent: x.sent, writing: x.writing,
	}
	for _, f := range x.result.Changed {
		key, _ := canonical(f.URI)
		r.changed = append(r.changed, key)
	}
	return r
}

// end gives a run its last state and the turn to the next of its session.
func (r *runs) end(x *run, status runStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.Index(r.list, x)
	if at < 0 {
		return // it has ended
	}
	if x.status != runQueued && x.local == nil {
		r.active--
		r.turns++
		r.s.settings.files.kick() // whatever it changed on disk is held against it
	}
	r.s.refreshPromptBuffers()
	x.status = status
	r.list[at] = x.record()
	queue := r.queues[x.queue()]
	i := slices.Index(queue, x)
	queue = slices.Delete(queue, i, i+1)
	switch {
	case len(queue) == 0:
		delete(r.queues, x.queue())
	default:
		r.queues[x.queue()] = queue
		if i == 0 {
			close(queue[0].turn)
		}
	}
	r.forget()
}

// forget drops the oldest finished runs. r.mu is held.
func (r *runs) forget() {
	surplus := -keepFinished
	for _, x := range r.list {
		if !x.status.live() {
			surplus++
		}
	}
	r.list = slices.DeleteFunc(r.list, func(x *run) bool {
		if x.status.live() || surplus <= 0 {
			return false
		}
		surplus--
		return true
	})
}

// find gives a live run; nil: there is none of the id.
func (r *runs) find(id string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if x.id == id && x.status.live() {
			return x
		}
	}
	return nil
}

// cancel cancels the live runs that match and returns their ids, in order.
func (r *runs) cancel(cause error, match func(*run) bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := []string{}
	for _, x := range r.list {
		if x.status.live() && match(x) {
			x.cancel(cause)
			ids = append(ids, x.id)
		}
	}
	return ids
}

// changedLast gives the run that changed a document last, if its changes were
// not undone.
func (r *runs) changedLast(uri string) (info runInfo, ok bool) {
	key, _ := canonical(uri)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range slices.Backward(r.list) {
		if slices.Contains(x.changed, key) {
			return x.info(), true
		}
	}
	return runInfo{}, false
}

// undoable reports whether a run changed files, and that was not undone.
func (r *runs) undoable(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.list, func(x *run) bool { return x.id == id && len(x.changed) > 0 })
}

// live lists the runs that run or wait, as they came.
func (r *runs) live() []runInfo {
	return slices.DeleteFunc(r.infos(), func(i runInfo) bool { return !i.Status.live() })
}

// cancelToken cancels the run whose progress has the token
// (window/workDoneProgress/cancel). Unknown tokens are ignored.
func (r *runs) cancelToken(t protocol.ProgressToken) {
	if t == nil {
		return
	}
	r.cancel(agent.ErrCancelled, func(x *run) bool { return x.token == t })
}

// close cancels all runs with the cause and waits until each is answered, or
// ctx ends.
func (r *runs) close(ctx context.Context, cause error) {
	cause = cancelled(cause)
	r.mu.Lock()
	r.ended = cause
	all := slices.Clone(r.list)
	r.mu.Unlock()
	r.cancel(cause, func(*run) bool { return true })
	for _, x := range all {
		select {
		case <-x.gone:
		case <-ctx.Done():
			return
		}
	}
}

// cancelled makes sure that a cause is told as a cancel.
func cancelled(cause error) error {
	if cause == nil {
		return agent.ErrCancelled
	}
	if errors.Is(cause, agent.ErrCancelled) {
		return cause
	}
	return fmt.Errorf("%w: %w", agent.ErrCancelled, cause)
}

// runInfo is one line of agentls.runs.
type runInfo struct {
	RunID     string     `json:"runId"`
	Session   string     `json:"session"`
	Mode      agent.Mode `json:"mode"`
	Status    runStatus  `json:"status"`
	StartedAt string     `json:"startedAt"` // RFC 3339; of a queued run: when it came
	Prompt    string     `json:"prompt"`    // its beginning
	// Changed are the URIs of the files that an ended run changed, as far as that
	// was not undone.
	Changed []string `json:"changed,omitempty"`
}

// infos lists the live runs and the last finished ones, as they came.
func (r *runs) infos() []runInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]runInfo, len(r.list))
	for i, x := range r.list {
		list[i] = x.info()
	}
	return list
}

// info is a run's line. runs.mu is held.
func (x *run) info() runInfo {
	return runInfo{x.id, x.session, cmp.Or(x.mode, agent.ModeReAct), x.status, x.startedAt.UTC().Format(time.RFC3339Nano), x.head, slices.Clone(x.changed)}
}
