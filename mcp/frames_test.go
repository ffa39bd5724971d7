package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
)

func TestFrames(t *testing.T) {
	const max = 64 << 10
	long := strings.Repeat("x", max)
	check := func(name, in string, want []string, problem string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			var problems []string
			if err := newFrames(strings.NewReader(in), max, func(p string) { problems = append(problems, p) }).copyTo(&out); err != nil {
				t.Fatal(err)
			}
			if got, want := out.String(), strings.Join(append(want, ""), "\n"); got != want {
				t.Errorf("got  %s\nwant %s", clip(got, 500), clip(want, 500))
			}
			switch {
			case problem == "" && problems != nil:
				t.Errorf("problems: %q", problems)
			case problem != "" && (len(problems) != 1 || !strings.Contains(problems[0], problem)):
				t.Errorf("problems %q do not name %q once", problems, problem)
			}
		})
	}
	ok := `{"jsonrpc":"2.0","id":1,"result":{}}`
	note := `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`
	check("plain", ok+"\n"+note+"\n", []string{ok, note}, "")
	check("windows line ends", ok+"\r\n"+note+"\r\n", []string{ok, note}, "")
	check("no end of the last line", ok, []string{ok}, "")
	check("blank lines", "\n\n  \n"+ok+"\n\n", []string{ok}, "")
	check("byte order mark", "\ufeff"+ok+"\n", []string{ok}, "")
	// editor-code-assistant/eca#298
	check("junk is named once", "Listening…\nnot json {\n42\n\"text\"\n"+ok+"\nmore junk\n", []string{ok}, "Listening")
	check("banner before a message", "Server running on stdio"+ok+"\n", []string{ok}, "Server running on stdio")
	check("banner with braces", `{"level":"info"} {"a":1}`+ok+"\n", []string{ok}, "level")
	check("batch", "["+ok+","+note+"]\n", []string{ok, note}, "")
	check("batch of junk", "[1,2,[]]\n"+ok+"\n", []string{ok}, "[1,2,[]]")
	check("id as text", `{"jsonrpc":"2.0","id":"12","result":{"a":1}}`+"\n", []string{`{"jsonrpc":"2.0","id":12,"result":{"a":1}}`}, "")
	check("text id stays", `{"jsonrpc":"2.0","id":"x","result":{}}`+"\n", []string{`{"jsonrpc":"2.0","id":"x","result":{}}`}, "")
	check("neither result nor error", `{"jsonrpc":"2.0","id":3}`+"\n", []string{`{"jsonrpc":"2.0","id":3,"result":{}}`}, "")
	check("null result", `{"jsonrpc":"2.0","id":3,"result":null,"error":null}`+"\n", []string{`{"jsonrpc":"2.0","id":3,"result":{}}`}, "")
	check("error as text", `{"jsonrpc":"2.0","id":3,"error":"no"}`+"\n", []string{`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"data":null,"message":"\"no\""}}`}, "")
	check("error code as text", `{"jsonrpc":"2.0","id":3,"error":{"code":"E1","message":"no","data":[1]}}`+"\n", []string{`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"data":[1],"message":"no"}}`}, "")
	check("error to nothing", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}`+"\n", nil, "parse")

	over := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"the server's answer was over 0 MiB and was dropped: ask it for less at once, such as a part"}}`, id)
	}
	check("over the limit, id first", `{"jsonrpc":"2.0","id":7,"result":{"text":"`+long+`"}}`+"\n"+ok+"\n", []string{over(7), ok}, "dropped")
	check("over the limit, id last", `{"result":{"text":"`+long+`"},"jsonrpc":"2.0","id":7}`+"\n"+ok+"\n", []string{over(7), ok}, "dropped")
	check("over the limit, id before the version", `{"result":{"id":9,"text":"`+long+`"},"id":7,"jsonrpc":"2.0"}`+"\n", []string{over(7)}, "dropped")
	check("over the limit, id within", `{"result":{"text":"`+long+`","id":7}}`+"\n"+ok+"\n", []string{ok}, "dropped")
	check("over the limit, a request", `{"jsonrpc":"2.0","id":7,"method":"x","params":{"text":"`+long+`"}}`+"\n"+ok+"\n", []string{ok}, "dropped")
	check("over the limit, a request with its id last", `{"method":"x","params":{"text":"`+long+`"},"id":7}`+"\n"+ok+"\n", []string{ok}, "dropped")
	check("over the limit, junk", long+long+long+"\n"+ok+"\n", []string{ok}, "dropped")
	check("over the limit at the end", `{"jsonrpc":"2.0","id":7,"result":"`+long, []string{over(7)}, "dropped")
	check("just under the limit", `{"jsonrpc":"2.0","id":7,"result":"`+long[:max-100]+`"}`+"\n", []string{`{"jsonrpc":"2.0","id":7,"result":"` + long[:max-100] + `"}`}, "")
}

