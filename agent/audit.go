package agent

import (
	"encoding/json"
	"log/slog"
	"time"

	"agentls/mcp"
)

// AuditEntry is one line of the audit log (CONTRACT §8).
type AuditEntry struct {
	Time       time.Time       `json:"time"`
	RunID      string          `json:"runId,omitempty"`
	Session    string          `json:"session,omitempty"`
	Server     string          `json:"server,omitempty"`
	Tool       string          `json:"tool"`
	Arguments  json.RawMessage `json:"arguments,omitempty"` // redacted, then cut at 1000 characters; a string when cut
	Outcome    Outcome         `json:"outcome"`
	DecidedBy  string          `json:"decidedBy"` // rule:<text>, user, mention, command, policy
	Reason     string          `json:"reason,omitempty"`
	DurationMS int64           `json:"durationMs"`
}

// Audit appends to <dir>/YYYY-MM-DD.jsonl, mode 0600, safe with several
// processes.
type Audit struct{}

// NewAudit returns the audit log in dir, which is made on the first write.
func NewAudit(dir string, secrets *mcp.Secrets, log *slog.Logger) *Audit { panic("skeleton") }

// Write appends one line. A failure is told once in the log and else ignored:
// the run goes on.
func (a *Audit) Write(e AuditEntry) { panic("skeleton") }

// AuditFilter selects lines.
type AuditFilter struct {
	Limit int // 1…1000; 0: 10
	Tool  string
	RunID string
}

// Read returns the last lines that match, the oldest first. Lines that cannot
// be read (cut by a crash) are passed over.
func (a *Audit) Read(f AuditFilter) ([]AuditEntry, error) { panic("skeleton") }
