package mcp

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	tailLines = 200
	tailLine  = 1024 // bytes kept of one line
)

// tail keeps the last lines that were written to it: a child's stderr, which
// failure messages quote. It never blocks its writer.
type tail struct {
	mu    sync.Mutex
	lines [tailLines]string
	next  int               // where the next line goes
	n     int               // lines held
	part  []byte            // a line without its end yet, at most tailLine bytes
	each  func(line string) // told of every whole line; nil: nobody is. It must not block
}

// Write implements io.Writer; it never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		t.part = append(t.part, line[:min(len(line), tailLine-len(t.part))]...)
		if ended {
			t.endLine()
		}
		p = rest
	}
	return n, nil
}

func (t *tail) endLine() {
	line := strings.TrimRight(string(t.part), "\r \t")
	t.part = t.part[:0]
	if line == "" {
		return
	}
	t.lines[t.next] = line
	t.next = (t.next + 1) % tailLines
	t.n = min(t.n+1, tailLines)
	if t.each != nil {
		t.each(line)
	}
}

// end takes what has no line end for a line: there is no more to come.
func (t *tail) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLine()
}

// last returns at most n lines, the newest last, a line without its end too.
func (t *tail) last(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for i := min(n, t.n); i > 0; i-- {
		out = append(out, t.lines[(t.next-i+tailLines)%tailLines])
	}
	if len(t.part) > 0 {
		out = append(out, string(t.part))
		out = out[max(0, len(out)-n):]
	}
	return out
}

// blames matches a line that begins with what went wrong, as runtimes and
// command lines write it: "Error: …", "fatal: …", "java.lang.Exception: …",
// "Failed to …".
var blames = regexp.MustCompile(`(?i)^\s*([\w.]*(error|exception)|fatal|panic|fatal error)(\s*\[[^\]]*\])?:|^\s*(failed|cannot|could not|unable) `)

// cause returns the newest line that blames something, if it stands before the
// last n and none of these does; else "".
func (t *tail) cause(n int) string {
	lines := t.last(tailLines)
	for i, line := range slices.Backward(lines) {
		if !blames.MatchString(line) {
			continue
		}
		if i < len(lines)-n {
			return line
		}
		break
	}
	return ""
}
