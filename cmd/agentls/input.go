package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agentls/mcp"
)

// input asks on the terminal for what a server needs before it first starts.
// Without a terminal, with an empty line where nothing is offered, and when
// ctx ends, it is not given.
func (t *terminal) input(ctx context.Context, r mcp.Request) mcp.RequestAnswer {
	if t.tty == nil {
		return declined
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	in := r.Input
	what := "needs the input " + word(in.ID) + " before it can start"
	if in.Description != "" {
		what += ": " + in.Description
	}
	t.note("The MCP server %s %s", strings.Join(r.Servers, ", "), what)
	for i, option := range in.Options { // whole: one may end in a command
		fmt.Fprintf(t.tty, "  %d  %s\n", i+1, word(option))
	}
	prompt := "  Its value"
	if in.Options != nil {
		prompt = "  Its number or value"
	}
	if in.Default != "" {
		prompt += " [" + word(in.Default) + "]"
	}
	fmt.Fprint(t.tty, prompt+": ")
	read := t.tty.readLine
	if in.Password {
		read = t.tty.readPassword
	}
	line, err := read(ctx)
	if err != nil {
		return declined
	}
	value := strings.TrimRight(line, "\r\n")
	if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && in.Options != nil && !slices.Contains(in.Options, value) && n >= 1 && n <= len(in.Options) {
		value = in.Options[n-1]
	}
	if value == "" {
		value = in.Default
	}
	if value == "" || in.Options != nil && !slices.Contains(in.Options, value) {
		fmt.Fprintln(t.tty, "  That is no value; the server is not started.")
		return declined
	}
	return mcp.RequestAnswer{Accept: true, Value: value}
}

// awaitInputs waits until a person has answered for every server that waits
// for them, so that a prompt has them.
func (p *parts) awaitInputs(ctx context.Context) {
	for slices.ContainsFunc(p.manager.Servers(), func(s mcp.ServerInfo) bool { return s.Status == mcp.StatusStarting && s.Needs != "" }) {
		select {
		case <-p.answered:
		case <-ctx.Done():
			return
		}
	}
}
