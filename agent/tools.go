package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"agentls/mcp"
)

// maxDescription is the longest description that providers take, in characters.
const maxDescription = 1024

// workspaceServer is the embedded server's reserved name.
const workspaceServer = "workspace"

// tool is something that the model can call.
type tool struct {
	server      string // configured name; empty for a built-in tool
	name        string // the server's own name
	model       string // the name for the model, see nameTools
	virtual     bool   // list_resources and read_resource, made for a server's resources
	anywhere    bool   // a built-in tool that needs no folder
	scarce      bool   // a built-in tool that is offered where others are not, for want of room
	untracked   bool   // a built-in tool that may change what undo knows nothing of
	plan        bool   // submit_plan: a person is asked about its steps, and all in it ends by itself soon after ctx
	title       string // for a person
	description string
	schema      json.RawMessage
	names       map[string]string // the server's names of arguments, by those of schema; nil: the same
	// definition is the hash of what a server said about its tool; empty for
	// the tools that are made here.
	definition string
	// readOnly: the server says so, and the user trusts it to. destructive is
	// what the server says, trusted or not.
	readOnly, destructive bool
	words                 func() toolWords // what it is found by; nil for the tools that are made here
	// check finds arguments that do not fit; nil: the tool does.
	check func(args json.RawMessage) error
	run   func(ctx context.Context, e env, args json.RawMessage) (output, error)
	// read reads what a model wrote as it is meant; nil: as it stands.
	read func(args json.RawMessage) (json.RawMessage, error)
	// gone says why a thread's own tool cannot be called any more; "", or nil: it
	// can.
	gone func() string
	// preview shows a person what a call would change; nil: it changes no file.
	preview func(e env, args json.RawMessage) (Preview, bool)
}

// env is what a call finds around it.
type env struct {
	folders  folders
	real     string // the file that the gate decided about, with links resolved; empty: none
	host     Host
	ignored  func(path string, dir bool) bool
	limit    int                       // bytes of a result
	shelf    shelf                     // where longer ones are kept
	children children                  // what programs that are started are given
	web      *fetcher                  // never nil
	unsaved  func() []string           // files that the run changed and that are not on disk yet; may be nil
	changes  *changes                  // what the run changes of files; never nil
	deeds    *deeds                    // what is told of what the thread does; may be nil
	edits    *edits                    // those of the thread; never nil
	known    *known                    // what the thread has seen of files; never nil
	asked    bool                      // a person has approved just this call
	edited   bool                      // with other arguments, of a plan
	changed  func(Change)              // hears of what was changed without asking; may be nil
	progress func(mcp.Progress)        // never nil
	find     func(query string) string // searches the servers' tools
}

// room is how much text fits into a result beside the notes about it.
func (e env) room() int { return max(e.limit-300, e.limit/2) }

// resolve finds the file of a call: that which the gate decided about, or none.
func (e env) resolve(name string) (place, error) {
	return e.permitted(e.folders.resolve(name, e.host))
}

// permitted passes on the place that the gate decided about.
func (e env) permitted(at place, err error) (place, error) {
	if err == nil && e.real != "" && at.real != e.real {
		return place{}, fmt.Errorf("%q leads elsewhere since the call was permitted: nothing was done", at.shown)
	}
	return at, err
}

// output is what a tool gives the model.
type output struct {
	text   string
	images []Image
	stored string // the id under which the whole of a text that is cut is kept
	failed bool   // the tool says that it failed
	reason string // why, for the audit; the text says it to the model
}

// toolset is what one request offers.
type toolset struct {
	specs    []ToolSpec
	byName   map[string]*tool  // leads a name of the model back to its tool, offered or not
	withheld map[string]string // why this thread may not call a tool, by its name
	left     []string          // servers with tools that found no room, sorted
	leftN    int
	served   int      // how many tools the servers have
	names    []string // all tools of the servers in left, a line each; nil: too many to list
}

// tools returns what can be called now: our own, then the servers'.
func (a *Agent) tools(files bool) (own, served []*tool) {
	for _, t := range a.builtins {
		if files || t.anywhere {
			c := *t // its name is set per request
			own = append(own, &c)
		}
	}
	for _, s := range a.manager.Servers() {
		if s.Status == mcp.StatusReady && a.manager.HasResources(s.Name) {
			own = append(own, a.resourceTools(s.Name)...)
		}
	}
	seen := map[[2]string]bool{}
	for _, t := range a.manager.Tools() {
		if key := [2]string{t.Server, t.Name}; !seen[key] {
			seen[key] = true
			served = append(served, a.serverTool(t))
		}
	}
	a.shaped.keep(seen)
	return own, served
}

