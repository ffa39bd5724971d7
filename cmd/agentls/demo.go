package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"agentls/lsp/lspclient"
)

func demoCommand(p program) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show the main job on the embedded defaults, with no key and no network",
		Long: `demo opens a temporary folder, starts the real server in a child process, speaks
LSP to it as an editor does, and shows the frames of: the completion of a mention,
a run with the mention expanded, an approval, a notification after a file changed,
and a cancelled run. It exits with 0 only if each of them happened.`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), demoTimeout)
			defer cancel()
			if err := demo(ctx, p); err != nil {
				fmt.Fprintf(p.stderr, "agentls demo: %v; this is a fault of agentls: please report it, with what is above\n", err)
				return exitError(exitFailed)
			}
			return nil
		},
	}
}

// The demo ends whatever happens; each step has a part of it.
const (
	demoTimeout = 60 * time.Second
	stepTimeout = 15 * time.Second
)

// demoFiles are the temporary workspace.
//
//nolint:gochecknoglobals // a constant table
var demoFiles = map[string]string{
	"README.md":      "# Orchard\n\nA tiny service that counts apples.\n",
	"docs/design.md": "# Design\n\nApples are counted twice, by two counters that never meet.\n",
	".env":           "APPLES=42\n",
}

func demo(ctx context.Context, p program) error {
	dir, err := os.MkdirTemp("", "agentls-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// Servers see the folder's real path, and so must the file names below.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	folder := filepath.Join(dir, "orchard")
	for name, text := range demoFiles {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.CommandContext(ctx, self)
	child.Dir = folder
	child.Env = demoEnvironment(p.environ, dir)
	child.Stderr = p.stderr
	child.WaitDelay = time.Second
	s := &demoStory{out: p.stdout, folder: folder}
	if s.client, err = lspclient.Start(child, lspclient.Options{Show: s.frame, Answer: s.answer}); err != nil {
		return err
	}
	err = s.tell(ctx)
	return errors.Join(err, s.client.Close())
}

// demoEnvironment keeps the person's own configuration, state and keys out.
func demoEnvironment(environ []string, dir string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		return strings.HasPrefix(v, "OPENAI_") || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "HOME=")
	})
	for _, name := range []string{"CONFIG", "STATE", "CACHE", "DATA"} {
		env = append(env, "XDG_"+name+"_HOME="+filepath.Join(dir, strings.ToLower(name)))
	}
	return append(env, "HOME="+dir)
}

// demoStory is the demo's plot and its audience.
type demoStory struct {
	folder string
	client *lspclient.Client

	mu  sync.Mutex // frames come and go at once
	out io.Writer
}

// hidden are the methods whose frames would only distract.
//
//nolint:gochecknoglobals // a constant table
var hidden = []string{"window/logMessage", "textDocument/publishDiagnostics", "client/registerCapability", "workspace/configuration"}

// frame prints one frame, shortened.
func (s *demoStory) frame(sent bool, body []byte) {
	var m lspclient.Message
	if json.Unmarshal(body, &m) == nil && slices.Contains(hidden, m.Method) {
		return
	}
	arrow := "  <-- "
	if sent {
		arrow = "  --> "
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.out, arrow+oneLine(string(body), 400))
}

func (s *demoStory) title(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "\n== %s\n", fmt.Sprintf(format, args...))
}

// answer is what the person in front of the editor says.
func (s *demoStory) answer(_ context.Context, method string, p json.RawMessage) any {
	switch method {
	case "window/showMessageRequest":
		return map[string]string{"title": "Allow once"}
	case "workspace/configuration":
		var c struct{ Items []any }
		_ = json.Unmarshal(p, &c)
		return make([]any, len(c.Items))
	}
	return nil
}

