package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
)

// serveFunc is the second half of a request, see [prepare].
type serveFunc = func(context.Context) (any, error)

// command is one row of the table of CONTRACT §4.
type command struct {
	name    string
	bare    string // the field that a bare string stands for; "": none
	guarded bool   // not announced to a client with approvals (CONTRACT §3)
	prepare taker
}

// taker is the prepare of a command, and the type of its argument: what
// editors/contract.json tells the clients.
type taker struct {
	argument reflect.Type
	prepare  func(s *Server, ctx context.Context, in invocation) (serveFunc, error)
}

// invocation is one workspace/executeCommand whose argument is still raw.
type invocation struct {
	command  string
	argument json.RawMessage        // a JSON object
	token    protocol.ProgressToken // the request's workDoneToken; nil: none
}

// commands is the table. A command is added here, and nowhere else.
func commands() []command {
	return []command{
		{name: "agentls.ask", bare: "prompt", prepare: takes(prepareAsk)},
		{name: "agentls.send", bare: "uri", prepare: takes(prepareSend)},
		{name: "agentls.new", prepare: takes(prepareNew)},
		{name: "agentls.cancel", bare: "runId", prepare: takes(prepareCancel)},
		{name: "agentls.runs", prepare: takes(prepareRuns)},
		{name: "agentls.steer", prepare: takes(prepareSteer)},
		{name: "agentls.approvals", prepare: takes(prepareApprovals)},
		{name: "agentls.approve", guarded: true, prepare: takes(prepareApprove)},
		{name: "agentls.undo", bare: "runId", guarded: true, prepare: takes(prepareUndo)},
		{name: "agentls.session.list", bare: "session", prepare: takes(prepareSessionList)},
		{name: "agentls.session.show", bare: "session", prepare: takes(prepareSessionShow)},
		{name: "agentls.session.fork", bare: "session", prepare: takes(prepareSessionFork)},
		{name: "agentls.session.clear", bare: "session", prepare: takes(prepareSessionClear)},
		{name: "agentls.session.delete", bare: "session", prepare: takes(prepareSessionDelete)},
		{name: "agentls.mcp.servers", prepare: takes(prepareServers)},
		{name: "agentls.mcp.resources", bare: "server", prepare: takes(prepareResources)},
		{name: "agentls.mcp.tools", bare: "server", prepare: takes(prepareTools)},
		{name: "agentls.mcp.prompts", bare: "server", prepare: takes(preparePrompts)},
		{name: "agentls.mcp.complete", prepare: takes(prepareComplete)},
		{name: "agentls.mcp.read", prepare: takes(prepareRead)},
		{name: "agentls.mcp.restart", bare: "server", prepare: takes(prepareRestart)},
		{name: "agentls.mcp.enable", bare: "server", guarded: true, prepare: takes(prepareEnable)},
		{name: "agentls.mcp.disable", bare: "server", prepare: takes(prepareDisable)},
		{name: "agentls.mcp.logs", bare: "server", prepare: takes(prepareLogs)},
		{name: "agentls.mcp.trust", guarded: true, prepare: takes(prepareTrust)},
		{name: "agentls.mcp.login", bare: "server", prepare: takes(prepareLogin)},
		{name: "agentls.mcp.logout", bare: "server", prepare: takes(prepareLogout)},
		{name: "agentls.mcp.usePrompt", prepare: takes(prepareUsePrompt)},
		{name: "agentls.model", bare: "model", guarded: true, prepare: takes(prepareModel)},
		{name: "agentls.setup", bare: "provider", guarded: true, prepare: takes(prepareSetup)},
		{name: "agentls.audit", prepare: takes(prepareAudit)},
	}
}

// commandNames lists the commands to announce to this client (CONTRACT §3).
func (s *Server) commandNames() []string {
	var names []string
	for _, c := range commands() {
		if c.guarded && s.peer.features.approvals {
			continue
		}
		names = append(names, c.name)
	}
	return names
}

