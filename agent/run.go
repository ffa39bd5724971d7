package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// run is one task being worked on, with what its threads share. Its goroutine
// owns everything but what mu guards.
type run struct {
	a    *Agent
	task Task
	s    *session // set once its turn has come
	own  *thread  // the session's conversation; set with s
	// changes are those of files; set with s.
	changes *changes
	slots   chan struct{} // of calls that are at work
	waited  bool          // for servers that were starting
	missing []string      // those that still were when the run began
	given   []Message     // of the MCP prompt that it begins with

	mu         sync.Mutex
	res        Result
	plans      int             // that were accepted
	expansions map[int]*shared // what a person added, with its mentions read
	spent      int             // tokens for the limit: what the provider told, else a guess
	ids        map[string]int  // how often a call's id was given
	ended      map[string]bool // ids of calls whose end was told
	leftTold   bool            // that not all tools find room
	closed     bool            // nothing is told any more
	index      resourceIndex
	left       map[string]bool // files of instructions that are left out, and folders that have some: what was told of
}

func newRun(a *Agent, t Task) *run {
	t.Limits = t.Limits.orDefaults()
	return &run{a: a, task: t, slots: make(chan struct{}, t.Limits.ParallelTools), ids: map[string]int{}, ended: map[string]bool{}, left: map[string]bool{}, res: Result{
		RunID: t.RunID, Session: t.Session,
		Mentions: []MentionResult{}, ToolCalls: []ToolCallResult{}, Changed: []ChangedFile{}, Untracked: []string{},
	}}
}

// folders are those of now: some may come or go while the run lives.
func (r *run) folders() folders {
	if r.task.Folders == nil {
		return nil
	}
	return findFolders(r.task.Folders())
}

func (l Limits) orDefaults() Limits {
	d := DefaultLimits()
	or := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	or(&l.Steps, d.Steps)
	or(&l.Tokens, d.Tokens)
	or(&l.MentionChars, d.MentionChars)
	or(&l.ToolResultBytes, d.ToolResultBytes)
	or(&l.ParallelTools, d.ParallelTools)
	return l
}

// start waits for the session's turn and works.
func (r *run) start(ctx context.Context) error {
	switch {
	case strings.TrimSpace(r.task.words()) == "" && r.task.MCPPrompt == nil:
		return refuse(KindInternal, ErrEmptyPrompt, "The prompt is empty: write what is to be done.")
	case len(r.task.Prompt) > MaxPrompt:
		return refuse(KindContext, ErrLongPrompt, fmt.Sprintf("The prompt has %d bytes, at most %d (4 MiB) are taken: mention the text as a resource or let the agent read the file.", len(r.task.Prompt), MaxPrompt))
	}
	s := r.a.sessions.enter(sessionKey{r.task.Folder, r.task.Session})
	defer r.a.sessions.leave(s)
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	if err := s.begin(ctx, r.notKept); err != nil {
		return err
	}
	defer r.a.sessions.finish(ctx, s, r.a.calls.own)
	r.s, r.own = s, &thread{run: r, s: s}
	if r.task.Mode.Plans() {
		r.own.part = r.planner()
	}
	r.changes = &changes{locks: &r.a.locks, undo: r.a.undo.start(r.task.RunID), step: noStep}
	r.knowAttachment()
	if err := r.startsWith(ctx); err != nil {
		return err
	}
	err := r.work(ctx)
	status, stopReason := r.outcome(ctx, err)
	s.end(status, stopReason, r.usage())
	return err
}

// living is the run of an id as long as it works; nil: there is none.
func (a *Agent) living(runID string) *run {
	r, _ := a.runs.Load(runID)
	living, _ := r.(*run)
	return living
}

// charge counts what an answer cost, for the limit in tokens and as the
// provider told it, and tells the sum.
func (r *run) charge(used Usage, tokens int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spent += tokens
	if used.TotalTokens == 0 {
		return
	}
	r.res.Usage = r.res.Usage.Add(used)
	if sum := r.res.Usage; !r.closed {
		r.task.Host.Emit(Event{Kind: EventUsage, Usage: &sum})
	}
}

// stepped counts a model call.
func (r *run) stepped() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Steps++
}

