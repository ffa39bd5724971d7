package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"
)

// steerArg is the argument of agentls.steer.
type steerArg struct {
	RunID *string `json:"runId"`
	Text  *string `json:"text"`
}

// steerInfo is the result of agentls.steer.
type steerInfo struct {
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitzero"` // why not
}

// prepareSteer steers in wire order: a run that was asked for before is there,
// one that ended before is not.
func prepareSteer(s *Server, _ context.Context, arg steerArg, in invocation) (serveFunc, error) {
	if err := required(in.command, "runId", arg.RunID); err != nil {
		return nil, err
	}
	text := deref(arg.Text)
	if strings.TrimSpace(text) == "" {
		return nil, badf("%s: there is no text; give {\"runId\": \"…\", \"text\": \"…\"}", in.command)
	}
	if n := utf8.RuneCountInString(text); n > promptMax {
		return nil, badf("%s: the text has %d characters, the most is %d; put it into a file and mention it", in.command, n, promptMax)
	}
	reason := s.runs.steer(*arg.RunID, text)
	return answerNow(steerInfo{reason == "", reason}), nil
}

// steer adds a text to a live run: to its prompt while it waits, else for the
// next turn of its model. The reason says why it was not taken.
func (r *runs) steer(id, text string) (reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(x *run) bool { return x.id == id })
	if i < 0 {
		return "no run has this id; agentls.runs lists them"
	}
	x := r.list[i]
	switch {
	case !x.status.live():
		return fmt.Sprintf("the run has ended (%s); send the text as a new prompt of its session", x.status)
	case x.ctx.Err() != nil:
		return "the run is being cancelled"
	case x.status == runQueued:
		prompt := below(x.prompt, text)
		if utf8.RuneCountInString(prompt) > promptMax {
			return fmt.Sprintf("the prompt would have more than %d characters", promptMax)
		}
		x.prompt = prompt
	default:
		if err := x.steer.Add(text); err != nil {
			return err.Error()
		}
	}
	x.asked = below(x.asked, text)
	if x.status == runQueued {
		x.head = r.s.shown(x.asked, headMax)
	}
	return ""
}

// below puts a text below another, parted by a blank line.
func below(text, more string) string {
	if strings.TrimSpace(text) == "" {
		return more
	}
	return text + "\n\n" + more
}

// whole is what a run was asked for, with what was added to it so far.
func (r *runs) whole(x *run) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return x.asked
}

// tellUnread says what a person added too late for the model: it must not
// vanish.
func (x *run) tellUnread() {
	if left := x.steer.Close(); len(left) > 0 {
		x.s.showMessage(protocol.MessageTypeWarning, fmt.Sprintf("agentls: the run of “%s” ended before the model read “%s”; send it again",
			x.head, x.s.shown(strings.Join(left, " "), headMax)))
	}
}
