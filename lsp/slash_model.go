package lsp

import (
	"context"
	"slices"
	"strings"

	"agentls/agent/config"
)

// slashModel shows the model in force, or chooses one. What is no provider's
// name is a model of the one in force, where that lists it.
func slashModel(s *Server, q *slashRequest) (local, error) {
	var provider, model string
	if len(q.Args) > 0 {
		provider = q.Args[0].Value
	}
	if len(q.Args) > 1 {
		model = q.Args[1].Value
	}
	cfg := s.cfg.Load()
	if _, known := cfg.Use(provider, ""); !known && model == "" {
		if names, _ := s.models.known(cfg.Provider); slices.Contains(names, provider) {
			provider, model = "", provider
		}
	}
	if err := s.settings.choose(q.command, provider, model); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, modelsWait) // all in all
		defer cancel()
		p := s.cfg.Load().Provider
		var b strings.Builder
		b.WriteString("The model is " + modelName(p) + ".\n")
		if names, _ := s.models.list(ctx, p); p.Model != "" && len(names) > 0 && !p.Deployments && !config.Lists(names, p.Model) {
			b.WriteString("\nThe provider does not list it" + s.tell(suggestFew(p.Model, names)) + ".\n")
		}
		if len(q.Args) > 0 {
			b.WriteString("\nThat holds for this connection; the configuration says it for good.\n")
			return b.String(), nil
		}
		b.WriteString("\n`/model provider model` chooses another one of:\n\n")
		for _, c := range s.modelChoices(ctx) {
			b.WriteString(bullet(code(c.Provider), modelNames(c.Models)))
		}
		return b.String(), nil
	}, nil
}

func modelName(p config.Provider) string {
	if p.Name == config.Offline || p.Model == "" {
		return code(p.Name)
	}
	return code(p.Model) + " of " + code(p.Name)
}

// fewModels is how many models of a provider an answer names.
const fewModels = 20

func modelNames(names []string) string {
	var list []string
	for _, n := range names[:min(len(names), fewModels)] {
		list = append(list, code(n))
	}
	if len(names) > fewModels {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

// suggestFew is suggest without all names of many.
func suggestFew(name string, known []string) string {
	if near := suggest(name, known); strings.HasPrefix(near, "; did you mean") {
		return strings.TrimSuffix(near, "?")
	}
	return ""
}
