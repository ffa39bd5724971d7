package agent

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// MakePipe makes a named pipe.
func MakePipe(t *testing.T, path string) { t.Helper(); makePipe(t, path) }

// OnDisk returns a session's history as its file has it.
func (a *Agent) OnDisk(folder, session string) ([]Message, error) {
	key := sessionKey{folder, session}
	got, err := loadSession(context.Background(), a.sessions.path(key), key, a.log)
	if err != nil {
		return nil, err
	}
	return got.messages(), nil
}

// SessionPath returns where a session is kept.
func (a *Agent) SessionPath(folder, session string) string {
	return a.sessions.path(sessionKey{folder, session})
}

// Disk is what an agent writes its sessions to.
type Disk = sessionOutput

// SetDisk lets a test stand between an agent and the files of its sessions.
func (a *Agent) SetDisk(disk func(*os.File) Disk) { a.sessions.disk = disk }

// Dialogue is a session that a test works on as a run does.
type Dialogue struct {
	*session
	Told []error // why the file could not be written
	mu   sync.Mutex
}

// Begin begins work on a session; Finish must follow.
func (a *Agent) Begin(folder, id string) (*Dialogue, error) {
	d := &Dialogue{session: a.sessions.enter(sessionKey{folder, id})}
	defer a.sessions.leave(d.session)
	if err := d.acquire(context.Background()); err != nil {
		return nil, err
	}
	err := d.begin(context.Background(), func(err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.Told = append(d.Told, err)
	})
	if err != nil {
		d.release()
	}
	return d, err
}

func (d *Dialogue) Ask(typed, expanded string) {
	d.ask("r", "title", typed, typed)
	d.expand(typed, 0, []Message{{Role: User, Text: expanded}})
}

// AskWith is Ask with messages that follow the prompt's.
func (d *Dialogue) AskWith(typed string, m ...Message) {
	d.ask("r", "title", typed, typed)
	d.expand(typed, 0, m)
}
func (d *Dialogue) Step()                               { d.step() }
func (d *Dialogue) Stream(text string)                  { d.stream(text) }
func (d *Dialogue) Add(m ...Message)                    { d.add(m...) }
func (d *Dialogue) Call(text string, calls ...ToolCall) { d.call(text, calls) }
func (d *Dialogue) Result(id, text string, images ...Image) {
	d.result(id, callResult{text: text, images: images})
}
func (d *Dialogue) Steer(text string)             { d.steer(text) }
func (d *Dialogue) Join(steers int, m ...Message) { d.join(steers, m) }
func (d *Dialogue) Settle(note string)            { d.settle(note) }
func (d *Dialogue) Summarise(upto int, text string) {
	d.summarise(summary{Upto: upto, Text: text, Facts: text, Asked: []string{text}})
}

func (d *Dialogue) Anew() {
	for _, r := range d.said.whole() {
		d.change(r)
	}
}
func (d *Dialogue) End() { d.end(StatusCompleted, "end_turn", Usage{}) }

// Finish lets the session go.
func (d *Dialogue) Finish() error {
	defer d.release()
	return d.finish(context.Background(), func(f func()) { f() })
}

// Messages is what a model would get.
func (d *Dialogue) Messages() []Message { return repair(d.condensed().messages) }

// State is all that is known of the session, in one comparable text.
func (d *Dialogue) State() string { return stateOf(d.said) }

// StateOnDisk is that as the file has it.
func (a *Agent) StateOnDisk(folder, id string) (string, error) {
	key := sessionKey{folder, id}
	got, err := loadSession(context.Background(), a.sessions.path(key), key, a.log)
	if err != nil {
		return "", err
	}
	return stateOf(got.transcript), nil
}

func stateOf(t transcript) string {
	text := fmt.Sprintf("%d %v %q %d %q %q", t.turns, t.running, t.partial, t.prompt, t.title, t.added)
	if t.summary != nil {
		text += fmt.Sprintf(" summary %s", marshal(t.summary))
	}
	if t.round != nil {
		text += fmt.Sprintf(" round %s %s", marshal(t.round.answer), marshal(t.round.results))
	}
	return text + string(marshal(t.entries))
}
