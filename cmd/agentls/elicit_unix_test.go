//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentls/mcp"
)

// onTerminal answers a server's elicitation with lines, and gives what the
// person saw. The input ends after them.
func onTerminal(t *testing.T, e mcp.Elicitation, lines ...string) (answer mcp.RequestAnswer, seen string) {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	file, person := os.NewFile(uintptr(pair[0]), "tty"), os.NewFile(uintptr(pair[1]), "person")
	var screen strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := bufio.NewReader(person)
		for { // an answer to each prompt: a line must not be read ahead of its question
			c, err := r.ReadByte()
			if err != nil {
				return
			}
			screen.WriteByte(c)
			if !strings.HasSuffix(screen.String(), ": ") || r.Buffered() > 0 {
				continue
			}
			if len(lines) == 0 {
				_ = syscall.Shutdown(pair[1], syscall.SHUT_WR)
				continue
			}
			_, _ = io.WriteString(person, lines[0]+"\n")
			lines = lines[1:]
		}
	}()
	var notes strings.Builder
	term := &terminal{notes: &notes, tty: &tty{file: file}, secrets: mcp.NewSecrets()}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	answer = term.elicit(ctx, mcp.Request{Server: "fake", Kind: mcp.RequestElicit, Elicit: e})
	_ = file.Close()
	<-done
	_ = person.Close()
	return answer, notes.String() + screen.String()
}

func formOf(t *testing.T, schema string) mcp.Elicitation {
	t.Helper()
	form, err := mcp.ParseForm(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Elicitation{Mode: "form", Message: "Who are\x1b[2K you?", Form: form}
}

const personForm = `{"type":"object","properties":{
	"name":{"type":"string","title":"Your name","minLength":3},"age":{"type":"integer","default":7},"note":{"type":"string","description":"Any\u001b[2Kthing"},
	"color":{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]}},"required":["name","color"]}`

func TestFormOnATerminal(t *testing.T) {
	a, seen := onTerminal(t, formOf(t, personForm), "y", "Al", "Ada", "", "", "blue", "2", "y")
	if !a.Accept || string(a.Content) != `{"age":7,"color":"#0f0","name":"Ada","note":null}` {
		t.Errorf("%+v %s\n%s", a, a.Content, seen)
	}
	for _, want := range []string{
		"The MCP server fake asks: Who are[2K you?", "Your name (3 characters at least): ", `"name" needs at least 3 characters`, "age (a whole number; optional) [7]: ",
		"Any[2Kthing", "  2  #0f0  Green", `"color" must be one of`, `"name":"Ada"`,
	} {
		if !strings.Contains(seen, want) {
			t.Errorf("no %q in:\n%s", want, seen)
		}
	}
	if strings.Contains(seen, "\x1b") {
		t.Errorf("%q", seen)
	}
	if a, seen := onTerminal(t, formOf(t, personForm), "y", "Ada", "", "", "1", "a", "Bob", "8", "x", "1", "yes"); string(a.Content) != `{"age":8,"color":"#f00","name":"Bob","note":"x"}` {
		t.Errorf("%s\n%s", a.Content, seen)
	}
}

func TestFormThatIsNotAnsweredOnATerminal(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  mcp.RequestAnswer
	}{
		"no":             {[]string{"n"}, mcp.RequestAnswer{Decline: true}},
		"nothing":        {[]string{""}, mcp.RequestAnswer{Decline: true}},
		"not sent":       {[]string{"y", "Ada", "", "", "1", "n"}, mcp.RequestAnswer{Decline: true}},
		"the end":        {nil, mcp.RequestAnswer{}},
		"the end inside": {[]string{"y", "Ada"}, mcp.RequestAnswer{}},
	} {
		if a, seen := onTerminal(t, formOf(t, personForm), c.lines...); a.Accept || a.Decline != c.want.Decline {
			t.Errorf("%s: %+v\n%s", name, a, seen)
		}
	}
	if a := (&terminal{}).elicit(t.Context(), mcp.Request{Elicit: formOf(t, personForm)}); a.Accept || !a.Decline {
		t.Errorf("without a terminal: %+v", a)
	}
}

func TestSecretOfAFormOnATerminal(t *testing.T) {
	// A socket cannot hide what is typed: nothing is asked for in the open.
	a, seen := onTerminal(t, formOf(t, `{"type":"object","properties":{"password":{"type":"string"}}}`), "y", "hunter2")
	if a.Accept || !strings.Contains(seen, "Careful: password looks like a secret") || strings.Contains(seen, "hunter2") {
		t.Errorf("%+v\n%s", a, seen)
	}
}

func TestLinkOnATerminal(t *testing.T) {
	link, err := mcp.ParseLink("https://bücher.example/x?y=1")
	if err != nil {
		t.Fatal(err)
	}
	e := mcp.Elicitation{Mode: "url", Message: "Sign in", Link: link}
	a, seen := onTerminal(t, e, "y")
	if !a.Accept || a.Content != nil || !strings.Contains(seen, "  https://xn--bcher-kva.example/x?y=1\n") || !strings.Contains(seen, "Careful") || !strings.Contains(seen, "Did you open it?") {
		t.Errorf("%+v\n%s", a, seen)
	}
	e.Opened = true
	if a, seen = onTerminal(t, e, ""); a.Accept || !a.Decline || !strings.Contains(seen, "Are you done?") {
		t.Errorf("%+v\n%s", a, seen)
	}
}
