package lsp

import (
	"fmt"
	"strings"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/mcp"
)

// problemCode names what is wrong in a prompt, for good: it is the code of the
// diagnostic.
type problemCode string

// The problems of a prompt.
const (
	codeUnknownServer   problemCode = "agentls.unknownServer"
	codeServerDisabled  problemCode = "agentls.serverDisabled"
	codeServerUntrusted problemCode = "agentls.serverUntrusted"
	codeServerStarting  problemCode = "agentls.serverStarting"
	codeServerLogin     problemCode = "agentls.serverNeedsLogin"
	codeServerFailed    problemCode = "agentls.serverFailed"
	codeServerStopped   problemCode = "agentls.serverStopped"
	codeNoResources     problemCode = "agentls.noResources"
	codeUnknownResource problemCode = "agentls.unknownResource"
	codeQuotedMention   problemCode = "agentls.quotedMention"
)

// promptProblem is something in a prompt that will not do what it seems to. All
// offsets are bytes of the buffer's text.
type promptProblem struct {
	at       textSpan // what is underlined
	of       textSpan // where its fixes are offered: the whole mention or line
	severity protocol.DiagnosticSeverity
	code     problemCode
	message  string
	fixes    []promptFix // only where problems at a place were asked for
}

// promptFix is one way to mend a problem: an edit, or a command.
type promptFix struct {
	title   string
	exact   bool // nothing else can have been meant
	edits   []promptEdit
	command string // with edits: none
	server  string // its argument
}

// promptEdit replaces a part of the buffer's text.
type promptEdit struct {
	at   textSpan
	text string
}

// mentionKey is a resource as a mention names it.
type mentionKey struct{ server, uri string }

// promptCheck looks through the prompts of a buffer that are not sent yet. What
// was sent is never sent again.
type promptCheck struct {
	s      *Server
	state  bufferState
	within *textSpan           // only what touches it; nil: everything
	before map[mentionKey]bool // what was told to be unknown; see stale
	stale  bool                // an old list is as good as a new one

	servers  map[string]mcp.ServerInfo // by mention name
	names    []string                  // the mention names
	lists    map[string]mcp.ResourceList
	nearby   map[mentionKey]nearby
	found    map[mentionKey]nearby // nearby of the pass before
	searches int                   // that are left

	problems []promptProblem     // of all there are, maxProblems at most
	more     int                 // problems beyond those
	unknown  map[mentionKey]bool // what is unknown now
}

// maxProblems bounds what is told of a buffer.
const maxProblems = 500

// nearby is what was found in a list of so many resources. Searching a long one
// takes a while, so it is done once, not for each key that is typed.
type nearby struct {
	of   int
	uris []string
}

// maxSearches bounds how often a list is searched for what was meant, and the
// disk for what no list holds, in one pass over a buffer.
const maxSearches = 20

// checkPrompts finds what is wrong. It reads memory;
// of the disk it asks whether a file of the workspace is there that is not
// listed. While a list is out of date a resource that it lacks is only told to
// be unknown if it was before.
func (s *Server) checkPrompts(state bufferState, before *promptCheck) *promptCheck {
	c := s.newPromptCheck(state)
	if before != nil {
		c.before, c.found = before.unknown, before.nearby
	}
	c.run()
	return c
}

// problemsAt finds what is wrong at a place.
func (s *Server) problemsAt(state bufferState, place textSpan) []promptProblem {
	c := s.newPromptCheck(state)
	c.within, c.stale = &place, true
	c.run()
	return c.problems
}

func (s *Server) newPromptCheck(state bufferState) *promptCheck {
	return &promptCheck{
		s: s, state: state, servers: map[string]mcp.ServerInfo{}, lists: map[string]mcp.ResourceList{}, nearby: map[mentionKey]nearby{},
		searches: maxSearches, unknown: map[mentionKey]bool{},
	}
}

// kept is what the next pass needs of this one.
func (c *promptCheck) kept() *promptCheck { return &promptCheck{unknown: c.unknown, nearby: c.nearby} }

func (c *promptCheck) run() {
	for _, info := range c.s.o.Manager.Servers() {
		c.servers[info.Mention] = info
		c.names = append(c.names, info.Mention)
	}
	for i := range c.state.blocks {
		b := &c.state.blocks[i]
		if !b.mine() || b.answered || len(b.live) > 0 {
			continue
		}
		command := c.slashes(b)
		for _, m := range b.mentions {
			if command.start <= m.Start && m.Start < command.end {
				continue // what is an argument is not attached
			}
			if c.touches(textSpan{m.Start, m.End}) {
				c.mention(m)
			}
		}
	}
}

func (c *promptCheck) touches(at textSpan) bool {
	return c.within == nil || at.start <= c.within.end && c.within.start <= at.end
}

// add takes a problem of a mention.
func (c *promptCheck) add(m mcp.Mention, at textSpan, severity protocol.DiagnosticSeverity, code problemCode, message string, fixes ...promptFix) {
	c.problems = append(c.problems, promptProblem{at, textSpan{m.Start, m.End}, severity, code, message, fixes})
}

func (c *promptCheck) mention(m mcp.Mention) {
	info := c.servers[m.Name]
	whole, known := textSpan{m.Start, m.End}, m.Known || m.Expands
	switch {
	case m.Quoted && !known, !m.Quoted && known && info.Status == mcp.StatusReady:
	case !m.Quoted && m.Server != "" && info.Status == mcp.StatusReady:
		c.notListed(m, info)
	case c.full():
	case m.Quoted:
		c.add(m, whole, protocol.DiagnosticSeverityHint, codeQuotedMention, "in quotes, backticks or a fenced block this is sent as text: the resource is not attached.", c.unquote(whole)...)
	case m.Server == "" || info.Name == "":
		c.unknownServer(m)
	default:
		severity, code, message, fixes := c.notReady(info)
		c.add(m, whole, severity, code, message, fixes...)
	}
}

