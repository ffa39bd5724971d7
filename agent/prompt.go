package agent

import (
	"cmp"
	"embed"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"agentls/mcp"
)

// prompts is the wording that the model sees.
//
//go:embed prompts/*.md
var prompts embed.FS

// prompt returns an embedded text.
func prompt(name string) string {
	data, err := prompts.ReadFile("prompts/" + name)
	if err != nil {
		panic(err) // a file that was not embedded
	}
	return strings.TrimSpace(string(data))
}

// systemPrompts are the templates of what the threads are told first, and of what
// they find, which is in each of them.
//
//nolint:gochecknoglobals // a constant table
var systemPrompts = []string{"prompts/system.md", "prompts/plan.md", "prompts/step.md", "prompts/reviewer.md", "prompts/surroundings.md", "prompts/guidance.md", "prompts/compact.md", "prompts/resources.md"}

// builtins are the tools that are made here (CONTRACT §11).
func builtins() []*tool {
	return []*tool{readFileTool(), listDirTool(), searchCodeTool(), writeFileTool(), editFileTool(), readResultTool(), runCommandTool(), webFetchTool(), findToolsTool()}
}

// promptFolder is a workspace folder, for the model.
type promptFolder struct{ Name, Path string }

// systemPrompt tells the model who it is and what it finds.
func (t *thread) systemPrompt(set toolset) string {
	var b strings.Builder
	data := struct {
		Folders  []promptFolder
		Away     []string
		Left     []string
		Names    []string
		Said     []string
		Index    []string
		Project  []string
		Withheld string // tools that this thread may not call
		Team     bool   // a reviewer looks at each step
	}{Away: t.away(), Left: cleaned(set.left), Names: set.names, Said: t.serversSay(), Index: t.resources(set), Project: t.guidance(), Withheld: set.withheldNames(), Team: t.task.Mode == ModeTeam}
	for _, f := range t.folders() {
		data.Folders = append(data.Folders, promptFolder{oneLine(f.name, 100), oneLine(f.given, 500)})
	}
	if err := t.a.system.ExecuteTemplate(&b, cmp.Or(t.part.system, "system.md"), data); err != nil {
		panic(err) // the template is embedded
	}
	return strings.TrimSpace(b.String())
}

// saidTag marks what a server says of itself.
const saidTag = "server_instructions"

// saidShare is the part of the window that servers may fill with what they say
// of themselves, which stands in each request.
const saidShare = 16

// serversSay is what the servers say of how to use them, each in its block. It is
// foreign, and stands in the system prompt: the block cannot be left. Where room
// is short each has as much of it, whoever comes first.
func (r *run) serversSay() []string {
	said := r.a.manager.Instructions()
	if len(said) == 0 {
		return nil
	}
	share := 3 * r.window() / saidShare / len(said)  // three bytes a token
	share = 1 << (bits.Len(uint(max(share, 2))) - 1) // the window is a guess that moves: what providers keep by prefix must not
	out := make([]string, 0, len(said))
	for _, s := range said {
		said, cut := visible(s.Text), s.Cut
		if strings.TrimSpace(said) == "" {
			continue
		}
		text := said
		if len(text) > share {
			text = clipEnd(text[:share])
			cut += len(said) - len(text)
		}
		if cut > 0 {
			text += fmt.Sprintf("\n[%d more bytes left out by agentls]", cut)
		}
		out = append(out, block(saidTag, text, "server", s.Server))
	}
	return out
}

// away names the servers whose tools the model has to do without.
func (r *run) away() []string {
	var out []string
	for _, s := range r.a.manager.Servers() {
		switch {
		case s.Status == mcp.StatusStarting && slices.Contains(r.missing, s.Name):
			out = append(out, fmt.Sprintf("%s (still starting)", oneLine(s.Name, 100)))
		case s.Status == mcp.StatusRestarting, s.Status == mcp.StatusFailed, s.Status == mcp.StatusNeedsLogin:
			out = append(out, fmt.Sprintf("%s (%s)", oneLine(s.Name, 100), s.Status))
		}
	}
	return out
}

func cleaned(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = oneLine(n, 100)
	}
	return out
}