// prepareCommand is the [prepare] of workspace/executeCommand: it decodes the
// argument, takes the prompt's and the document's text, and queues a run in
// wire order; the rest happens in what it returns.
func prepareCommand(s *Server, ctx context.Context, params []byte) (func(context.Context) (any, error), error) {
	return invoke(commands(), s, ctx, params)
}

// invoke is prepareCommand over a table.
func invoke(all []command, s *Server, ctx context.Context, params []byte) (serveFunc, error) {
	var p struct {
		Command   string          `json:"command"`
		Arguments json.RawMessage `json:"arguments"`
		Token     json.RawMessage `json:"workDoneToken"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, badArgument("workspace/executeCommand", err, nil)
	}
	i := slices.IndexFunc(all, func(c command) bool { return c.name == p.Command })
	if i < 0 {
		return nil, unknownCommand(p.Command, all)
	}
	argument, err := soleArgument(all[i], p.Arguments)
	if err != nil {
		return nil, err
	}
	in := invocation{p.Command, argument, progressToken(p.Token)}
	known := s.settings.isKnown() // before it is looked at
	serve, err := all[i].prepare.prepare(s, ctx, in)
	if _, unknown := errors.AsType[*unknownServerError](err); unknown && !known {
		return func(ctx context.Context) (any, error) {
			serve, err := s.onceNamed(ctx, func() (serveFunc, error) { return all[i].prepare.prepare(s, ctx, in) })
			if err != nil {
				return nil, err
			}
			return serve(ctx)
		}, nil
	}
	return serve, err
}

func unknownCommand(name string, all []command) error {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name
	}
	return badf("unknown command %q%s", clip(name, 100), suggest(name, names))
}

// soleArgument gives the command's one object: none and null count as {}, a
// bare string as the one required field.
func soleArgument(c command, arguments json.RawMessage) (json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(arguments, &list); len(arguments) > 0 && err != nil {
		return nil, badf("%s: arguments must be an array that holds one object", c.name)
	}
	if len(list) > 1 {
		return nil, badf("%s takes one object, not %d arguments; put a text that holds spaces into quotes", c.name, len(list))
	}
	if len(list) == 0 || string(list[0]) == "null" || string(list[0]) == "[]" { // Lua writes {} as []
		return json.RawMessage("{}"), nil
	}
	arg := list[0]
	switch {
	case arg[0] == '{':
		return arg, nil
	case arg[0] == '"' && c.bare != "":
		return slices.Concat([]byte(`{"`+c.bare+`":`), arg, []byte("}")), nil
	case c.bare != "":
		return nil, badf("%s takes one object or %s as a string, not %s", c.name, c.bare, clip(string(arg), 40))
	}
	return nil, badf("%s takes one object, not %s", c.name, clip(string(arg), 40))
}

// progressToken decodes a workDoneToken; one that is neither a string nor a
// whole number counts as none.
func progressToken(raw json.RawMessage) protocol.ProgressToken {
	var text string
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 && raw[0] == '"' {
		return protocol.String(text)
	}
	var number float64
	if json.Unmarshal(raw, &number) == nil && number == float64(int32(number)) && len(raw) > 0 && raw[0] != 'n' {
		return protocol.Integer(int32(number))
	}
	return nil
}

// takes makes the prepare of a command from a func that takes its argument
// decoded. Unknown fields and wrong types are refused, null is as good as
// absent.
func takes[A any](f func(s *Server, ctx context.Context, arg A, in invocation) (serveFunc, error)) taker {
	return taker{reflect.TypeFor[A](), func(s *Server, ctx context.Context, in invocation) (serveFunc, error) {
		var arg A
		d := json.NewDecoder(bytes.NewReader(in.argument))
		d.DisallowUnknownFields()
		if err := d.Decode(&arg); err != nil {
			return nil, badArgument(in.command, err, arg)
		}
		return f(s, ctx, arg, in)
	}}
}

// none is the argument of a command that takes nothing.
type none struct{}

// answerNow is the serveFunc of a command that is done when it was prepared.
func answerNow(result any) serveFunc {
	return func(context.Context) (any, error) { return result, nil }
}

// clip shortens a text of the peer's for an error message.
func clip(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}
