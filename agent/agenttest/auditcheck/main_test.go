package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	decided = `time=2026-11-30T04:44:52Z level=INFO msg="tool call decided" run=r1 server="" tool=read_file decision=allow by=policy reason="allowed from the start"` + "\n"
	line    = `{"time":"2026-11-30T04:44:52Z","runId":"r1","session":"s","tool":"read_file","arguments":{},"outcome":"completed","decidedBy":"policy","reason":"allowed from the start","durationMs":1}` + "\n"
)

func TestRun(t *testing.T) {
	for _, c := range []struct{ name, log, audit, want string }{
		{"good", decided, line, ""},
		{"a call without its line", decided, "", "a decision without a line"},
		{"a line without a decision", decided, line + strings.Replace(line, "read_file", "list_dir", 1), "a call without a decision"},
		{"nothing", "", "", "no tool call"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := t.TempDir()
			for name, text := range map[string]string{"log/agentls.log": c.log, "audit/2026-11-30.jsonl": c.audit} {
				name = filepath.Join(state, name)
				if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := run([]string{state}, io.Discard)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
