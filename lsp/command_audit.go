package lsp

import (
	"context"
	"path/filepath"

	"agentls/agent"
)

// auditArg is the argument of agentls.audit.
type auditArg struct {
	Limit *int    `json:"limit"`
	Tool  *string `json:"tool"`
	RunID *string `json:"runId"`
}

func prepareAudit(s *Server, _ context.Context, arg auditArg, in invocation) (serveFunc, error) {
	if arg.Limit != nil && (*arg.Limit < 1 || *arg.Limit > 1000) {
		return nil, badf("%s: limit must be from 1 to 1000, not %d", in.command, *arg.Limit)
	}
	f := agent.AuditFilter{Limit: deref(arg.Limit), Tool: deref(arg.Tool), RunID: deref(arg.RunID)}
	return func(context.Context) (any, error) {
		lines, err := s.o.Audit.Read(f)
		if err != nil {
			return nil, failed("the audit log cannot be read: %v; look whether its files are yours, in %s", err, filepath.Join(s.o.StateDir, "audit"))
		}
		return lines, nil
	}, nil
}
