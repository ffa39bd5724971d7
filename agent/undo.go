package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Undone says what became of a run's edits (CONTRACT §4, agentls.undo).
type Undone struct {
	Restored  []string    `json:"restored"` // URIs
	Refused   []NotUndone `json:"refused"`
	Untracked []string    `json:"untracked"` // tools of the run that may have changed more
}

// NotUndone is a file that was left as it is.
type NotUndone struct {
	URI    string `json:"uri"`
	Reason string `json:"reason"`
}

// Undo gives the files that the built-in tools of a run changed the texts that
// they had before it. One that something else changed since is left alone. A
// file that the run made is removed, with the directories that it made and
// that are empty. folders are those of now. The error is [ErrNoRun] where no
// change of the run is known, or ctx's cause; what was done until then is in
// the result.
func (a *Agent) Undo(ctx context.Context, runID string, folders []Folder, host Editor) (out Undone, err error) {
	out = Undone{Restored: []string{}, Refused: []NotUndone{}, Untracked: []string{}}
	run, err := a.undo.find(runID)
	if err != nil {
		return out, err
	}
	run.mu.Lock()
	files := slices.Clone(run.files)
	out.Untracked = append(out.Untracked, run.untracked...)
	run.mu.Unlock()
	in := findFolders(folders)
	for _, f := range slices.Backward(files) {
		uri, err := a.restore(ctx, run, f, in, host)
		if ctx.Err() != nil && err != nil {
			return out, context.Cause(ctx)
		}
		entry := AuditEntry{RunID: runID, Tool: "undo", Arguments: marshal(map[string]string{"path": f.path}), Outcome: Completed, DecidedBy: "command"}
		switch {
		case err == nil:
			out.Restored = append(out.Restored, uri)
		default:
			out.Refused = append(out.Refused, NotUndone{uri, err.Error()})
			entry.Outcome, entry.Reason = Failed, a.tellable(err.Error(), 300)
		}
		if errors.Is(err, ErrUnconfirmed) {
			entry.Outcome = Unknown
		}
		a.audit.Write(entry)
	}
	return out, nil
}

// restore undoes the changes of one file. An error says why it was left.
func (a *Agent) restore(ctx context.Context, run *undoRun, f *undoFile, in folders, host Editor) (uri string, err error) {
	uri = fileURI(f.path)
	at, err := in.contain(f.path)
	switch {
	case err != nil:
		return uri, fmt.Errorf("it %w that are open now", errOutside)
	case at.real != f.real:
		return uri, errors.New("its path leads elsewhere now")
	}
	unlock, err := a.locks.lock(ctx, at.real)
	if err != nil {
		return uri, err
	}
	defer unlock()
	now, err := find(at, host)
	if err != nil {
		return uri, err
	}
	run.mu.Lock()
	was := *f
	was.after = slices.Clone(f.after)
	run.mu.Unlock()
	if err := was.undoable(now); err != nil {
		return uri, err
	}
	done := Edited{URI: uri}
	if was.created {
		err = was.remove(at, now)
	} else {
		done, _, err = now.put(ctx, host, Edit{After: was.textFor(now), Label: "undo " + at.shown, Asked: true}, noStep)
	}
	switch {
	case errors.Is(err, ErrStale):
		return uri, errors.New("it changed while it was being restored")
	case err != nil:
		return uri, err
	}
	run.restored(f.real)
	return done.URI, nil
}

// undoable says why a file is not as the run left it.
func (f undoFile) undoable(now found) error {
	sum := sumOf(now.text)
	switch {
	case f.restored:
		return errors.New("it was restored already: there is nothing more to undo")
	case f.created && !now.exists(), !f.created && now.exists() && sum == sumOf(f.before):
		return errors.New("it is as it was before the run: there is nothing to undo")
	case !now.exists():
		return errors.New("it was removed since")
	case !slices.Contains(f.after, sum):
		return errors.New("something else changed it since")
	}
	return nil
}

// textFor is the text before the run as a file has it: an editor's has no byte
// order mark, which the one on disk keeps.
func (f undoFile) textFor(now found) string {
	if now.path == "" && strings.HasPrefix(now.text, byteOrderMark) && !strings.HasPrefix(f.before, byteOrderMark) {
		return byteOrderMark + f.before
	}
	return f.before
}

// remove deletes a file that the run made. What the editor shows of it stays
// there until a person closes it.
func (f undoFile) remove(at place, now found) error {
	disk, err := at.look()
	switch {
	case err != nil:
		return err
	case disk.info == nil && now.path != "":
		return errors.New("it is in the editor only: close it without saving it")
	case !slices.Contains(f.after, sumOf(disk.text)):
		return errors.New("something else changed it since")
	}
	if err := disk.remove(); err != nil {
		return err
	}
	at.removeEmpty(f.made)
	return nil
}
