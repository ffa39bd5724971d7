package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"agentls/mcp"
	"agentls/mcp/child"
)

const (
	commandTimeout    = 60  // seconds, where the model says nothing
	commandMost       = 600 // seconds
	longestCommand    = 100_000
	commandNotes      = 1500 // bytes that the notes about a command may take beside its output
	progressInterval  = 100 * time.Millisecond
	maxUnsavedNamed   = 10
	unsavedNameLength = 80
)

const runCommandSchema = `{"properties":{` +
	`"command":{"description":"The command line, as the shell takes it.","type":"string"},` +
	`"cwd":{"description":"The directory to run it in, relative to the workspace folder, or absolute inside of it. Without it the workspace folder.","type":"string"},` +
	`"timeoutSeconds":{"default":60,"description":"After how many seconds the command is ended.","maximum":600,"minimum":1,"type":"integer"}` +
	`},"required":["command"],"type":"object"}`

type runCommandArgs struct {
	Command        string `json:"command"`
	Cwd            string `json:"cwd"`
	TimeoutSeconds *int   `json:"timeoutSeconds"`
}

func runCommandTool() *tool {
	return &tool{name: "run_command", description: prompt("run_command.md"), schema: json.RawMessage(runCommandSchema), untracked: true, run: runCommand}
}

// children is what the programs that the agent starts are given.
type children struct {
	env   []string    // the base of CONTRACT §8
	watch child.Watch // ends them when this process is killed; nil: nothing does
}

// runCommand runs a command line in the shell: in a session of its own, so
// that no terminal can be asked on, without input, and with the base
// environment. All that it starts ends with it, but what makes a session or
// group of its own.
func runCommand(ctx context.Context, e env, args json.RawMessage) (output, error) {
	var in runCommandArgs
	if err := into(args, &in); err != nil {
		return output{}, err
	}
	seconds, err := in.check()
	if err != nil {
		return output{}, err
	}
	at, err := e.permitted(commandFolder(e.folders, e.host, in.Cwd))
	if err != nil {
		return output{}, err
	}
	timedOut := fmt.Errorf("timed out after %d s", seconds)
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(seconds)*time.Second, timedOut)
	defer cancel()
	cmd, err := child.Shell(context.WithoutCancel(ctx), in.Command, commandEnv(e.children.env, at.real))
	if err != nil {
		return output{}, err
	}
	cmd.Dir = at.real
	kept := e.keep(max(e.limit-commandNotes, e.limit/2))
	plain := &plainer{out: kept}
	unsaved := unsavedNote(e)
	stop := tellLastLine(e, plain)
	ending, err := child.Follow(ctx, cmd, plain, e.children.watch)
	stop()
	if ending.State == nil && err == nil {
		err = errors.New("the command was killed, but does not end")
	}
	if err != nil && ending.State == nil && ctx.Err() == nil {
		return output{}, fmt.Errorf("the command cannot be started: %w", err)
	}
	plain.Close()
	kept.Close()
	out := output{stored: kept.id}
	if err != nil {
		out.failed, out.reason = true, err.Error()
	}
	out.text = commandText(kept.String(), unsaved, commandEnd(ending, err))
	if !errors.Is(err, timedOut) && err != nil {
		return out, err // cancelled; what it said is told
	}
	return out, nil
}

func (in runCommandArgs) check() (seconds int, err error) {
	seconds = commandTimeout
	if in.TimeoutSeconds != nil {
		seconds = *in.TimeoutSeconds
	}
	switch {
	case strings.TrimSpace(in.Command) == "":
		return 0, errors.New("the argument command is missing")
	case len(in.Command) > longestCommand:
		return 0, fmt.Errorf("the command has %d bytes, at most %d are taken: write a script to a file and run that", len(in.Command), longestCommand)
	case strings.ContainsRune(in.Command, 0):
		return 0, errors.New("the command holds a NUL character")
	case seconds < 1 || seconds > commandMost:
		return 0, fmt.Errorf("timeoutSeconds is %d, must be 1 to %d", seconds, commandMost)
	}
	return seconds, nil
}

// commandPlace finds what a command's cwd names; "" is the first folder.
func commandPlace(all folders, host Editor, cwd string) (place, error) {
	if cwd == "" && len(all) > 0 {
		cwd = all[0].given
	}
	return all.resolve(cwd, host)
}

// commandFolder finds the directory of a command.
func commandFolder(all folders, host Editor, cwd string) (place, error) {
	at, err := commandPlace(all, host, cwd)
	if err != nil {
		return place{}, err
	}
	switch info, err := os.Stat(at.real); {
	case err != nil:
		return place{}, at.failure(err)
	case !info.IsDir():
		return place{}, fmt.Errorf("%q is no directory", at.shown)
	}
	return at, nil
}

// commandEnv adds to the base what keeps programs from asking: there is nobody
// at a terminal, and a window that pops up would come from nowhere. On Windows
// the directory is not looked through for programs first: a project's git.bat
// is not what an allowed git means.
func commandEnv(base []string, dir string) []string {
	return append(slices.Clip(base),
		"PWD="+dir, "TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "GIT_EDITOR=false", "SSH_ASKPASS_REQUIRE=never",
		"NoDefaultCurrentDirectoryInExePath=1")
}

// tellLastLine tells the last line of an output as progress, until stop
// returns.
func tellLastLine(e env, plain *plainer) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // ends by stop
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		told := ""
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if line := plain.lastLine(); line != told {
				told = line
				e.progress(mcp.Progress{Message: line})
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// unsavedNote names the files that a command saw as they were before the run
// changed them.
func unsavedNote(e env) string {
	if e.unsaved == nil {
		return ""
	}
	var names []string
	all := e.unsaved()
	for _, name := range all[:min(len(all), maxUnsavedNamed)] {
		names = append(names, oneLine(name, unsavedNameLength))
	}
	if n := len(all) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	if len(names) == 0 {
		return ""
	}
	return "[not on disk yet, so the command saw the old text: " + strings.Join(names, ", ") + "]"
}

// commandEnd words how a command ended.
func commandEnd(ending child.Ending, err error) string {
	var notes []string
	switch {
	case err != nil:
		notes = append(notes, "["+err.Error()+"]")
	default:
		how := ending.State.String()
		if signal, ok := strings.CutPrefix(how, "signal: "); ok {
			how = "killed by the signal: " + signal
		}
		notes = append(notes, "["+how+"]")
	}
	if ending.Left {
		notes = append(notes, "[what it left running in the background was ended with it]")
	}
	if ending.Escaped {
		notes = append(notes, "[a process that left the command's group still runs and holds its output]")
	}
	return strings.Join(notes, "\n")
}

func commandText(said, unsaved, end string) string {
	if said = strings.TrimRight(said, "\n"); strings.TrimSpace(said) == "" {
		said = noOutput
	}
	if unsaved != "" {
		said = unsaved + "\n" + said
	}
	return said + "\n" + end
}
