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
)

// asking is a trusted project server that needs inputs.
func asking(t testing.TB, folder, name string, o mcptest.Options, inputs ...Input) ServerConfig {
	c := fakeConfig(t, name, o)
	c.Project, c.Source, c.Folder, c.Fingerprint = true, filepath.Join(folder, ".vscode", "mcp.json"), folder, "fp-"+name
	for _, in := range inputs {
		c.Env["GIVEN_"+strings.ToUpper(in.ID)] = "<${input:" + in.ID + "}>"
	}
	c.Inputs = inputs
	return c
}

// inputHouse trusts the folder and the servers of list, and has them.
func inputHouse(t testing.TB, dir string, list ...ServerConfig) *house {
	t.Helper()
	h := newHouse(t, Options{TrustFile: filepath.Join(dir, "trust.json"), InputsFile: filepath.Join(dir, "inputs.json")}, fast())
	h.TrustFolder(true)
	for _, c := range list {
		if err := h.trust.set(c, true); err != nil {
			t.Fatal(err)
		}
	}
	h.Configure(list)
	return h
}

func (h *house) awaitStatus(server string, want Status) {
	h.t.Helper()
	eventually(h.t, server+" "+string(want), func() bool { return h.status(server).Status == want })
}

// asked is the next question.
func (h *house) asked() Request {
	h.t.Helper()
	select {
	case r := <-h.Requests():
		return r
	case <-time.After(10 * time.Second):
		h.t.Fatal("nothing was asked in 10 s")
		return Request{}
	}
}

// given is what the server's environment holds of an input.
func (h *house) given(server, id string) string {
	h.t.Helper()
	_, after, _ := strings.Cut(h.mustCall(server, "env", nil), "GIVEN_"+strings.ToUpper(id)+"=<")
	value, _, _ := strings.Cut(after, ">")
	return value
}

func TestInputIsAskedForOnceAndOnlyAfterTrust(t *testing.T) {
	dir, log := t.TempDir(), mcptest.NewLog(t)
	in := Input{ID: "team", Description: "Which team?", Default: "blue"}
	a, b := asking(t, dir, "a", mcptest.Options{Log: string(log)}, in), asking(t, dir, "b", mcptest.Options{}, in)
	h := newHouse(t, Options{TrustFile: filepath.Join(dir, "trust.json"), InputsFile: filepath.Join(dir, "inputs.json")}, fast())
	h.TrustFolder(true)
	h.Configure([]ServerConfig{a, b})
	for range 2 { // nothing but trust is asked before trust
		if r := h.asked(); r.Kind != RequestTrust {
			t.Fatalf("%+v", r)
		}
	}
	for _, name := range []string{"a", "b"} {
		if _, err := h.Trust(name, true, ""); err != nil {
			t.Fatal(err)
		}
	}
	r := h.asked()
	if r.Kind != RequestInput || r.Input.ID != "team" || r.Input.Default != "blue" {
		t.Fatalf("%+v", r)
	}
	if i := h.status("a"); i.Status != StatusStarting || i.Needs != `the input "team"` || len(log.Entries(t)) != 0 {
		t.Errorf("%+v, %d entries", i, len(log.Entries(t)))
	}
	if missing := h.WaitStarted(t.Context()); !slices.Equal(missing, []string{"a", "b"}) {
		t.Errorf("waited for a person, missing %q", missing)
	}
	r.Reply(RequestAnswer{Accept: true, Value: "red team"})
	r.Reply(RequestAnswer{}) // only the first counts
	for _, name := range []string{"a", "b"} {
		h.awaitStatus(name, StatusReady)
		if got := h.given(name, "team"); got != "red team" || h.status(name).Needs != "" {
			t.Errorf("%s got %q, needs %q", name, got, h.status(name).Needs)
		}
	}
	select {
	case r := <-h.Requests():
		t.Errorf("asked again: %+v", r)
	default:
	}
	if h.secrets.Redact("red team") != Redacted {
		t.Error("a typed value is no secret") // CONTRACT §8
	}

	// The same configuration again is no reason to start anew.
	h.Configure([]ServerConfig{a, b})
	h.mustCall("a", "echo", args{"text": "x"})
	if n := len(log.Events(t, "start")); n != 1 {
		t.Errorf("%d starts", n)
	}
}

