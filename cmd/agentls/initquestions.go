package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentls/agent/config"
)

// choose lets a person choose a provider and a model of what was found.
// Without a person it says what there is, and how to choose.
func (i *initialization) choose(ctx context.Context) (config.Target, error) {
	i.host.note("Looking for providers …")
	found := i.setup().Discover(ctx)
	slices.SortStableFunc(found, func(a, b config.Found) int { // those that can be used come first
		return cmp.Compare(min(1, len(b.Models)), min(1, len(a.Models)))
	})
	if ctx.Err() != nil {
		return config.Target{}, context.Cause(ctx)
	}
	if i.host.tty == nil {
		return config.Target{}, i.listFound(found)
	}
	if len(found) == 0 {
		keys, programs := i.setup().LookedFor()
		fmt.Fprintf(i.host.tty, "No program that serves models answers on this machine (%s), and the environment has no key of a known service (%s). Start one, or set a key, and run agentls init again; or give an address.\n",
			strings.Join(programs, ", "), config.Some(keys))
	}
	for {
		t, err := i.chooseOnce(ctx, found)
		se, isSetup := errors.AsType[*config.SetupError](err)
		if !isSetup {
			return t, err
		}
		i.host.note("%s", se.Message)
		fmt.Fprintln(i.host.tty)
	}
}

// chooseOnce may end in a [*config.SetupError]: then another one can be chosen.
func (i *initialization) chooseOnce(ctx context.Context, found []config.Found) (t config.Target, err error) {
	const address, offline = "other", config.Offline
	p := &picker{console: i.host.tty, ask: "Which provider", usual: -1}
	for n, f := range found {
		p.names, p.lines = append(p.names, f.Name), append(p.lines, oneLine(i.parts.secrets.Redact(i.about(f)), 200))
		if p.usual < 0 && len(f.Models) > 0 {
			p.usual = n
		}
	}
	p.names = append(p.names, address, offline)
	p.lines = append(p.lines, "another address of an OpenAI-compatible API, or a service by its name", "offline: the built-in stand-in, which is no language model")
	n, err := p.pick(ctx)
	if err != nil {
		return t, err
	}
	switch {
	case n == len(found):
		w, err := i.askAddress(ctx)
		if err != nil {
			return t, err
		}
		return i.meet(ctx, w)
	case n > len(found):
		t.Choice.Name = config.Offline
		return t, nil
	}
	f := found[n]
	if f.Problem != "" {
		return t, &config.SetupError{Message: f.Title + " cannot be used yet: " + f.Problem}
	}
	if len(f.Models) == 0 {
		return t, &config.SetupError{Message: f.Title + " lists no model" + i.setup().Pull(f.BaseURL, f.Title)}
	}
	model, err := i.model(ctx, f.Title, f.Model, f.Models)
	if err != nil {
		return t, err
	}
	return i.meet(ctx, i.setup().Wish(f, model))
}

// askAddress asks for what is not found by itself.
func (i *initialization) askAddress(ctx context.Context) (w config.Wish, err error) {
	ask := func(question string) (string, error) {
		fmt.Fprint(i.host.tty, question+": ")
		line, err := i.host.tty.readLine(ctx)
		if err == nil && line == "" {
			err = errNotChosen
		}
		return strings.TrimSpace(line), err
	}
	if w.BaseURL, err = ask("Its address, such as http://127.0.0.1:8080/v1, or the name of a service"); err != nil {
		return w, err
	}
	if _, known := i.setup().Named(w.BaseURL); known {
		return config.Wish{Provider: w.BaseURL}, nil
	}
	if !strings.Contains(w.BaseURL, "://") { // as people write it
		w.BaseURL = "https://" + w.BaseURL
		if plain := "http" + strings.TrimPrefix(w.BaseURL, "https"); config.IsLoopback(plain) {
			w.BaseURL = plain
		}
	}
	if err := checkAddress(w.BaseURL); err != nil {
		return w, &config.SetupError{Message: err.Error()}
	}
	w.KeyVariable, err = ask("The environment variable that holds its key (Enter: none)")
	return w, err
}

// model lets a person choose one of a provider's models.
func (i *initialization) model(ctx context.Context, title, configured string, models []string) (string, error) {
	i.host.note("%s of %s:", counted(len(models), "model"), title)
	if n := slices.Index(models, configured); n > 0 { // it comes first
		models = slices.Concat(models[n:n+1], models[:n], models[n+1:])
	}
	p := &picker{console: i.host.tty, ask: "Which model", names: models}
	for _, m := range models {
		line := oneLine(m, 200)
		if m == configured {
			line += "  (configured)"
		}
		p.lines = append(p.lines, line)
	}
	n, err := p.pick(ctx)
	if err != nil {
		return "", err
	}
	return models[n], nil
}

// about says what was found, on a line.
func (i *initialization) about(f config.Found) string {
	var facts []string
	if f.Configured {
		facts = append(facts, "configured as "+f.Name)
	}
	switch {
	case f.KeyVariable != "":
		facts = append(facts, "with the key in "+f.KeyVariable)
	case f.Here:
		facts = append(facts, "on this machine")
	}
	if f.Problem == "" {
		facts = append(facts, counted(len(f.Models), "model"))
	}
	line := f.Title
	if f.BaseURL != "" { // of some each account has its own
		line += " at " + host(f.BaseURL)
	}
	line += ": " + strings.Join(facts, ", ")
	if f.Problem != "" {
		line += "; not usable yet: " + oneLine(f.Problem, 60) // whole when it is chosen
	}
	return line
}

func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// listFound says what there is to somebody who cannot be asked, and how to
// choose.
func (i *initialization) listFound(found []config.Found) error {
	for _, f := range found {
		fmt.Fprintln(i.host.out, oneLine(i.parts.secrets.Redact(i.about(f)), 500))
		if f.Problem == "" && len(f.Models) > 0 {
			fmt.Fprintln(i.host.out, "  "+oneLine(config.Some(f.Models), 500))
			w := i.setup().Wish(f, f.Models[0])
			line := []string{"agentls", "init", "--provider", w.Provider, "--model", w.Model}
			for _, flag := range [][2]string{{"--base-url", w.BaseURL}, {"--key-variable", w.KeyVariable}} {
				if flag[1] != "" {
					line = append(line, flag[0], flag[1])
				}
			}
			fmt.Fprintln(i.host.out, "  "+words(line))
		}
	}
	return errors.New("there is no terminal to ask at, and nothing was written; give --provider and --model, or --base-url, as in `agentls init --help`")
}
