package config

import (
	"fmt"

	"agentls/mcp"
)

// input is one entry of VS Code's `inputs`.
type input struct {
	mcp.Input
	refused string // why it cannot be asked for
}

// inputsOf reads what a .vscode/mcp.json lets be asked for. As in VS Code the
// first of an id counts.
func inputsOf(root node) map[string]input {
	out := map[string]input{}
	for _, m := range root.members() {
		if m.key != "inputs" {
			continue
		}
		for _, item := range m.items() {
			in, ok := item.input()
			if !ok {
				continue
			}
			if _, twice := out[in.ID]; twice {
				item.wrong("there is an input %q before this one, which counts", in.ID)
				continue
			}
			out[in.ID] = in
		}
	}
	return out
}

// input decodes one entry; what is wrong is told.
func (n node) input() (in input, ok bool) {
	kind := ""
	var options []string
	for _, f := range n.members() {
		switch f.key {
		case "id":
			set(&in.ID)(f.text())
		case "type":
			set(&kind)(f.text())
		case "description":
			set(&in.Description)(f.text())
		case "default":
			set(&in.Default)(f.text())
		case "password":
			set(&in.Password)(f.truth())
		case "options":
			options = f.options()
		}
	}
	switch {
	case n.value.Value.Kind() != '{':
		return in, false // is told
	case in.ID == "":
		n.wrong("an input needs an id")
		return in, false
	case kind == "pickString":
		if in.Options = options; len(options) == 0 {
			in.refused = "it has no options to pick from"
		}
	case kind == "command":
		in.refused = "inputs of the type command run a command of VS Code; use promptString, pickString or ${VAR}"
	case kind != "promptString":
		in.refused = fmt.Sprintf("its type is %q; use promptString or pickString", kind)
	}
	return in, true
}

// options gives what can be picked: texts, or objects with label and value.
func (n node) options() []string {
	var out []string
	for _, item := range n.items() {
		if item.value.Value.Kind() != '{' {
			if s, ok := item.text(); ok {
				out = append(out, s)
			}
			continue
		}
		for _, f := range item.members() {
			if f.key == "value" {
				if s, ok := f.text(); ok {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// input leaves ${input:ID} for mcp, which asks once the server may start.
func (x *expander) input(path, id string) string {
	in, known := x.doc.inputs[id]
	switch {
	case x.doc.inputs == nil:
		return x.fail(path, "${input:%s} counts in .vscode/mcp.json only; use ${VAR} and set the variable", id)
	case !known:
		return x.fail(path, `${input:%s} has no entry in "inputs"`, id)
	case in.refused != "":
		return x.fail(path, "${input:%s} cannot be asked for: %s", id, in.refused)
	case x.inputs == nil:
		return x.fail(path, "${input:%s} cannot stand here", id)
	}
	x.inputs[id] = in.Input
	return "${input:" + id + "}"
}
