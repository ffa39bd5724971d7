package main

import (
	"strings"
	"testing"

	"agentls/agent"
	"agentls/mcp"
)

// What nothing is remembered of is not offered to be.
func TestChoicesOnATerminal(t *testing.T) {
	term := &terminal{secrets: mcp.NewSecrets()}
	if got := term.choices(agent.Question{}); strings.Contains(got, "ession") || strings.Contains(got, "lways") {
		t.Errorf("%q", got)
	}
	got := term.choices(agent.Question{Covers: "run_command of\x1b[2K git status"})
	if !strings.Contains(got, "run_command of") || strings.Contains(got, "\x1b") || !strings.Contains(got, "[a]lways") {
		t.Errorf("%q", got)
	}
}

// An edit is shown as a diff, with nothing in it that commands the terminal.
func TestEditOnATerminal(t *testing.T) {
	secrets := mcp.NewSecrets()
	secrets.Add("sk-secret-of-a-file")
	term := &terminal{secrets: secrets}
	got := term.shown(agent.Question{
		Arguments: []byte(`{"path":"a.txt"}`),
		Preview:   &agent.Preview{Path: "a.txt", Added: 1, Removed: 1, Diff: "@@ -1 +1 @@\n-key = sk-secret-of-a-file\n+\x1b[2Kkey\n"},
	})
	if want := "a.txt: +1 −1 lines\n  @@ -1 +1 @@\n  -key = [redacted]\n  +[2Kkey"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := term.shown(agent.Question{Arguments: []byte(`{"a":1}`)}); got != `{"a":1}` {
		t.Errorf("%q", got)
	}
}

// What a server wants to ask the model is shown whole, with nothing in it that
// commands the terminal, and nothing is offered for always.
func TestSamplingOnATerminal(t *testing.T) {
	secrets := mcp.NewSecrets()
	secrets.Add("sk-secret-of-a-file")
	term := &terminal{secrets: secrets}
	request, err := mcp.ParseSample([]byte(`{"systemPrompt":"Be brief.","maxTokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"one\u001b[2K\ntwo sk-secret-of-a-file"},{"type":"image","mimeType":"image/png","data":"AAAA"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	q := agent.Question{Kind: "sample", Server: "fake", Covers: "up to 5 tokens", Sample: &agent.SampleQuestion{Request: request, Model: "m1"}}
	note, shown, choices := term.sampleQuestion(q)
	if note != "The server fake wants to ask the model m1, for up to 9 tokens" || shown != "system: Be brief.\n  user: one[2K\n  two [redacted]\n  user: [image image/png]" {
		t.Errorf("%q %q", note, shown)
	}
	if strings.Contains(choices, "lways") || !strings.Contains(choices, "(For the session: up to 5 tokens.)") {
		t.Errorf("%q", choices)
	}
	q.Covers = ""
	if _, _, choices = term.sampleQuestion(q); strings.Contains(choices, "ession") {
		t.Errorf("%q", choices)
	}
	answer := "Blue"
	q.Sample.Answer = &answer
	if note, shown, choices = term.sampleQuestion(q); shown != "Blue" || choices != "[N]o, [y]es: " || !strings.Contains(note, "fake") {
		t.Errorf("%q %q %q", note, shown, choices)
	}
	if a, ok := sampleAnswer("r"); !ok || string(a.Content) != `{"review":true}` {
		t.Errorf("%+v", a)
	}
	if _, ok := sampleAnswer("y"); ok {
		t.Error("a word of all questions")
	}
}
