package lsp

import (
	"context"
	"errors"
	"slices"

	"agentls/agent"
)

// undoArg is the argument of agentls.undo.
type undoArg struct {
	RunID *string `json:"runId"`
}

// prepareUndo undoes a run that has ended.
func prepareUndo(s *Server, _ context.Context, arg undoArg, in invocation) (serveFunc, error) {
	if err := required(in.command, "runId", arg.RunID); err != nil {
		return nil, err
	}
	id := *arg.RunID
	list := s.runs.infos()
	i := slices.IndexFunc(list, func(x runInfo) bool { return x.RunID == id })
	if i >= 0 && list[i].Status.live() {
		return nil, badf("%s: the run %q has not ended; cancel it first with agentls.cancel, or wait for its end", in.command, clip(id, 128))
	}
	return func(ctx context.Context) (any, error) {
		undone, err := s.undo(ctx, id)
		switch {
		case err == nil, errors.Is(err, agent.ErrNoRun) && i >= 0:
			return undone, nil
		case errors.Is(err, agent.ErrNoRun):
			return nil, badf("%s: no run %q is known that changed files; agentls.runs lists the last ones", in.command, clip(id, 128))
		case ctx.Err() != nil:
			return nil, err
		}
		return nil, failed("%s: %v", in.command, err)
	}, nil
}

// undo gives files the texts that they had before a run.
func (s *Server) undo(ctx context.Context, id string) (agent.Undone, error) {
	undone, err := s.o.Agent.Undo(ctx, id, s.taskFolders(), editor{s})
	if err == nil && len(undone.Restored) > 0 {
		s.runs.undone(id)
	}
	return undone, err
}
