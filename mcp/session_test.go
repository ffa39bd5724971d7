package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// The children of the tries are gone: anthropics/claude-code#95821.
func TestLostServerIsTriedAgainWithBackOffThenOnUse(t *testing.T) {
	log := mcptest.NewLog(t)
	tm := fast()
	tm.tries = 3
	h := newHouse(t, Options{}, tm)
	// It works once; after that it does not get through initialize.
	c := fakeConfig(t, "fake", mcptest.Options{Once: true, Log: string(log)})
	c.StartupTimeout = 300 * time.Millisecond
	h.Configure([]ServerConfig{c})
	h.started()
	eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
	within(t, 5*time.Second, "the call", func() { _, _ = h.call("fake", "die", nil) })
	h.await("fake", EventLost)
	e := h.await("fake", EventFailed)
	if !strings.Contains(e.Err, "300ms") {
		t.Errorf("%+v", e)
	}
	if n := len(log.Events(t, "start")); n != 4 {
		t.Errorf("started %d times, want once and 3 tries", n)
	}
	gone(t, log)
	// The old lists are still there, and said to be old.
	if list, err := h.Resources("fake"); err != nil || len(list.Resources) != 3 || !list.Stale {
		t.Errorf("%d resources, stale %v, %v", len(list.Resources), list.Stale, err)
	}
	if n := len(h.Tools()); n != 0 {
		t.Errorf("%d tools of a server that is not there", n)
	}
	// The next use starts it, once.
	if _, err := h.call("fake", "echo", nil); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "300ms") {
		t.Errorf("%v", err)
	}
	if n := len(log.Events(t, "start")); n != 5 {
		t.Errorf("started %d times", n)
	}
}

func TestFailedServerComesBackOnUse(t *testing.T) {
	dir := t.TempDir()
	h := newHouse(t, Options{}, fast())
	c := fakeConfig(t, "fake", mcptest.Options{})
	c.Command, c.Args = "sh", []string{"-c", `test -e "$0/ok" || { echo "no ok yet" >&2; exit 1; }; exec "$1"`, dir, c.Command}
	h.Configure([]ServerConfig{c})
	if e := h.await("fake", EventFailed); !strings.Contains(e.Err, "no ok yet") {
		t.Errorf("%+v", e)
	}
	if _, err := h.call("fake", "echo", nil); !errors.Is(err, ErrNotReady) {
		t.Errorf("%v", err)
	}
	touch(t, dir+"/ok")
	if got := h.mustCall("fake", "echo", args{"text": "late"}); got != "late" {
		t.Errorf("%q", got)
	}
	h.await("fake", EventReady)
	if n := len(h.kind("fake", EventRecovered)); n != 0 {
		t.Errorf("recovered without having been ready: %+v", h.seen())
	}
}

func TestRestart(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log)}})
	pending := make(chan error, 1)
	go func() {
		_, err := h.call("fake", "never", nil)
		pending <- err
	}()
	log.AwaitCall(t, "never")
	i, err := h.Restart("fake")
	if err != nil || i.Status != StatusStarting {
		t.Errorf("%+v %v", i, err)
	}
	if err := <-pending; !errors.Is(err, errRestarted) {
		t.Errorf("the pending call: %v", err)
	}
	log.AwaitEvent(t, 2, "start")
	h.started()
	if got := h.mustCall("fake", "echo", args{"text": "again"}); got != "again" {
		t.Errorf("%q", got)
	}
	if n := len(h.kind("fake", EventLost)); n != 0 {
		t.Error("a restart that was asked for is told as a loss")
	}
	if _, err := h.Restart("nobody"); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("%v", err)
	}
}

func TestRestartEndsAStartThatHangs(t *testing.T) {
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{Silent: true, Log: string(log)})})
	log.AwaitMethod(t, 1, "initialize")
	for n := 2; n < 5; n++ {
		if _, err := h.Restart("fake"); err != nil {
			t.Fatal(err)
		}
		log.AwaitMethod(t, n, "initialize")
	}
	if n := len(h.kind("fake", EventFailed)); n != 0 {
		t.Errorf("%+v", h.seen())
	}
}

func TestConfigureKeepsOneChildAServer(t *testing.T) {
	// anthropics/claude-code#79740
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{}, fast())
	c := fakeConfig(t, "fake", mcptest.Options{Log: string(log)})
	h.Configure([]ServerConfig{c})
	h.started()
	h.Configure([]ServerConfig{c}) // nothing changed
	if n := len(log.Events(t, "start")); n != 1 {
		t.Errorf("started %d times", n)
	}
	for i := range 3 {
		c.Args = []string{fmt.Sprint(i)}
		h.Configure([]ServerConfig{c})
	}
	h.started()
	eventually(t, "one child is left", func() bool {
		n := 0
		for _, pid := range pids(t, log) {
			if alive(pid) {
				n++
			}
		}
		return n == 1 && h.status("fake").Status == StatusReady
	})
	h.Configure(nil)
	if n := len(h.Servers()); n != 0 {
		t.Errorf("%d servers", n)
	}
	gone(t, log)
	if _, err := h.call("fake", "echo", nil); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("%v", err)
	}
}

