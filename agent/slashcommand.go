package agent

import "slices"

// SlashKind says what an argument of a command is, for those who complete it.
type SlashKind string

// The kinds of arguments.
const (
	SlashWord     SlashKind = "word"     // one of SlashParam.Words
	SlashServer   SlashKind = "server"   // the name of an MCP server
	SlashProvider SlashKind = "provider" // the name of a configured provider
	SlashModel    SlashKind = "model"    // a model of the provider before it
	SlashNumber   SlashKind = "number"
	SlashText     SlashKind = "text" // all that follows
)

// SlashParam is an argument of a command.
type SlashParam struct {
	Kind  SlashKind
	Words []string // of a SlashWord
	After []string // the argument is there behind these words only; nil: behind all
}

// SlashCommand is a command of ours.
type SlashCommand struct {
	Name   string // without '/'
	Usage  string // what may follow the name; "": nothing
	About  string // a line for a person
	Params []SlashParam
	// Mode is the way of working that the command starts a run in; "": it
	// starts none.
	Mode Mode
}

// What `/mcp` can do.
const (
	MCPList      = "list"
	MCPRestart   = "restart"
	MCPEnable    = "enable"
	MCPDisable   = "disable"
	MCPLogin     = "login"
	MCPLogout    = "logout"
	MCPLogs      = "logs"
	MCPTools     = "tools"
	MCPResources = "resources"
	MCPPrompts   = "prompts"
)

// SlashCommands lists the commands, as a person is told of them. A mode has its
// command once it is in [Modes].
func SlashCommands() []SlashCommand {
	named := []string{MCPTools, MCPResources, MCPPrompts, MCPLogs, MCPRestart, MCPEnable, MCPDisable, MCPLogin, MCPLogout}
	list := []SlashCommand{
		{Name: "help", About: "list the commands and the prompts of the MCP servers"},
		{Name: "cancel", About: "cancel what runs or waits in this session"},
		{Name: "clear", About: "empty this session: the model forgets it"},
		{Name: "compact", About: "let the model summarise this session, so that there is room for more"},
		{Name: "context", About: "show how full the model's context window is"},
		{
			Name: "model", Usage: "[provider] [model]", About: "show the model in force, or choose one for this connection",
			Params: []SlashParam{{Kind: SlashProvider}, {Kind: SlashModel}},
		},
		{
			Name: "mcp", Usage: "[list | tools|resources|prompts|logs|restart|enable|disable|logout NAME | login NAME [ADDRESS]]", About: "show the MCP servers, or act on one",
			Params: []SlashParam{{Kind: SlashWord, Words: append([]string{MCPList}, named...)}, {Kind: SlashServer, After: named}, {Kind: SlashText, After: []string{MCPLogin}}},
		},
		{Name: "audit", Usage: "[N]", About: "show the last N tool calls and what allowed them (10)", Params: []SlashParam{{Kind: SlashNumber}}},
		{Name: "undo", About: "give files the texts that they had before this session's last run"},
	}
	for _, m := range Modes() {
		if m.Command != "" {
			list = append(list, SlashCommand{Name: m.Command, Usage: "TASK", About: m.About, Params: []SlashParam{{Kind: SlashText}}, Mode: m.Mode})
		}
	}
	return list
}

// SlashCommandNamed finds a command.
func SlashCommandNamed(name string) (SlashCommand, bool) {
	list := SlashCommands()
	i := slices.IndexFunc(list, func(c SlashCommand) bool { return c.Name == name })
	if i < 0 {
		return SlashCommand{}, false
	}
	return list[i], true
}
