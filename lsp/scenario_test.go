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
	"agentls/mcp/mcptest"
)

// editorRow is what one real editor does in its own way in the scenario that
// all of them go through. What it can is in its recorded initialize.
type editorRow struct {
	name     string
	recorded string // of testdata/initialize
	types    string // of completionClients
	detached bool   // a plain command is answered before its run
	silent   bool   // answers no request at all
	asked    lsptest.Answer
	byAction bool // its user says yes by a code action
	cancel   func(v *visit, p *lsptest.Pending, runID string)
	rests    obj // the context of a code action as the cursor rests; nil: it never asks
	selects  obj // the context when a person asks on a selection
}

// pick is an answer to window/showMessageRequest that gives an action back, as
// VS Code and Neovim do.
func pick(titles ...string) lsptest.Answer {
	n := -1
	return func(params json.RawMessage) (any, error) {
		var p struct{ Actions []struct{ Title string } }
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		n = min(n+1, len(titles)-1)
		for _, a := range p.Actions {
			if a.Title == titles[n] || titles[n] == "" {
				return a, nil
			}
		}
		return nil, nil
	}
}

func byRequest(_ *visit, p *lsptest.Pending, _ string) { p.Cancel() }

func byCommand(v *visit, _ *lsptest.Pending, runID string) {
	if got := commandAs[map[string][]string](v.world, "agentls.cancel", nil); !slices.Equal(got["cancelled"], []string{runID}) {
		v.t.Errorf("cancelled %v", got)
	}
}

// byServersToken is the Cancel of VS Code's notification centre.
func byServersToken(v *visit, _ *lsptest.Pending, _ string) {
	second := v.AwaitRequest("window/workDoneProgress/create", 2) // the first was of what was sent
	token := decodeAs[struct{ Token any }](v.t, second.Params).Token
	v.Notify("window/workDoneProgress/cancel", obj{"token": token})
}

func editorRows() []editorRow {
	notFound := func(json.RawMessage) (any, error) {
		return nil, &lsptest.Error{Code: -32601, Message: "method not found"}
	}
	rest, invoked := obj{"diagnostics": []any{}, "triggerKind": 2}, obj{"diagnostics": []any{}, "triggerKind": 1}
	return []editorRow{
		{name: "VS Code", recorded: "vscode", types: "VS Code", asked: pick("Allow once"), cancel: byServersToken, rests: rest, selects: invoked},
		{name: "Neovim 0.10", recorded: "nvim10", types: "Neovim 0.10 by omnifunc", asked: pick("Allow once"), cancel: byRequest, selects: invoked},
		{name: "Neovim 0.12", recorded: "nvim12", types: "Neovim 0.12 by autotrigger", asked: pick("Allow once"), cancel: byRequest, selects: invoked},
		{name: "Helix 25.01", recorded: "helix", types: "Helix", detached: true, asked: notFound, byAction: true, cancel: byCommand, selects: invoked},
		{name: "Helix 25.07", recorded: "helix", types: "Helix", detached: true, asked: pick("Allow once"), cancel: byCommand, selects: invoked},
		// Enter takes the first action.
		{name: "eglot", recorded: "eglot", types: "eglot in text-mode", detached: true, asked: pick("", "Allow once"), cancel: byCommand, selects: obj{"diagnostics": []any{}, "triggerKind": 1}},
		{name: "ALE", recorded: "vim-ale", types: "ALE 3.3", detached: true, silent: true, byAction: true, cancel: byCommand, selects: obj{"diagnostics": []any{}}},
	}
}

// visit is one editor at work on the folder.
type visit struct {
	*world
	row  editorRow
	caps map[string]any
	llm  *agenttest.LLM
	uri  string // of the prompt buffer
}

// scenarioModel lists the folder when it is asked to, until it may; hangs on
// "wait", and answers the rest.
func scenarioModel(t testing.TB) *agenttest.LLM {
	return agenttest.NewScript(t, func(n int, req agent.Request) agenttest.Step {
		m := req.Messages[len(req.Messages)-1]
		switch {
		case m.Role == agent.ToolRole && strings.Contains(m.Text, "README.md"):
			return agenttest.Text("There is a README.")
		case m.Role == agent.ToolRole, strings.Contains(m.Text, "list the folder"):
			return agenttest.Call(agent.ToolCall{ID: fmt.Sprint("c", n), Name: "list_dir", Arguments: `{"path":"."}`})
		case strings.Contains(m.Text, "wait"):
			return agenttest.Step{Text: []string{"I wait. "}, Block: true}
		}
		return agenttest.Text("So be it.")
	})
}

