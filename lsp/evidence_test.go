package lsp

import (
	"bytes"
	"maps"
	"sync"
	"testing"
	"time"

	"agentls/agent/agenttest"
	"agentls/mcp/mcptest"
)

// evidence is what a world knows of its tool calls beside the audit. Each
// world's audit is held against it when the world has ended.
type evidence struct {
	began time.Time

	mu   sync.Mutex
	log  bytes.Buffer
	fake map[string]mcptest.Log
}

// newEvidence begins to gather; the check comes after all of a world's other
// cleanups, as it is registered before them.
func newEvidence(w *world) *evidence {
	e := &evidence{began: time.Now(), fake: map[string]mcptest.Log{}}
	w.t.Cleanup(func() { e.check(w) })
	return e
}

// Write takes the server's log.
func (e *evidence) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.log.Write(p)
}

// watch lets fake servers write down what reaches them.
func (e *evidence) watch(t testing.TB, servers map[string]mcptest.Options) map[string]mcptest.Options {
	servers = maps.Clone(servers)
	for name, o := range servers {
		if o.Log == "" {
			o.Log = string(mcptest.NewLog(t))
			servers[name] = o
			e.fake[name] = mcptest.Log(o.Log)
		}
	}
	return servers
}

func (e *evidence) check(w *world) {
	if w.t.Failed() || w.Editor == nil {
		return // it may have ended anywhere
	}
	told := agenttest.Evidence{Since: e.began}
	for _, n := range w.All() {
		if n.Method == "agentls/runEvent" {
			told.Message(n.Params)
		}
	}
	for _, answer := range w.Answered() {
		told.Message(answer)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	told.Log(e.log.Bytes())
	for name, log := range e.fake {
		for _, m := range log.Method(w.t, "tools/call") {
			told.Served(name, m.Tool())
		}
	}
	if err := agenttest.CheckAudit(w.state, &told); err != nil {
		w.t.Error(err)
	}
}
