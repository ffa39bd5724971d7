package mcp

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"agentls/mcp/mcptest"
)

// cline/cline#11131: what a server says of its use never reaches the model.
// anthropics/claude-code#43474, #81268: it is cut without a word, by what other
// servers say.
func TestInstructionsOfServers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Ask for ä thing. ", 500)
	h := open(t, map[string]mcptest.Options{
		"a legacy": {Says: "  Call echo first.\n"},
		"b modern": {Says: "Never mind.", Modern: true},
		"c long":   {Says: long},
		"d long":   {Says: long, Modern: true},
		"e silent": {},
		"f blank":  {Says: " \n\t"},
		"g none":   {Says: "I have nothing.", Without: []string{"tools", "resources"}},
	})
	got := h.Instructions()
	if len(got) != 4 || got[0] != (Instructions{Server: "a legacy", Text: "Call echo first."}) || got[1] != (Instructions{Server: "b modern", Text: "Never mind."}) {
		t.Fatalf("%+v", got)
	}
	for _, i := range got[2:] { // each its own share
		if len(i.Text) > MaxInstructions || len(i.Text) < MaxInstructions-utf8.UTFMax || !utf8.ValidString(i.Text) || i.Cut != len(strings.TrimSpace(long))-len(i.Text) {
			t.Errorf("%d bytes, %d cut", len(i.Text), i.Cut)
		}
		logs, err := h.Logs(i.Server)
		if err != nil || !strings.Contains(fmt.Sprint(logs), "are left out") {
			t.Errorf("%v %v", logs, err)
		}
	}
	// They go with the server.
	if _, err := h.Disable("a legacy"); err != nil {
		t.Fatal(err)
	}
	if got := h.Instructions(); len(got) != 3 {
		t.Errorf("%+v", got)
	}
}

func FuzzInstructions(f *testing.F) {
	f.Add(`{"instructions":"use me"}`)
	f.Add(`{"instructions":["use me"]}`)
	f.Add(`{"instructions":"` + strings.Repeat("…", 1000) + `"}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, hello string) {
		if i := parseInstructions([]byte(hello)); len(i.Text) > MaxInstructions || !utf8.ValidString(i.Text) || strings.TrimSpace(i.Text) == "" && i.Text != "" || i.Cut < 0 {
			t.Errorf("%+v", i)
		}
	})
}
