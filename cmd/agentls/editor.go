package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"agentls/agent"
)

// editorOf is the editor that the environment names; empty: none.
func editorOf(getenv func(string) (string, bool)) string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if v, _ := getenv(name); strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}

// edit lets the person change a text in their editor, and gives it back. The
// file's name ends in name. It is the person's alone, and gone afterwards.
func (t *terminal) edit(ctx context.Context, name, text string) (string, error) {
	dir, err := os.MkdirTemp("", "agentls-edit-") // mode 0700
	if err != nil {
		return "", fmt.Errorf("there is no room for a file to edit (%w): look at $TMPDIR", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("there is no room for a file to edit (%w): look at $TMPDIR", err)
	}
	if err := t.tty.lend(editorCommand(ctx, t.editor, file)); err != nil {
		return "", fmt.Errorf("the editor %s failed (%w): set VISUAL or EDITOR to one that runs in this terminal", oneLine(t.editor, 100), err)
	}
	edited, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the edited file is gone (%w): save it under the name that it had", err)
	}
	return string(edited), nil
}

// editorCommand runs what the variable holds as git does: a line of shell.
func editorCommand(ctx context.Context, editor, file string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		words := append(strings.Fields(editor), file)
		return exec.CommandContext(ctx, words[0], words[1:]...)
	}
	return exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, file)
}

// editable reports whether the person can change what a call would do.
func (t *terminal) editable(q agent.Question) bool {
	return t.editor != "" && (q.Kind == "" || q.Kind == "tool") && bytes.HasPrefix(bytes.TrimSpace(q.Arguments), []byte("{"))
}

var errUnchanged = errors.New("Nothing was changed; change something, or give y or n.")

// editArguments lets the person change the arguments of a call, and allows it
// once with them.
func (t *terminal) editArguments(ctx context.Context, q agent.Question) (a agent.Answer, ok bool, err error) {
	var before bytes.Buffer
	if err := json.Indent(&before, q.Arguments, "", "  "); err != nil {
		return a, false, fmt.Errorf("the arguments are no JSON (%w); give n as the answer", err)
	}
	before.WriteByte('\n')
	text, err := t.edit(ctx, "arguments.json", before.String())
	if err != nil {
		return a, false, err
	}
	var after map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(text), &after); {
	case err != nil || after == nil:
		return a, false, fmt.Errorf("what was edited is no JSON object (%w); mend it", err)
	case text == before.String():
		return a, false, errUnchanged
	}
	return agent.Answer{Decision: agent.DecisionOnce, Arguments: json.RawMessage(text)}, true, nil
}