func (t *tool) spec() ToolSpec {
	return ToolSpec{Name: t.model, Description: t.description, Schema: t.schema}
}

func byServer(a, b *tool) int {
	return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.name, b.name))
}

// without is the set without a tool, which cannot be called because of why.
func (s toolset) without(name, why string) toolset {
	s.byName, s.withheld = maps.Clone(s.byName), maps.Clone(s.withheld)
	if s.withheld == nil {
		s.withheld = map[string]string{}
	}
	delete(s.byName, name)
	s.withheld[name] = why
	s.specs = slices.DeleteFunc(slices.Clone(s.specs), func(spec ToolSpec) bool { return spec.Name == name })
	return s
}

// known returns the names of all tools, sorted.
func (s toolset) known() []string { return slices.Sorted(maps.Keys(s.byName)) }

// shapedTools keeps what was made of the servers' tools, so that each definition
// is looked at once. Its zero value has nothing yet. Safe for concurrent use.
type shapedTools struct {
	mu   sync.Mutex
	made map[[2]string]shapedTool // by server and the server's own name
}

type shapedTool struct {
	from mcp.Tool
	tool *tool
}

// get returns a copy of what make makes of a tool: its name for the model
// depends on the request.
func (s *shapedTools) get(t mcp.Tool, make func(mcp.Tool) *tool) *tool {
	key := [2]string{t.Server, t.Name}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil {
		s.made = map[[2]string]shapedTool{}
	}
	one, ok := s.made[key]
	if !ok || !one.from.Same(t) {
		one = shapedTool{t, make(t)}
		s.made[key] = one
	}
	c := *one.tool
	return &c
}

// keep forgets the tools that are not among these.
func (s *shapedTools) keep(tools map[[2]string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.made, func(key [2]string, _ shapedTool) bool { return !tools[key] })
}

// serverTool makes a server's tool callable.
func (a *Agent) serverTool(t mcp.Tool) *tool { return a.shaped.get(t, a.shape) }

func (a *Agent) shape(t mcp.Tool) *tool {
	fit := fitSchema(t.Schema)
	made := &tool{
		server: t.Server, name: t.Name, title: t.Title, definition: t.Definition(),
		readOnly: t.Trusted && t.ReadOnly, destructive: t.Destructive,
		description: describe(t, fit.rule), schema: fit.schema, names: fit.names,
		check: func(args json.RawMessage) error { return a.manager.CheckArguments(t.Server, t.Name, args) },
		run: func(ctx context.Context, e env, args json.RawMessage) (output, error) {
			res, err := a.manager.CallTool(ctx, t.Server, t.Name, args, e.progress)
			if err != nil {
				return output{}, err
			}
			return toolOutput(res, e, a.readerOf(t.Server)), nil
		},
	}
	made.words = sync.OnceValue(func() toolWords { return wordsOfTool(made) })
	return made
}

// readerOf is the model's name of the tool that reads a server's resources,
// empty where there is none.
func (a *Agent) readerOf(server string) string {
	if !a.manager.HasResources(server) {
		return ""
	}
	if name := plainName(&tool{server: server, name: "read_resource", virtual: true}); len(name) <= maxName {
		return name
	}
	return ""
}

// describe returns a description that is never empty, as providers refuse that,
// and ends with the rule that the schema cannot hold. It is data, and cut to
// what providers take.
func describe(t mcp.Tool, rule string) string {
	text := strings.TrimSpace(visible(t.Description))
	if text == "" {
		text = strings.TrimSpace(visible(t.Title))
	}
	if text == "" {
		text = fmt.Sprintf("Tool %q of the MCP server %q. The server gives no description.", t.Name, t.Server)
	}
	if rule != "" {
		rule = "\n\n" + rule
	}
	const gone = " [cut by agentls]"
	if n := maxDescription - utf8.RuneCountInString(rule); utf8.RuneCountInString(text) > n {
		text, _ = clip(text, n-len(gone))
		text += gone
	}
	return text + rule
}

// visible leaves out what a person who looks at a text does not see, and a
// model reads all the same.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if Unseen(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// current returns the tool as its server defines it now; ok is false when it
// is gone. Tools that are made here never change.
func (a *Agent) current(t *tool) (now *tool, ok bool) {
	if t.definition == "" {
		return t, true
	}
	for _, other := range a.manager.Tools() {
		if other.Server == t.server && other.Name == t.name {
			if other.Definition() == t.definition {
				return t, true
			}
			now = a.serverTool(other)
			now.model = t.model
			return now, true
		}
	}
	return t, false
}
