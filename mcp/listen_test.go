package mcp

import (
	"sync"
	"testing"

	"agentls/mcp/mcptest"
)

func TestReadsBesideEachOtherShareOneListening(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Modern: true, Log: string(log)}})
	uri := "file://doc1.md"
	kept := func() bool {
		before := len(log.Method(t, "resources/read"))
		if _, err := h.Read(t.Context(), "fake", uri); err != nil {
			t.Error(err)
		}
		return len(log.Method(t, "resources/read")) == before
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() { // they end with stop
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = h.Read(t.Context(), "fake", uri)
				}
			}
		})
	}
	eventually(t, "the body is kept", kept)
	close(stop)
	readers.Wait()
	if n := len(log.Method(t, "subscriptions/listen")); n > 3 {
		t.Errorf("the listening was begun %d times", n)
	}
}
