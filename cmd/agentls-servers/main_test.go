package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServers visits the servers that `make setup` installs, as `make servers`
// does with all.
func TestServers(t *testing.T) {
	visited := 0
	for _, s := range listed(t) {
		if !s.CI {
			continue
		}
		visited++
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			seen := visit(t.Context(), places(root(t)), &s)
			for _, f := range seen.faults {
				t.Error(f)
			}
			if t.Failed() {
				for _, d := range append(seen.notes, seen.details...) {
					t.Log(d)
				}
			}
		})
	}
	if visited < 8 {
		t.Errorf("%d servers run in CI, at least 8 have to", visited)
	}
}

// The list has what it is for: servers enough, with resources and without, of
// every version of the protocol, and some that fail.
func TestListOfServers(t *testing.T) {
	list := listed(t)
	kinds := map[string]int{}
	for i := range list {
		s := &list[i]
		kinds["all"]++
		switch {
		case s.Expect.Fails != "":
			kinds["failing"]++
		case s.Expect.Resources > 0:
			kinds["with resources"]++
		}
		if kinds[s.Expect.Protocol]++; s.Modern {
			kinds[newest]++
		}
		if !strings.Contains(s.what(), "@") {
			t.Errorf("%s: %q names no version", s.Name, s.what())
		}
	}
	for kind, least := range map[string]int{"all": 30, "failing": 3, "with resources": 15, "2024-11-05": 1, "2025-03-26": 1, "2025-06-18": 1, "2025-11-25": 10, newest: 8} {
		if kinds[kind] < least {
			t.Errorf("%d servers are %s, at least %d have to be", kinds[kind], kind, least)
		}
	}
}

// What SEEN.md tells was seen of the servers that the list has.
func TestTableIsOfTheList(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "cmd", "agentls-servers", "SEEN.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, s := range listed(t) {
		if !bytes.Contains(text, []byte("| "+s.what()+" |")) {
			t.Errorf("%s is not in SEEN.md: run `make servers`", s.Name)
		}
		rows++
	}
	if n := bytes.Count(text, []byte("\n| ")) - 2; n != rows {
		t.Errorf("SEEN.md has %d rows, the list %d servers: run `make servers`", n, rows)
	}
}

func TestReadListRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[{"name":"a","npm":"a@1","config":{},"spare":1}]`:                                        "spare",
		`[{"name":"a","config":{}}]`:                                                              "npm or a Go module",
		`[{"name":"a","npm":"a@1","config":{}},{"name":"a","npm":"a@1","config":{}}]`:             "two servers",
		`[{"name":"a","npm":"a@1","config":{},"expect":{"resources":1}}]`:                         "do.read",
		`[{"name":"a","npm":"a@1","config":{},"expect":{"prompts":1}}]`:                           "do.prompt",
		`[{"name":"a","npm":"a@1","config":{},"expect":{"tools":1}}]`:                             "do.call",
		`[{"name":"a","npm":"a@1","config":{},"expect":{"tools":1},"do":{"not":{"read":"why"}}}]`: "do.call",
	} {
		file := filepath.Join(t.TempDir(), "servers.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readList(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A visit finds what is wrong: with expectations that do not hold each of them
// is a fault.
func TestVisitFindsFaults(t *testing.T) {
	list, err := pick(listed(t), []string{"mcp-go"})
	if err != nil {
		t.Fatal(err)
	}
	s := list[0]
	s.Expect = expectation{Protocol: "1999-01-01", Tools: 1, Problems: []string{"never told"}, Logs: true}
	s.Do = deeds{
		Read:     []read{{URI: "test://static/resource/1", Contains: "no such words"}, {URI: "test://none", Unlisted: true}, {URI: "test://static/resource/1", Fails: "refused"}},
		Complete: []values{{Prompt: "simple_prompt", Argument: "a", Gives: "b"}},
		Prompt:   &prompt{Name: "none"},
		Call:     &call{Tool: "none"},
		Cancel:   &call{Tool: "echo", Arguments: json.RawMessage(`{"message":"at once"}`)},
		Mentions: []mention{{Text: "test://a b", URI: "test://a b"}},
	}
	seen := visit(t.Context(), places(root(t)), &s)
	all := strings.Join(seen.faults, "\n")
	for _, want := range []string{
		"it has 6 tools, 1 are expected", "101 resources, 0", "1 templates, 0", "2 prompts, 0", `expected is "1999-01-01"`, `not "no such words"`,
		"reading test://none", `does not fail with "refused"`, `do not have "b"`, "the prompt none", "calling none", "over before it was cancelled",
		"does not mean test://a b", `"never told" was not told`, "it sent 0 log messages",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no fault says %q:\n%s", want, all)
		}
	}
	s.Expect, s.Modern = expectation{Fails: "no"}, false
	if seen := visit(t.Context(), places(root(t)), &s); len(seen.faults) != 1 || !strings.Contains(seen.faults[0], "should have failed") {
		t.Errorf("%q", seen.faults)
	}
}

func listed(t *testing.T) []server {
	t.Helper()
	list, err := readList(filepath.Join(root(t), "cmd", "agentls-servers", "servers.json"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
