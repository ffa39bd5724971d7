package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentls/agent/config"
)

func initCommand(p program) *cobra.Command {
	var w config.Wish
	var yes bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up a model: find providers, choose one and write it down",
		Long: `init writes your configuration. It looks for programs on this machine that serve
models and for keys of services in the environment, asks which provider and which
of its models is to answer, and writes that into your config.json. All else in the
file stays, comments too. A key is never written, only the name of its variable.

A script gives what it would ask for:

  agentls init --provider ollama --model qwen3:8b
  agentls init --base-url https://llm.example.com/v1 --key-variable MY_KEY --model m

It exits with 1 when nothing was written, and says why; 130 when it was cancelled.`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			parts := newParts(p, false)
			defer parts.close()
			i := &initialization{parts: parts, host: openTerminal(p, parts.secrets), wish: w, yes: yes}
			err := i.run(cmd.Context())
			switch {
			case err == nil:
				return nil
			case cmd.Context().Err() != nil:
				fmt.Fprintln(p.stderr, "\nagentls: cancelled; nothing was written")
				return exitError(exitCancelled)
			}
			fmt.Fprintln(p.stderr, "agentls: "+oneLine(parts.secrets.Redact(err.Error()), 2000))
			return exitError(exitFailed)
		},
	}
	cmd.Flags().StringVar(&w.Provider, "provider", "", "its `name`: a well-known one, one of your configuration, offline, or with --base-url a new one")
	cmd.Flags().StringVar(&w.BaseURL, "base-url", "", "the `address` of an OpenAI-compatible API")
	cmd.Flags().StringVar(&w.Model, "model", "", "one of the provider's `models`")
	cmd.Flags().StringVar(&w.KeyVariable, "key-variable", "", "the `name` of the environment variable that holds its key")
	cmd.Flags().BoolVar(&yes, "yes", false, "change a configuration that is there without a question")
	return cmd
}

// initialization is `agentls init` at work.
type initialization struct {
	parts *parts
	host  *terminal
	wish  config.Wish
	yes   bool

	cfg    config.Config
	exists bool // the user's file
}

// initTime is how long a provider may take to answer, all in all.
const initTime = 15 * time.Second

// run does all of it. Nothing is written before the last question has its
// answer, and then the file is replaced as a whole.
func (i *initialization) run(ctx context.Context) (err error) {
	if i.exists, err = i.parts.source.CheckFile(); err != nil {
		return fmt.Errorf("nothing can be written: %w. Mend the file, and run agentls init again", err)
	}
	i.cfg = config.Load(ctx, i.parts.source, config.Request{})
	i.parts.tell(i.host.notes, i.cfg.Problems)
	if i.exists {
		i.host.note("Your configuration is %s: %s", i.parts.source.File(), i.inForce())
	}
	var t config.Target
	switch {
	case i.wish.Provider == config.Offline:
		t.Choice.Name = config.Offline
	case i.wish != config.Wish{}:
		t, err = i.meet(ctx, i.wish)
	default:
		t, err = i.choose(ctx)
	}
	if err == nil {
		err = i.confirm(ctx, t.Choice)
	}
	if err != nil {
		return err
	}
	return i.write(ctx, t)
}

// inForce says which provider and model are configured.
func (i *initialization) inForce() string {
	p := i.cfg.Provider
	switch {
	case i.cfg.Unset:
		return "it names no provider yet"
	case p.Name == config.Offline:
		return "the built-in stand-in answers, which is no language model"
	case p.Model == "":
		return fmt.Sprintf("provider %s at %s, without a model", p.Name, host(p.BaseURL))
	}
	return fmt.Sprintf("%s of the provider %s at %s answers", p.Model, p.Name, host(p.BaseURL))
}

func (i *initialization) setup() config.Setup {
	return config.Setup{
		Discovery: config.Discovery{Source: i.parts.source, Config: i.cfg, Local: config.LocalProviders(), Models: i.parts.models},
		Words: config.SetupWords{
			Again: "run agentls init again",
			NoKey: "in this shell: set it here, and where your editor starts,",
			Give:  func(name, base string) string { return "--provider " + word(name) + " --base-url " + base },
		},
	}
}

