package lsp

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

var updateContract = flag.Bool("update", false, "write editors/contract.json anew")

// contractFile is what the clients hold their own types against.
var contractFile = filepath.Join("..", "editors", "contract.json")

// contractResults has the result of every command, which Go cannot tell: a
// serveFunc gives any. That it is what is answered every test with a fake
// editor proves, which holds each answer against the contract.
func contractResults() map[string][]any {
	run, server := []any{agent.Result{}, startedInfo{}}, []any{mcp.ServerInfo{}}
	return map[string][]any{
		"agentls.ask":            run,
		"agentls.send":           run,
		"agentls.new":            {newInfo{}},
		"agentls.cancel":         {cancelInfo{}},
		"agentls.runs":           {[]runInfo{}},
		"agentls.steer":          {steerInfo{}},
		"agentls.approvals":      {[]approvalInfo{}},
		"agentls.approve":        {approvedInfo{}},
		"agentls.undo":           {agent.Undone{}},
		"agentls.session.list":   {[]agent.SessionInfo{}},
		"agentls.session.show":   {agent.SessionText{}},
		"agentls.session.fork":   {sessionRef{}},
		"agentls.session.clear":  {sessionRef{}},
		"agentls.session.delete": {sessionRef{}},
		"agentls.mcp.servers":    {[]mcp.ServerInfo{}},
		"agentls.mcp.resources":  {resourcesResult{}},
		"agentls.mcp.tools":      {toolsResult{}},
		"agentls.mcp.prompts":    {promptsResult{}},
		"agentls.mcp.read":       {readResult{}},
		"agentls.mcp.restart":    server,
		"agentls.mcp.enable":     server,
		"agentls.mcp.disable":    server,
		"agentls.mcp.logs":       {logsResult{}},
		"agentls.mcp.trust":      server,
		"agentls.mcp.login":      {loginResult{}},
		"agentls.mcp.logout":     {loginResult{}},
		"agentls.mcp.complete":   {completeResult{}},
		"agentls.mcp.usePrompt":  {promptInfo{}, agent.Result{}, startedInfo{}},
		"agentls.model":          {modelInfo{}},
		"agentls.setup":          {foundResult{}, setupResult{}},
		"agentls.audit":          {[]agent.AuditEntry{}},
	}
}

// contractOf makes the contract out of Go's types. required reports whether a
// command refuses an argument without the field.
func contractOf(t *testing.T, required func(command, field string) bool) lsptest.Contract {
	t.Helper()
	b := newContractTypes(t, ".", "../agent", "../mcp")
	c := lsptest.Contract{
		Comment:  "The wire of CONTRACT.md as the server has it. Made by `go test ./lsp -run TestContract -update`; never edited by hand.",
		Commands: map[string]lsptest.CommandContract{}, Features: announced,
		Requests: map[string]lsptest.MethodContract{
			"agentls/approve":     {Params: b.expr(approveParams{}), Result: b.expr(approveReply{}) + " | null"},
			"agentls/elicit":      {Params: b.expr(elicitParams{}), Result: b.expr(approveReply{}) + " | null"},
			"agentls/plan":        {Params: b.expr(planAsk{}), Result: b.expr(planContent{}) + " | null"},
			"agentls/save":        {Params: b.expr(saveParams{}), Result: b.expr(saveReply{}) + " | boolean | null"},
			"agentls/diagnostics": {Params: b.expr(diagnosticsParams{}), Result: b.expr([]documentDiagnostics{})},
		},
		Notifications: map[string]lsptest.MethodContract{
			"agentls/runEvent":             {Params: b.expr(runEvent{})},
			"agentls/didChangeModel":       {Params: b.expr(modelNews{})},
			"agentls/didChangeServers":     {Params: b.expr(none{})},
			"agentls/didChangeDiagnostics": {Params: b.expr(diagnosticsParams{}), FromClient: true},
		},
		ErrorData: b.expr(runErrorData{}),
	}
	results := contractResults()
	for _, command := range commands() {
		row := lsptest.CommandContract{Bare: command.bare, Guarded: command.guarded, Argument: map[string]string{}}
		for name, expr := range b.fields(command.prepare.argument) {
			name = strings.TrimSuffix(name, "?")
			if !required(command.name, name) {
				name += "?"
			}
			row.Argument[name] = expr
		}
		var of []string
		for _, result := range results[command.name] {
			of = append(of, b.expr(result))
		}
		if row.Result = strings.Join(of, " | "); of == nil {
			t.Errorf("%s has no row in contractResults", command.name)
		}
		c.Commands[command.name] = row
		delete(results, command.name)
	}
	for name := range results {
		t.Errorf("contractResults has %s, which is no command", name)
	}
	for method := range b.methods {
		_, request := c.Requests[method]
		if _, note := c.Notifications[method]; !request && !note {
			t.Errorf("lsp knows %s, and contractOf does not", method)
		}
	}
	c.Types, c.Enums = b.types, b.enums
	return c
}