func (s *demoStory) tell(ctx context.Context) error {
	for _, step := range []struct {
		title string
		play  func(context.Context) error
	}{
		{"The editor starts the server", s.initialize},
		{"A mention completes from the resources of the embedded MCP server", s.complete},
		{"A prompt runs, its mention expanded", s.mention},
		{"A tool call needs a person, who allows it once", s.approval},
		{"A file appears, and the MCP server tells", s.notification},
		{"A run is cancelled, and the next prompt works", s.cancel},
		{"The editor leaves", s.shutdown},
	} {
		s.title("%s", step.title)
		ctx, cancel := context.WithTimeout(ctx, stepTimeout)
		err := step.play(ctx)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	fmt.Fprintln(s.out, "\nEach of these happened: completion, expansion, approval, notification, cancel.\nNext: README.md says how to set up your editor and a model.")
	return nil
}

func (s *demoStory) uri(name string) string {
	return "file://" + filepath.ToSlash(filepath.Join(s.folder, name))
}

func (s *demoStory) initialize(ctx context.Context) error {
	err := s.client.Call(ctx, "initialize", map[string]any{
		"processId": os.Getpid(), "clientInfo": map[string]string{"name": "agentls demo"},
		"workspaceFolders":      []any{map[string]string{"uri": s.uri(""), "name": "orchard"}},
		"capabilities":          map[string]any{"window": map[string]any{"workDoneProgress": true}, "workspace": map[string]any{"workspaceFolders": true}},
		"initializationOptions": map[string]any{"workspaceTrusted": true, "notifications": "all", "provider": "offline"},
	}, nil)
	if err != nil {
		return err
	}
	s.client.Notify("initialized", struct{}{})
	return nil
}

const demoMention = "@workspace:file://docs/design.md"

func (s *demoStory) complete(ctx context.Context) error {
	typed := "What is wrong here? @workspace:file://docs/d"
	document := map[string]any{"uri": s.uri("ask.agentls.md"), "languageId": "agentls", "version": 1, "text": typed}
	s.client.Notify("textDocument/didOpen", map[string]any{"textDocument": document})
	for { // the folder is scanned in the background
		var list struct {
			Items []struct {
				TextEdit struct{ NewText string }
			}
		}
		err := s.client.Call(ctx, "textDocument/completion", map[string]any{
			"textDocument": map[string]string{"uri": s.uri("ask.agentls.md")}, "position": map[string]int{"line": 0, "character": len(typed)},
		}, &list)
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			if item.TextEdit.NewText == demoMention {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.New("the mention was never offered")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// runResult is the part of CONTRACT §4's RunResult that the demo looks at.
type runResult struct {
	Status    string
	Text      string
	Mentions  []struct{ Status string }
	ToolCalls []struct{ Tool, Status string }
}

func askParams(prompt string) map[string]any {
	params := lspclient.Command("agentls.ask", map[string]string{"prompt": prompt, "session": "demo"})
	params["workDoneToken"] = "demo"
	return params
}

func (s *demoStory) mention(ctx context.Context) error {
	var r runResult
	if err := s.client.Call(ctx, "workspace/executeCommand", askParams("What is wrong here? "+demoMention), &r); err != nil {
		return err
	}
	if len(r.Mentions) != 1 || r.Mentions[0].Status != "expanded" || !strings.Contains(r.Text, "counted twice") {
		return fmt.Errorf("the answer does not hold the resource: %+v", r)
	}
	return nil
}

func (s *demoStory) approval(ctx context.Context) error {
	var r runResult
	before := s.client.Mark()
	if err := s.client.Call(ctx, "workspace/executeCommand", askParams(`call read_file {"path": ".env"}`), &r); err != nil {
		return err
	}
	asked := s.client.Await(ctx, before, "no question came", func(m lspclient.Message) bool { return m.Method == "window/showMessageRequest" })
	if asked != nil {
		return asked
	}
	if len(r.ToolCalls) != 1 || r.ToolCalls[0].Status != "completed" {
		return fmt.Errorf("the allowed call was not made: %+v", r)
	}
	return nil
}

func (s *demoStory) notification(ctx context.Context) error {
	before := s.client.Mark()
	if err := os.WriteFile(filepath.Join(s.folder, "docs", "harvest.md"), []byte("# Harvest\n"), 0o600); err != nil {
		return err
	}
	return s.client.Await(ctx, before, "no message came", func(m lspclient.Message) bool {
		return m.Method == "window/showMessage" && strings.Contains(string(m.Params), "harvest.md")
	})
}

func (s *demoStory) cancel(ctx context.Context) error {
	seen, before := 0, s.client.Mark()
	id, wait := s.client.Request("workspace/executeCommand", askParams("Tell me slowly what you are. "+demoMention))
	err := s.client.Await(ctx, before, "the run does not begin", func(m lspclient.Message) bool {
		if m.Method == "$/progress" && strings.Contains(string(m.Params), `"report"`) {
			seen++
		}
		return seen > 1
	})
	if err != nil {
		return err
	}
	s.client.Notify("$/cancelRequest", map[string]json.RawMessage{"id": id})
	const requestCancelled = -32800
	cancelled, ok := errors.AsType[*lspclient.Error](wait(ctx, nil))
	if !ok || cancelled.Code != requestCancelled {
		return fmt.Errorf("the run was not cancelled: %w", cancelled)
	}
	var r runResult
	if err := s.client.Call(ctx, "workspace/executeCommand", askParams("Are you still there?"), &r); err != nil {
		return err
	}
	if r.Status != "completed" {
		return fmt.Errorf("the next prompt: %+v", r)
	}
	return nil
}

func (s *demoStory) shutdown(ctx context.Context) error {
	if err := s.client.Call(ctx, "shutdown", nil, nil); err != nil {
		return err
	}
	s.client.Notify("exit", nil)
	return nil
}
