package lsp

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

const (
	promptMax = 1_000_000 // code points of a prompt
	headMax   = 120       // code points of a prompt that are shown in lists
	titleMax  = 48        // and in the title of a progress
)

// askArg is the argument of agentls.ask.
type askArg struct {
	Prompt   *string      `json:"prompt"`
	Mode     *string      `json:"mode" contract:"Mode"`
	Session  *string      `json:"session"`
	Document *documentArg `json:"document"`
	Action   *string      `json:"action" contract:"Action"`
	Detached *bool        `json:"detached"`
	RunID    *string      `json:"runId"`
}

func prepareAsk(s *Server, _ context.Context, arg askArg, in invocation) (serveFunc, error) {
	action := agent.Action(deref(arg.Action))
	if action != "" && !slices.Contains(agent.Actions(), action) {
		return nil, badf("%s: action must be one of fix, explain, rewrite, test, document, not %q", in.command, clip(string(action), 40))
	}
	if action != "" && arg.Document == nil {
		return nil, badf("%s: the action %s needs a document: give {\"document\": {\"uri\": \"…\"}}", in.command, action)
	}
	if strings.TrimSpace(deref(arg.Prompt)) == "" && action == "" {
		return nil, badf("%s: there is no prompt; give {\"prompt\": \"…\"}, or open a prompt buffer with agentls.new (or a file whose name ends in .agentls.md) and write it there", in.command)
	}
	mode, err := modeOf(in.command, arg.Mode)
	if err != nil {
		return nil, err
	}
	if err := label(in.command, "session", arg.Session); err != nil {
		return nil, err
	}
	if err := label(in.command, "runId", arg.RunID); err != nil {
		return nil, err
	}
	document, err := s.attach(in.command, arg.Document)
	if err != nil {
		return nil, err
	}
	if action != "" && document.empty() {
		return nil, badf("%s: there is no text in that part of %s (any more); select it again", in.command, clip(document.Path, 200))
	}
	x, err := s.askRun(in.command, action, document, arg)
	if err != nil {
		return nil, err
	}
	x.action, x.document = action, document
	x.works(mode)
	if document != nil && document.Moved {
		s.showMessage(protocol.MessageTypeInfo, "agentls: "+clean(document.Path)+" changed after this was offered; it is taken as it is now")
	}
	return s.queue(x, in, arg.Detached)
}

// askRun makes the run of a prompt: of its words, or of the `/` line that it
// begins with.
func (s *Server) askRun(command string, action agent.Action, document *attachment, arg askArg) (*run, error) {
	prompt, session, id := deref(arg.Prompt), deref(arg.Session), deref(arg.RunID)
	if action != "" {
		return s.newRun(prompt, asked(action, document, prompt), session, id), nil
	}
	q, err := slashOf(command, prompt, session, false)
	switch {
	case err != nil:
		return nil, err
	case q == nil:
		return s.newRun(prompt, prompt, session, id), nil
	case q.guarded() != "" && s.peer.features.approvals && !s.o.Own:
		return nil, badf("%s: /%s changes what is allowed or what a file says; write it in a prompt buffer, or use the command %s", command, q.Name, q.guarded())
	case document != nil && q.isLocal():
		return nil, badf("%s: /%s takes no document; leave it out", command, q.Name)
	}
	return s.slashRun(q, id)
}

// asked is what a person asked for, as it is shown to one.
func asked(action agent.Action, document *attachment, prompt string) string {
	if action == "" {
		return prompt
	}
	text := string(action) + " " + document.place()
	if strings.TrimSpace(prompt) != "" {
		text += ": " + prompt
	}
	return text
}

// modeOf is the mode that an argument names; "": none.
func modeOf(command string, mode *string) (agent.Mode, error) {
	if deref(mode) == "" {
		return "", nil
	}
	var known []string
	for _, m := range agent.Modes() {
		known = append(known, string(m.Mode))
	}
	return agent.Mode(*mode), oneOf(command, "mode", *mode, known...)
}