func TestAnswersAreRememberedButNoPasswords(t *testing.T) {
	dir := t.TempDir()
	list := []Input{{ID: "plain"}, {ID: "pick", Options: []string{"one", "two"}}, {ID: "hidden", Password: true}}
	c := asking(t, dir, "a", mcptest.Options{}, list...)
	values := map[string]string{"plain": "p-value", "pick": "two", "hidden": "h-value-secret"}
	h := inputHouse(t, dir, c)
	for range list {
		r := h.asked()
		r.Reply(RequestAnswer{Accept: true, Value: values[r.Input.ID]})
	}
	h.awaitStatus("a", StatusReady)
	file := filepath.Join(dir, "inputs.json")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "p-value") || !strings.Contains(string(text), `"version": 1`) || strings.Contains(string(text), "h-value") {
		t.Errorf("%s %v", text, err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	if h.secrets.Redact("h-value-secret p-value") != Redacted+" p-value" { // too short for a secret
		t.Error(h.secrets.Redact("h-value-secret p-value"))
	}

	check := func(name string, change func(*ServerConfig), want ...string) {
		t.Helper()
		again := asking(t, dir, "a", mcptest.Options{}, list...)
		again.Inputs = slices.Clone(list)
		change(&again)
		h := inputHouse(t, dir, again)
		var got []string
		for range want {
			r := h.asked()
			got = append(got, r.Input.ID)
			r.Reply(RequestAnswer{Accept: true, Value: "changed!"})
		}
		slices.Sort(got)
		h.awaitStatus("a", StatusReady)
		if !slices.Equal(got, want) {
			t.Errorf("%s: asked for %q, want %q", name, got, want)
		}
		h.Close()
	}
	check("a new process", func(*ServerConfig) {}, "hidden")
	check("a changed definition", func(c *ServerConfig) { c.Inputs[0].Description = "other" }, "hidden", "plain")
	check("another file", func(c *ServerConfig) { c.Source, c.Inputs = "/else/mcp.json", c.Inputs[:1] }, "plain")
}

func TestInputThatIsNotGiven(t *testing.T) {
	dir, log := t.TempDir(), mcptest.NewLog(t)
	c := asking(t, dir, "a", mcptest.Options{Log: string(log)}, Input{ID: "pick", Options: []string{"one", "two"}})
	h := inputHouse(t, dir, c)
	check := func(a RequestAnswer) {
		t.Helper()
		h.asked().Reply(a)
		h.awaitStatus("a", StatusFailed)
		if i := h.status("a"); !strings.Contains(i.Error, `the input "pick" was not given; restart the server`) || i.Needs == "" {
			t.Errorf("%+v", i)
		}
		if _, err := h.call("a", "echo", nil); !errors.Is(err, ErrNotReady) {
			t.Errorf("%v", err)
		}
		h.Configure([]ServerConfig{c}) // no reason to ask again
		if i, err := h.Restart("a"); err != nil || i.Status != StatusStarting {
			t.Errorf("%+v %v", i, err)
		}
	}
	check(RequestAnswer{})
	check(RequestAnswer{Accept: true, Value: "three"}) // is none of the options
	eventually(t, "nobody takes the question", func() bool { return h.status("a").Status == StatusFailed })
	if len(log.Entries(t)) != 0 {
		t.Error("it was started all the same")
	}
	if _, err := h.Restart("a"); err != nil {
		t.Fatal(err)
	}
	h.asked().Reply(RequestAnswer{Accept: true, Value: "one"})
	h.awaitStatus("a", StatusReady)
	if got := h.given("a", "pick"); got != "one" {
		t.Errorf("%q", got)
	}
}

// A wrong answer is not for ever: who restarts a server that cannot start is
// asked anew, and offered what they said.
func TestWrongAnswerCanBeMended(t *testing.T) {
	dir := t.TempDir()
	c := asking(t, dir, "a", mcptest.Options{}, Input{ID: "plain", Default: "d"})
	good := c.Command
	c.Command = "${input:plain}"
	h := inputHouse(t, dir, c)
	h.asked().Reply(RequestAnswer{Accept: true, Value: "/no/such/program"})
	h.awaitStatus("a", StatusFailed)
	if _, err := h.Restart("a"); err != nil {
		t.Fatal(err)
	}
	r := h.asked()
	if r.Input.Default != "/no/such/program" {
		t.Errorf("offered %q", r.Input.Default)
	}
	r.Reply(RequestAnswer{Accept: true, Value: good})
	h.awaitStatus("a", StatusReady)
}

func TestInputQuestionEndsWithItsUse(t *testing.T) {
	check := func(name string, end func(*house, ServerConfig)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := asking(t, dir, "a", mcptest.Options{}, Input{ID: "plain"})
			h := inputHouse(t, dir, c)
			r := h.asked()
			end(h, c)
			<-r.Done
			r.Reply(RequestAnswer{Accept: true, Value: "late"}) // harmless
			h.Configure(nil)
		})
	}
	check("the server is gone", func(h *house, _ ServerConfig) { h.Configure(nil) })
	check("trust was taken back", func(h *house, _ ServerConfig) { _, _ = h.Trust("a", false, "") })
	check("another definition", func(h *house, c ServerConfig) {
		c.Inputs = []Input{{ID: "plain", Default: "new"}}
		h.Configure([]ServerConfig{c})
		h.asked().Reply(RequestAnswer{Accept: true, Value: "x"})
		h.awaitStatus("a", StatusReady)
	})
	check("the manager is closed", func(h *house, _ ServerConfig) { h.Close() })
}
