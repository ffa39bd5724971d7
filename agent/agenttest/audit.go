package agenttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"agentls/agent"
)

// outcomes are those of CONTRACT §8.
var outcomes = map[agent.Outcome]bool{
	agent.Completed: true, agent.Failed: true, agent.Rejected: true, agent.Denied: true, agent.Cancelled: true, agent.Unknown: true,
}

var (
	decidedBy = regexp.MustCompile(`^(rule:.+|user|mention|command|policy)$`)
	// secretForms are those that no line may hold, whoever wrote it.
	secretForms = regexp.MustCompile(`\bsk-[A-Za-z0-9-]{12,}|\bghp_[A-Za-z0-9]{16,}|Bearer [A-Za-z0-9._-]{12,}`)
)

// maxArguments is the longest that arguments may be, in characters (CONTRACT §8).
const maxArguments = 1000

// CheckAudit says what is wrong with the audit in <state>/audit, given what
// else is known: each call that was told has exactly one line of the same run,
// server, tool and outcome; what ran was decided to; no line is without a call;
// no secret stands in it. nil: nothing is.
func CheckAudit(state string, e *Evidence) error {
	lines, err := auditLines(filepath.Join(state, "audit"))
	if err != nil {
		return err
	}
	var errs []error
	lines = slices.DeleteFunc(lines, func(l agent.AuditEntry) bool { return l.Time.Before(e.Since) })
	for _, l := range lines {
		if err := checkLine(l); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, e.checkRuns(lines), e.results.check("a result", lines), e.events.check("run events", lines), e.checkDecisions(lines), e.checkServed(lines), e.checkSecrets(lines))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the audit does not match what happened (%s; %d lines):\n%w", e, len(lines), err)
	}
	return nil
}

// auditLines reads all lines of a directory, strictly: a line that cannot be
// read is an error, and so is a file that others can read.
func auditLines(dir string) ([]agent.AuditEntry, error) {
	days, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var out []agent.AuditEntry
	for _, day := range days {
		info, err := os.Lstat(day)
		if err != nil {
			return nil, err
		}
		if runtime.GOOS != "windows" && info.Mode() != 0o600 {
			return nil, fmt.Errorf("%s has the mode %v", filepath.Base(day), info.Mode())
		}
		data, err := os.ReadFile(day)
		if err != nil {
			return nil, err
		}
		if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
			return nil, fmt.Errorf("%s ends in the middle of a line", filepath.Base(day))
		}
		for line := range bytes.Lines(data) {
			var e agent.AuditEntry
			d := json.NewDecoder(bytes.NewReader(line))
			d.DisallowUnknownFields()
			if err := d.Decode(&e); err != nil {
				return nil, fmt.Errorf("an audit line cannot be read: %w: %.300s", err, line)
			}
			out = append(out, e)
		}
	}
	return out, nil
}

func checkLine(l agent.AuditEntry) error {
	text := fmt.Sprintf("%+v, arguments %s", l, l.Arguments)
	arguments := string(l.Arguments)
	_ = json.Unmarshal(l.Arguments, &arguments) // a string, when they were cut
	switch {
	case l.Time.IsZero() || l.Tool == "" || l.DurationMS < 0:
		return fmt.Errorf("a line without time or tool: %s", text)
	case !outcomes[l.Outcome]:
		return fmt.Errorf("a line with the outcome %q: %s", l.Outcome, text)
	case !decidedBy.MatchString(l.DecidedBy):
		return fmt.Errorf("a line decided by %q: %s", l.DecidedBy, text)
	case (l.Outcome == agent.Denied || l.Outcome == agent.Rejected) && strings.TrimSpace(l.Reason) == "":
		return fmt.Errorf("a call was not allowed for no reason: %s", text)
	case l.Outcome == agent.Denied && l.DecidedBy == "user":
		return fmt.Errorf("a person does not deny, but reject: %s", text)
	case l.Outcome == agent.Rejected && strings.HasPrefix(l.DecidedBy, "rule:"):
		return fmt.Errorf("a rule does not reject, but deny: %s", text)
	case utf8.RuneCountInString(arguments) > maxArguments+len("…"):
		return fmt.Errorf("a line with %d characters of arguments: %s", utf8.RuneCountInString(arguments), text)
	}
	return nil
}

// ofRun reports whether a line is a tool call of a run's.
func ofRun(l agent.AuditEntry) bool {
	return l.RunID != "" && l.DecidedBy != "mention" && !undone(l) && !prompted(l) && !sampled(l) && !asked(l)
}

// asked is what a server asked of a person while it served a run: no call of
// the model's.
func asked(l agent.AuditEntry) bool {
	return l.Server != "" && l.Tool == "elicitation/create" && (l.DecidedBy == "user" || l.DecidedBy == "policy")
}

// prompted is the asking for a prompt that a run begins with, which a person
// chose: no call of the model's.
func prompted(l agent.AuditEntry) bool {
	return l.Server != "" && l.Tool == "prompts/get" && l.DecidedBy == "command"
}

