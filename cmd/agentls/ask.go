package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/mcp"
)

func askCommand(p program) *cobra.Command {
	var mode, session string
	cmd := &cobra.Command{
		Use:   "ask PROMPT…",
		Short: "Run one prompt without an editor",
		Long: `ask works on one prompt in the current folder and prints the answer as it comes.
A prompt of "-" is read from standard input. @server:uri mentions are expanded.
Runs of one --session go on from each other, also from those of an editor there.
Calls that need a person are asked for on the terminal; without one they are denied.
With --mode plan or team the agent plans first, and you are asked whether its plan is
to run; without a terminal one runs if the configuration allows submit_plan.

It exits with 0 when the run is completed, 1 when it failed or was stopped by a
limit, 130 when it was cancelled.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("there is no prompt; usage: %s", c.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(modeNames(), mode) {
				return fmt.Errorf("there is no mode %q; use one of %s", mode, strings.Join(modeNames(), ", "))
			}
			if cmd.Flags().Changed("session") && !agent.ValidID(session) {
				return errors.New("the session must be 1 to 128 printable characters")
			}
			prompt := strings.Join(args, " ")
			if prompt == "-" {
				text, err := io.ReadAll(p.stdin)
				if err != nil {
					return fmt.Errorf("the prompt cannot be read (%w): give it as arguments", err)
				}
				prompt = string(text)
			}
			return ask(cmd.Context(), p, agent.Mode(mode), session, prompt)
		},
	}
	cmd.Flags().StringVar(&mode, "mode", string(agent.ModeReAct), "how to work: "+strings.Join(modeNames(), ", "))
	cmd.Flags().StringVar(&session, "session", "", "go on with a session of this folder, or begin it (default: a new one)")
	return cmd
}

// modeNames are the ways to work.
func modeNames() (names []string) {
	for _, m := range agent.Modes() {
		names = append(names, string(m.Mode))
	}
	return names
}

// ask runs one prompt. Without a session it begins one, and says its name to
// a person: in a script that would be noise, and a script can choose one.
func ask(ctx context.Context, p program, mode agent.Mode, session, prompt string) error {
	folder, err := workingFolder()
	if err != nil {
		return err
	}
	parts := newParts(p, hasTerminal(p))
	defer parts.close()
	cfg := parts.openFolder(ctx, folder)
	parts.tell(p.stderr, cfg.Problems)
	host := openTerminal(p, parts.secrets)
	trusted := parts.manager.FolderTrusted(folder)
	llm, err := parts.newLLM(cfg.Provider)
	relay := parts.relay(host, parts.sampler(cfg, llm, err, host.Ask))
	defer relay()
	parts.awaitInputs(ctx)

	var result agent.Result
	if err == nil {
		id := strings.ToLower(rand.Text())
		if session == "" {
			session = id
			if isTerminal(p.stderr) {
				defer fmt.Fprintln(p.stderr, "agentls: session "+session+" (go on with: agentls ask --session "+session+" …)")
			}
		}
		result, err = parts.agent.Run(ctx, agent.Task{
			RunID: id, Session: session, Folder: folder, Folders: func() []agent.Folder { return []agent.Folder{{Path: folder, Trusted: trusted}} }, Prompt: prompt,
			LLM: llm, Approval: cfg.Approval, Limits: cfg.Limits, Mode: mode, Host: host,
		})
	}
	host.endLine()
	switch {
	case ctx.Err() != nil || errors.Is(err, agent.ErrCancelled):
		fmt.Fprintln(p.stderr, "agentls: cancelled")
		return exitError(exitCancelled)
	case err != nil:
		fmt.Fprintln(p.stderr, "agentls: "+oneLine(parts.secrets.Redact(err.Error()), 2000))
		return exitError(exitFailed)
	case result.Status != "completed":
		fmt.Fprintln(p.stderr, "agentls: stopped: "+oneLine(cmp.Or(result.Note, result.StopReason), 200))
		return exitError(exitFailed)
	}
	return nil
}

// relay prints what servers tell until the returned func is called, and asks
// on the terminal for their inputs and elicitations. sample answers what they want of the model;
// nil: there is none. The rest of what they ask is declined: a project's server
// is trusted by `mcp trust`.
func (p *parts) relay(t *terminal, sample func(context.Context, mcp.Request) mcp.RequestAnswer) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ends with stop, which waits for it
		defer close(ended)
		var inputs sync.WaitGroup // they end with ctx
		defer inputs.Wait()
		for {
			select {
			case <-done:
				return
			case e, ok := <-p.manager.Events():
				if !ok {
					return
				}
				t.event(e)
			case q, ok := <-p.manager.Requests():
				if !ok {
					return
				}
				inputs.Go(func() { p.answer(ctx, t, q, sample) })
			}
		}
	}()
	return func() { cancel(); close(done); <-ended }
}

// answer answers a question of the manager's.
func (p *parts) answer(ctx context.Context, t *terminal, q mcp.Request, sample func(context.Context, mcp.Request) mcp.RequestAnswer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with ctx
		select {
		case <-q.Done:
			cancel()
		case <-ctx.Done():
		}
	}()
	switch {
	case q.Kind == mcp.RequestInput:
		q.Reply(t.input(ctx, q))
	case q.Kind == mcp.RequestLogin:
		t.login(ctx, q, func(address string) error {
			_, err := p.manager.FinishLogin(ctx, q.Server, address)
			return err
		})
	case q.Kind == mcp.RequestElicit:
		q.Reply(p.elicit(ctx, t, q))
	case q.Kind == mcp.RequestSample && sample != nil:
		q.Reply(sample(ctx, q))
	default:
		q.Reply(declined)
	}
	select {
	case p.answered <- struct{}{}:
	default:
	}
}

// tell prints what is wrong with the configuration, but for what a server or
// the provider says of itself. It quotes keys and values of files that may come
// with a project.
func (p *parts) tell(w io.Writer, problems []config.Problem) {
	for _, problem := range problems {
		if problem.Elsewhere {
			continue
		}
		fmt.Fprintln(w, oneLine(p.secrets.Redact(problem.String()), 1000))
	}
}

// workingFolder is the folder that a shell command works in.
func workingFolder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the working folder is gone (%w): change into another one", err)
	}
	return filepath.Clean(dir), nil
}
