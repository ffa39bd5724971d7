package lsp

import (
	"strings"
	"testing"
	"unicode/utf8"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

func TestDocumentGoesAlong(t *testing.T) {
	llm := agenttest.NewLLM(t)
	w := newWorld(t, setup{llm: llm, files: map[string]string{
		"a b.go":  "package old\n",
		"disk.go": "one\ntwo\nthree\n",
		"big.txt": strings.Repeat("ä", attachMax+10),
	}})
	open := lsptest.FileURI(w.root + "/a b.go")
	w.Open(open, "go", "package unsaved // @workspace:file://README.md\nsecond 𝄞 line\n")
	whole := obj{"start": obj{"line": 0, "character": 0}, "end": obj{"line": 99, "character": 0}}
	for _, c := range []struct {
		name     string
		document obj
		has      []string
		lacks    []string
	}{
		{"open and unsaved", obj{"uri": open}, []string{"package unsaved // @workspace:file://README.md", "a b.go"}, []string{"package old", "# Hello"}},
		{"another spelling", obj{"uri": strings.Replace(open, "file:///", "file://localhost/", 1)}, []string{"package unsaved"}, nil},
		{"a range", obj{"uri": open, "range": obj{"start": obj{"line": 1, "character": 7}, "end": obj{"line": 1, "character": 9}}}, []string{"𝄞"}, []string{"second", "unsaved"}},
		{"backwards", obj{"uri": open, "range": obj{"start": obj{"line": 1, "character": 6.0}, "end": obj{"line": 1.0, "character": 0}}}, []string{"second"}, []string{"𝄞", "unsaved"}},
		{"from disk", obj{"uri": lsptest.FileURI(w.root + "/disk.go")}, []string{"one\ntwo\nthree", "disk.go"}, nil},
		{"a range from disk", obj{"uri": lsptest.FileURI(w.root + "/disk.go"), "range": obj{"start": obj{"line": 1, "character": 0}, "end": obj{"line": 2, "character": 0}}}, []string{"two"}, []string{"one", "three"}},
		{"beyond the end", obj{"uri": lsptest.FileURI(w.root + "/disk.go"), "range": whole}, []string{"one\ntwo\nthree"}, nil},
		{"too long", obj{"uri": lsptest.FileURI(w.root + "/big.txt")}, []string{strings.Repeat("ä", 1000)}, []string{strings.Repeat("ä", attachMax+1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			result[agent.Result](t, w.ask("look", obj{"document": c.document}))
			got := last(llm.Last())
			for _, want := range c.has {
				if !strings.Contains(got, want) {
					t.Errorf("%.500q lacks %.100q", got, want)
				}
			}
			for _, bad := range c.lacks {
				if strings.Contains(got, bad) {
					t.Errorf("%.500q holds %.100q", got, bad)
				}
			}
		})
	}
}

// The text is that of when the request came, also for a run that waits.
func TestDocumentIsTakenWhenTheRequestComes(t *testing.T) {
	gate := make(chan struct{})
	llm := agenttest.NewLLM(t, agenttest.Step{Wait: gate, Text: []string{"first"}})
	w := newWorld(t, setup{llm: llm})
	uri := lsptest.FileURI(w.root + "/x.go")
	w.Open(uri, "go", "before")
	first := w.ask("hi", obj{"session": "s"})
	second := w.ask("look", obj{"session": "s", "document": obj{"uri": uri}})
	w.Edit(uri, lsptest.TextEdit{NewText: "after"})
	w.runs() // the edit has arrived
	close(gate)
	result[agent.Result](t, first)
	result[agent.Result](t, second)
	if got := last(llm.Last()); !strings.Contains(got, "before") || strings.Contains(got, "after") {
		t.Errorf("the model got %q", got)
	}
}

func TestReadInsideCutsAtACharacter(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), files: map[string]string{"x": strings.Repeat("𝄞", 10)}})
	for limit := range int64(12) {
		got, err := readInside(w.root, "x", limit)
		if err != nil || !utf8.ValidString(got) || int64(len(got)) != limit/4*4 {
			t.Errorf("limit %d: %q %v", limit, got, err)
		}
	}
}
