package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// Errors of a prompt that a caller decides on.
var (
	ErrUnknownPrompt  = errors.New("unknown prompt")
	ErrPromptArgument = errors.New("wrong arguments of a prompt")
)

const (
	// maxPromptArguments bounds the names and values given to a prompt, in bytes.
	maxPromptArguments = 4 << 20
	// maxPromptMessages bounds what a prompt may answer.
	maxPromptMessages = 1000
	// namedPrompts is how many names an error lists.
	namedPrompts = 10
)

// PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role     string // user or assistant
	Contents []Content
}

// PromptResult is the answer to prompts/get. Its messages are the server's
// words: data, in which nothing is expanded.
type PromptResult struct {
	Description string
	Messages    []PromptMessage // never empty, each with a content
}

// PromptCandidate is a prompt of a ready server, for completion.
type PromptCandidate struct {
	Server, Name string // configured and mention name of the server
	Prompt       Prompt
	Stale        bool // the server said that its prompts changed since
}

// PromptList returns the prompts of all ready servers from the cache, by
// server as in Servers, each in its server's order. Never blocks.
func (m *Manager) PromptList() []PromptCandidate {
	var out []PromptCandidate
	for _, s := range m.list() {
		mention := s.cache.snap.Load().mention
		s.mu.Lock()
		prompts, stale := s.prompts, s.promptsAge.old(time.Now())
		if s.status != StatusReady {
			prompts = nil
		}
		s.mu.Unlock()
		for _, p := range prompts {
			out = append(out, PromptCandidate{Server: s.cfg.Name, Name: mention, Prompt: p, Stale: stale})
		}
	}
	return out
}

// ServerNamed returns the server that a mention name stands for.
func (m *Manager) ServerNamed(mention string) (ServerInfo, bool) {
	for _, s := range m.list() {
		if s.cache.snap.Load().mention == mention {
			return s.info(), true
		}
	}
	return ServerInfo{}, false
}

// GetPrompt asks for a prompt's messages (prompts/get). Names that the server
// does not list give ErrUnknownPrompt, arguments that are missing or not the
// prompt's ErrPromptArgument; the server is not asked then. A cancelled ctx
// sends notifications/cancelled. Its deadline is as CallTool's.
func (m *Manager) GetPrompt(ctx context.Context, server, name string, arguments map[string]string) (PromptResult, error) {
	s, err := m.find(server)
	if err != nil {
		return PromptResult{}, err
	}
	return s.getPrompt(ctx, name, arguments)
}

func (s *session) getPrompt(ctx context.Context, name string, arguments map[string]string) (PromptResult, error) {
	var raw json.RawMessage
	err := s.using(ctx, lost, func(c *connection) error {
		p, err := s.prompt(ctx, c, name)
		if err == nil {
			err = checkArguments(p, arguments)
		}
		if err != nil {
			return err
		}
		if raw, err = c.getPrompt(ctx, p, arguments); err != nil {
			return fmt.Errorf("prompt %q of %q: %w", name, s.cfg.Name, err)
		}
		return nil
	})
	if err != nil {
		return PromptResult{}, err
	}
	out, bad, err := parsePromptResult(raw)
	if bad > 0 {
		s.problem(fmt.Sprintf("%d messages of the prompt %q were dropped because they are malformed", bad, name))
	}
	if err != nil {
		return PromptResult{}, fmt.Errorf("prompt %q of %q: %w", name, s.cfg.Name, err)
	}
	return out, nil
}

// prompt finds a listed prompt. The list is fetched anew for one that is not
// in it: it may have come since.
func (s *session) prompt(ctx context.Context, c *connection, name string) (Prompt, error) {
	find := func(list []Prompt) (Prompt, bool) {
		i := slices.IndexFunc(list, func(p Prompt) bool { return p.Name == name })
		if i < 0 {
			return Prompt{}, false
		}
		return list[i], true
	}
	s.mu.Lock()
	list, fresh := s.prompts, s.promptsAge.held && !s.promptsAge.old(time.Now())
	s.mu.Unlock()
	if p, ok := find(list); ok && fresh {
		return p, nil
	}
	err := s.refreshPrompts(ctx, c)
	s.mu.Lock()
	list = s.prompts
	s.mu.Unlock()
	p, ok := find(list)
	switch {
	case ok: // an old list is better than none
		return p, nil
	case err != nil:
		return Prompt{}, fmt.Errorf("the prompts of %q could not be fetched: %w", s.cfg.Name, err)
	}
	return Prompt{}, fmt.Errorf("%w: %q has no prompt %q; %s", ErrUnknownPrompt, s.cfg.Name, name, choices("its prompts are", list, func(p Prompt) string { return p.Name }))
}

