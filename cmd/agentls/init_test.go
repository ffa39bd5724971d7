package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agentls/agent/config"
)

// scripted is a console with a person who types lines, and then does something
// else.
type scripted struct {
	strings.Builder
	lines []string
	then  func()
}

func (s *scripted) readLine(ctx context.Context) (string, error) {
	if len(s.lines) > 0 {
		line := s.lines[0]
		s.lines = s.lines[1:]
		return line + "\n", nil
	}
	s.then()
	<-ctx.Done()
	return "", context.Cause(ctx)
}

func (s *scripted) readPassword(ctx context.Context) (string, error) { return s.readLine(ctx) }
func (s *scripted) lend(*exec.Cmd) error                             { return errors.ErrUnsupported }

// A cancel at any question leaves nothing, not even half of a file.
func TestInitIsCancelledAtEachQuestion(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(provide))
	t.Cleanup(provider.Close)
	const before = "{\"limits\": {\"steps\": 3}}"
	all := []string{"other", provider.URL + "/many/v1", "", "maker1 0010", "", "y"}
	for n := range len(all) + 1 {
		home := t.TempDir()
		env := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_STATE_HOME": filepath.Join(home, "state")}
		parts := newParts(program{stderr: t.Output(), getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}, false)
		file := parts.source.File()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		person := &scripted{lines: all[:n], then: cancel}
		i := &initialization{parts: parts, host: &terminal{out: t.Output(), notes: t.Output(), tty: person, secrets: parts.secrets}}
		err := i.run(ctx)
		text, readErr := os.ReadFile(file)
		switch {
		case readErr != nil:
			t.Error(readErr)
		case n < len(all):
			if !errors.Is(err, context.Canceled) || string(text) != before {
				t.Errorf("after %d answers: %v, %s", n, err, text)
			}
		case err != nil || !strings.Contains(string(text), `"model": "maker1/model-0010"`) || !strings.Contains(string(text), `"steps": 3`):
			t.Errorf("%v, %s", err, text)
		}
		rest, _ := filepath.Glob(file + ".*") // the pattern is right
		if len(rest) > 0 {
			t.Errorf("left %q", rest)
		}
		cancel()
		parts.close()
	}
}

// What was found and has an address of its own is given whole.
func TestInitTellsHowToChoose(t *testing.T) {
	i := &initialization{cfg: config.Default(), parts: &parts{source: config.Source{Getenv: func(string) (string, bool) { return "", false }}}}
	for want, f := range map[string]config.Found{
		"Azure OpenAI: with the key in AZURE_API_KEY; not usable yet: set it": {Title: "Azure OpenAI", KeyVariable: "AZURE_API_KEY", Problem: "set it"},
		"x at h:1: configured as x, on this machine, 1 model":                 {Title: "x", Provider: config.Provider{Name: "x", BaseURL: "http://h:1/v1"}, Configured: true, Here: true, Models: []string{"m"}},
		"y at h: 2 models": {Title: "y", Provider: config.Provider{BaseURL: "https://h"}, Models: []string{"m", "n"}},
	} {
		if got := i.about(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPicker(t *testing.T) {
	var names []string
	for _, maker := range []string{"a", "b"} {
		for _, n := range []string{"1", "2", "10", "one", "two"} {
			names = append(names, maker+"/m"+n)
		}
	}
	for _, c := range []struct {
		typed []string
		usual int
		want  string
	}{
		{[]string{""}, 3, "a/mone"},
		{[]string{"", "2"}, -1, "a/m2"},
		{[]string{"B/MTWO"}, 0, "b/mtwo"},
		{[]string{"b/", ""}, 0, "b/m1"},
		{[]string{"b/", "1", ""}, 0, "a/m1"}, // 1 is not in the list any more: it narrows
		{[]string{"b/", "6"}, 0, "b/m1"},
		{[]string{"two b", "10"}, 0, "b/mtwo"},
		{[]string{"none", "*", "+", "-", "11", "9"}, 0, "b/mone"},
		{[]string{"+1", "-3", "4"}, 0, "a/mone"},
	} {
		ended := false
		ctx, cancel := context.WithCancel(t.Context())
		p := &picker{console: &scripted{lines: c.typed, then: func() { ended = true; cancel() }}, ask: "Which", names: names, lines: names, usual: c.usual}
		i, err := p.pick(ctx)
		if err != nil || ended || names[i] != c.want {
			t.Errorf("%q: %d, %v, want %s", c.typed, i, err, c.want)
		}
		cancel()
	}
}