// sampled is what a server asked the model while it served a call: no call of
// the run's.
func sampled(l agent.AuditEntry) bool { return l.Server != "" && l.Tool == agent.SampleTool }

// undone is what agentls.undo did to a file of a run: no call of the run's.
func undone(l agent.AuditEntry) bool {
	return l.Server == "" && l.Tool == "undo" && l.DecidedBy == "command"
}

// ran reports whether a line is a call whose tool was started for sure.
func ran(l agent.AuditEntry) bool {
	switch l.Outcome {
	case agent.Completed, agent.Unknown:
		return true
	case agent.Failed:
		return !strings.Contains(l.Reason, "Nothing was done.")
	default:
		return false
	}
}

// checkRuns looks for the run of each line.
func (e *Evidence) checkRuns(lines []agent.AuditEntry) error {
	var errs []error
	for _, l := range lines {
		switch {
		case l.RunID == "" && (l.DecidedBy == "mention" || strings.HasPrefix(l.DecidedBy, "rule:")):
			errs = append(errs, fmt.Errorf("a line of no run: %+v", l))
		case l.RunID != "" && !e.runs[l.RunID] && !e.SomeRuns:
			errs = append(errs, fmt.Errorf("a line of a run that nobody knows: %+v", l))
		}
	}
	return errors.Join(errs...)
}

// check compares what was told with the lines, one for one.
func (t telling) check(where string, lines []agent.AuditEntry) error {
	var errs []error
	left := map[Told]int{}
	for _, l := range lines {
		if ofRun(l) {
			left[Told{l.RunID, l.Server, l.Tool, l.Outcome}]++
		}
	}
	for _, c := range t.calls {
		if left[c]--; left[c] < 0 {
			errs = append(errs, fmt.Errorf("a call in %s without its line: %+v", where, c))
		}
	}
	for c, n := range left {
		if n > 0 && t.whole[c.RunID] {
			errs = append(errs, fmt.Errorf("%d lines without a call in %s: %+v", n, where, c))
		}
	}
	return errors.Join(errs...)
}

// gate is what the gate's decisions are counted by.
type gate struct{ run, server, tool string }

// checkDecisions looks for the decision of what ran, and for the line of what
// was decided.
func (e *Evidence) checkDecisions(lines []agent.AuditEntry) error {
	decided, by, denied, seen := map[gate]int{}, map[gate]map[string]int{}, map[gate]int{}, map[gate]int{}
	for _, d := range e.decisions {
		at := gate{d.RunID, d.Server, d.Tool}
		if by[at] == nil {
			by[at] = map[string]int{}
		}
		switch d.Action {
		case "allow":
			by[at][d.By]++
		case "deny":
			denied[at]++
		default:
			by[at][""]++ // by a person, or by a rule that was found later
		}
		decided[at]++
	}
	var errs []error
	for _, l := range lines {
		if !ofRun(l) || !e.runs[l.RunID] {
			continue
		}
		at := gate{l.RunID, l.Server, l.Tool}
		seen[at]++
		asked := by[at][""] > 0
		switch {
		case !ran(l) && l.Outcome != agent.Denied && l.Outcome != agent.Rejected:
		case decided[at] == 0:
			errs = append(errs, fmt.Errorf("a call without a decision: %+v", l))
		case ran(l) && by[at][l.DecidedBy] == 0 && !asked:
			errs = append(errs, fmt.Errorf("nobody of those who decided (%v) allowed it: %+v", by[at], l))
		case l.Outcome == agent.Denied && denied[at] == 0 && !asked:
			errs = append(errs, fmt.Errorf("nothing denied it: %+v", l))
		}
	}
	for at := range decided {
		if seen[at] == 0 && !e.Killed {
			errs = append(errs, fmt.Errorf("a decision without a line: %+v", at))
		}
	}
	return errors.Join(errs...)
}

// checkServed looks for the line of what reached a server.
func (e *Evidence) checkServed(lines []agent.AuditEntry) error {
	count := map[Told]int{}
	for _, l := range lines {
		if ran(l) || l.Outcome == agent.Cancelled {
			count[Told{Server: l.Server, Tool: l.Tool}]++
		}
	}
	var errs []error
	for _, c := range e.served {
		if count[c]--; count[c] < 0 && !e.Killed {
			errs = append(errs, fmt.Errorf("the server %q got a call of %q that has no line", c.Server, c.Tool))
		}
	}
	return errors.Join(errs...)
}

func (e *Evidence) checkSecrets(lines []agent.AuditEntry) error {
	var errs []error
	look := func(where string, text []byte) {
		if found := secretForms.Find(text); found != nil {
			errs = append(errs, fmt.Errorf("%s holds the secret %s", where, found))
		}
		for _, s := range e.Secrets {
			if bytes.Contains(text, []byte(s)) {
				errs = append(errs, fmt.Errorf("%s holds the secret %s", where, s))
			}
		}
	}
	for _, l := range lines {
		raw, err := json.Marshal(l)
		if err != nil {
			return err
		}
		look("an audit line", raw)
	}
	look("the log", e.log)
	return errors.Join(slices.Compact(errs)...)
}