// What the clients' types are held against is what Go's types say, and an
// argument's field is required there if the server refuses to do without it.
func TestContract(t *testing.T) {
	written, err := os.ReadFile(contractFile)
	if *updateContract { // a fake editor needs one
		writeContract(t, contractOf(t, func(string, string) bool { return false }))
	} else if err != nil {
		t.Fatalf("%v; run go test ./lsp -run TestContract -update", err)
	}
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), servers: map[string]mcptest.Options{"fake": {}}})
	w.Echoes("workspace/executeCommand")
	rows := rightParams(w)
	contract := contractOf(t, func(command, field string) bool {
		right, ok := rows[commandMethod+command].(obj)
		if !ok {
			t.Fatalf("%s has no row in rightParams", command)
		}
		arg := maps.Clone(right)
		delete(arg, field)
		_, err := w.Command(command, arg)
		return err != nil && err.Code == -32602 && (strings.Contains(err.Message, field+" is missing") || strings.Contains(err.Message, "there is no "+field))
	})
	if _, err := w.Command("agentls.new", obj{"document": obj{}}); err == nil || !strings.Contains(err.Message, "document.uri is missing") {
		t.Errorf("a document without its URI: %v", err)
	}
	if *updateContract {
		writeContract(t, contract)
		return
	}
	if now := encodeContract(t, contract); !bytes.Equal(now, written) {
		t.Errorf("editors/contract.json is not what Go's types say; run go test ./lsp -run TestContract -update and let the clients follow.\nfirst difference: %s", firstDifference(written, now))
	}
}

func encodeContract(t *testing.T, c lsptest.Contract) []byte {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func writeContract(t *testing.T, c lsptest.Contract) {
	t.Helper()
	if err := os.WriteFile(contractFile, encodeContract(t, c), 0o644); err != nil {
		t.Fatal(err)
	}
}

func firstDifference(a, b []byte) string {
	before, after := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i, line := range after {
		if i >= len(before) || before[i] != line {
			return "now " + strings.TrimSpace(line)
		}
	}
	return "lines are gone"
}

// A contract that says what the server does not do is found by every test that
// hears it.
func TestContractIsHeldAgainstWhatIsSaid(t *testing.T) {
	model, err := lsptest.LoadMetaModel()
	if err != nil {
		t.Fatal(err)
	}
	event := `{"runId":"r","session":"s","seq":1,"kind":"finished","status":"completed"}`
	if err := model.Message("agentls/runEvent", json.RawMessage(event)); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string]error{
		"a kind that there is not":   model.Message("agentls/runEvent", json.RawMessage(strings.Replace(event, "finished", "ended", 1))),
		"a field that is missing":    model.Message("agentls/runEvent", json.RawMessage(strings.Replace(event, `"seq":1,`, "", 1))),
		"a field more":               model.Message("agentls/runEvent", json.RawMessage(strings.Replace(event, `"seq"`, `"more":1,"seq"`, 1))),
		"a method that there is not": model.Message("agentls/event", json.RawMessage(event)),
		"the client's own":           model.Message("agentls/didChangeDiagnostics", json.RawMessage(`{}`)),
		"a result of another kind":   model.CommandResult("agentls.steer", json.RawMessage(`{"accepted":"yes"}`)),
		"a list that is null":        model.CommandResult("agentls.runs", json.RawMessage(`null`)),
		"an error's data":            model.RunError(json.RawMessage(`{"runId":"r"}`)),
	} {
		if wrong == nil {
			t.Errorf("%s: nothing was found", name)
		}
	}
	if errors.Join(model.CommandResult("agentls.steer", json.RawMessage(`{"accepted":true}`)), model.CommandResult("no.such", json.RawMessage(`1`))) != nil {
		t.Error("what is right was refused")
	}
	if !slices.Contains(announced, "plans") {
		t.Error("a feature is not announced")
	}
}
