package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/mcp"
)

func newTestAudit(t *testing.T, known ...string) (*Audit, string) {
	t.Helper()
	secrets := mcp.NewSecrets()
	secrets.Add(known...)
	dir := filepath.Join(t.TempDir(), "state", "audit")
	return NewAudit(dir, secrets, slog.New(slog.DiscardHandler)), dir
}

func lastLine(t *testing.T, a *Audit) AuditEntry {
	t.Helper()
	all, err := a.Read(AuditFilter{Limit: 1})
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	return all[0]
}

// P18, github/gh-aw#50772, punkpeye/mcp-remote#268
func TestAuditHoldsNoSecret(t *testing.T) {
	const known, found = "known-value-1", "s3cr3t-xyz"
	a, dir := newTestAudit(t, known)
	for _, args := range []string{
		`{"text":"see known-value-1 here"}`,
		`{"deep":[{"list":["a","known-value-1"]}]}`,
		`{"known-value-1":1}`,
		`{"api_key":"s3cr3t-xyz"}`, `{"Authorization":"s3cr3t-xyz"}`, `{"auth":{"user":"s3cr3t-xyz"}}`, `{"tokens":["s3cr3t-xyz"]}`, `{"password":77777777}`,
		`{"command":"curl --token s3cr3t-xyz https://x"}`, `{"command":"curl --api-key=s3cr3t-xyz"}`, `{"command":"x --password 's3cr3t-xyz yes'"}`,
		`{"command":"API_TOKEN=s3cr3t-xyz run"}`, `{"command":"export SECRET='s3cr3t-xyz'"}`,
		`{"command":"curl -H 'Authorization: Bearer s3cr3t-xyz'"}`, `{"command":"curl -H \"X-Api-Key: s3cr3t-xyz\""}`,
		`{"url":"https://user:s3cr3t-xyz@host/p"}`, `{"url":"https://host/p?access_token=s3cr3t-xyz&x=1"}`,
		`{"body":"{\"client_secret\": \"s3cr3t-xyz\"}"}`,
		`{"args":["--token","s3cr3t-xyz","run"]}`, `{"args":["-u","me:s3cr3t-xyz"]}`, `{"args":["--db-password=s3cr3t-xyz"]}`,
		`{"command":"curl -u me:s3cr3t-xyz https://h"}`, `{"command":"curl -ume:s3cr3t-xyz"}`, `{"command":"curl --user='me:s3cr3t-xyz' h"}`, `{"command":"curl --proxy-user me:s3cr3t-xyz h"}`,
		`{"command":"x --token \\\n  s3cr3t-xyz"}`, `{"command":"x --token ''\"s3cr3t-\"xyz"}`, `{"command":"x --token=a's3cr3t-xyz'"}`,
		`{"command":"sshpass -p s3cr3t-xyz ssh h"}`, `{"command":"mysql -u root -ps3cr3t-xyz db"}`, `{"command":"aws configure set aws_secret_access_key s3cr3t-xyz"}`,
		`{"command":"npm config set //registry.example/:_authToken s3cr3t-xyz"}`, `{"command":"curl -H 'Cookie: session=s3cr3t-xyz; a=b'"}`, `{"headers":{"Cookie":"cookie: s3cr3t-xyz"}}`,
		`{"content":"-----BEGIN RSA PRIVATE KEY-----\ns3cr3t-xyz\n-----END RSA PRIVATE KEY-----\n"}`, `{"content":"-----BEGIN PRIVATE KEY-----\ns3cr3t-xyz"}`,
		`{"args":["--user","me:s3cr3t-xyz"]}`, `{"env":{"DB_PASSWORD":"s3cr3t-xyz"}}`, `{"headers":[{"name":"x","Authorization":"Basic s3cr3t-xyz"}]}`,
		`{"text":"sk-abcdefgh12345678"}`, `{"text":"ghp_abcdefgh12345678abcd"}`,
		`not json --token s3cr3t-xyz`,
	} {
		a.Write(AuditEntry{Tool: "t", Arguments: json.RawMessage(args), Outcome: Failed, DecidedBy: "policy", Reason: "failed with known-value-1 and --token s3cr3t-xyz"})
		line := string(marshal(lastLine(t, a)))
		for _, s := range []string{known, found, "77777777", "sk-abc", "ghp_abc"} {
			if strings.Contains(line, s) {
				t.Errorf("%s: %q is in %s", args, s, line)
			}
		}
		if !strings.Contains(line, mcp.Redacted) {
			t.Errorf("%s: nothing was redacted in %s", args, line)
		}
	}
	for _, keep := range []string{`{"path":"src/main.go","n":12345678901234567890,"on":true,"none":null}`, `{"query":"func (a *Agent) Run"}`} {
		a.Write(AuditEntry{Tool: "t", Arguments: json.RawMessage(keep)})
		if got := string(lastLine(t, a).Arguments); !sameJSON(got, keep) || strings.Contains(keep, "n") && !strings.Contains(got, `"`) {
			t.Errorf("%s became %s", keep, got)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	if info, _ := os.Stat(files[0]); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// Redaction comes first: a cut never leaves half a secret.
func TestAuditCutsArguments(t *testing.T) {
	const known = "known-value-1-known-value-1"
	a, _ := newTestAudit(t, known)
	for n := 960; n < 1000; n++ {
		a.Write(AuditEntry{Tool: "t", Arguments: marshal(map[string]string{"text": strings.Repeat("é", n) + known + strings.Repeat("z", 100)})})
		var text string
		got := lastLine(t, a).Arguments
		if json.Unmarshal(got, &text) != nil || len([]rune(text)) != 1000 || strings.Contains(text, "known") {
			t.Fatalf("%d: %d characters: %s", n, len([]rune(text)), got)
		}
	}
}

// Of large arguments the start is looked at: 4 MiB must not delay a cancel.
func TestAuditOfLargeArguments(t *testing.T) {
	const known = "known-value-1-known-value-1"
	a, _ := newTestAudit(t, known)
	many := map[string]string{}
	for i := range 20000 {
		many[fmt.Sprintf("key%05d", i)] = "v"
	}
	for _, args := range []any{
		map[string]string{"text": strings.Repeat("x", 4<<20)},
		map[string]string{"text": strings.Repeat(known, 100_000)},
		map[string]string{"text": strings.Repeat("--token "+strings.Repeat("s", 5000)+" ", 100)},
		many, slices.Repeat([]int{1}, 1<<17),
		map[string]int{strings.Repeat("k", 1<<20): 1},
	} {
		began := time.Now()
		a.Write(AuditEntry{Tool: "t", Arguments: marshal(args)})
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		text := string(lastLine(t, a).Arguments)
		if len(text) > 5000 || strings.Contains(text, "known") || strings.Contains(text, "sss") {
			t.Errorf("%d bytes: %.200s", len(text), text)
		}
	}
}

func TestAuditRead(t *testing.T) {
	a, dir := newTestAudit(t)
	if got, err := a.Read(AuditFilter{}); err != nil || got == nil || len(got) != 0 {
		t.Errorf("before the first write: %v, %v", got, err)
	}
	day := time.Date(2026, 11, 29, 23, 59, 59, 0, time.UTC)
	for i := range 40 { // half of them after midnight
		a.Write(AuditEntry{Time: day.Add(time.Duration(i/20) * time.Second), RunID: fmt.Sprint("r", i%4), Server: "fake", Tool: fmt.Sprint("t", i), Outcome: Completed})
	}
	for _, name := range []string{"2026-11-29.jsonl", "2026-11-30.jsonl"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || bytes.Count(data, []byte("\n")) != 20 {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
	}
	tools := func(f AuditFilter) string {
		all, err := a.Read(f)
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, e := range all {
			out = append(out, e.Tool)
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		filter AuditFilter
		want   string
	}{
		{AuditFilter{Limit: 2}, "t38 t39"},
		{AuditFilter{}, "t30 t31 t32 t33 t34 t35 t36 t37 t38 t39"},
		{AuditFilter{Limit: 7, RunID: "r1"}, "t13 t17 t21 t25 t29 t33 t37"},
		{AuditFilter{Tool: "t3"}, "t3"},
		{AuditFilter{Tool: "fake/t3"}, "t3"},
		{AuditFilter{Tool: "none"}, ""},
		{AuditFilter{Limit: -1}, "limit is -1, must be 1 to 1000"},
		{AuditFilter{Limit: 1001}, "limit is 1001, must be 1 to 1000"},
	} {
		if got := tools(c.filter); got != c.want {
			t.Errorf("%+v: %s, want %s", c.filter, got, c.want)
		}
	}
}

// A crash can cut the last line: it is passed over, and the next one is whole.
func TestAuditAfterACrash(t *testing.T) {
	a, dir := newTestAudit(t)
	a.Write(AuditEntry{Tool: "one", Time: time.Now()})
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	f, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString("{}\n\nnull\n" + strings.Repeat("x", longestLine+10) + "\n" + `{"time":"2026-11-29T00:00:00Z","tool":"cut`)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	a.Write(AuditEntry{Tool: "two"})
	got, err := a.Read(AuditFilter{})
	if err != nil || len(got) != 2 || got[0].Tool != "one" || got[1].Tool != "two" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAuditIsSafeWithSeveralProcesses(t *testing.T) {
	_, dir := newTestAudit(t)
	var wg sync.WaitGroup
	for p := range 4 {
		other := NewAudit(dir, mcp.NewSecrets(), slog.New(slog.DiscardHandler)) // a lock of its own, as another process has
		for i := range 25 {
			wg.Go(func() {
				other.Write(AuditEntry{Tool: fmt.Sprint("t", p, "-", i), Arguments: marshal(strings.Repeat("y", 900))})
			})
		}
	}
	wg.Wait()
	got, err := NewAudit(dir, nil, nil).Read(AuditFilter{Limit: 1000})
	if err != nil || len(got) != 100 {
		t.Errorf("%d whole lines, %v", len(got), err)
	}
}

// A process that hangs with the lock costs a wait, and no line.
func TestAuditUnderAHeldLock(t *testing.T) {
	a, dir := newTestAudit(t)
	a.Write(AuditEntry{Tool: "before"})
	unlock, err := LockFile(filepath.Join(dir, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	began := time.Now()
	for i := range 20 {
		a.Write(AuditEntry{Tool: fmt.Sprint("t", i)})
	}
	if took := time.Since(began); took > 10*lockWait { // and not 20 times as long
		t.Errorf("took %v", took)
	}
	if got, err := a.Read(AuditFilter{Limit: 100}); err != nil || len(got) != 21 {
		t.Errorf("%d lines, %v", len(got), err)
	}
}

func TestAuditFailureIsToldOnce(t *testing.T) {
	var log bytes.Buffer
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := NewAudit(filepath.Join(file, "audit"), mcp.NewSecrets(), slog.New(slog.NewTextHandler(&log, nil)))
	a.Write(AuditEntry{Tool: "x"})
	a.Write(AuditEntry{Tool: "x"})
	if n := strings.Count(log.String(), "cannot be written"); n != 1 {
		t.Errorf("told %d times: %s", n, &log)
	}
}

func FuzzAuditArguments(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"token":"abc"}`, `["--token","x"]`, `1e400`, `"é`, "\xff", `{"a":{"b":[null,true,"sk-abcdefgh12345678"]}}`} {
		f.Add(s)
	}
	secrets := mcp.NewSecrets()
	secrets.Add("12345678")
	f.Fuzz(func(t *testing.T, s string) {
		got := auditArguments(secrets, json.RawMessage(s))
		if len(s) > 0 && !json.Valid(got) {
			t.Errorf("%q gives %q", s, got)
		}
		if strings.Contains(string(got), "12345678") {
			t.Errorf("%q gives %q", s, got)
		}
	})
}
