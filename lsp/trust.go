package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"agentls/agent"
	"agentls/mcp"
)

// trustLimit is how long a trust question may be. All of what would start must
// be seen, so a longer one cannot be said yes to in a popup.
const trustLimit = 2000

// errNoUse ends a question that nobody needs answered any more.
var errNoUse = errors.New("the question has no more use")

// serveRequests takes the manager's requests until ctx ends or the channel
// closes. Serve owns the goroutine.
func (q *questions) serveRequests(ctx context.Context) {
	var wg sync.WaitGroup // one per open request; they end with ctx
	defer wg.Wait()
	requests := q.s.o.Manager.Requests()
	for {
		select {
		case <-ctx.Done():
			return
		case r, ok := <-requests:
			if !ok {
				return
			}
			wg.Go(func() { q.serveRequest(ctx, r) })
		case server := <-q.again:
			wg.Go(func() { q.trustServer(ctx, server) })
		case again := <-q.folder.wanted:
			wg.Go(func() { q.trustFolder(ctx, again) })
		case <-q.s.o.State.TrustWanted():
			wg.Go(func() { q.trustFolder(ctx, false) })
		}
	}
}

// serveRequest answers one request of the manager.
func (q *questions) serveRequest(ctx context.Context, r mcp.Request) {
	var answer mcp.RequestAnswer
	defer func() { r.Reply(answer) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() { // ends with ctx
		select {
		case <-r.Done:
			cancel(errNoUse)
		case <-ctx.Done():
		}
	})
	switch r.Kind {
	case mcp.RequestLogin:
		answer = q.s.showLogin(ctx, r)
	case mcp.RequestTrust:
		if q.trustFolder(ctx, false) {
			a, err := q.settle(ctx, q.serverQuestion(r.Info))
			answer.Accept = err == nil && yes(a)
		}
	case mcp.RequestSample:
		answer = q.serveSample(ctx, r)
	case mcp.RequestInput:
		w := q.inputQuestion(r)
		a, err := q.settle(ctx, w)
		if err == nil && yes(a) {
			content, err := w.elicit.check(a.Content)
			answer.Value, answer.Accept = inputValue(r.Input, content), err == nil
		}
	case mcp.RequestElicit:
		answer = q.elicit(ctx, r)
	}
}

func yes(a agent.Answer) bool {
	return a.Decision == agent.DecisionOnce || a.Decision == agent.DecisionSession || a.Decision == agent.DecisionAlways
}

// folderTrust is whether the workspace folder may start anything (CONTRACT §2).
type folderTrust struct {
	wanted chan bool     // the question is needed; true: asked for by a person, who may be asked again
	turn   chan struct{} // one question at a time; guards the rest
	// By path. trusted: by a person, now or before; asked: one was asked in
	// this connection. A folder that is added later is asked about on its own.
	trusted, asked map[string]bool
}

func newFolderTrust() *folderTrust {
	return &folderTrust{wanted: make(chan bool, 2), turn: make(chan struct{}, 1), trusted: map[string]bool{}, asked: map[string]bool{}}
}

// askFolder lets the question about the folder be asked, once or anew. Never
// blocks.
func (q *questions) askFolder(again bool) {
	select {
	case q.folder.wanted <- again:
	default:
	}
}

// trustFolder reports whether the folder is trusted; it asks a person once,
// and again when a command needs it.
func (q *questions) trustFolder(ctx context.Context, again bool) bool {
	select {
	case q.folder.turn <- struct{}{}:
		defer func() { <-q.folder.turn }()
	case <-ctx.Done():
		return false
	}
	folders := q.s.folders()
	switch {
	case q.s.peer.trusted:
		return true
	case len(folders) == 0:
		return false
	}
	folders = slices.DeleteFunc(folders, q.isTrusted)
	if len(folders) == 0 {
		q.putTrust()
		return true
	}
	if !again && !slices.ContainsFunc(folders, func(folder string) bool { return !q.folder.asked[folder] }) {
		return false
	}
	for _, folder := range folders {
		q.folder.asked[folder] = true
	}
	a, err := q.settle(ctx, q.folderQuestion(folders))
	if err != nil || !yes(a) {
		return false
	}
	for _, folder := range folders {
		q.folder.trusted[folder] = true
		if err := q.s.o.Manager.RememberFolder(folder); err != nil {
			q.s.o.Log.Error("the trust in a folder cannot be kept", "folder", folder, "err", err)
		}
	}
	q.putTrust()
	return true
}

// putTrust puts the trust in the folders into force. The turn is held.
func (q *questions) putTrust() {
	for _, folder := range q.s.folders() {
		if q.folder.trusted[folder] {
			q.s.o.State.TrustFolder(folder)
		}
	}
	q.s.o.Manager.TrustFolder(true)
}

