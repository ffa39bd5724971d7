package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentls/mcp"
)

const (
	// patience bounds a scenario: the suite kills its client after 30 s.
	patience = 25 * time.Second
	// server is the name that the suite's server is configured under.
	server = "suite"
	// modernVersion is the first version without initialize.
	modernVersion = "2026-07-28"
)

// scenario is what the suite wants of one start of its client.
type scenario struct {
	name    string
	version string // of the protocol; empty, as suites before 0.2 have it: the last with initialize
	url     string
	given   given
}

// given is MCP_CONFORMANCE_CONTEXT, as far as it is used.
type given struct {
	ClientID     string     `json:"client_id"`
	ClientSecret string     `json:"client_secret"`
	ToolCalls    []toolCall `json:"toolCalls"`
}

type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// steps is what a host does once it is connected, by the scenario's name; one
// that ends with / is of all that begin with it. What the host does of itself
// (the start, the lists, the login) is not among them.
func steps() map[string]func(context.Context, *host, given) error {
	nothing := func(context.Context, *host, given) error { return nil }
	return map[string]func(context.Context, *host, given) error{
		"initialize":               nothing,
		"request-metadata":         nothing,
		"json-schema-ref-no-deref": nothing,
		"tools_call": func(ctx context.Context, h *host, _ given) error {
			return h.call(ctx, "add_numbers", `{"a":5,"b":3}`)
		},
		"elicitation-sep1034-client-defaults": func(ctx context.Context, h *host, _ given) error {
			return h.call(ctx, "test_client_elicitation_defaults", `{}`)
		},
		"sse-retry": func(ctx context.Context, h *host, _ given) error {
			return h.call(ctx, "test_reconnection", `{}`)
		},
		"auth/": func(ctx context.Context, h *host, _ given) error {
			return h.call(ctx, "test-tool", `{}`)
		},
		"sep-2322-client-request-state":    callAll(`{}`),
		"http-invalid-tool-headers":        callAll(`{"region":"us-west1"}`),
		"http-standard-headers":            oneOfEach,
		"http-custom-headers":              callGiven,
		"json-schema-2020-12-preservation": echoSchema,
	}
}

// run connects and does the scenario's steps.
func (s scenario) run(ctx context.Context) error {
	all := steps()
	do, known := all[s.name]
	if family, _, ok := strings.Cut(s.name, "/"); ok && !known {
		do, known = all[family+"/"]
	}
	if !known {
		return fmt.Errorf("the scenario %q is not known; give it its steps in cmd/agentls-conformance/scenario.go", s.name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the scenario took too long"))
	defer cancel()
	h, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer h.close()
	return do(ctx, h, s.given)
}

// protocol is the era that the scenario names: real servers are asked in the
// order of CONTRACT §9, which would ask each modern one for what it has not.
func (s scenario) protocol() string {
	if s.version >= modernVersion {
		return "modern"
	}
	return "legacy"
}

// callAll calls every tool. What the server or the host refuses is the
// scenario's matter, not an error.
func callAll(arguments string) func(context.Context, *host, given) error {
	return func(ctx context.Context, h *host, _ given) error {
		for _, t := range h.tools() {
			h.tolerate(h.call(ctx, t.Name, arguments))
		}
		return nil
	}
}

// callGiven makes the calls that the suite asks for.
func callGiven(ctx context.Context, h *host, g given) error {
	if len(g.ToolCalls) == 0 {
		return errors.New("MCP_CONFORMANCE_CONTEXT has no toolCalls")
	}
	for _, c := range g.ToolCalls {
		h.tolerate(h.call(ctx, c.Name, string(c.Arguments)))
	}
	return nil
}

// oneOfEach calls a tool, reads a resource and gets a prompt.
func oneOfEach(ctx context.Context, h *host, _ given) error {
	tools := h.tools()
	if len(tools) == 0 {
		return errors.New("the server lists no tools")
	}
	h.tolerate(h.call(ctx, tools[0].Name, `{}`))
	list, err := h.manager.ListResources(ctx, server)
	if err != nil {
		return err
	}
	for _, r := range list.Resources[:min(1, len(list.Resources))] {
		if _, err := h.manager.Read(ctx, server, r.URI); err != nil {
			return err
		}
	}
	prompts, err := h.manager.ListPrompts(ctx, server)
	if err != nil {
		return err
	}
	for _, p := range prompts[:min(1, len(prompts))] {
		if _, err := h.manager.GetPrompt(ctx, server, p.Name, values(p)); err != nil {
			return err
		}
	}
	return nil
}

// values gives a prompt a value for what it must have.
func values(p mcp.Prompt) map[string]string {
	out := map[string]string{}
	for _, a := range p.Arguments {
		if a.Required {
			out[a.Name] = "x"
		}
	}
	return out
}

// echoSchema sends a tool's schema back as the model would be given it.
func echoSchema(ctx context.Context, h *host, _ given) error {
	const focal, echo = "json_schema_2020_12_tool", "json_schema_echo"
	tools := h.tools()
	i := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == focal })
	if i < 0 {
		return fmt.Errorf("the server lists no tool %q", focal)
	}
	arguments, err := json.Marshal(map[string]json.RawMessage{"schema": tools[i].Schema})
	if err != nil {
		return err
	}
	return h.call(ctx, echo, string(arguments))
}
