package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// titleChars is how much of a session's first prompt is its title.
const titleChars = 100

// The states of a session that are no end of a run.
const (
	sessionRunning     = "running"     // a process works on it
	sessionInterrupted = "interrupted" // the process of its last run ended first
)

// SessionInfo is one session (CONTRACT §4, agentls.session.list).
type SessionInfo struct {
	Session   string    `json:"session"`
	Folder    string    `json:"folder"`
	Title     string    `json:"title"` // the beginning of the first prompt, one line; empty: nothing was asked
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"` // when the last run began or ended
	Turns     int       `json:"turns"`     // runs
	// Status is how the last run ended, else running or interrupted; empty
	// where there was none.
	Status string `json:"status,omitempty" contract:"RunStatus | 'interrupted'"`
}

// Sessions lists the sessions of folders, the newest first. Files that are no
// sessions are passed over.
func (a *Agent) Sessions(ctx context.Context, folders []string) ([]SessionInfo, error) {
	list := []SessionInfo{}
	for _, folder := range folders {
		dir := a.sessions.folderOf(folder)
		if dir == "" {
			continue
		}
		files, err := os.ReadDir(dir)
		if err != nil && !isMissing(err) {
			return list, err
		}
		for _, f := range files {
			if ctx.Err() != nil {
				return list, context.Cause(ctx)
			}
			if !strings.HasSuffix(f.Name(), sessionSuffix) || !f.Type().IsRegular() {
				continue
			}
			info, err := glanceSession(filepath.Join(dir, f.Name()))
			switch {
			case err != nil:
				a.log.Warn("a session's file cannot be read", "file", f.Name(), "error", err)
			case info.Folder == folder && (sessionKey{folder, info.Session}).hash()+sessionSuffix == f.Name():
				list = append(list, info)
			}
		}
	}
	list = append(list, a.sessions.inMemory(folders)...)
	slices.SortStableFunc(list, func(x, y SessionInfo) int {
		return cmp.Or(y.UpdatedAt.Compare(x.UpdatedAt), strings.Compare(x.Session, y.Session))
	})
	return list, nil
}

// inMemory lists the sessions that have no file.
func (s *sessions) inMemory(folders []string) (list []SessionInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, one := range s.all {
		one.mu.Lock()
		if one.inMemory() && slices.Contains(folders, key.folder) {
			list = append(list, one.said.info(key))
		}
		one.mu.Unlock()
	}
	return list
}

// inMemory reports whether there is nothing of a session but what is in memory;
// s.mu is held.
func (s *session) inMemory() bool { return s.said.turns > 0 && !s.onDisk }

// info is what is known of a transcript's session.
func (t *transcript) info(key sessionKey) SessionInfo {
	i := SessionInfo{Session: key.id, Folder: key.folder, Title: t.title, UpdatedAt: t.begun, Turns: t.turns, Status: sessionInterrupted}
	if len(t.entries) > 0 {
		i.CreatedAt = t.entries[0].At
	}
	switch {
	case t.turns == 0:
		i.Status = ""
	case t.running:
		i.Status = sessionRunning
	case t.last != nil && t.last.Turn == t.turns:
		i.Status, i.UpdatedAt = t.last.Status, t.last.At
	}
	return i
}

// How much of a file a glance looks at: the header and the first prompt's
// title, and from the end, more and more, until the last run is found.
const (
	glanceHead = 4 << 10
	glanceTail = 4 << 10
)

// glanceSession finds out what a list shows of a session, without reading the
// whole file.
func glanceSession(path string) (SessionInfo, error) {
	var info SessionInfo
	f, stat, err := openSession(path)
	if err != nil {
		return info, err
	}
	defer func() { _ = f.Close() }() // it was read only
	head := make([]byte, min(glanceHead, stat.Size()))
	if _, err := io.ReadFull(f, head); err != nil {
		return info, err
	}
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	var h sessionHeader
	if err := json.Unmarshal(first, &h); err != nil {
		return info, err
	}
	if h.Version != sessionVersion {
		return info, unknownVersion(h.Version)
	}
	info = SessionInfo{Session: h.Session, Folder: h.Folder, CreatedAt: h.CreatedAt, UpdatedAt: h.CreatedAt}
	for text := range bytes.Lines(rest) {
		if r := glance(text); r.Title != "" {
			info.Title = r.Title
			break
		}
	}
	last, err := glanceBack(f, int64(len(first)+1), stat.Size())
	if err != nil || last.Type == "" {
		return info, err
	}
	info.Turns, info.UpdatedAt = last.Turn, last.At
	switch {
	case last.Type == recordEnd:
		info.Status = last.Status
	case sessionHeld(strings.TrimSuffix(path, sessionSuffix) + lockSuffix):
		info.Status = sessionRunning
	default:
		info.Status = sessionInterrupted
	}
	return info, nil
}

// glanceBack finds the last record that says how many runs there were, between
// the header and the end of the file.
func glanceBack(f io.ReaderAt, start, end int64) (record, error) {
	for n := int64(glanceTail); ; n *= 16 {
		from := max(end-n, start)
		text := make([]byte, max(end-from, 0))
		if _, err := f.ReadAt(text, from); err != nil {
			return record{}, err
		}
		if from > start { // the first line is cut
			_, text, _ = bytes.Cut(text, []byte("\n"))
		}
		for len(text) > 0 {
			at := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
			if r := glance(text[at:]); r.Turn > 0 {
				return r, nil
			}
			text = text[:at]
		}
		if from == start {
			return record{}, nil
		}
	}
}

// glance decodes what stands at the start of a line, which may be cut, of a
// record that begins or ends a run.
func glance(text []byte) (r record) {
	found := false
	for _, t := range []recordType{recordRun, recordEnd, recordAnew} {
		found = found || bytes.HasPrefix(text, []byte(`{"t":"`+t+`"`))
	}
	if !found {
		return r
	}
	d := json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token() // the brace
	for {
		key, err := d.Token()
		if err != nil {
			return r
		}
		switch key {
		case "t":
			err = d.Decode(&r.Type)
		case "at":
			err = d.Decode(&r.At)
		case "turn":
			err = d.Decode(&r.Turn)
		case "title":
			err = d.Decode(&r.Title)
		case "status":
			err = d.Decode(&r.Status)
		case "runId", "stopReason":
			err = d.Decode(new(string))
		default:
			return r
		}
		if err != nil {
			return r
		}
	}
}
