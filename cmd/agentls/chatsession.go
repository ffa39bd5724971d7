package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentls/agent"
	"agentls/mcp"
)

// bannerWait is how long the banner's second line waits for what it tells; what
// is not known by then is left out.
const bannerWait = 3 * time.Second

// banner says where one is. What has to be asked for comes on its second line,
// which nobody waits for.
func (d *dialogue) banner() {
	d.face.note(notePlain, "agentls "+version+" in "+oneLine(d.folder, 300))
	d.work.Go(func() {
		defer d.guard()
		ctx, cancel := context.WithTimeout(context.Background(), bannerWait)
		defer cancel()
		var parts []string
		var m struct{ Provider, Model string }
		if d.execute(ctx, "agentls.model", map[string]bool{"choices": false}, &m) == nil {
			parts = append(parts, "model: "+oneLine(strings.Trim(m.Provider+"/"+m.Model, "/"), 100))
		}
		var servers []mcp.ServerInfo
		if d.execute(ctx, "agentls.mcp.servers", struct{}{}, &servers) == nil {
			parts = append(parts, standing(servers)...)
		}
		d.face.note(noteDim, strings.Join(append(parts, "/help lists the commands"), " · "))
	})
}

// standing counts the servers by what they are.
func standing(servers []mcp.ServerInfo) (parts []string) {
	counts := map[mcp.Status]int{}
	for _, s := range servers {
		counts[s.Status]++
	}
	for _, kind := range []mcp.Status{mcp.StatusReady, mcp.StatusStarting, mcp.StatusUntrusted, mcp.StatusNeedsLogin, mcp.StatusFailed} {
		if n := counts[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(parts) > 0 {
		parts[0] = "MCP servers: " + parts[0]
		parts = []string{strings.Join(parts, ", ")}
	}
	return parts
}

// sessions lists those of the folder, the newest first.
func (d *dialogue) sessions(ctx context.Context) (list []agent.SessionInfo, err error) {
	err = d.execute(ctx, "agentls.session.list", struct{}{}, &list)
	return list, err
}

// sessionsShown is how many are listed.
const sessionsShown = 20

// showSessions lists the sessions with the numbers that /resume takes.
func (d *dialogue) showSessions(ctx context.Context) {
	list, err := d.sessions(ctx)
	if err != nil {
		d.fail(err)
		return
	}
	d.mu.Lock()
	d.listed = nil
	for _, s := range list {
		d.listed = append(d.listed, s.Session)
	}
	here := d.id
	d.mu.Unlock()
	if len(list) == 0 {
		d.face.note(notePlain, "There is no session in this folder yet.")
		return
	}
	var lines []string
	for i, s := range list[:min(len(list), sessionsShown)] {
		mark := " "
		if s.Session == here {
			mark = "*"
		}
		lines = append(lines, fmt.Sprintf("%s%2d  %s  %-8s  %s", mark, i+1, s.UpdatedAt.Local().Format("2006-01-02 15:04"), plural(s.Turns, "turn"), sessionTitle(s)))
	}
	if n := len(list) - sessionsShown; n > 0 {
		lines = append(lines, fmt.Sprintf("… and %d older ones", n))
	}
	d.face.note(notePlain, strings.Join(lines, "\n"))
}

// sessionTitle is what a session is known by.
func sessionTitle(s agent.SessionInfo) string {
	text := oneLine(cmp.Or(s.Title, s.Session), 60)
	if s.Status != "" && s.Status != agent.StatusCompleted {
		text += " (" + oneLine(s.Status, 20) + ")"
	}
	return text
}

// resumeAtStart goes on with what the command line names.
func (d *dialogue) resumeAtStart(ctx context.Context, o chatOptions) {
	which := o.session
	if o.last {
		which = "1"
	}
	switch err := d.resume(ctx, which); {
	case errors.Is(err, errNoSessions):
		d.face.note(noteDim, "there is no session in this folder yet; this one is new")
	case errors.Is(err, errNewSession): // it begins with its first prompt
	case err != nil:
		d.fail(err)
	}
}

var (
	errNoSessions = errors.New("there is no session in this folder yet; send a first prompt, and there is one")
	errNewSession = errors.New("there is no such session in this folder; /sessions lists those that are")
)

// resume goes on with a session: by its number in the list, or its id; "": the
// last one that is not this one.
func (d *dialogue) resume(ctx context.Context, which string) error {
	list, err := d.sessions(ctx)
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return errNoSessions
	}
	d.mu.Lock()
	numbered, here := d.listed, d.id
	d.mu.Unlock()
	if numbered == nil {
		for _, s := range list {
			numbered = append(numbered, s.Session)
		}
	}
	id := which
	n, err := strconv.Atoi(which)
	known := slices.ContainsFunc(list, func(s agent.SessionInfo) bool { return s.Session == which })
	switch {
	case which == "":
		i := slices.IndexFunc(list, func(s agent.SessionInfo) bool { return s.Session != here })
		if i < 0 {
			return errors.New("there is no other session in this folder; /sessions lists them")
		}
		id = list[i].Session
	case known:
	case err == nil && n >= 1 && n <= len(numbered):
		id = numbered[n-1]
	default:
		return errNewSession
	}
	var text struct {
		Title    string
		Messages []struct{ Role, Text string }
	}
	if err := d.execute(ctx, "agentls.session.show", map[string]string{"session": id}, &text); err != nil {
		return err
	}
	d.setSession(id)
	d.recall(text.Title, text.Messages)
	return nil
}

// The last words of a session that are shown when it goes on.
const (
	recalledPrompt = 300  // code points
	recalledAnswer = 1500 // code points
)

// recall shows the last exchange of a session.
func (d *dialogue) recall(title string, messages []struct{ Role, Text string }) {
	d.face.note(noteDone, "on with: "+oneLine(title, 100))
	var prompt, answer string
	for _, m := range messages {
		switch {
		case m.Role == "user":
			prompt, answer = m.Text, ""
		case m.Role == "assistant" && m.Text != "":
			answer = m.Text
		}
	}
	if prompt != "" {
		d.face.note(noteDim, "› "+oneLine(prompt, recalledPrompt))
	}
	if r := []rune(printable(answer)); len(r) > recalledAnswer {
		answer = "… " + string(r[len(r)-recalledAnswer:])
	}
	if answer != "" {
		d.face.answer(printable(d.parts.secrets.Redact(answer)))
		d.face.answer("")
	}
}
