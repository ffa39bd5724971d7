package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

func callOf(id, tool string, args any) agent.ToolCall {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return agent.ToolCall{ID: id, Name: tool, Arguments: string(raw)}
}

func editCall(id, path, old, now string) agent.ToolCall {
	return callOf(id, "edit_file", obj{"path": path, "edits": []obj{{"old": old, "new": now}}})
}

func (w *world) disk(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.root, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// saving is an answer to agentls/save that does it.
func saving(w **world) lsptest.Answer {
	return func(params json.RawMessage) (any, error) {
		var p struct{ URIs []string }
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		for _, uri := range p.URIs {
			_, path := canonical(uri)
			if err := os.WriteFile(path, []byte((*w).Text(uri)), 0o600); err != nil {
				return nil, err
			}
			(*w).Save(uri)
		}
		return obj{"saved": p.URIs}, nil
	}
}

// A run edits a file that is open and clean, one with unsaved changes, and one
// that is closed, and all of it is undone: zed-industries/zed#53590, #42895.
func TestRunEditsAndUndo(t *testing.T) {
	llm := agenttest.NewLLM(t,
		agenttest.Call(callOf("1", "read_file", obj{"path": "dirty.txt"})),
		agenttest.Call(
			editCall("2", "clean.txt", "one", "1"), editCall("3", "dirty.txt", "draft", "edited"), editCall("4", "closed.txt", "one", "1"),
			callOf("5", "write_file", obj{"path": "new/file.txt", "content": "new\n"})))
	var w *world
	w = newWorld(t, setup{
		llm: llm, init: lsptest.Init{Features: []string{"save", "runEvents"}}, options: obj{"approval": obj{"allow": []string{"edit_file", "write_file"}}},
		files:   map[string]string{"clean.txt": "one\ntwo\n", "dirty.txt": "saved\n", "closed.txt": "one\n"},
		answers: map[string]lsptest.Answer{"agentls/save": saving(&w)},
	})
	uri := func(name string) string { return lsptest.FileURI(filepath.Join(w.root, name)) }
	w.Open(uri("clean.txt"), "plaintext", "one\ntwo\n")
	w.Open(uri("dirty.txt"), "plaintext", "draft\n")
	r := result[agent.Result](t, w.ask("go", obj{"runId": "r1"}))
	if got := llm.Last().Messages; !strings.Contains(got[3].Text, "[unsaved text of the editor") {
		t.Errorf("the model read %q", got[3].Text)
	}
	want := []agent.ChangedFile{{URI: uri("clean.txt"), Saved: true}, {URI: uri("closed.txt"), Saved: true}, {URI: uri("dirty.txt")}, {URI: uri("new/file.txt"), Saved: true}}
	slices.SortFunc(r.Changed, func(a, b agent.ChangedFile) int { return strings.Compare(a.URI, b.URI) })
	if !slices.Equal(r.Changed, want) {
		t.Errorf("changed %+v", r.Changed)
	}
	events := w.events("r1")
	told := events[len(events)-1]
	slices.SortFunc(told.Changed, func(a, b agent.ChangedFile) int { return strings.Compare(a.URI, b.URI) })
	if told.Kind != "finished" || !slices.Equal(told.Changed, want) {
		t.Errorf("told %+v", told)
	}
	if runs := w.runs(); len(runs[0].Changed) != 4 || !slices.Contains(runs[0].Changed, uri("closed.txt")) {
		t.Errorf("listed %+v", runs)
	}
	state := func() string {
		return fmt.Sprintf("%q %q %q %q %q", w.Text(uri("clean.txt")), w.disk("clean.txt"), w.Text(uri("dirty.txt")), w.disk("dirty.txt"), w.disk("closed.txt"))
	}
	if got := state(); got != `"1\ntwo\n" "1\ntwo\n" "edited\n" "saved\n" "1\n"` {
		t.Errorf("after the run: %s", got)
	}
	u := commandAs[agent.Undone](w, "agentls.undo", obj{"runId": "r1"})
	if len(u.Restored) != 4 || len(u.Refused) != 0 || !slices.Contains(u.Restored, uri("dirty.txt")) {
		t.Errorf("undone %+v", u)
	}
	if got := state(); got != `"one\ntwo\n" "one\ntwo\n" "draft\n" "saved\n" "one\n"` {
		t.Errorf("after the undo: %s", got)
	}
	if _, err := os.Stat(filepath.Join(w.root, "new")); err == nil {
		t.Error("what the run made is left")
	}
	if runs := w.runs(); len(runs[0].Changed) != 0 {
		t.Errorf("listed after the undo: %+v", runs)
	}
	u = commandAs[agent.Undone](w, "agentls.undo", "r1")
	if len(u.Restored) != 0 || len(u.Refused) != 4 || !strings.Contains(u.Refused[0].Reason, "nothing more to undo") {
		t.Errorf("twice: %+v", u)
	}
}

func TestUndoCommand(t *testing.T) {
	gate := make(chan struct{})
	llm := agenttest.NewLLM(t, agenttest.Text("nothing to do"), agenttest.Step{Wait: gate})
	w := newWorld(t, setup{llm: llm})
	result[agent.Result](t, w.ask("go", obj{"runId": "idle"}))
	if u := commandAs[agent.Undone](w, "agentls.undo", "idle"); u.Restored == nil || u.Refused == nil || u.Untracked == nil || len(u.Restored) > 0 {
		t.Errorf("%+v", u)
	}
	p := w.ask("go", obj{"runId": "busy"})
	llm.Await(2)
	for arg, says := range map[string]string{"busy": "has not ended", "nosuch": `no run "nosuch" is known`} {
		if _, err := w.Command("agentls.undo", obj{"runId": arg}); err == nil || err.Code != -32602 || !strings.Contains(err.Message, says) {
			t.Errorf("%s: %v", arg, err)
		}
	}
	if _, err := w.Command("agentls.undo", nil); err == nil || err.Code != -32602 {
		t.Errorf("nothing: %v", err)
	}
	close(gate)
	result[agent.Result](t, p)
}

// What a person decides about an edit is seen: the client with approvals gets
// a diff, another one how much it is.
func TestQuestionAboutAnEditShowsIt(t *testing.T) {
	for _, own := range []bool{true, false} {
		llm := agenttest.NewLLM(t, agenttest.Call(editCall("1", "a.txt", "two", "2\u202e\nand")))
		u := setup{llm: llm, files: map[string]string{"a.txt": "one\ntwo\n"}, answers: map[string]lsptest.Answer{}}
		method := "window/showMessageRequest"
		if own {
			method = "agentls/approve"
			u.init.Features = []string{"approvals"}
		}
		u.answers[method] = func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent }
		w := newWorld(t, u)
		p := w.ask("go", nil)
		asked := string(w.AwaitRequest(method, 1).Params)
		if own && (!strings.Contains(asked, `-two\n+2`) || !strings.Contains(asked, `"added":2,"removed":1`)) {
			t.Errorf("%s", asked)
		}
		if !own && (!strings.Contains(asked, "change a.txt (+2 −1 lines): ") || strings.Contains(asked, "\u202e")) {
			t.Errorf("%s", asked)
		}
		waiting := commandAs[[]approvalInfo](w, "agentls.approvals", nil)
		if len(waiting) != 1 || waiting[0].Preview == nil || !strings.Contains(waiting[0].Preview.Diff, "-two") {
			t.Fatalf("%+v", waiting)
		}
		commandAs[map[string]bool](w, "agentls.approve", obj{"id": waiting[0].ID, "decision": "once"})
		result[agent.Result](t, p)
		if got := w.disk("a.txt"); got != "one\n2\u202e\nand\n" {
			t.Errorf("%q", got)
		}
	}
}

