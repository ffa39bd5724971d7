package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"agentls/mcp"
)

// servers is a double of the manager, for tests on a fake clock.
type servers struct {
	mu        sync.Mutex
	infos     []mcp.ServerInfo
	tools     []mcp.Tool
	resources map[string]map[string][]mcp.Content // by server and URI
	prompts   map[string]mcp.PromptResult         // by server/name
	missing   []string
	said      []mcp.Instructions
	used      map[[2]string]uint64                     // by server and URI
	lists     map[string]mcp.ResourceList              // by server, in the place of resources
	hang      map[string]bool                          // methods that wait for ctx: WaitStarted, Settle, Read
	waits     func(ctx context.Context, method string) // likewise, as long as it takes; nil: they do not
	reading   func(ctx context.Context) error          // of ListResources and Read; nil: they answer
	stubborn  chan struct{}                            // closed: lets calls go that do not react to ctx
	calls     []string                                 // server/tool arguments
	running   int
	most      int // calls beside each other
	settled   int
	check     func(server, tool string, args json.RawMessage) error // of CheckArguments; nil: all fit
	call      map[string]func(ctx context.Context, args json.RawMessage, progress func(mcp.Progress)) (mcp.ToolResult, error)
}

func newServers() *servers {
	text := func(s string) (mcp.ToolResult, error) {
		return mcp.ToolResult{Content: []mcp.Content{{Type: "text", Text: s}}}, nil
	}
	s := &servers{
		infos: []mcp.ServerInfo{
			{Name: "workspace", Status: mcp.StatusReady},
			{Name: "fake", Status: mcp.StatusReady, Fingerprint: "f1"},
		},
		resources: map[string]map[string][]mcp.Content{
			"fake":      {"file://doc.md": {{URI: "file://doc.md", MIMEType: "text/markdown", Text: "Content of doc\n"}}},
			"workspace": {"file://a.txt": {{URI: "file://a.txt", MIMEType: "text/plain", Text: "alpha"}}},
		},
		hang: map[string]bool{}, stubborn: make(chan struct{}),
	}
	s.call = map[string]func(ctx context.Context, args json.RawMessage, progress func(mcp.Progress)) (mcp.ToolResult, error){
		"fake/echo": func(_ context.Context, args json.RawMessage, _ func(mcp.Progress)) (mcp.ToolResult, error) {
			var in struct{ Text string }
			_ = json.Unmarshal(args, &in)
			return text("echo: " + in.Text)
		},
		"fake/sleep": func(ctx context.Context, _ json.RawMessage, _ func(mcp.Progress)) (mcp.ToolResult, error) {
			select {
			case <-time.After(5 * time.Second):
				return text("slept")
			case <-ctx.Done():
				return mcp.ToolResult{}, context.Cause(ctx)
			}
		},
		"fake/stubborn": func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
			select {
			case <-s.stubborn:
			case <-time.After(time.Hour):
			}
			return text("late")
		},
		"fake/fail": func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
			return mcp.ToolResult{}, errors.New("the server fell over")
		},
		"fake/error": func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
			return mcp.ToolResult{IsError: true, Content: []mcp.Content{{Type: "text", Text: "no such row"}}}, nil
		},
		"fake/panic": func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
			panic("a tool's bug")
		},
		"fake/progress": func(_ context.Context, _ json.RawMessage, progress func(mcp.Progress)) (mcp.ToolResult, error) {
			progress(mcp.Progress{Progress: 1, Total: 2, Message: "half"})
			return text("progressed")
		},
	}
	for _, name := range slices.Sorted(maps.Keys(s.call)) {
		_, tool, _ := strings.Cut(name, "/")
		s.tools = append(s.tools, mcp.Tool{Server: "fake", Name: tool, Description: "The tool " + tool, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return s
}

func (s *servers) wait(ctx context.Context, method string) {
	s.mu.Lock()
	hang := s.hang[method]
	s.mu.Unlock()
	if hang {
		<-ctx.Done()
	}
	if s.waits != nil {
		s.waits(ctx, method)
	}
}

func (s *servers) Servers() []mcp.ServerInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.infos)
}

// configure gives the server "fake" another configuration.
func (s *servers) configure(fingerprint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.infos {
		if s.infos[i].Name == "fake" {
			s.infos[i].Fingerprint = fingerprint
		}
	}
}