// full reports that a problem is only counted.
func (c *promptCheck) full() bool {
	if len(c.problems) < maxProblems {
		return false
	}
	c.more++
	return true
}

func (c *promptCheck) unknownServer(m mcp.Mention) {
	near := nearest(m.Name, c.names)
	for i, name := range near {
		near[i] = "@" + name + c.state.text[m.Start+1+len(m.Name):m.End]
	}
	fixes := c.changes(textSpan{m.Start, m.End}, near)
	fixes = append(fixes, c.quote(textSpan{m.Start, m.End})...)
	c.add(m, textSpan{m.Start, m.Start + 1 + len(m.Name)}, protocol.DiagnosticSeverityWarning, codeUnknownServer,
		c.s.tell(fmt.Sprintf("no MCP server is named %q, so this is sent as text%s", clip(m.Name, 60), suggest(m.Name, c.names))), fixes...)
}

// notReady says why a server cannot be asked now, and what to do.
func (c *promptCheck) notReady(info mcp.ServerInfo) (severity protocol.DiagnosticSeverity, code problemCode, message string, fixes []promptFix) {
	fix := func(verb, command string) {
		if c.s.announces(command) {
			fixes = append(fixes, promptFix{title: fmt.Sprintf(verb, cleanTo(info.Name, actionMax)), exact: true, command: command, server: info.Name})
		}
	}
	severity = protocol.DiagnosticSeverityWarning
	switch info.Status {
	case mcp.StatusDisabled:
		code = codeServerDisabled
		fix("Enable server %s", "agentls.mcp.enable")
	case mcp.StatusUntrusted:
		code = codeServerUntrusted
		fix("Trust server %s…", "agentls.mcp.restart")
	case mcp.StatusNeedsLogin:
		code = codeServerLogin
		fix("Log in to server %s", "agentls.mcp.login")
	case mcp.StatusFailed:
		code = codeServerFailed
		fix("Restart server %s", "agentls.mcp.restart")
	case mcp.StatusRestarting:
		severity, code = protocol.DiagnosticSeverityInformation, codeServerStarting
		fix("Start server %s now", "agentls.mcp.restart")
	case mcp.StatusStarting:
		severity, code = protocol.DiagnosticSeverityInformation, codeServerStarting
	default:
		code = codeServerStopped
		fix("Start server %s", "agentls.mcp.restart")
	}
	return severity, code, "the MCP server " + c.s.tell(info.Name) + " " + c.s.standing(info) + ".", fixes
}

// notListed looks at a mention whose URI is in no list of its server.
func (c *promptCheck) notListed(m mcp.Mention, info mcp.ServerInfo) {
	key := mentionKey{info.Name, m.URI}
	if !c.s.o.Manager.HasResources(info.Name) {
		if c.full() {
			return
		}
		c.add(m, textSpan{m.Start, m.End}, protocol.DiagnosticSeverityWarning, codeNoResources,
			"the MCP server "+c.s.tell(info.Name)+" offers no resources that could be attached.", c.quote(textSpan{m.Start, m.End})...)
		return
	}
	list := c.list(info.Name)
	if !list.Fetched || list.Stale && !c.stale && !c.before[key] {
		return
	}
	if c.full() {
		return
	}
	near, searched := c.near(key, list)
	if searched && c.isFile(info.Name, m.URI) {
		return
	}
	c.unknown[key] = true
	message := "the MCP server " + c.s.tell(info.Name) + " does not list " + c.s.tell(m.URI) + "; it is asked for all the same."
	written := make([]string, len(near))
	for i, uri := range near {
		written[i] = mcp.MentionText(m.Name, uri)
	}
	if len(near) > 0 {
		message += " Did you mean " + c.s.tell(written[0]) + "?"
	}
	fixes := c.changes(textSpan{m.Start, m.End}, written)
	fixes = append(fixes, c.quote(textSpan{m.Start, m.End})...)
	c.add(m, textSpan{m.Start + len("@:") + len(m.Name), m.End}, protocol.DiagnosticSeverityWarning, codeUnknownResource, message, fixes...)
}

// list is the cached list of a server.
func (c *promptCheck) list(server string) mcp.ResourceList {
	list, ok := c.lists[server]
	if !ok {
		list, _ = c.s.o.Manager.Resources(server) // one that is gone meanwhile has none
		c.lists[server] = list
	}
	return list
}

// near finds what was perhaps meant. searched is false where too much has been
// searched for already.
func (c *promptCheck) near(key mentionKey, list mcp.ResourceList) (uris []string, searched bool) {
	for _, known := range []map[mentionKey]nearby{c.nearby, c.found} {
		if n, ok := known[key]; ok && n.of == len(list.Resources) {
			c.nearby[key] = n
			return n.uris, true
		}
	}
	if c.searches == 0 {
		return nil, false
	}
	c.searches--
	all := make([]string, len(list.Resources))
	for i := range list.Resources {
		all[i] = list.Resources[i].URI
	}
	n := nearby{len(all), agent.NearestURIs(key.uri, all)}
	c.nearby[key] = n
	return n.uris, true
}

// isFile reports whether what the workspace does not list is a file of it all
// the same: git ignores it, or the folder is too large.
func (c *promptCheck) isFile(server, uri string) bool {
	if server != workspaceServer {
		return false
	}
	if strings.HasPrefix(uri, "diagnostics://") {
		return true // there are none at the moment
	}
	_, _, ok := c.s.o.State.Locate(uri)
	return ok
}
