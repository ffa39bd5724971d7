package lsp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.lsp.dev/protocol"

	"agentls/mcp/workspace"
)

// changeText is a didChange of one range, by columns of the first line.
func changeText(t *testing.T, d *documents, changes ...[3]any) {
	t.Helper()
	var list []string
	for _, c := range changes {
		text, _ := json.Marshal(c[2])
		list = append(list, fmt.Sprintf(`{"range":{"start":{"line":0,"character":%d},"end":{"line":0,"character":%d}},"text":%s}`, c[0], c[1], text))
	}
	params := `{"textDocument":{"uri":"file:///w/a.agentls.md","version":2},"contentChanges":[` + strings.Join(list, ",") + `]}`
	if err := d.didChange([]byte(params)); err != nil {
		t.Fatal(err)
	}
}

func openText(t *testing.T, text string) *documents {
	t.Helper()
	d := newDocuments(workspace.NewState())
	d.encoding = protocol.PositionEncodingKindUTF8
	quoted, _ := json.Marshal(text)
	if err := d.didOpen([]byte(`{"textDocument":{"uri":"file:///w/a.agentls.md","languageId":"agentls","version":1,"text":` + string(quoted) + `}}`)); err != nil {
		t.Fatal(err)
	}
	return d
}

// A place is known whatever was typed on both sides of it before anybody looked.
func TestPlaceBetweenChanges(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes [][3]any
		want    string // the text with the place in it; "": it is lost
	}{
		{"before and behind", [][3]any{{0, 0, "one "}, {16, 16, " two"}}, "one ask me|, then two"},
		{"behind and before", [][3]any{{12, 12, " two"}, {0, 0, "one "}}, "one ask me|, then two"},
		{"at the place", [][3]any{{6, 6, "!"}, {0, 0, "x"}}, "xask me|!, then"},
		{"more than what differs", [][3]any{{0, 12, "ask me!, then"}, {0, 0, "x"}}, "xask me|!, then"},
		{"its surroundings", [][3]any{{4, 8, "you "}, {0, 0, "x"}}, ""},
		{"nothing", nil, "ask me|, then"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := openText(t, "ask me, then")
			before, _ := d.get("file:///w/a.agentls.md")
			for _, change := range c.changes {
				changeText(t, d, change)
			}
			now, _ := d.get("file:///w/a.agentls.md")
			at, ok := now.place(before, 6)
			if ok != (c.want != "") {
				t.Fatalf("place: %d, %v in %q", at, ok, now.text)
			}
			if got := now.text[:at] + "|" + now.text[at:]; ok && got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A text that was replaced as a whole, and more changes than are remembered,
// are compared as texts.
func TestPlaceIsFoundByTheTexts(t *testing.T) {
	d := openText(t, "ask me, then")
	before, _ := d.get("file:///w/a.agentls.md")
	if err := d.didChange([]byte(`{"textDocument":{"uri":"file:///w/a.agentls.md","version":2},"contentChanges":[{"text":"do ask me, then"}]}`)); err != nil {
		t.Fatal(err)
	}
	changeText(t, d, [3]any{0, 0, "please "})
	now, _ := d.get("file:///w/a.agentls.md")
	if at, ok := now.place(before, 6); !ok || now.text[:at] != "please do ask me" {
		t.Errorf("replaced: %d, %v", at, ok)
	}
	for range 3 * maxSplices {
		changeText(t, d, [3]any{0, 0, "x"})
	}
	late, _ := d.get("file:///w/a.agentls.md")
	if at, ok := late.place(before, 6); !ok || !strings.HasSuffix(late.text[:at], "do ask me") {
		t.Errorf("after many changes: %d, %v", at, ok)
	}
	if n := len(late.splices); n > maxSplices {
		t.Errorf("%d changes are remembered", n)
	}
	if at, ok := late.place(now, 12); !ok || late.text[at:] != now.text[12:] {
		t.Errorf("from the middle: %d, %v", at, ok)
	}
}

// A snapshot's changes are its own, whatever comes behind it.
func TestSnapshotsKeepTheirChanges(t *testing.T) {
	d := openText(t, "ab")
	first, _ := d.get("file:///w/a.agentls.md")
	changeText(t, d, [3]any{0, 0, "x"})
	second, _ := d.get("file:///w/a.agentls.md")
	for range 2 * maxSplices {
		changeText(t, d, [3]any{0, 0, "y"})
	}
	if at, ok := second.place(first, 1); !ok || at != 2 {
		t.Errorf("place: %d, %v", at, ok)
	}
	if at, ok := first.place(second, 1); !ok || at > len(first.text) {
		t.Errorf("backwards: %d, %v", at, ok)
	}
}
