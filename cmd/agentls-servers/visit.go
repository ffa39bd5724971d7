package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"agentls/mcp"
	"agentls/mcp/workspace"
)

const (
	// wait is how long an event may take.
	wait = 30 * time.Second
	// abandon is how long a cancelled call may take to return.
	abandon = 500 * time.Millisecond
)

// visitor looks at one server through a manager of its own.
type visitor struct {
	*mcp.Manager
	*seen
	home     *home
	sessions map[int]bool // of its processes

	mu     sync.Mutex
	events []mcp.Event
	news   chan struct{} // capacity 1: there are more events
}

// visit visits a server in the era that agentls tries first, and in the other
// one where the list says that it knows that.
func visit(ctx context.Context, at place, s *server) *seen {
	out := visitOnce(ctx, at, s)
	if !s.Modern {
		return out
	}
	m, err := s.modern()
	if err != nil {
		out.fault("its configuration: %v", err)
		return out
	}
	for _, f := range visitOnce(ctx, at, m).faults {
		out.fault("spoken to by %s: %s", newest, f)
	}
	return out
}

// visitOnce connects a server, looks at all that it offers, tries what the list
// says, and ends it.
func visitOnce(ctx context.Context, at place, s *server) *seen {
	out := &seen{server: s}
	h, err := newHome(at, s)
	if err != nil {
		out.fault("its folder: %v", err)
		return out
	}
	defer h.remove()
	stop, err := h.beside(ctx)
	if err == nil {
		defer stop()
		err = h.before(ctx)
	}
	if err != nil {
		out.fault("what has to be there before it: %v", err)
		return out
	}
	secrets := mcp.NewSecrets()
	cfg, err := h.config(ctx, secrets)
	if err != nil {
		out.fault("%v", err)
		return out
	}
	state := workspace.NewState()
	state.SetFolders([]workspace.Folder{{Path: h.work(), Name: "work"}})
	v := &visitor{
		Manager: mcp.NewManager(mcp.Options{Name: "agentls", Version: "servers", State: state, Environ: h.environ(), Secrets: secrets}),
		seen:    out, home: h, news: make(chan struct{}, 1),
	}
	var wg sync.WaitGroup
	wg.Go(v.listen)
	wg.Go(func() {
		for r := range v.Requests() { // nobody is there to be asked
			v.note("asks: %s", r.Kind)
			r.Reply(mcp.RequestAnswer{})
		}
	})
	v.look(ctx, cfg)
	v.end(&wg)
	return out
}

// listen keeps what is told until the manager is closed.
func (v *visitor) listen() {
	for e := range v.Events() {
		if e.Server != v.server.Name {
			continue
		}
		v.mu.Lock()
		v.events = append(v.events, e)
		v.mu.Unlock()
		select {
		case v.news <- struct{}{}:
		default:
		}
	}
}

// await waits until an event came that is right, of those from the n-th on.
func (v *visitor) await(ctx context.Context, n int, right func(mcp.Event) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		v.mu.Lock()
		came := slices.ContainsFunc(v.events[n:], right)
		v.mu.Unlock()
		if came {
			return true
		}
		select {
		case <-v.news:
		case <-ctx.Done():
			return false
		}
	}
}

func (v *visitor) told() (list []mcp.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.events)
}

func (v *visitor) info() mcp.ServerInfo {
	list := v.Servers()
	return list[slices.IndexFunc(list, func(i mcp.ServerInfo) bool { return i.Name == v.server.Name })]
}

// look starts the server and does all that is to be done with it.
func (v *visitor) look(ctx context.Context, cfg mcp.ServerConfig) {
	begun := time.Now()
	v.Configure([]mcp.ServerConfig{cfg})
	limit, cancel := context.WithTimeout(ctx, cfg.StartupTimeout+wait)
	defer cancel()
	if missing := v.WaitStarted(limit); len(missing) > 0 {
		v.fault("neither ready nor failed %v after the start", time.Since(begun).Round(time.Second))
		return
	}
	v.started = time.Since(begun)
	i := v.info()
	v.status, v.err, v.protocol = i.Status, i.Error, i.Protocol
	if fails := v.server.Expect.Fails; fails != "" {
		v.failed(ctx, fails)
		return
	}
	if i.Status != mcp.StatusReady {
		v.fault("it is %s: %s", i.Status, i.Error)
		return
	}
	v.lists(ctx)
	v.measure()
	v.roundTrips(ctx)
	v.read(ctx)
	v.complete(ctx)
	v.prompt(ctx)
	v.cancel(ctx)
	v.call(ctx)
	v.notify(ctx)
	v.revive(ctx)
	v.oddities()
	if i := v.info(); i.Status != mcp.StatusReady {
		v.fault("in the end it is %s: %s", i.Status, i.Error)
	}
}

