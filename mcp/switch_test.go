package mcp

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
	"agentls/mcp/workspace"
)

func TestDisableAndEnable(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Unanswered: []string{"prompts/get"}}, "other": {}})
	eventually(t, "lists", func() bool { return len(h.uris("fake")) == 3 && len(h.PromptList()) == 2 })
	calling := make(chan error, 1)
	go func() {
		_, err := h.GetPrompt(t.Context(), "fake", "review", args2("focus", "x"))
		calling <- err
	}()
	log.AwaitMethod(t, 1, "prompts/get")

	i, err := h.Disable("fake")
	if err != nil || i.Status != StatusDisabled || i.Tools != nil {
		t.Fatalf("%+v %v", i, err)
	}
	if len(h.tools("fake")) > 0 || len(h.uris("fake")) > 0 || len(h.PromptList()) != 1 || len(h.tools("other")) == 0 {
		t.Errorf("what it offered is still there: %v %v %v", h.tools("fake"), h.uris("fake"), h.PromptList())
	}
	if items, _ := h.Complete(t.Context(), "fake:", 10); len(items) > 0 {
		t.Errorf("%+v", items)
	}
	if err := <-calling; err == nil {
		t.Error("a call under way did not fail")
	}
	if _, err := h.call("fake", "echo", nil); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "disabled") {
		t.Error(err)
	}
	gone(t, log)
	h.await("fake", EventDisabled)
	if _, err := h.Disable("fake"); err != nil || len(h.kind("fake", EventDisabled)) != 1 {
		t.Errorf("disabled twice: %v", err)
	}

	i, err = h.Enable("fake")
	if err != nil || i.Status != StatusStarting {
		t.Fatalf("%+v %v", i, err)
	}
	h.started()
	if h.mustCall("fake", "echo", args{"text": "hello"}) != "hello" {
		t.Error("it does not answer")
	}
	if _, err := h.Enable("fake"); err != nil || len(log.Events(t, "start")) != 2 {
		t.Errorf("enabling what runs must not start it anew: %v", err)
	}
	if _, err := h.Enable("none"); !errors.Is(err, ErrUnknownServer) {
		t.Error(err)
	}
}

func args2(name, value string) map[string]string { return map[string]string{name: value} }

func TestEnableWhatTheConfigurationDisables(t *testing.T) {
	h := newHouse(t, Options{}, fast())
	c := fakeConfig(t, "fake", mcptest.Options{})
	c.Disabled = true
	h.Configure([]ServerConfig{c})
	if i := h.status("fake"); i.Status != StatusDisabled {
		t.Fatalf("%+v", i)
	}
	if _, err := h.Enable("fake"); err != nil {
		t.Fatal(err)
	}
	h.started()
	if i := h.status("fake"); i.Status != StatusReady {
		t.Fatalf("%+v", i)
	}
	// Another change of the configuration leaves the person's word in force.
	c.Timeout = 7 * time.Second
	h.Configure([]ServerConfig{c})
	h.started()
	if i := h.status("fake"); i.Status != StatusReady {
		t.Fatalf("%+v", i)
	}
	// What the configuration says of it anew counts.
	c.Disabled = false
	h.Configure([]ServerConfig{c})
	if _, err := h.Disable("fake"); err != nil || h.status("fake").Status != StatusDisabled {
		t.Fatal(err, h.status("fake"))
	}
	c.Disabled = true
	h.Configure([]ServerConfig{c})
	c.Disabled = false
	h.Configure([]ServerConfig{c})
	h.started()
	if i := h.status("fake"); i.Status != StatusReady {
		t.Errorf("a word of before counts against the configuration: %+v", i)
	}
}

func TestEnableStillWantsTrust(t *testing.T) {
	h := newHouse(t, Options{TrustFile: filepath.Join(t.TempDir(), "trust.json")}, fast())
	c := project(t, mcptest.NewLog(t))
	c.Disabled = true
	h.TrustFolder(true)
	h.Configure([]ServerConfig{c})
	h.awaitEvil(StatusDisabled)
	if i, err := h.Enable("evil"); err != nil || i.Status != StatusUntrusted {
		t.Fatalf("%+v %v", i, err)
	}
	if _, err := h.Trust("evil", true, c.Fingerprint); err != nil {
		t.Fatal(err)
	}
	h.awaitEvil(StatusReady)
	if i, err := h.Disable("evil"); err != nil || i.Status != StatusDisabled {
		t.Fatalf("%+v %v", i, err)
	}
	// Trust must not start what is disabled.
	if i, err := h.Trust("evil", true, c.Fingerprint); err != nil || i.Status != StatusDisabled {
		t.Fatalf("%+v %v", i, err)
	}
}

func TestWorkspaceIsNotDisabled(t *testing.T) {
	h := newHouse(t, Options{State: workspace.NewState()}, fast())
	if _, err := h.Disable("workspace"); !errors.Is(err, ErrBuiltIn) {
		t.Error(err)
	}
}

func TestLogs(t *testing.T) {
	secrets := NewSecrets()
	secrets.Add("hunter2-hunter2")
	h := newHouse(t, Options{Secrets: secrets}, fast())
	c := fakeConfig(t, "fake", mcptest.Options{Stderr: "starting up\nwith hunter2-hunter2\nno line end"})
	h.Configure([]ServerConfig{c})
	h.started()
	h.mustCall("fake", "log", args{"level": "warning", "text": "look hunter2-hunter2"})
	var lines []LogLine
	has := func(source, level, text string) bool {
		return slices.ContainsFunc(lines, func(l LogLine) bool { return l.Source == source && l.Level == level && strings.Contains(l.Text, text) })
	}
	eventually(t, "lines", func() bool {
		lines, _ = h.Logs("fake")
		return has("log", "warning", "look [redacted]") && has("stderr", "info", "with [redacted]")
	})
	if !has("stderr", "info", "starting up") || !has("agentls", "info", "ready, with") {
		t.Errorf("%+v", lines)
	}
	if !slices.IsSortedFunc(lines, func(a, b LogLine) int { return a.Time.Compare(b.Time) }) || slices.ContainsFunc(lines, func(l LogLine) bool { return time.Since(l.Time) > time.Minute }) {
		t.Errorf("%+v", lines)
	}
	// What is not ended by a line end is told when the server is gone.
	if _, err := h.Disable("fake"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the last words", func() bool { lines, _ = h.Logs("fake"); return has("stderr", "info", "no line end") })
	if _, err := h.Logs("none"); !errors.Is(err, ErrUnknownServer) {
		t.Error(err)
	}
}

func TestServerLogIsBounded(t *testing.T) {
	var l serverLog
	l.add(logStderr, "info", "first")
	for range 5 * maxLogLines {
		l.add(logMessage, "debug", strings.Repeat("x", 2*maxLogText))
	}
	lines := l.all()
	if len(lines) != maxLogLines+1 || lines[0].Text != "first" || len(lines[1].Text) > maxLogText+4 {
		t.Errorf("%d lines, first %q of %d bytes", len(lines), lines[0].Text, len(lines[1].Text))
	}
}