// meet makes a choice of a wish; a person is asked for the model alone.
func (i *initialization) meet(ctx context.Context, w config.Wish) (config.Target, error) {
	if w.BaseURL != "" {
		if err := checkAddress(w.BaseURL); err != nil {
			return config.Target{}, err
		}
	}
	t, err := i.setup().Target(w)
	if err != nil {
		return t, err
	}
	limited, cancel := context.WithTimeout(ctx, initTime)
	defer cancel()
	models, warning, err := i.setup().Test(limited, &t)
	if err != nil {
		return t, err
	}
	if warning != "" {
		i.host.note("%s", warning)
	}
	if t.Choice.Model != "" {
		return t, nil
	}
	if i.host.tty == nil {
		return t, fmt.Errorf("model is missing: give --model and one of those that %s offers: %s", t.Title, config.Some(models))
	}
	t.Choice.Model, err = i.model(ctx, t.Title, t.Provider.Model, models)
	return t, err
}

// checkAddress refuses what is no address of an API.
func checkAddress(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s is no address of an API: give one such as http://127.0.0.1:8080/v1", word(base))
	}
	return nil
}

// confirm asks before a configuration that is there is changed.
func (i *initialization) confirm(ctx context.Context, c config.Choice) error {
	switch {
	case !i.exists || i.yes:
		return nil
	case i.host.tty == nil:
		return errors.New("you have a configuration, and nothing was changed; give --yes to have it changed")
	}
	what := "to the built-in stand-in"
	if c.Model != "" {
		what = fmt.Sprintf("to %s of %s", oneLine(c.Model, 200), oneLine(c.Name, 100))
	}
	yes, err := i.host.yes(ctx, "Change it "+what+"? All else in it stays.")
	if errors.Is(err, context.Canceled) && ctx.Err() == nil || err == nil && !yes {
		return errors.New("nothing was written; run agentls init again when you want it changed")
	}
	return err
}

// write writes the choice and says what to do next.
func (i *initialization) write(ctx context.Context, t config.Target) error {
	c, file := t.Choice, i.parts.source.File()
	if _, err := i.parts.source.Write(c, filepath.Join(i.parts.paths.state, "config.lock")); err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	say := func(format string, args ...any) {
		fmt.Fprintln(i.host.out, oneLine(i.parts.secrets.Redact(fmt.Sprintf(format, args...)), 1000))
	}
	if c.Name == config.Offline {
		say("Written into %s: the built-in stand-in answers. It is no language model.", file)
	} else {
		say("Written into %s: %s of %s answers from now on.", file, c.Model, cmp.Or(t.Title, c.Name))
	}
	if c.KeyVariable != "" {
		say("Its key is read from %s, which has to be set where your editor starts, too.", c.KeyVariable)
	}
	// What is in the file need not be what counts.
	now := config.Load(context.WithoutCancel(ctx), i.parts.source, config.Request{}).Provider
	if now.Err != "" && now.Name == c.Name {
		say("But it cannot be used yet: %s", now.Err)
	}
	_, err := fmt.Fprint(i.host.out, `What comes next:
  agentls doctor      checks everything, and says what to fix
  agentls chat        a dialogue in this terminal
  agentls             what your editor starts: README.md, "Editors"
`)
	return err
}

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
		i.host.note("No program that serves models answers on this machine, and no key of a well-known service is in the environment.")
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
	p.lines = append(p.lines, "another address of an OpenAI-compatible API", "offline: the built-in stand-in, which is no language model")
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
	if w.BaseURL, err = ask("Its address, such as http://127.0.0.1:8080/v1"); err != nil {
		return w, err
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
	line := fmt.Sprintf("%s at %s: %s", f.Title, host(f.BaseURL), strings.Join(facts, ", "))
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
