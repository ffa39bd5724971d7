package lsp

import (
	"bytes"
	"encoding/json"
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

	said func() []json.RawMessage // what the server told on the wire; nil: nobody listened
}

// newEvidence begins to gather; the check comes after all of a world's other
// cleanups, as it is registered before them.
func newEvidence(h *house) *evidence {
	e := &evidence{began: time.Now(), fake: map[string]mcptest.Log{}}
	h.t.Cleanup(func() { e.check(h) })
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

// sentAgain reports whether a call is an earlier one with what its server needed
// before it answers: the input of MRTR, or (the fake's tool refuse) that a link
// was opened.
func sentAgain(m mcptest.Entry) bool {
	var p map[string]json.RawMessage
	_ = json.Unmarshal(m.Params, &p)
	return p["inputResponses"] != nil || p["requestState"] != nil || m.Tool() == "refuse"
}

func (e *evidence) check(h *house) {
	if h.t.Failed() || e.said == nil {
		return // it may have ended anywhere
	}
	told := agenttest.Evidence{Since: e.began}
	for _, raw := range e.said() {
		told.Message(raw)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	told.Log(e.log.Bytes())
	for name, log := range e.fake {
		for i, m := range log.Method(h.t, "tools/call") {
			if !sentAgain(m) || i == 0 {
				told.Served(name, m.Tool())
			}
		}
	}
	if err := agenttest.CheckAudit(h.state, &told); err != nil {
		h.t.Error(err)
	}
}