// How an edited document comes to be saved, and what is told where it does not.
func TestSaveAfterAnEdit(t *testing.T) {
	t.Parallel()
	refactoring := lsptest.Capabilities()
	refactoring["workspace"].(obj)["workspaceEdit"].(obj)["metadataSupport"] = true
	for _, c := range []struct {
		name   string
		init   lsptest.Init
		disk   string // "": as in the editor
		answer func(w **world) lsptest.Answer
		apply  func(w *world, stock lsptest.Answer, uri string) lsptest.Answer // of applyEdit; nil: stock
		saved  bool
		asks   bool // agentls/save was sent
		text   string
	}{
		{name: "no means", text: "two\n"},
		{name: "a request", init: lsptest.Init{Features: []string{"save"}}, answer: saving, saved: true, asks: true, text: "two\n"},
		{name: "unsaved before", init: lsptest.Init{Features: []string{"save"}}, disk: "other\n", answer: saving, text: "two\n"},
		{name: "it fails", init: lsptest.Init{Features: []string{"save"}}, asks: true, text: "two\n", answer: func(**world) lsptest.Answer {
			return func(json.RawMessage) (any, error) {
				return obj{"failed": []obj{{"uri": "x", "reason": "read-only"}}}, nil
			}
		}},
		{name: "an error", init: lsptest.Init{Features: []string{"save"}}, asks: true, text: "two\n", answer: func(**world) lsptest.Answer {
			return func(json.RawMessage) (any, error) { return nil, fmt.Errorf("not now") }
		}},
		{name: "a lie", init: lsptest.Init{Features: []string{"save"}}, asks: true, text: "two\n", answer: func(**world) lsptest.Answer {
			return func(json.RawMessage) (any, error) { return true, nil }
		}},
		{name: "silence", init: lsptest.Init{Features: []string{"save"}}, asks: true, text: "two\n", answer: func(**world) lsptest.Answer {
			return func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent }
		}},
		{name: "formatted", init: lsptest.Init{Features: []string{"save"}}, asks: true, saved: true, text: "TWO\n", answer: func(w **world) lsptest.Answer {
			return func(params json.RawMessage) (any, error) {
				var p struct{ URIs []string }
				_ = json.Unmarshal(params, &p)
				(*w).Edit(p.URIs[0], lsptest.TextEdit{NewText: "TWO\n"})
				return saving(w)(params)
			}
		}},
		{name: "by its metadata", init: lsptest.Init{Capabilities: refactoring}, saved: true, text: "two\n", apply: func(w *world, stock lsptest.Answer, uri string) lsptest.Answer {
			return func(params json.RawMessage) (any, error) {
				if !strings.Contains(string(params), `"isRefactoring":true`) {
					return nil, fmt.Errorf("no metadata: %s", params)
				}
				answer, err := stock(params)
				w.write("a.txt", w.Text(uri))
				w.Save(uri)
				return answer, err
			}
		}},
		{name: "its metadata is ignored", init: lsptest.Init{Capabilities: refactoring}, text: "two\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, path, uri := editWorld(t, setup{init: c.init}, "one\n")
			if c.disk != "" {
				w.write("a.txt", c.disk)
			}
			if c.answer != nil {
				w.On("agentls/save", c.answer(&w))
			}
			if c.apply != nil {
				w.On("workspace/applyEdit", c.apply(w, w.Stock("workspace/applyEdit"), uri))
			}
			done, err := w.edit(t.Context(), agent.Edit{Path: path, Before: "one\n", After: "two\n", Asked: true})
			if err != nil || done.Saved != c.saved || done.Text != c.text || (len(w.Requests("agentls/save")) == 1) != c.asks {
				t.Errorf("%+v, %v, %d requests", done, err, len(w.Requests("agentls/save")))
			}
			if c.saved && w.disk("a.txt") != c.text {
				t.Errorf("the disk has %q", w.disk("a.txt"))
			}
		})
	}
}