// failed looks at a server that cannot be used: the error says why, and nothing
// of it runs on.
func (v *visitor) failed(ctx context.Context, fails string) {
	if v.status != mcp.StatusFailed {
		v.fault("it is %s, and should have failed with %q", v.status, fails)
		return
	}
	if !strings.Contains(v.err, fails) {
		v.fault("its error does not say %q: %s", fails, v.err)
	}
	if !v.await(ctx, 0, func(e mcp.Event) bool { return e.Kind == mcp.EventFailed }) {
		v.fault("its failure was not told")
	}
	if left := marked(v.home.dir, nil); len(left) > 0 {
		v.fault("it has failed, and runs on: %s", names(left))
	}
}

// measure looks at its processes, as they are when all lists are there.
func (v *visitor) measure() {
	list := marked(v.home.dir, nil)
	v.sessions = sessionsOf(list)
	for _, p := range list {
		v.rss += p.rss
	}
	v.processes = len(list)
	if traced() && len(list) == 0 {
		v.fault("none of its processes is seen, so that none could be missed")
	}
}

// end closes the manager and looks for what is left of the server.
func (v *visitor) end(wg *sync.WaitGroup) {
	begun := time.Now()
	v.Close()
	wg.Wait()
	v.ended = time.Since(begun)
	if v.ended > 2*time.Second {
		v.fault("its end took %v", v.ended.Round(time.Millisecond))
	}
	left := marked(v.home.dir, v.sessions)
	for deadline := time.Now().Add(time.Second); len(left) > 0 && time.Now().Before(deadline); left = marked(v.home.dir, v.sessions) {
		time.Sleep(20 * time.Millisecond) // what was killed may not be gone yet
	}
	if len(left) > 0 {
		v.fault("%d processes are left of it: %s", len(left), names(left))
	}
}

// lists fetches what it offers and compares it with what is expected.
func (v *visitor) lists(ctx context.Context) {
	name, e := v.server.Name, v.server.Expect
	resources, err := v.ListResources(ctx, name)
	if err != nil {
		v.fault("the list of resources: %v", err)
	}
	prompts, err := v.ListPrompts(ctx, name)
	if err != nil {
		v.fault("the list of prompts: %v", err)
	}
	for _, t := range v.Tools() {
		if t.Server == name {
			v.toolList = append(v.toolList, t)
			if err := t.Unusable(); err != nil {
				v.fault("the tool %s: %v", t.Name, err)
			}
		}
	}
	v.resourceList, v.templateList, v.promptList = resources.Resources, resources.Templates, prompts
	v.count()
	v.offers()
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"tools", len(v.toolList), e.Tools},
		{"resources", len(v.resourceList), e.Resources},
		{"templates", len(v.templateList), e.Templates},
		{"prompts", len(v.promptList), e.Prompts},
	} {
		if c.got != c.want && (c.what != "tools" || !e.More || c.got < c.want) {
			v.fault("it has %d %s, %d are expected", c.got, c.what, c.want)
		}
	}
	if v.protocol != e.Protocol {
		v.fault("it speaks %q, expected is %q", v.protocol, e.Protocol)
	}
}

// offers tells what it has, for whoever adds it to the list.
func (v *visitor) offers() {
	for _, t := range v.toolList {
		v.detail("tool %s: %s", t.Name, clip(string(t.Schema), 300))
	}
	for _, r := range v.resourceList[:min(len(v.resourceList), 20)] {
		v.detail("resource %s: %s", r.URI, r.Name)
	}
	for _, t := range v.templateList {
		v.detail("template %s: %s", t.URITemplate, t.Name)
	}
	for _, p := range v.promptList {
		v.detail("prompt %s: %+v", p.Name, p.Arguments)
	}
}

func clip(s string, n int) string {
	if len(s) > n {
		return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:n], ""), len(s))
	}
	return s
}
