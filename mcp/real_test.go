package mcp

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
	"agentls/mcp/workspace"
)

// agentscope-ai/agentscope#2798: links keep URI, name and type.
func TestRealServerEverything(t *testing.T) {
	command, args := mcptest.RealServer(t, "everything")
	h := newHouse(t, Options{}, defaultTiming())
	h.Configure([]ServerConfig{{Name: "everything", Source: "user", Type: "stdio", Command: command, Args: args}})
	h.started()
	i := h.status("everything")
	if i.Status != StatusReady || *i.Tools < 10 {
		t.Fatalf("%+v", i)
	}
	eventually(t, "resources", func() bool { return len(h.uris("everything")) == 7 })
	list, _ := h.Resources("everything")
	if len(list.Templates) != 2 {
		t.Errorf("templates: %+v", list.Templates)
	}
	if !slices.Contains(h.uris("everything"), "demo://resource/static/document/architecture.md") {
		t.Errorf("%v", h.uris("everything"))
	}
	contents, err := h.Read(t.Context(), "everything", "demo://resource/static/document/architecture.md")
	if err != nil || len(contents) != 1 || !strings.Contains(contents[0].Text, "Architecture") {
		t.Errorf("%v %v", contents, err)
	}
	if _, err := h.Read(t.Context(), "everything", "demo://nothing/here"); !errors.Is(err, ErrUnknownResource) {
		t.Errorf("a missing resource: %v", err)
	}
	if got := h.mustCall("everything", "echo", map[string]any{"message": "hello"}); got != "Echo: hello" {
		t.Errorf("%q", got)
	}
	r, err := h.CallTool(t.Context(), "everything", "get-resource-links", []byte(`{"count":2}`), nil)
	if err != nil || !slices.ContainsFunc(r.Content, func(c Content) bool {
		return c.Type == "resource_link" && c.URI != "" && c.Name != "" && c.MIMEType != ""
	}) {
		t.Errorf("%+v %v", r, err)
	}
	var steps []Progress
	if _, err := h.CallTool(t.Context(), "everything", "trigger-long-running-operation", []byte(`{"duration":0.5,"steps":5}`), func(p Progress) { steps = append(steps, p) }); err != nil {
		t.Error(err)
	}
	if len(steps) == 0 || steps[len(steps)-1].Total != 5 {
		t.Errorf("progress: %+v", steps)
	}
	if p := h.status("everything").Prompts; p == nil || *p != 4 {
		t.Errorf("prompts: %v", p)
	}
}

// anthropics/claude-code#47823: an update reaches the cache and the reader.
func TestRealServerUpdatesAreSubscribed(t *testing.T) {
	command, args := mcptest.RealServer(t, "everything")
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{{Name: "everything", Source: "user", Type: "stdio", Command: command, Args: args}})
	h.started()
	uri := "demo://resource/static/document/features.md"
	if _, err := h.Read(t.Context(), "everything", uri); err != nil {
		t.Fatal(err)
	}
	h.mustCall("everything", "toggle-subscriber-updates", nil)
	eventually(t, "an update", func() bool {
		return slices.ContainsFunc(h.kind("everything", EventUpdated), func(e Event) bool { return e.URI == uri })
	})
	list, _ := h.Resources("everything")
	if i := slices.IndexFunc(list.Resources, func(r Resource) bool { return r.URI == uri }); i < 0 || !list.Resources[i].Stale {
		t.Errorf("the updated resource is not marked stale: %+v", list.Resources)
	}
}

func TestRealServerFilesystem(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a b.txt"), []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := workspace.NewState()
	state.SetFolders([]workspace.Folder{{Path: dir, Name: "work"}})
	command, args := mcptest.RealServer(t, "filesystem")
	h := newHouse(t, Options{State: state}, defaultTiming())
	// It gets no folder on its command line: it asks for our roots.
	h.Configure([]ServerConfig{{Name: "filesystem", Source: "user", Type: "stdio", Command: command, Args: args, Timeout: 10 * time.Second}})
	h.started()
	eventually(t, "the roots are taken", func() bool {
		text, err := h.call("filesystem", "list_allowed_directories", nil)
		return err == nil && strings.Contains(text, dir)
	})
	if got := h.mustCall("filesystem", "read_text_file", map[string]any{"path": filepath.Join(dir, "a b.txt")}); got != "from a file" {
		t.Errorf("%q", got)
	}
}

// editor-code-assistant/eca#298, open-jarvis/OpenJarvis#752, anomalyco/opencode#24414:
// text on stdout before the first message.
func TestRealServerWithABanner(t *testing.T) {
	command, args := mcptest.RealServer(t, "code-runner")
	h := newHouse(t, Options{}, defaultTiming())
	h.Configure([]ServerConfig{{Name: "runner", Source: "user", Type: "stdio", Command: command, Args: args}})
	h.started()
	if i := h.status("runner"); i.Status != StatusReady || !slices.Contains(h.tools("runner"), "run-code") {
		t.Fatalf("%+v with %v", i, h.tools("runner"))
	}
	if e := h.await("runner", EventProblem); !strings.Contains(e.Text, "running on stdio") {
		t.Errorf("%+v", e)
	}
}

