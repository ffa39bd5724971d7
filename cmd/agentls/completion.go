package main

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"agentls/agent"
	"agentls/agent/config"
)

// complete makes shells complete what commands take, beside the commands and
// flags themselves; files only where a file is meant. Nothing starts for it.
func complete(p program, root *cobra.Command) {
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	_ = root.RegisterFlagCompletionFunc("listen", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) { // there is one
		return nil, cobra.ShellCompDirectiveDefault
	})
	flags := map[string]func(*cobra.Command, *parts) []cobra.Completion{"session": sessionCompletions, "provider": providerCompletions}
	for _, c := range root.Commands() {
		for name, list := range flags {
			if c.Flags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, listed(p, 0, list)) // there is one
			}
		}
		if c.Flags().Lookup("mode") != nil {
			_ = c.RegisterFlagCompletionFunc("mode", listed(p, 0, modeCompletions)) // there is one
		}
		if c.Name() == "mcp" {
			for _, sub := range c.Commands() {
				if sub.Name() != "list" {
					sub.ValidArgsFunction = listed(p, 1, serverCompletions)
				}
			}
		}
	}
}

// listed completes from a list, up to a number of arguments; 0: any.
func listed(p program, most int, list func(*cobra.Command, *parts) []cobra.Completion) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		parts := newParts(p, false)
		defer parts.close()
		return list(c, parts), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func described(name, about string) cobra.Completion {
	return cobra.CompletionWithDesc(oneLine(name, 200), oneLine(about, 80))
}

// readFolder gives the configuration of the working folder, and starts nothing.
func readFolder(c *cobra.Command, p *parts) config.Config {
	folder, err := workingFolder()
	if err != nil {
		return config.Default() // the command itself tells it
	}
	return config.Load(c.Context(), p.source, config.Request{Folders: []string{folder}, NoCommands: true})
}

func serverCompletions(c *cobra.Command, p *parts) (list []cobra.Completion) {
	cfg := readFolder(c, p)
	for _, s := range cfg.Servers {
		list = append(list, described(s.Name, s.Source))
	}
	for _, s := range cfg.Waiting {
		list = append(list, described(s.Name, s.Source))
	}
	return append(list, described("workspace", "built in"))
}

func providerCompletions(c *cobra.Command, p *parts) (list []cobra.Completion) {
	cfg := readFolder(c, p)
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		list = append(list, described(name, "configured, at "+host(cfg.Providers[name].BaseURL)))
	}
	for _, k := range config.Presets() {
		if _, again := cfg.Providers[k.Name]; !again {
			list = append(list, described(k.Name, k.Title))
		}
	}
	return append(list, described(config.Offline, "the built-in stand-in"))
}

func sessionCompletions(c *cobra.Command, p *parts) (list []cobra.Completion) {
	folder, err := workingFolder()
	if err != nil {
		return nil // the command itself tells it
	}
	sessions, _ := p.agent.Sessions(c.Context(), []string{folder}) // what there is
	for _, s := range sessions {
		list = append(list, described(s.Session, s.Title))
	}
	return list
}

func modeCompletions(*cobra.Command, *parts) (list []cobra.Completion) {
	for _, m := range agent.Modes() {
		list = append(list, described(string(m.Mode), m.About))
	}
	return list
}