// choices lists names for an error.
func choices[T any](lead string, list []T, name func(T) string) string {
	if len(list) == 0 {
		return "it has none"
	}
	var names []string
	for _, v := range list[:min(len(list), namedPrompts)] {
		names = append(names, name(v))
	}
	more := ""
	if len(list) > namedPrompts {
		more = fmt.Sprintf(" and %d more", len(list)-namedPrompts)
	}
	return lead + " " + strings.Join(names, ", ") + more
}

// checkArguments holds the arguments against what the prompt lists, so that
// what is wrong is told by name: servers answer with all kinds of errors.
func checkArguments(p Prompt, arguments map[string]string) error {
	var missing []string
	for _, a := range p.Arguments {
		if _, given := arguments[a.Name]; a.Required && !given {
			missing = append(missing, a.Name)
		}
	}
	name := func(a PromptArgument) string { return a.Name }
	size := 0
	for given, value := range arguments {
		size += len(given) + len(value)
		if !slices.ContainsFunc(p.Arguments, func(a PromptArgument) bool { return a.Name == given }) {
			return fmt.Errorf("%w: %s has no argument %q; %s", ErrPromptArgument, p.Name, clip(given, 100), choices("its arguments are", p.Arguments, name))
		}
	}
	switch {
	case len(missing) == 1:
		return fmt.Errorf("%w: %s needs the argument %s", ErrPromptArgument, p.Name, missing[0])
	case len(missing) > 1:
		return fmt.Errorf("%w: %s needs the arguments %s", ErrPromptArgument, p.Name, strings.Join(missing, ", "))
	case size > maxPromptArguments:
		return fmt.Errorf("%w: the arguments of %s have %d bytes; at most %d are sent", ErrPromptArgument, p.Name, size, maxPromptArguments)
	}
	return nil
}

// getPrompt sends prompts/get. A prompt that has arguments gets an object also
// where none is given, which mcp-go leaves out: servers that check them by a
// schema refuse to have none (-32602, "expected object, received undefined").
func (c *connection) getPrompt(ctx context.Context, p Prompt, arguments map[string]string) (json.RawMessage, error) {
	defer c.calls.begin(ctx)()
	ex, name := &exchange{}, p.Name
	if len(p.Arguments) > 0 && len(arguments) == 0 {
		ex.fields = map[string]json.RawMessage{"arguments": json.RawMessage("{}")}
	}
	return c.attend(ctx, ex, attended{"prompts/get of " + name, nil, func(ctx context.Context, meta *mcpgo.Meta) error {
		var req mcpgo.GetPromptRequest
		req.Params.Name, req.Params.Arguments, req.Params.Meta = name, arguments, meta
		_, err := c.client.GetPrompt(ctx, req)
		return err
	}})
}

// parsePromptResult decodes the result of prompts/get. bad counts the messages
// that say nothing; the rest still counts.
func parsePromptResult(raw json.RawMessage) (out PromptResult, bad int, err error) {
	var r struct {
		Description maybe[string]   `json:"description"`
		Messages    json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(raw, &r) != nil || missing(r.Messages) {
		return PromptResult{}, 0, errors.New("the server's answer holds no messages")
	}
	out.Description = r.Description.v
	var items []json.RawMessage
	if json.Unmarshal(r.Messages, &items) != nil {
		items = []json.RawMessage{r.Messages} // one where a list belongs
	}
	if len(items) > maxPromptMessages {
		return PromptResult{}, 0, fmt.Errorf("the server's answer holds %d messages; at most %d are taken", len(items), maxPromptMessages)
	}
	for _, item := range items {
		if m, ok := parsePromptMessage(item); ok {
			out.Messages = append(out.Messages, m)
		} else {
			bad++
		}
	}
	if len(out.Messages) == 0 {
		return PromptResult{}, bad, errors.New("the server's answer holds no message that says anything")
	}
	return out, bad, nil
}

// parsePromptMessage decodes one message; false for one without content. A
// role that MCP does not know is the user's: it must not weigh more.
func parsePromptMessage(raw json.RawMessage) (PromptMessage, bool) {
	var m struct {
		Role    maybe[string]   `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &m) != nil {
		var text string
		if json.Unmarshal(raw, &text) != nil || text == "" {
			return PromptMessage{}, false
		}
		return PromptMessage{Role: "user", Contents: []Content{{Type: "text", Text: text}}}, true
	}
	out := PromptMessage{Role: "user"}
	if m.Role.v == "assistant" {
		out.Role = m.Role.v
	}
	var parts []json.RawMessage
	if json.Unmarshal(m.Content, &parts) != nil {
		parts = []json.RawMessage{m.Content}
	}
	for _, part := range parts {
		if !missing(part) {
			out.Contents = append(out.Contents, parseContent(part))
		}
	}
	return out, len(out.Contents) > 0
}