// newVisit starts the editor on the folder of dir, with what it really sent.
func newVisit(t *testing.T, row editorRow, dir string) *visit {
	raw, err := os.ReadFile("testdata/initialize/" + row.recorded + ".json")
	if err != nil {
		t.Fatal(err)
	}
	recorded := decodeAs[struct{ Params obj }](t, []byte(strings.ReplaceAll(string(raw), "/home/user/ws", filepath.ToSlash(filepath.Join(dir, "ws"))))).Params
	recorded["processId"] = os.Getpid()
	v := &visit{row: row, llm: scenarioModel(t), caps: recorded["capabilities"].(obj)}
	answers := map[string]lsptest.Answer{"window/showMessageRequest": row.asked}
	if row.silent {
		for _, method := range []string{"window/showMessageRequest", "workspace/applyEdit", "window/showDocument", "window/workDoneProgress/create", "client/registerCapability", "workspace/configuration"} {
			answers[method] = func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent }
		}
	}
	options := asking(600)
	v.world = newWorld(t, setup{
		dir: dir, llm: v.llm, recorded: recorded, options: options, answers: answers,
		servers: map[string]mcptest.Options{"fs": {Scheme: "docs", Listed: []string{"docs://log/main.go", "docs://dir/other-page.md"}}},
	})
	v.uri = lsptest.FileURI(v.root + "/chat.agentls.md")
	t.Cleanup(v.checkRequests)
	return v
}

