package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
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
	cmd.Flags().StringVar(&w.Model, "model", "", "the `name` of one of its models")
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
	case i.wish == config.Wish{Provider: config.Offline}:
		t.Choice.Name = config.Offline
	case i.wish.Provider == config.Offline:
		return errors.New("nothing was written: the built-in stand-in has no address, model or key; give --provider offline alone")
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