// redefine changes the tool echo.
func (s *servers) redefine(edit func(*mcp.Tool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.tools {
		if s.tools[i].Name == "echo" {
			edit(&s.tools[i])
		}
	}
}

func (s *servers) Tools() []mcp.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tools)
}

func (s *servers) HasResources(server string) bool { return s.resources[server] != nil }

func (s *servers) Instructions() []mcp.Instructions { return s.said }

func (s *servers) WaitStarted(ctx context.Context) []string {
	s.wait(ctx, "WaitStarted")
	return s.missing
}

func (s *servers) Settle(ctx context.Context) {
	s.wait(ctx, "Settle")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled++
}

var mentionSyntax = regexp.MustCompile("(`?)@([a-z]+):([a-z]+://[^\\s`]+)")

func (s *servers) Mentions(text string) (out []mcp.Mention) {
	for _, m := range mentionSyntax.FindAllStringSubmatch(text, -1) {
		one := mcp.Mention{Name: m[2], URI: m[3], Quoted: m[1] != ""}
		if list, ok := s.resources[m[2]]; ok {
			one.Server = m[2]
			_, one.Known = list[m[3]]
		}
		out = append(out, one)
	}
	return out
}

func (s *servers) Used(server, uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == nil {
		s.used = map[[2]string]uint64{}
	}
	s.used[[2]string{server, uri}] = uint64(len(s.used) + 1)
}

func (s *servers) Recency() func(server, uri string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := maps.Clone(s.used)
	return func(server, uri string) uint64 { return used[[2]string{server, uri}] }
}

func (s *servers) ListResources(ctx context.Context, server string) (mcp.ResourceList, error) {
	if s.reading != nil {
		if err := s.reading(ctx); err != nil {
			return mcp.ResourceList{}, err
		}
	}
	return s.Resources(server)
}

func (s *servers) Resources(server string) (mcp.ResourceList, error) {
	if list, ok := s.lists[server]; ok {
		return list, nil
	}
	list := mcp.ResourceList{Fetched: true}
	for _, uri := range slices.Sorted(maps.Keys(s.resources[server])) {
		list.Resources = append(list.Resources, mcp.Resource{Server: server, URI: uri, Name: uri})
	}
	return list, nil
}

func (s *servers) Read(ctx context.Context, server, uri string) ([]mcp.Content, error) {
	s.mu.Lock()
	s.calls = append(s.calls, server+" reads "+uri)
	s.mu.Unlock()
	if s.reading != nil {
		if err := s.reading(ctx); err != nil {
			return nil, err
		}
	}
	s.wait(ctx, "Read")
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if strings.HasSuffix(uri, "/stubborn") {
		<-s.stubborn
	}
	contents, ok := s.resources[server][uri]
	switch {
	case !ok:
		return nil, fmt.Errorf("%s: %w", uri, mcp.ErrUnknownResource)
	case strings.HasSuffix(uri, "/stale"):
		return contents, &mcp.StaleError{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Err: fmt.Errorf("the server %q is gone", "<x>")}
	}
	return contents, nil
}

func (s *servers) GetPrompt(ctx context.Context, server, name string, arguments map[string]string) (mcp.PromptResult, error) {
	s.mu.Lock()
	s.calls = append(s.calls, fmt.Sprintf("%s prompts %s %v", server, name, arguments))
	s.mu.Unlock()
	s.wait(ctx, "GetPrompt")
	if ctx.Err() != nil {
		return mcp.PromptResult{}, context.Cause(ctx)
	}
	res, ok := s.prompts[server+"/"+name]
	if !ok {
		return res, fmt.Errorf("%w: %s", mcp.ErrUnknownPrompt, name)
	}
	return res, nil
}

func (s *servers) CheckArguments(server, tool string, args json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.check == nil {
		return nil
	}
	return s.check(server, tool, args)
}

func (s *servers) CallTool(ctx context.Context, server, tool string, args json.RawMessage, progress func(mcp.Progress)) (mcp.ToolResult, error) {
	s.mu.Lock()
	f := s.call[server+"/"+tool]
	s.calls = append(s.calls, fmt.Sprintf("%s/%s %s", server, tool, args))
	s.running++
	s.most = max(s.most, s.running)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.running--
		s.mu.Unlock()
	}()
	if f == nil {
		return mcp.ToolResult{}, mcp.ErrUnknownTool
	}
	return f(ctx, args, progress)
}

func (s *servers) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}