// works says how a run works, where its own `/` line does not.
func (x *run) works(mode agent.Mode) {
	if x.mode == "" && x.local == nil {
		x.mode = mode
	}
}

// newRun makes a run that is not queued yet; asked is what is shown of it, and
// an empty session or id is made new.
func (s *Server) newRun(prompt, asked, session, id string) *run {
	if session == "" {
		session = newID()
	}
	if id == "" {
		id = newID()
	}
	x := &run{
		s: s, id: id, session: session, prompt: prompt, asked: asked, head: s.shown(asked, headMax), steer: &agent.Steer{},
		turn: make(chan struct{}), box: newMailbox(s.clientIsBehind), outcome: make(chan outcome, 1), done: make(chan struct{}), gone: make(chan struct{}),
	}
	x.ctx, x.cancel = context.WithCancelCause(context.Background()) // ended by runs, which owns it
	x.progress.s = s
	x.progress.title = "agentls: " + s.shown(asked, titleMax)
	return x
}

// shown is the beginning of a prompt, fit to be shown.
func (s *Server) shown(asked string, n int) string {
	return cleanTo(s.o.Secrets.Redact(asked[:min(len(asked), 8*headMax)]), n)
}

// queue gives the run its place and returns what answers the request.
func (s *Server) queue(x *run, in invocation, detached *bool) (serveFunc, error) {
	if n := utf8.RuneCountInString(x.prompt); n > promptMax {
		return nil, badf("%s: the prompt has %d characters, the most is %d; put the text into a file and mention it", in.command, n, promptMax)
	}
	x.detached = s.isDetached(detached, in.token != nil)
	x.progress.token = in.token
	if in.token == nil || x.detached { // a request's token ends with its response
		x.progress.token = nil
		if w := s.peer.caps.Window; w != nil && deref(w.WorkDoneProgress) {
			x.progress.token, x.progress.create = protocol.String(newID()), true
		}
	}
	x.token = x.progress.token
	if err := s.runs.add(x); err != nil {
		return nil, err
	}
	if x.detached {
		return answerNow(s.runs.started(x)), nil
	}
	return x.await, nil
}

// isDetached decides by CONTRACT §4 whether a command answers at once.
func (s *Server) isDetached(wish *bool, token bool) bool {
	if wish != nil {
		return *wish
	}
	switch s.cfg.Load().Detached {
	case "always":
		return true
	case "never":
		return false
	}
	if token || s.peer.features != (features{}) {
		return false
	}
	impatient := []string{"", "eglot", "emacs", "helix", "zed", "kak-lsp"}
	return slices.Contains(impatient, strings.ToLower(s.peer.name))
}

// startedInfo is the result of a detached command.
type startedInfo struct {
	RunID   string    `json:"runId"`
	Session string    `json:"session"`
	Status  runStatus `json:"status"`
}

// started says whether a run that was just added waits.
func (r *runs) started(x *run) startedInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	info := startedInfo{x.id, x.session, runQueued}
	if q := r.queues[x.queue()]; len(q) == 0 || q[0] == x {
		info.Status = runRunning
	}
	return info
}

// cancelArg is the argument of agentls.cancel.
type cancelArg struct {
	RunID *string `json:"runId"`
}

// cancelInfo is the result of agentls.cancel: the runs that were signalled.
type cancelInfo struct {
	Cancelled []string `json:"cancelled"`
}

// prepareCancel cancels in wire order: every run that was asked for before.
func prepareCancel(s *Server, _ context.Context, arg cancelArg, _ invocation) (serveFunc, error) {
	ids := s.runs.cancel(agent.ErrCancelled, func(x *run) bool { return arg.RunID == nil || *arg.RunID == x.id })
	return answerNow(cancelInfo{ids}), nil
}

func prepareRuns(s *Server, _ context.Context, _ none, _ invocation) (serveFunc, error) {
	return answerNow(s.runs.infos()), nil
}
