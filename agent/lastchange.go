package agent

import (
	"context"
	"errors"
	"slices"
)

// LastChange finds the last run of a session that changed files which are not
// restored, and what it was asked. Errors: [ErrNoSession], [ErrNoRun], ctx's
// cause, or why the session cannot be read.
func (a *Agent) LastChange(ctx context.Context, folders []string, session string) (runID, asked string, err error) {
	key, err := a.sessions.find(folders, session)
	if err != nil {
		return "", "", err
	}
	t, _, err := a.sessions.look(ctx, key)
	if err != nil {
		return "", "", err
	}
	for _, e := range slices.Backward(t.entries) {
		if e.RunID == "" {
			continue
		}
		u, err := a.undo.find(e.RunID)
		switch {
		case errors.Is(err, ErrNoRun):
			continue
		case err != nil:
			return "", "", err
		}
		u.mu.Lock()
		open := slices.ContainsFunc(u.files, func(f *undoFile) bool { return !f.restored })
		u.mu.Unlock()
		if open {
			return e.RunID, e.Asked, nil
		}
	}
	return "", "", ErrNoRun
}