// tellText makes text the answer so far.
func (r *run) tellText(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Text = text
}

// tokensLeft is what the limit leaves to the run.
func (r *run) tokensLeft() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.task.Limits.Tokens - r.spent
}

func (r *run) usage() Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.res.Usage
}

// notKept tells that the session's file cannot be written; the run goes on.
func (r *run) notKept(err error) {
	if r.a.sessions.tellOnce() {
		r.a.log.Error("sessions cannot be kept on disk", "session", r.task.Session, "error", err)
		r.emit(Event{Kind: EventNotice, Delta: "This session cannot be kept on disk and is lost with this process: " + r.a.tellable(err.Error(), 300)})
	}
}

func refuse(kind ErrorKind, cause error, message string) error {
	return &ProviderError{Kind: kind, Message: message, Err: cause}
}

// work runs the loop and leaves a history that the next prompt can stand on,
// whatever happens.
func (r *run) work(ctx context.Context) (err error) {
	r.a.runs.Store(r.task.RunID, r)
	defer r.a.runs.Delete(r.task.RunID)
	r.s.ask(r.task.RunID, r.a.tellable(r.task.title(), titleChars), r.task.typed(), r.task.words())
	defer func() {
		if p := recover(); p != nil {
			err = r.panicked("the run", p)
		}
		if err != nil {
			r.own.broken(err)
		}
		r.task.Steer.Close()
	}()
	r.task.Steer.keep(r.s.steer)
	return r.react(ctx)
}

// panicked is the end of a part of the run that panicked.
func (r *run) panicked(who string, v any) error {
	r.a.log.Error("a run panicked", "run", r.task.RunID, "in", who, "panic", redactText(r.a.secrets, fmt.Sprint(v)), "stack", string(debug.Stack()))
	return &ProviderError{Kind: KindInternal, Message: "internal error: " + who + " ended unexpectedly; the log has the details"}
}

// shelf is where the run's long results are kept.
func (r *run) shelf() shelf { return r.a.results.of(sessionKey{r.task.Folder, r.task.Session}) }

// knowAttachment notes what the model sees of a file without reading it.
func (r *run) knowAttachment() {
	d := r.task.Attachment
	if d == nil || d.Whole == "" {
		return
	}
	if at, err := r.folders().resolve(d.Path, r.task.Host); err == nil {
		r.s.known.note(at, d.Whole)
	}
}

// emit tells an event, one at a time and none after the run.
func (r *run) emit(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.task.Host.Emit(e)
	}
}

// callID returns an id for a call that is unique in the run: some providers
// count from zero in each answer.
func (r *run) callID(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	unique := id
	for r.ids[unique] > 0 { // a model may also count on from here
		r.ids[id]++
		unique = fmt.Sprintf("%s#%d", id, r.ids[id])
	}
	r.ids[unique]++
	return unique
}

// emitCall tells of a call; nothing more after its end.
func (r *run) emitCall(e ToolCallEvent, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.ended[e.ID] {
		return
	}
	r.ended[e.ID] = last
	r.task.Host.Emit(Event{Kind: EventToolCall, ToolCall: &e})
}

// record notes the end of a call.
func (r *run) record(c ToolCallResult, untracked bool) {
	if untracked {
		r.changes.undo.leave(c.Tool)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.ToolCalls = append(r.res.ToolCalls, c)
	if untracked && !slices.Contains(r.res.Untracked, c.Tool) {
		r.res.Untracked = append(r.res.Untracked, c.Tool)
		slices.Sort(r.res.Untracked)
	}
}

// finish gives the result; nothing is told afterwards.
func (r *run) finish(ctx context.Context, err error) Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.res.Changed = r.changes.list()
	r.res.Status, r.res.StopReason = r.outcome(ctx, err)
	return r.res
}

// outcome says how the run ended.
func (r *run) outcome(ctx context.Context, err error) (status, stopReason string) {
	switch {
	case err == nil:
		return r.res.Status, r.res.StopReason
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return StatusCancelled, StatusCancelled
	}
	return StatusFailed, "error"
}

// within runs f with ctx bounded by d.
func within(ctx context.Context, d time.Duration, f func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	f(ctx)
}