// endless never ends a line.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

// A resources/updated takes the short way where it is plain, and the long way
// where anything about it is odd.
func TestFramesGiveUpdatesApart(t *testing.T) {
	t.Parallel()
	plain := `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file://a b\u00e9","_meta":{"x":1}}}`
	odd := []string{
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":5}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated"}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"notifications/resources/updated","uri":"x"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"notifications/resources/updated","params":{"uri":"x"}}`,
	}
	run := func(taken bool) (uris []string, out string) {
		var b bytes.Buffer
		f := newFrames(strings.NewReader(strings.Join(append(odd, plain), "\n")), maxFrame, func(p string) { t.Error(p) })
		f.updated = func(uri string) bool {
			uris = append(uris, uri)
			return taken
		}
		if err := f.copyTo(&b); err != nil {
			t.Fatal(err)
		}
		return uris, b.String()
	}
	long := strings.Join(odd, "\n") + "\n"
	if uris, out := run(true); len(uris) != 1 || uris[0] != "file://a bé" || out != long {
		t.Errorf("apart: %q, passed on: %s", uris, out)
	}
	if _, out := run(false); out != long+plain+"\n" {
		t.Errorf("what nobody takes goes on: %s", out)
	}
}

func TestFramesNeverHoldMoreThanTheLimit(t *testing.T) {
	f := newFrames(&endless{left: 64 << 20}, 1<<20, func(string) {})
	if err := f.copyTo(io.Discard); err != nil {
		t.Fatal(err)
	}
	if cap(f.buf) > 4<<20 {
		t.Errorf("%d bytes are held", cap(f.buf))
	}
}

// FuzzFrames holds that whatever a server prints, what is passed on is what
// mcp-go can decode, line by line.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, "Listening\n\ufeff\n", `banner{"jsonrpc":"2.0","id":"1","error":7}`, `[{"id":1},{"method":"x"},3]`,
		`{"id":{},"result":1}`, `{"method":5,"id":1}`, `{"ID":1,"Method":"x"}`, "{\"id\":1,\"result\":\"" + strings.Repeat("y", 9000) + "\"}\n{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		if err := newFrames(bytes.NewReader(in), 8<<10, func(string) {}).copyTo(&out); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			var m struct {
				Method string
				transport.JSONRPCResponse
			}
			if err := json.Unmarshal(line, &struct{}{}); err != nil {
				t.Fatalf("passed on %q: %v", line, err)
			}
			if bytes.Contains(bytes.TrimSuffix(line, []byte("\n")), []byte("\n")) {
				t.Fatalf("two lines: %q", line)
			}
			if err := json.Unmarshal(line, &m); err != nil && m.Method == "" && !bytes.Contains(bytes.ToLower(line), []byte(`"method"`)) && !bytes.Contains(line, []byte(`\u`)) {
				t.Fatalf("mcp-go cannot decode %q: %v", line, err)
			}
		}
	})
}
