package agent_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"agentls/agent"
)

// thousand is a session of 1,000 turns as they come: a prompt, an answer that
// asks for a call, its result of 4 KiB, and an answer in 60 pieces.
func thousand(tb testing.TB, a *agent.Agent) {
	d, err := a.Begin("/f", "s")
	if err != nil {
		tb.Fatal(err)
	}
	for i := range 1000 {
		d.Ask(fmt.Sprint("prompt ", i), fmt.Sprint("prompt ", i, " ", strings.Repeat("expanded ", 50)))
		d.Step()
		d.Call("I look.", call("c", "read_file", `{"path":"main.go"}`))
		d.Result("c", strings.Repeat("a line of a file\n", 240))
		d.Settle("")
		d.Step()
		for range 60 {
			d.Stream("some words ")
		}
		d.Add(agent.Message{Role: agent.Assistant, Text: strings.Repeat("some words ", 60)})
		d.End()
	}
	if err := d.Finish(); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkSessionLoad1000 is what the first prompt of a session of 1,000
// turns waits for its file.
func BenchmarkSessionLoad1000(b *testing.B) {
	dir := b.TempDir()
	a := keeper(dir)
	thousand(b, a)
	info, err := os.Stat(a.SessionPath("/f", "s"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		d, err := keeper(dir).Begin("/f", "s")
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Finish(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSessionAppend is what a piece of an answer waits before it is told:
// its line is made and given to the writer.
func BenchmarkSessionAppend(b *testing.B) {
	d, err := keeper(b.TempDir()).Begin("/f", "s")
	if err != nil {
		b.Fatal(err)
	}
	d.Ask("go", "go")
	n := 0
	for b.Loop() {
		if n++; n%1000 == 0 {
			d.Step() // an answer is not without end
		}
		d.Stream("some words ")
	}
	if err := d.Finish(); err != nil || len(d.Told) > 0 {
		b.Fatal(err, d.Told)
	}
}

// BenchmarkSessionBegin is what a run waits for its session where nothing
// happened to it since the last.
func BenchmarkSessionBegin(b *testing.B) {
	a := keeper(b.TempDir())
	thousand(b, a)
	for b.Loop() {
		d, err := a.Begin("/f", "s")
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Finish(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSessionList2000 lists 2,000 sessions of some turns each.
func BenchmarkSessionList2000(b *testing.B) {
	a := keeper(b.TempDir())
	d, err := a.Begin("/f", "0")
	if err != nil {
		b.Fatal(err)
	}
	for i := range 20 {
		d.Ask(fmt.Sprint("prompt ", i), strings.Repeat("expanded ", 50))
		d.Add(agent.Message{Role: agent.Assistant, Text: strings.Repeat("words ", 500)})
		d.End()
	}
	if err := d.Finish(); err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(a.SessionPath("/f", "0"))
	if err != nil {
		b.Fatal(err)
	}
	for i := range 2000 {
		id := fmt.Sprint(i)
		with := strings.Replace(string(text), `"session":"0"`, `"session":"`+id+`"`, 1)
		if err := os.WriteFile(a.SessionPath("/f", id), []byte(with), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if list, err := a.Sessions(context.Background(), []string{"/f"}); err != nil || len(list) != 2000 {
			b.Fatalf("%d sessions, %v", len(list), err)
		}
	}
}