// TestScenarioOfEachEditor lets six real editors, by what they really say of
// themselves, go through the main job: a mention is completed and sent, a
// question is answered, a run is cancelled, a code action is run, and the
// session is there again after a restart.
func TestScenarioOfEachEditor(t *testing.T) {
	for _, row := range editorRows() {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			v := newVisit(t, row, dir)
			v.completesAndSends()
			v.cancels()
			v.runsACodeAction()
			if code := v.Shutdown(); code != 0 {
				t.Errorf("exit code %d", code)
			}

			again := newVisit(t, row, dir)
			again.Open(again.uri, "markdown", "## You\n\nand then?\n")
			again.send(again.uri, nil)
			again.await("the answer after the restart", "So be it.")
			m := again.llm.Last().Messages
			if !slices.ContainsFunc(m, func(m agent.Message) bool { return strings.Contains(m.Text, "list the folder of") }) {
				t.Errorf("the session has lost what was said: %q", m)
			}
			if code := again.Shutdown(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// completesAndSends types a mention key by key, accepts it, sends the buffer,
// and says yes to the question of the run.
func (v *visit) completesAndSends() {
	v.t.Helper()
	all := completionClients()
	client := all[slices.IndexFunc(all, func(c completionClient) bool { return c.name == v.row.types })]
	p := &typing{world: v.world, client: client, uri: v.uri, triggers: v.server.peer.completionTriggers(), encoding: v.server.peer.encoding}
	v.Open(v.uri, "markdown", "")
	p.ready()
	for _, key := range "list the folder of @fs:docs://log/main.go" {
		p.key(key)
	}
	i := slices.IndexFunc(p.items, func(it offered) bool {
		return client.puts(p.line, it) == "list the folder of @fs:docs://log/main.go"
	})
	if i < 0 {
		v.t.Errorf("the mention is not among %+v", p.items)
	} else {
		p.line = client.puts(p.line, p.items[i])
	}
	v.Edit(v.uri, lsptest.TextEdit{NewText: p.line + "\n"})

	sent := v.send(v.uri, nil)
	if v.row.detached {
		if r := result[map[string]any](v.t, sent); r["text"] != nil {
			v.t.Errorf("not detached: %v", r)
		}
	}
	if v.row.byAction {
		poll(v.t, "question among the code actions", func() bool {
			return slices.ContainsFunc(v.offered(nil), func(title string) bool { return strings.HasPrefix(title, "Allow once: list_dir") })
		})
		v.choose(nil, "Allow once: list_dir")
	}
	if !v.row.detached {
		if r := result[agent.Result](v.t, sent); r.Status != "completed" || len(r.Mentions) != 1 || r.Mentions[0].Status != "expanded" {
			v.t.Errorf("result %+v", r)
		}
	}
	v.await("the answer", "There is a README.")
	for _, m := range v.llm.Requests()[0].Messages {
		if m.Role == agent.User && !strings.Contains(m.Text, `<resource server="fs" uri="docs://log/main.go"`) {
			v.t.Errorf("the mention is not expanded in %q", m.Text)
		}
	}
	if v.row.name == "eglot" { // the first answer was no
		lines := commandAs[[]struct{ Outcome agent.Outcome }](v.world, "agentls.audit", obj{"tool": "list_dir"})
		if len(lines) != 2 || lines[0].Outcome != agent.Rejected && lines[1].Outcome != agent.Rejected {
			v.t.Errorf("audit %+v", lines)
		}
	}
}

// await waits until an answer is where the editor's user sees it: in the prompt
// buffer, or, of an editor that takes no edits, in the document that a message
// names.
func (v *visit) await(what, text string) {
	v.t.Helper()
	if applies, _ := v.caps["workspace"].(obj)["applyEdit"].(bool); applies {
		v.Await(what, func() bool { return strings.Contains(v.Text(v.uri), "## Agent\n\n"+text+"\n\n## You\n") })
		return
	}
	v.Await(what, func() bool {
		for _, said := range v.messages("window/showMessage") {
			if _, file, ok := strings.Cut(said, "it is in "); ok {
				kept, err := os.ReadFile(strings.TrimSpace(file))
				return err == nil && strings.Contains(string(kept), text)
			}
		}
		return false
	})
}

// cancels cancels a run as the editor's user can.
func (v *visit) cancels() {
	v.t.Helper()
	before := len(v.llm.Requests())
	p := v.ask("wait for it", obj{"session": "other", "runId": "slow"})
	if v.row.detached {
		result[startedInfo](v.t, p)
	}
	v.llm.Await(before + 1)
	v.row.cancel(v, p, "slow")
	if !v.row.detached {
		failure(v.t, p, -32800)
	}
	v.awaitRuns("the cancelled run", func(list []runInfo) bool {
		return slices.ContainsFunc(list, func(r runInfo) bool { return r.RunID == "slow" && r.Status == runCancelled })
	})
}

// runsACodeAction runs an action on a selection, and sees the answer shown.
func (v *visit) runsACodeAction() {
	v.t.Helper()
	uri := v.document("x.go", "package x\n\nfunc x() {}\n")
	if v.row.rests != nil {
		raw := v.Call("textDocument/codeAction", obj{"textDocument": obj{"uri": uri}, "range": span(0, 0, 0, 0), "context": v.row.rests})
		if string(raw) != "[]" {
			v.t.Errorf("the cursor rests, and is offered %s", raw)
		}
	}
	v.choose(&uri, "Explain")
	v.Await("the answer of the action", func() bool {
		for _, r := range v.Requests("window/showDocument") {
			if strings.Contains(string(r.Params), "/answers/") {
				return true
			}
		}
		return slices.ContainsFunc(v.messages("window/showMessage"), func(said string) bool { return strings.Contains(said, "So be it.") })
	})
}

// offered are the titles of the code actions on a selection, of the prompt
// buffer where uri is nil.
func (v *visit) offered(uri *string) (list []string) {
	for _, a := range v.menu(uri) {
		list = append(list, a.Title)
	}
	return list
}

// menuItem is a code action, or a command, of a client without literals.
type menuItem struct {
	Title     string
	Command   json.RawMessage // a command, or a command's name
	Arguments json.RawMessage
}

func (v *visit) menu(uri *string) []menuItem {
	v.t.Helper()
	at, where := v.uri, span(0, 0, 0, 0)
	if uri != nil {
		at, where = *uri, span(0, 0, 2, 5)
	}
	return decodeAs[[]menuItem](v.t, v.Call("textDocument/codeAction", obj{"textDocument": obj{"uri": at}, "range": where, "context": v.row.selects}))
}

// choose runs an action as the editor does, and waits for its answer.
func (v *visit) choose(uri *string, title string) {
	v.t.Helper()
	all := v.menu(uri)
	i := slices.IndexFunc(all, func(a menuItem) bool { return strings.HasPrefix(a.Title, title) })
	if i < 0 {
		v.t.Fatalf("no %q in %q", title, v.offered(uri))
	}
	var name string
	params := all[i].Command
	if json.Unmarshal(params, &name) == nil {
		params = mustEncode(obj{"command": name, "arguments": all[i].Arguments})
	}
	if _, err := v.Start("workspace/executeCommand", params).Wait(); err != nil {
		v.t.Errorf("%s: %v", title, err)
	}
}

// checkRequests looks that the editor was asked for nothing that it does not
// say it can.
func (v *visit) checkRequests() {
	can := func(path ...string) bool {
		var at any = v.caps
		for _, key := range path {
			m, _ := at.(obj)
			at = m[key]
		}
		yes, _ := at.(bool)
		return yes
	}
	needs := map[string][]string{
		"workspace/applyEdit": {"workspace", "applyEdit"}, "workspace/configuration": {"workspace", "configuration"},
		"window/workDoneProgress/create": {"window", "workDoneProgress"}, "window/showDocument": {"window", "showDocument", "support"},
		"workspace/codeLens/refresh": {"workspace", "codeLens", "refreshSupport"}, "workspace/semanticTokens/refresh": {"workspace", "semanticTokens", "refreshSupport"},
		"workspace/foldingRange/refresh": {"workspace", "foldingRange", "refreshSupport"}, "workspace/diagnostic/refresh": {"workspace", "diagnostics", "refreshSupport"},
		"workspace/workspaceFolders": {"workspace", "workspaceFolders"},
	}
	for method, path := range needs {
		if n := len(v.Requests(method)); n > 0 && !can(path...) {
			v.t.Errorf("%s is asked for by %s %d times, and has not %v", v.row.name, method, n, path)
		}
	}
	if len(v.Notifications("$/progress")) > 0 && !can("window", "workDoneProgress") {
		v.t.Errorf("%s is told of progress that it cannot show", v.row.name)
	}
	for _, r := range v.Requests("client/registerCapability") {
		for _, reg := range decodeAs[struct{ Registrations []struct{ Method string } }](v.t, r.Params).Registrations {
			section, name, _ := strings.Cut(reg.Method, "/")
			if section != "workspace" || !can(section, name, "dynamicRegistration") {
				v.t.Errorf("%s does not take a registration of %s", v.row.name, reg.Method)
			}
		}
	}
}