func TestServerThatIsStoppedIsNotToldAsFailed(t *testing.T) {
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{fakeConfig(t, "slow", mcptest.Options{Silent: true, Log: string(log)}), fakeConfig(t, "ready", mcptest.Options{})})
	log.AwaitMethod(t, 1, "initialize")
	h.await("ready", EventReady)
	h.Configure(nil)
	gone(t, log)
	h.Close()
	for _, e := range h.seen() {
		if e.Kind == EventFailed || e.Kind == EventLost {
			t.Errorf("%+v", e)
		}
	}
}

func TestNamesAreTakenOnce(t *testing.T) {
	h := newHouse(t, Options{}, fast())
	user, project, reserved, off := fakeConfig(t, "same", mcptest.Options{}), fakeConfig(t, "same", mcptest.Options{}), fakeConfig(t, "workspace", mcptest.Options{}), fakeConfig(t, "off", mcptest.Options{})
	project.Project, project.Source, off.Disabled = true, "/w/.mcp.json", true
	h.Configure([]ServerConfig{project, user, reserved, off})
	h.started()
	if i := h.status("same"); i.Source != "user" || i.Status != StatusReady {
		t.Errorf("%+v", i)
	}
	if e := h.await("workspace", EventProblem); !strings.Contains(e.Text, "reserved") {
		t.Errorf("%+v", e)
	}
	if i := h.status("off"); i.Status != StatusDisabled {
		t.Errorf("%+v", i)
	}
	if _, err := h.call("off", "echo", nil); !errors.Is(err, ErrNotReady) {
		t.Errorf("%v", err)
	}
}

// charmbracelet/crush#660
func TestHangingServersDelayNobody(t *testing.T) {
	h := newHouse(t, Options{}, fast())
	var list []ServerConfig
	for i := range 3 {
		list = append(list, fakeConfig(t, fmt.Sprintf("hang%d", i), mcptest.Options{Silent: true}))
	}
	list = append(list, fakeConfig(t, "good", mcptest.Options{}))
	within(t, time.Second, "Configure", func() { h.Configure(list) })
	if got := h.mustCall("good", "echo", args{"text": "hello"}); got != "hello" {
		t.Errorf("%q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if missing := h.WaitStarted(ctx); !slices.Equal(missing, []string{"hang0", "hang1", "hang2"}) {
		t.Errorf("%v", missing)
	}
}

func TestUseWaitsALittleForAServerThatStarts(t *testing.T) {
	tm := fast()
	tm.use = 100 * time.Millisecond
	h := newHouse(t, Options{}, tm)
	h.Configure([]ServerConfig{fakeConfig(t, "slow", mcptest.Options{SlowInit: time.Hour})})
	within(t, 3*time.Second, "the use", func() {
		if _, err := h.Read(t.Context(), "slow", "file://doc1.md"); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "starting") {
			t.Errorf("%v", err)
		}
	})
}

func TestServersWithoutWhatTheyAdvertiseAreUsable(t *testing.T) {
	// charmbracelet/crush#2239
	h := open(t, map[string]mcptest.Options{
		"nores":   {Missing: []string{"resources/list", "resources/templates/list", "prompts/list"}},
		"notools": {Missing: []string{"tools/list"}},
		"broken":  {Broken: []string{"tools/list", "resources/list"}},
		"nosub":   {Missing: []string{"resources/subscribe", "logging/setLevel"}},
	})
	if got := h.mustCall("nores", "echo", args{"text": "usable"}); got != "usable" {
		t.Errorf("%q", got)
	}
	eventually(t, "an empty list", func() bool {
		i := h.status("nores")
		return i.Resources != nil && *i.Resources == 0 && i.Prompts != nil && *i.Prompts == 0
	})
	if n := len(h.kind("nores", EventProblem)); n != 0 {
		t.Errorf("%+v", h.seen())
	}
	for _, name := range []string{"notools", "broken"} {
		if i := h.status(name); i.Status != StatusReady || *i.Tools != 0 {
			t.Errorf("%+v", i)
		}
		if contents, err := h.Read(t.Context(), name, "file://doc0.md"); err != nil || len(contents) != 1 {
			t.Errorf("%v", err)
		}
	}
	eventually(t, "broken lists are told", func() bool { return len(h.kind("broken", EventProblem)) == 2 })
	if list, err := h.ListResources(t.Context(), "broken"); err == nil || list.Fetched {
		t.Errorf("%+v %v", list, err)
	}
	for range 2 {
		if _, err := h.Read(t.Context(), "nosub", "file://doc0.md"); err != nil {
			t.Error(err)
		}
	}
}

func TestServerThatKeepsEndingIsGivenUp(t *testing.T) {
	log := mcptest.NewLog(t)
	tm := fast()
	tm.tries = 3
	h := newHouse(t, Options{}, tm)
	// It gets ready each time, and ends directly after.
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{ExitOn: []string{"prompts/list"}, Log: string(log)})})
	if e := h.await("fake", EventFailed); !strings.Contains(e.Err, "keeps ending") || !strings.Contains(e.Err, "exit status 3") {
		t.Errorf("%+v", e)
	}
	if n := len(log.Events(t, "start")); n != 4 {
		t.Errorf("started %d times, want once and 3 tries", n)
	}
	if i := h.status("fake"); i.Status != StatusFailed {
		t.Errorf("%+v", i)
	}
}
