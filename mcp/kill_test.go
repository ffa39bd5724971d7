package mcp

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"agentls/mcp/mcptest"
)

// Parts that the test binary plays when it is started with one as its
// argument: a process with servers, and its reaper.
const (
	partHost = "play-host"
	partReap = "play-reaper"
)

func playPart() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case partReap:
		Reap(os.Stdin)
		os.Exit(0)
	case partHost:
		var c ServerConfig
		if err := json.Unmarshal([]byte(os.Args[2]), &c); err != nil {
			os.Exit(1)
		}
		m := NewManager(Options{Environ: os.Environ(), Reaper: []string{os.Args[0], partReap}})
		m.Configure([]ServerConfig{c})
		select {} // until it is killed
	}
}

func TestKilledProcessLeavesNoChild(t *testing.T) {
	log := mcptest.NewLog(t)
	config, err := json.Marshal(fakeConfig(t, "fake", mcptest.Options{IgnoreEOF: true, Child: true, Log: string(log)}))
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(os.Args[0], partHost, string(config))
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	log.AwaitEvent(t, 1, "grandchild")
	log.AwaitMethod(t, 1, "initialize")
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	gone(t, log)
}
