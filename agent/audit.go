package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

// CommandEntry is the entry of what a person's command did at a server, begun
// at a time, and gave err.
func CommandEntry(ctx context.Context, server, tool string, args map[string]string, began time.Time, err error) AuditEntry {
	e := AuditEntry{
		Time: began, Server: server, Tool: tool, Arguments: marshal(args),
		Outcome: Completed, DecidedBy: "command", DurationMS: time.Since(began).Milliseconds(),
	}
	switch {
	case err != nil && ctx.Err() != nil:
		e.Outcome = Cancelled
	case err != nil:
		e.Outcome, e.Reason = Failed, err.Error()
	}
	return e
}

// ElicitEntry is the entry of what a server wanted to know of a person, asked
// since a time: the names of fields or the host of a link, never what was
// answered. err says why the question ended without one, reason why not yes.
func ElicitEntry(r mcp.Request, began time.Time, answer mcp.RequestAnswer, err error, reason string) AuditEntry {
	about := map[string]any{"mode": r.Elicit.Mode}
	if r.Elicit.Mode == "url" {
		about["host"] = r.Elicit.Link.Host
	} else {
		names := []string{}
		for _, f := range r.Elicit.Form.Fields {
			names = append(names, f.Name)
		}
		about["fields"] = names
	}
	e := AuditEntry{
		Time: began, RunID: r.Origin.RunID, Session: r.Origin.Session, Server: r.Server, Tool: "elicitation/create", Arguments: marshal(about),
		Outcome: Rejected, DecidedBy: "user", Reason: reason, DurationMS: time.Since(began).Milliseconds(),
	}
	switch {
	case err != nil:
		e.Outcome, e.DecidedBy = Cancelled, "policy"
	case answer.Accept:
		e.Outcome = Completed
	}
	return e
}

// auditCut is the longest that the arguments of a line may be, in characters.
const auditCut = 1000

// Audit appends to <dir>/YYYY-MM-DD.jsonl (the day in UTC), mode 0600, safe
// with several processes. A nil Audit writes and holds nothing.
type Audit struct {
	dir     string
	secrets *mcp.Secrets
	log     *slog.Logger

	mu   sync.Mutex // one write at a time
	told bool       // a failed write was told
	held bool       // another process holds the lock and does not let it go
}

// NewAudit returns the audit log in dir, which is made on the first write.
func NewAudit(dir string, secrets *mcp.Secrets, log *slog.Logger) *Audit {
	return &Audit{dir: dir, secrets: secrets, log: log}
}

// Write appends one line. A failure is told once in the log and else ignored:
// the run goes on.
func (a *Audit) Write(e AuditEntry) {
	if a == nil {
		return
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC()
	e.Tool = a.secrets.Redact(e.Tool)
	e.Reason = redactText(a.secrets, e.Reason)
	e.Arguments = auditArguments(a.secrets, e.Arguments)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.append(e); err != nil && !a.told {
		a.told = true
		a.log.Error("the audit log cannot be written", "dir", a.dir, "error", err)
	}
}

// append writes a line under the lock that all processes share. One that hangs
// with it costs us a wait and no line: a line is written at once, and systems
// keep such writes apart.
func (a *Audit) append(e AuditEntry) error {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return err
	}
	held, patience := a.held, lockWait
	if held {
		patience = lockWait / 100
	}
	unlock, err := lockWithin(filepath.Join(a.dir, ".lock"), patience)
	if a.held = err != nil; !a.held {
		defer unlock()
	} else if !held {
		a.log.Warn("the audit log is written without its lock", "dir", a.dir, "error", err)
	}
	name := filepath.Join(a.dir, e.Time.Format(time.DateOnly)+".jsonl")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	line := append(marshal(e), '\n')
	if !endsLine(f) { // a crash cut the last one
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// endsLine reports whether a file is empty or ends in a newline.
func endsLine(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return true
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err != nil || last[0] == '\n'
}

// auditArguments redacts arguments, then cuts them. What is no JSON becomes a
// string.
func auditArguments(secrets *mcp.Secrets, args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return nil
	}
	var text string
	if !json.Valid(args) {
		text = newRedactor(secrets).text(string(args))
		args = nil
	} else {
		args = newRedactor(secrets).json(args)
		text = string(args)
	}
	if cut, gone := clip(text, auditCut); gone || args == nil {
		return marshal(cut)
	}
	return args
}

// AuditFilter selects lines.
type AuditFilter struct {
	Limit int // 1…1000; 0: 10
	Tool  string
	RunID string
}

// The bounds of one Read.
const (
	AuditMost  = 1000     // lines
	auditBytes = 64 << 20 // of files, from the end
)

// Read returns the last lines that match, the oldest first. Lines that cannot
// be read (cut by a crash) are passed over. Of a log over 64 MiB the end is
// looked at.
func (a *Audit) Read(f AuditFilter) ([]AuditEntry, error) {
	out := []AuditEntry{}
	if f.Limit == 0 {
		f.Limit = 10
	}
	if f.Limit < 1 || f.Limit > AuditMost {
		return out, fmt.Errorf("limit is %d, must be 1 to %d", f.Limit, AuditMost)
	}
	if a == nil {
		return out, nil
	}
	days, err := os.ReadDir(a.dir) // sorted by name: by day
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	budget := int64(auditBytes)
	for _, day := range slices.Backward(days) {
		if !strings.HasSuffix(day.Name(), ".jsonl") || !day.Type().IsRegular() {
			continue
		}
		err := linesBackward(filepath.Join(a.dir, day.Name()), &budget, func(line []byte) bool {
			var e AuditEntry
			if json.Unmarshal(line, &e) == nil && e.Tool != "" && f.matches(e) {
				out = append(out, e)
			}
			return len(out) < f.Limit
		})
		if err != nil {
			return out, err
		}
		if len(out) >= f.Limit || budget <= 0 {
			break
		}
	}
	slices.Reverse(out)
	return out, nil
}

func (f AuditFilter) matches(e AuditEntry) bool {
	return (f.Tool == "" || f.Tool == e.Tool || f.Tool == e.Server+"/"+e.Tool) && (f.RunID == "" || f.RunID == e.RunID)
}
