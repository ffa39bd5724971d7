package lsp

import (
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// A person has a session summarised by a line, sees how full the window is, and
// goes on from the summary; a model that gives none changes nothing.
func TestSessionIsSummarisedByALine(t *testing.T) {
	llm := agenttest.NewLLM(t,
		agenttest.Text("It is "+strings.Repeat("a long story. ", 400)), agenttest.Text("no"),
		agenttest.Text("A long story was told, and nothing was asked for but that."), agenttest.Text("done"))
	w, uri := sendWorld(t, setup{llm: llm}, "")
	say := func(line string) agent.Result {
		t.Helper()
		w.Edit(uri, lsptest.TextEdit{NewText: "## You\n\n" + line + "\n"})
		return result[agent.Result](t, w.send(uri, nil))
	}
	say("tell me a story")
	w.Edit(uri, lsptest.TextEdit{NewText: "## You\n\n/compact\n"})
	if err := failure(t, w.send(uri, nil), -32803); !strings.Contains(err.Message, "/compact: the session was not summarised and is as it was (the summary cannot be used: it says nothing); send it once more") {
		t.Errorf("%q", err.Message)
	}
	if r := say("/compact"); !strings.HasPrefix(r.Text, "The model goes on from a summary of the 2 messages above: about ") {
		t.Errorf("%q", r.Text)
	}
	if r := say("/context"); !strings.Contains(r.Text, "| summary of the conversation | ") || !strings.Contains(r.Text, "The session has 2 messages, of which the first 2 are summarised.") {
		t.Errorf("%q", r.Text)
	}
	say("go on")
	if text := last(llm.Last()); !strings.Contains(text, "A long story was told") || !strings.Contains(text, "tell me a story") || !strings.HasSuffix(strings.TrimSpace(text), "go on") || strings.Contains(text, "a long story. a long story.") {
		t.Errorf("%q", text)
	}
}