// isTrusted reports whether a person trusts a folder, now or from before. The
// turn is held.
func (q *questions) isTrusted(folder string) bool {
	if !q.folder.trusted[folder] && q.s.o.Manager.FolderTrusted(folder) {
		q.folder.trusted[folder] = true
	}
	return q.folder.trusted[folder]
}

func (q *questions) folderQuestion(folders []string) *question {
	arguments, _ := json.Marshal(map[string]any{"folders": folders}) // strings always encode
	shown := make([]string, len(folders))
	for i, folder := range folders {
		shown[i] = visible(folder)
	}
	return &question{
		id: newID(), kind: asksTrust, arguments: arguments, timeout: q.s.cfg.Load().Approval.Timeout,
		reason:  "MCP servers of the project or git are to start in the folder, or its AGENTS.md is to be followed, and it is not trusted yet",
		message: "agentls: do you trust the folder " + breakLinks(strings.Join(shown, ", ")) + "? Its project files may name programs to start; each of them is asked about on its own. git shows changes in it, and its AGENTS.md tells the agent how to work.",
		choices: []choice{{title: "Not now", decision: agent.DecisionDeny}, {title: "Trust folder", decision: agent.DecisionOnce}},
	}
}

// serverQuestion asks whether a project server may start, and shows all of it.
func (q *questions) serverQuestion(info mcp.ServerInfo) *question {
	info.Error = ""
	arguments, _ := json.Marshal(info) // strings and numbers always encode
	unasked := q.s.cfg.Load().Approval.Unasked(info.Name)
	w := &question{
		id: newID(), kind: asksTrust, server: info.Name, arguments: arguments, timeout: q.s.cfg.Load().Approval.Timeout,
		reason:  "a project file wants to start this server",
		message: trustMessage(info, unasked),
		choices: []choice{{title: "Not now", decision: agent.DecisionDeny}, {title: "Trust and start", decision: agent.DecisionOnce}},
	}
	if len(unasked) > 0 {
		w.description = unaskedRules(unasked)
	}
	if utf8.RuneCountInString(w.message) > trustLimit {
		w.message = fmt.Sprintf("%s: %s wants to start a server whose command is too long to be shown here. Read it with agentls.mcp.servers, and start it with agentls.mcp.trust.",
			clean(info.Name), clean(info.Source))
		w.choices = w.choices[:1]
	}
	return w
}

// trustMessage shows what would be started, whole: everything that could be
// overlooked is quoted and escaped, nothing is cut. unasked are the rules that
// its tools would run by.
func trustMessage(info mcp.ServerInfo, unasked []string) string {
	d := info.Definition // of every project server
	var b strings.Builder
	fmt.Fprintf(&b, "%s: start this MCP server of %s? ", visible(info.Name), visible(info.Source))
	b.WriteString(wholeDefinition(*d, info.Reads))
	if len(unasked) > 0 {
		b.WriteString(" " + unaskedRules(unasked))
	}
	return breakLinks(b.String())
}

func unaskedRules(rules []string) string {
	return "Your own rules let its tools run unasked: " + strings.Join(visibles(rules), ", ") + "."
}

// wholeDefinition tells all that a server would be started with; reads are the
// variables that its fields name.
func wholeDefinition(d mcp.Definition, reads []string) string {
	var b strings.Builder
	if d.Command != "" { // with a URL as well the command would be what counts
		b.WriteString("It runs: " + strings.Join(visibles(append([]string{d.Command}, d.Args...)), " "))
	} else {
		b.WriteString("It connects to " + visible(d.URL))
	}
	if d.Cwd != "" {
		b.WriteString("; in " + visible(d.Cwd))
	}
	list(&b, "sets", assignments(d.Env))
	if d.EnvFile != "" {
		b.WriteString("; it sets what is in " + visible(d.EnvFile))
	}
	list(&b, "sends the headers", assignments(d.Headers))
	list(&b, "reads the variables", reads)
	b.WriteString(".")
	return b.String()
}

// assignments gives name=value in the order of the names.
func assignments(values map[string]string) []string {
	out := slices.Sorted(maps.Keys(values))
	for i, name := range out {
		out[i] = name + "=" + values[name]
	}
	return out
}

func list(b *strings.Builder, what string, names []string) {
	for i, name := range names {
		if i == 0 {
			b.WriteString("; it " + what + " ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(visible(name))
	}
}

func visibles(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = visible(word)
	}
	return out
}

// visible gives a word as it is when nothing in it can be overlooked, else
// quoted, with everything that is not printed escaped.
func visible(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return r <= ' ' || r == '"' || r == '\'' || r == '\\' || r == utf8.RuneError || agent.Unseen(r) || r > 0x7e
	})
	if plain {
		return word
	}
	return quoteVisible(word)
}
