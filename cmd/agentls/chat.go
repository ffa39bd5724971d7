package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"agentls/agent"
)

func chatCommand(p program) *cobra.Command {
	var o chatOptions
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Hold a dialogue in the terminal",
		Long: `chat holds a dialogue in the current folder, on the same agent as the editors:
its sessions are theirs. @server:uri mentions and / commands complete as you type;
/help lists the commands. What you write while it works is given to the run.

Enter sends, Alt+Enter or a backslash before Enter begins a new line, Tab completes,
Ctrl-G opens $EDITOR, the arrows bring back what you wrote before. Ctrl-C or /cancel ends the run, not the
session; Ctrl-D, or Ctrl-C twice, leaves.

Without a terminal each line of standard input is a prompt, and its answer goes to
standard output; calls that need a person are denied then. It exits with 0 when every
run was completed, 1 when one failed or was stopped by a limit, 130 when the last one
was cancelled.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cmd.Flags().Changed("session") && !agent.ValidID(o.session):
				return errors.New("the session must be 1 to 128 printable characters")
			case o.session != "" && o.last:
				return errors.New("--session and --continue name two sessions; leave one of them out")
			}
			return chat(cmd.Context(), p, o)
		},
	}
	cmd.Flags().StringVar(&o.session, "session", "", "go on with a session of this folder, or begin it (default: a new one)")
	cmd.Flags().BoolVar(&o.last, "continue", false, "go on with the last session of this folder")
	return cmd
}

// chatOptions are the command line of chat.
type chatOptions struct {
	session string // empty: a new one
	last    bool   // the last one of the folder
}

// face is what a person sees of a dialogue, and types into. Its texts are fit to
// be shown. None of its methods waits for the person, save those of the console.
type face interface {
	// answer shows a part of an answer as it comes; "" ends its last line.
	answer(delta string)
	// note shows a text beside the answers, on lines of its own.
	note(kind noteKind, text string)
	// changed says that what is at work is not what it was.
	changed()
	// console is where the person is asked; nil: nobody is there.
	console() console
	// run takes what the person types, until they leave or ctx ends. It returns the
	// exit code.
	run(ctx context.Context) (code int, err error)
}

// noteKind is how a note looks.
type noteKind int

const (
	notePlain noteKind = iota
	noteDim            // what goes on
	noteDone           // what came to a good end
	noteWarn
	noteError
)

// chat holds a dialogue with a server of its own.
func chat(ctx context.Context, p program, o chatOptions) error {
	folder, err := workingFolder()
	if err != nil {
		return err
	}
	full := hasScreen(p)
	logged := p
	if full { // the log file has it; here it would tear the screen
		logged.stderr = io.Discard
	}
	parts := newParts(logged, hasTerminal(p))
	defer parts.close()
	parts.source.Alone = true // what a configuration runs must not read what is typed
	d := newDialogue(parts, folder)
	d.script = !isTerminal(p.stdin)
	if full {
		d.face = newScreen(d, p)
	} else {
		d.face = newPlainFace(d, p)
	}
	d.connect()
	code, err := d.hold(ctx, o)
	d.close()
	switch {
	case err != nil:
		fmt.Fprintln(p.stderr, "agentls: "+oneLine(parts.secrets.Redact(err.Error()), 2000))
		return exitError(exitFailed)
	case code != exitOK:
		return exitError(code)
	}
	if d.asked() && isTerminal(p.stderr) {
		fmt.Fprintln(p.stderr, "agentls: session "+d.session()+" (go on with: agentls chat --continue)")
	}
	return nil
}

// hasScreen reports whether lines can be edited where they stand.
func hasScreen(p program) bool {
	name, _ := p.getenv("TERM")
	return isTerminal(p.stdin) && isTerminal(p.stdout) && name != "dumb" && (name != "" || os.PathSeparator == '\\')
}

// hold begins the dialogue and holds it to its end.
func (d *dialogue) hold(ctx context.Context, o chatOptions) (code int, err error) {
	if err := d.initialize(ctx); err != nil {
		return exitFailed, err
	}
	d.setSession(cmp.Or(o.session, newSession()))
	if !d.script {
		d.banner()
	}
	if o.session != "" || o.last {
		d.resumeAtStart(ctx, o)
	}
	return d.face.run(ctx)
}

// interrupts gives Ctrl-C to a dialogue, which ends a run by it and not the
// process.
func interrupts() (came <-chan os.Signal, stop func()) {
	signal.Reset(syscall.SIGINT) // main's, which ends the process
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT)
	return c, func() { signal.Stop(c) }
}