// What other servers say of an edit reaches the model with the edit's result;
// what they said before it does not.
func TestDiagnosticsAfterAnEdit(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Call(editCall("1", "a.txt", "one", "two")), agenttest.Text("done"), agenttest.Call(editCall("2", "a.txt", "two", "three")))
	var w *world
	var uri string
	opened := make(chan struct{})
	said := func(message string) []obj {
		at := obj{"line": 0, "character": 0}
		return []obj{{"uri": uri, "diagnostics": []obj{{"range": obj{"start": at, "end": at}, "severity": 1, "message": message, "source": "vet"}}}}
	}
	w = newWorld(t, setup{
		llm: llm, init: lsptest.Init{Features: []string{"diagnostics"}}, files: map[string]string{"a.txt": "one\n"},
		options: obj{"approval": obj{"allow": []string{"edit_file"}}},
		answers: map[string]lsptest.Answer{"agentls/diagnostics": func(json.RawMessage) (any, error) {
			select {
			case <-opened:
			default:
				return []obj{}, nil
			}
			return said("of " + strings.TrimSpace(w.Text(uri))), nil
		}},
	})
	w.AwaitRequest("agentls/diagnostics", 1)
	uri = lsptest.FileURI(filepath.Join(w.root, "a.txt"))
	w.Open(uri, "plaintext", "one\n")
	close(opened)
	stock := w.Stock("workspace/applyEdit")
	w.On("workspace/applyEdit", func(params json.RawMessage) (any, error) {
		answer, err := stock(params)
		if strings.Contains(w.Text(uri), "two") { // the server is not heard of after the second edit
			w.Notify("agentls/didChangeDiagnostics", obj{"uri": uri})
		}
		return answer, err
	})
	result[agent.Result](t, w.ask("go", obj{"session": "s"}))
	got := llm.Last().Messages
	if text := got[len(got)-1].Text; !strings.Contains(text, `<diagnostics path="a.txt">`) || !strings.Contains(text, "1:1: error: of two [vet]") {
		t.Errorf("the model read %q", text)
	}
	result[agent.Result](t, w.ask("go on", obj{"session": "s"}))
	got = llm.Last().Messages
	if text := got[len(got)-1].Text; !strings.Contains(text, "Edited a.txt") || strings.Contains(text, "diagnostics") {
		t.Errorf("the model read %q", text)
	}
}
