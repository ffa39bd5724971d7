package lsp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// One odd diagnostic must not lose the request: the strict decoder fails over
// each of these.
func TestOddDiagnostics(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	w.Echoes("textDocument/codeAction") // the odd diagnostics come back
	uri := w.document("x.go", "text\n")
	for name, c := range map[string]struct {
		odd  string
		want int // how many problems are offered to be fixed, beside a good one
	}{
		"code 1.5":          {`{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"code":1.5,"message":"odd"}`, 2},
		"a huge code":       {`{"code":2147483648,"message":"odd"}`, 2},
		"code of an object": {`{"code":{"value":7,"target":"https://x"},"message":"odd"}`, 2},
		"code true":         {`{"code":true,"message":"odd"}`, 2},
		"code null":         {`{"code":null,"message":"odd"}`, 2},
		"no range":          {`{"message":"odd"}`, 2},
		"range null":        {`{"range":null,"message":"odd"}`, 2},
		"half a range":      {`{"range":{"start":{"line":0}},"message":"odd"}`, 2},
		"floats":            {`{"range":{"start":{"line":0.0,"character":1e0},"end":{"line":99999999999,"character":-1}},"message":"odd"}`, 2},
		"Lua's null":        {`{"message":"odd","relatedInformation":{},"tags":{},"severity":"error"}`, 2},
		"data of any kind":  {`{"message":"odd","data":[1,"two",{"three":null}]}`, 2},
		"a name twice":      {`{"message":"odd","data":{"a":1,"a":2}}`, 2},
		"half a character":  {`{"message":"odd","data":"\ud800"}`, 2},
		"Markdown":          {`{"message":{"kind":"markdown","value":"odd"}}`, 2},
		"no message":        {`{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}}`, 1},
		"message null":      {`{"message":null}`, 1},
		"a string":          {`"odd"`, 1},
		"null":              {`null`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			list := w.actions(uri, span(0, 0, 0, 0), obj{"diagnostics": []any{json.RawMessage(c.odd), complaint(0, "good")}})
			n := 0
			for _, a := range list {
				if strings.HasPrefix(a.Title, "Fix: ") {
					n++
				}
			}
			if n != c.want || !slices.Contains(titles(list), "quickfix Fix: good") {
				t.Errorf("%q", titles(list))
			}
			for _, a := range list {
				if c.want == 2 && a.Title == "Fix: odd" {
					result[agent.Result](t, w.Start("workspace/executeCommand", a.Command))
				}
			}
		})
	}
}

// The client's own diagnostics come back as they were: it finds its problem by
// them.
func TestDiagnosticsComeBackAsTheyWere(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	w.Echoes("textDocument/codeAction") // the odd diagnostics come back
	uri := w.document("x.go", "text\n")
	sent := complaint(0, "m")
	sent["data"], sent["code"], sent["x-more"] = obj{"id": json.Number("9007199254740993")}, 1.5, true
	list := w.actions(uri, span(0, 0, 0, 0), obj{"diagnostics": []any{sent}})
	want, _ := json.Marshal(sent)
	if got := string(list[0].Diagnostics[0]); got != string(want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What a code action shows of a stock client's diagnostics is a resource, and
// goes along with a selection that they touch.
func TestCodeActionsTellDiagnostics(t *testing.T) {
	llm := agenttest.NewLLM(t)
	w := newWorld(t, setup{llm: llm, files: map[string]string{"x.go": "a\nb\nc\n"}})
	uri := w.document("x.go", "a\nb\nc\n")
	w.actions(uri, span(1, 0, 1, 0), obj{"diagnostics": []any{complaint(1, "bad")}, "triggerKind": 2})
	w.awaitResource("diagnostics://x.go", "x.go:2:1: error: bad [compiler E1]")
	w.actions(uri, span(0, 0, 0, 0), obj{"diagnostics": []any{}, "triggerKind": 2})
	result[agent.Result](t, w.run(w.actions(uri, span(1, 0, 2, 0), obj{"diagnostics": []any{complaint(1, "bad")}}), "Rewrite"))
	if got := last(llm.Last()); !strings.Contains(got, "<diagnostics path=\"x.go\">\n2:1: error: bad") {
		t.Errorf("the model got %s", got)
	}
	w.actions(uri, span(1, 0, 1, 0), obj{"diagnostics": []any{}, "triggerKind": 2})
	result[agent.Result](t, w.run(w.actions(uri, span(1, 0, 2, 0), obj{"diagnostics": []any{}}), "Rewrite"))
	if got := last(llm.Last()); strings.Contains(got, "bad") {
		t.Errorf("it is solved, and the model got %s", got)
	}
}

// Neovim sends a server only the diagnostics of its own: those that the client
// tells by itself count then.
func TestCodeActionsOfAClientThatTellsItsDiagnostics(t *testing.T) {
	llm := agenttest.NewLLM(t)
	w, c := newTeller(t, setup{llm: llm, files: map[string]string{"x.go": "a\nb\nc\n"}})
	uri := w.document("x.go", "a\nb\nc\n")
	c.show(obj{"uri": uri, "diagnostics": []any{complaint(1, "bad"), complaint(2, "other"), obj{"range": span(1, 0, 1, 0), "message": " "}}})
	w.Notify("agentls/didChangeDiagnostics", nil)
	w.awaitResource("diagnostics://x.go", "bad")
	list := w.actions(uri, span(1, 3, 1, 3), obj{"diagnostics": []any{}})
	if got := titles(list); !slices.Equal(got, []string{"quickfix Fix: bad", "quickfix Explain: bad", "refactor Ask about this…"}) {
		t.Fatalf("%q", got)
	}
	if got := string(list[0].Diagnostics[0]); got != `{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":4}},"severity":1,"code":"E1","source":"compiler","message":"bad"}` {
		t.Errorf("the diagnostic is %s", got)
	}
	result[agent.Result](t, w.run(list, "Fix: bad"))
	if got := last(llm.Last()); !strings.Contains(got, "chosen=\"true\">\n2:1: error: bad [compiler E1]\n</diagnostics>") {
		t.Errorf("the model got %s", got)
	}
	if got := titles(w.actions(uri, span(0, 0, 0, 1), obj{"triggerKind": 2})); len(got) > 0 {
		t.Errorf("elsewhere %q", got)
	}
	if got := titles(w.actions(uri, span(0, 0, 2, 1), obj{"only": []string{"quickfix"}})); len(got) != 4 {
		t.Errorf("of both %q", got)
	}
}
