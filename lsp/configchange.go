package lsp

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"agentls/agent/config"
	"agentls/mcp"
)

// widened says what a change of the configuration lets happen that went asked,
// or not at all, before: a yes is a yes to what was seen.
func widened(before, after config.Config) (list []string) {
	say := func(what string, words ...string) {
		if len(words) > 0 {
			list = append(list, what+" "+strings.Join(visibles(words), ", "))
		}
	}
	say("it allows without a question", lacking(after.Approval.Allow, before.Approval.Allow)...)
	say("it denies no longer", lacking(before.Approval.Deny, after.Approval.Deny)...)
	say("it asks no longer about", lacking(before.Approval.Ask, after.Approval.Ask)...)
	if after.Approval.Default != before.Approval.Default {
		say("what no rule names it will", after.Approval.Default)
	}
	if after.Provider.Name != before.Provider.Name {
		say("prompts go to the provider", after.Provider.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(after.Providers)) {
		p := after.Providers[name]
		if was, known := before.Providers[name]; !known || p.BaseURL != was.BaseURL || !reflect.DeepEqual(p.Headers, was.Headers) {
			say("the provider "+visible(name)+" is at", p.BaseURL)
		}
	}
	was := map[string]mcp.ServerConfig{}
	for _, server := range slices.Concat(before.Servers, before.Waiting) {
		was[server.Name] = server
	}
	for _, server := range slices.Concat(after.Servers, after.Waiting) {
		old := was[server.Name]
		if server.InheritEnv && !old.InheritEnv {
			say("it gives all variables to", server.Name)
		}
		if server.TrustAnnotations && !old.TrustAnnotations {
			say("it believes what is said of its tools by", server.Name)
		}
		if server.Sampling && !old.Sampling {
			say("it lets the model be used by", server.Name)
		}
	}
	return list
}

// lacking gives what is in list and not in other.
func lacking(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(word string) bool { return slices.Contains(other, word) })
}
