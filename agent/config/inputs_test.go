package config

import (
	"slices"
	"strings"
	"testing"

	"agentls/mcp"
)

func TestInputs(t *testing.T) {
	w := newWorld(t)
	w.env["TOKEN"] = "token-value"
	file := func(inputs, server string) Config {
		w.project(".vscode/mcp.json", `{"inputs": [`+inputs+`], "servers": {"s": `+server+`}}`)
		return w.load()
	}
	inputs := `{"type": "promptString", "id": "key", "description": "The key", "password": true}, {"type": "pickString", "id": "env", "options": ["dev", {"label": "P", "value": "prod"}], "default": "dev"},
		{"type": "promptString", "id": "unused"}, {"type": "promptString", "id": "dir"}`
	c := file(inputs, `{"command": "x", "args": ["--env=${input:env}", "${TOKEN}"], "cwd": "${input:dir}/sub", "env": {"K": "${input:key}"}}`)
	problems(t, c)
	s := server(t, c, "s")
	want := []mcp.Input{{ID: "dir"}, {ID: "env", Options: []string{"dev", "prod"}, Default: "dev"}, {ID: "key", Description: "The key", Password: true}}
	if !slices.EqualFunc(s.Inputs, want, func(a, b mcp.Input) bool {
		return a.ID == b.ID && a.Description == b.Description && a.Default == b.Default && a.Password == b.Password && slices.Equal(a.Options, b.Options)
	}) {
		t.Errorf("%+v", s.Inputs)
	}
	if s.Args[0] != "--env=${input:env}" || s.Args[1] != "token-value" || s.Env["K"] != "${input:key}" || s.Cwd != "${input:dir}/sub" || s.Err != "" {
		t.Errorf("%+v", s)
	}
	// Trust is asked for what is written, not for what will be answered.
	again := file(inputs+`, {"type": "promptString", "id": "more"}`, `{"command": "x", "args": ["--env=${input:env}", "${TOKEN}"], "cwd": "${input:dir}/sub", "env": {"K": "${input:key}"}}`)
	if server(t, again, "s").Fingerprint != s.Fingerprint {
		t.Error("inputs are in the fingerprint")
	}

	refused := func(name, inputs, field, want string) {
		t.Helper()
		c := file(inputs, `{"command": "x", `+field+`}`)
		if s := server(t, c, "s"); !strings.Contains(s.Err, want) || len(s.Inputs) > 0 {
			t.Errorf("%s: %q, %v", name, s.Err, s.Inputs)
		}
		if i := slices.IndexFunc(c.Problems, func(p Problem) bool { return p.Disables && strings.Contains(p.Message, want) }); i < 0 {
			t.Errorf("%s is not told: %q", name, c.Problems)
		}
	}
	arg := `"args": ["${input:a}"]`
	refused("a command", `{"type": "command", "id": "a", "command": "evil.run"}`, arg, "inputs of the type command run a command of VS Code")
	refused("no entry", ``, arg, `has no entry in "inputs"`)
	refused("another type", `{"type": "promptstring", "id": "a"}`, arg, `its type is "promptstring"`)
	refused("nothing to pick", `{"type": "pickString", "id": "a", "options": []}`, arg, "no options to pick from")
	refused("in envFile", `{"type": "promptString", "id": "a"}`, `"envFile": "${input:a}"`, "cannot stand here")

	c = file(`5, {"type": "promptString"}, {"id": "a", "type": "promptString", "description": 1, "options": [2]}, {"id": "a", "type": "command"}`, `{"command": "${input:a}"}`)
	problems(t, c, "inputs[0]: must be an object", "inputs[1]: an input needs an id", "description: must be a text", "options[0]: must be a text", `inputs[3]: there is an input "a" before`)
	if s := server(t, c, "s"); len(s.Inputs) != 1 || s.Err != "" {
		t.Errorf("%+v", s)
	}

	w.project(".vscode/mcp.json", `{"inputs": {"a": 1}}`)
	w.project(".mcp.json", `{"inputs": [{"type": "promptString", "id": "a"}], "mcpServers": {"t": {"command": "${input:a}"}}}`)
	c = w.load()
	problems(t, c, "inputs: must be a list", `has no "servers"`, "counts in .vscode/mcp.json only")
	if s := server(t, c, "t"); s.Err == "" || s.Inputs != nil {
		t.Errorf("%+v", s)
	}
}
