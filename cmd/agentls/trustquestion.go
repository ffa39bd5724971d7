package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"agentls/agent"
	"agentls/mcp"
)

// trustQuestion says what is to be trusted: a folder, a project's server, or a
// change of the configuration. Nothing of it is cut.
func (t *terminal) trustQuestion(q agent.Question) (choices string) {
	var p struct {
		mcp.ServerInfo
		Folders                                                                []string
		Files, ServersAdded, ServersRemoved, ServersChanged, Settings, Widened []string
		Starts                                                                 map[string]mcp.Definition
	}
	if err := json.Unmarshal(q.Arguments, &p); err != nil {
		p.Definition = nil
	}
	t.note("agentls: %s", q.Reason)
	tell := func(format string, args ...any) { fmt.Fprintf(t.tty, "  "+format+"\n", args...) }
	switch {
	case p.Definition != nil:
		tellDefinition(tell, p.Name, p.Source, *p.Definition, p.Reads)
		return "Trust and start it? [N]o, [y]es: "
	case p.Folders != nil:
		tell("%s", words(p.Folders))
		tell("· Its project files may name programs to start; each of them is asked about on its own. git shows changes in it, and its AGENTS.md tells the agent how to work.")
		return "Trust the folder? [N]o, [y]es: "
	}
	for _, list := range []struct {
		what  string
		names []string
	}{{"changed", p.Files}, {"adds the servers", p.ServersAdded}, {"removes the servers", p.ServersRemoved}, {"changes the servers", p.ServersChanged}, {"sets", p.Settings}, {"allows more", p.Widened}} {
		if len(list.names) > 0 {
			tell("· %s: %s", list.what, words(list.names))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Starts)) {
		tellDefinition(tell, name, "", p.Starts[name], nil)
	}
	return "Apply the change? [N]o, [y]es: "
}

// tellDefinition tells all of what a server would be started with, as it is
// written: nothing is cut or redacted, as that could hide what would run.
func tellDefinition(tell func(format string, args ...any), name, source string, d mcp.Definition, reads []string) {
	from := ""
	if source != "" {
		from = ", from " + word(source) + ","
	}
	tell("%s%s would start: %s", word(name), from, words(startWords(d.Command, d.Args, d.URL)))
	if d.Cwd != "" {
		tell("· in the folder %s", word(d.Cwd))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		tell("· with the variable %s", word(name+"="+d.Env[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		tell("· with the header %s", word(name+"="+d.Headers[name]))
	}
	if d.EnvFile != "" {
		tell("· with the variables in %s", word(d.EnvFile))
	}
	for _, name := range reads {
		tell("· it reads the variable %s", word(name))
	}
}