// A small server whose bodies have no type and whose template has a variable.
func TestRealServerHelloWorld(t *testing.T) {
	command, args := mcptest.RealServer(t, "hello-world")
	h := newHouse(t, Options{}, defaultTiming())
	h.Configure([]ServerConfig{{Name: "hello", Source: "user", Type: "stdio", Command: command, Args: args}})
	h.started()
	list, err := h.ListResources(t.Context(), "hello")
	if err != nil || len(list.Resources) != 1 || len(list.Templates) != 1 || list.Templates[0].URITemplate != "greeting://{name}" {
		t.Errorf("%+v %v", list, err)
	}
	for uri, want := range map[string]string{"hello://world": "Hello, World", "greeting://Ann": "Hello, Ann"} {
		contents, err := h.Read(t.Context(), "hello", uri)
		if err != nil || len(contents) != 1 || contents[0].MIMEType != "" || !strings.Contains(contents[0].Text, want) {
			t.Errorf("%s: %+v %v", uri, contents, err)
		}
	}
}

// anthropics/claude-code#4110: a template is found, its value completed, and what is
// inserted is read.
func TestRealServerPromptsAndValues(t *testing.T) {
	command, args := mcptest.RealServer(t, "everything")
	h := newHouse(t, Options{}, defaultTiming())
	h.Configure([]ServerConfig{{Name: "everything", Source: "user", Type: "stdio", Command: command, Args: args}})
	h.started()
	eventually(t, "prompts", func() bool { return len(h.PromptList()) == 4 })
	h.searchable("everything", 7)

	get := func(name string, arguments map[string]string) PromptResult {
		t.Helper()
		r, err := h.GetPrompt(t.Context(), "everything", name, arguments)
		if err != nil || len(r.Messages) == 0 {
			t.Fatalf("%s: %+v %v", name, r, err)
		}
		return r
	}
	if r := get("args-prompt", map[string]string{"city": "Oslo"}); !strings.Contains(r.Messages[0].Contents[0].Text, "weather in Oslo?") {
		t.Errorf("%+v", r)
	}
	if r := get("resource-prompt", map[string]string{"resourceType": "Text", "resourceId": "3"}); !slices.ContainsFunc(r.Messages, func(m PromptMessage) bool {
		return m.Contents[0].Type == "resource" && m.Contents[0].URI == "demo://resource/dynamic/text/3" && strings.Contains(m.Contents[0].Text, "Resource 3")
	}) {
		t.Errorf("%+v", r)
	}
	if _, err := h.GetPrompt(t.Context(), "everything", "args-prompt", nil); !errors.Is(err, ErrPromptArgument) || !strings.Contains(err.Error(), "needs the argument city") {
		t.Error(err)
	}
	// Its own complaint about a value comes in its words.
	if _, err := h.GetPrompt(t.Context(), "everything", "resource-prompt", map[string]string{"resourceType": "Video", "resourceId": "3"}); err == nil || !strings.Contains(err.Error(), "Invalid resourceType: Video") {
		t.Error(err)
	}

	ref := CompletionRef{Prompt: "completable-prompt"}
	values, _, err := h.CompleteArgument(t.Context(), "everything", ref, "name", "", map[string]string{"department": "Sales"})
	if err != nil || !slices.Equal(values, []string{"David", "Eve", "Frank"}) {
		t.Errorf("%v %v", values, err)
	}
	if values, _, err = h.CompleteArgument(t.Context(), "everything", ref, "department", "M", nil); err != nil || !slices.Equal(values, []string{"Marketing"}) {
		t.Errorf("%v %v", values, err)
	}
	if values, _, err = h.CompleteArgument(t.Context(), "everything", CompletionRef{Prompt: "args-prompt"}, "city", "O", nil); err != nil || len(values) > 0 {
		t.Errorf("%v %v", values, err)
	}

	prefix := "everything:demo://resource/dynamic/text/"
	if items, incomplete := h.Complete(t.Context(), prefix, 100); !incomplete || len(items) == 0 || items[0].Insert != "@"+prefix || items[0].Label != "Dynamic Text Resource" {
		t.Errorf("%+v %v", items, incomplete)
	}
	eventually(t, "a value in time", func() bool {
		items, _ := h.Complete(t.Context(), prefix+"12", 100)
		return len(items) > 0 && items[0].Label == "12"
	})
	items, incomplete := h.Complete(t.Context(), prefix+"12", 100)
	if !incomplete || items[0].Insert != "@"+prefix+"12" || items[0].Template == nil {
		t.Errorf("%+v %v", items, incomplete)
	}
	m := h.Mentions("read " + items[0].Insert + ".")
	if len(m) != 1 || m[0].Known || !m[0].Expands {
		t.Fatalf("%+v", m)
	}
	if c, err := h.Read(t.Context(), "everything", m[0].URI); err != nil || !strings.Contains(c[0].Text, "Resource 12") {
		t.Errorf("%+v %v", c, err)
	}
}
