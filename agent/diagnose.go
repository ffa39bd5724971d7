package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	diagnoseWait   = 500 * time.Millisecond // for what language servers say of edits, once per answer
	maxDiagnostics = 20                     // that the model is told of them
)

// edited notes a file that was edited.
func (e *edits) edited(f found) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.times++
	if f.path == "" {
		return
	}
	e.fresh = slices.DeleteFunc(e.fresh, func(other found) bool { return other.path == f.path })
	e.fresh = append(e.fresh, f)
}

// diagnosed is what language servers report about the files that the last
// calls edited, for the model; "" where they report nothing.
func (t *thread) diagnosed(ctx context.Context) string {
	t.edits.mu.Lock()
	files := t.edits.fresh
	t.edits.fresh = nil
	t.edits.mu.Unlock()
	if len(files) == 0 {
		return ""
	}
	var blocks []string
	left := maxDiagnostics
	within(ctx, diagnoseWait, func(ctx context.Context) {
		for _, f := range files {
			list := t.task.Host.Diagnostics(ctx, f.path)
			n := min(len(list), left)
			if n == 0 {
				continue
			}
			left -= n
			if n < len(list) {
				list = append(list[:n:n], fmt.Sprintf("[%d more are left out]", len(list)-n))
			}
			blocks = append(blocks, block("diagnostics", truncate(strings.Join(list, "\n"), t.task.Limits.ToolResultBytes), "path", f.at.shown))
		}
	})
	if len(blocks) == 0 {
		return ""
	}
	return "[agentls: reported about the files as they are after the edits]\n" + strings.Join(blocks, "\n")
}
