package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
)

// 2025-11-25, lifecycle, "Version Negotiation"; 2026-07-28, versioning.
func TestVersionsAreNegotiatedOrToldApart(t *testing.T) {
	t.Parallel()
	answer := func(version string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"initialize": json.RawMessage(`{"protocolVersion":"` + version + `","capabilities":{},"serverInfo":{"name":"fake","version":"1"}}`)}
	}
	for _, c := range []struct {
		name, protocol string
		o              mcptest.Options
		methods        string // the first that the server heard
		words          string // of the error; empty: it is ready
	}{
		{"an older one that it lists", "auto", mcptest.Options{Versions: []string{"2024-11-05", "2025-03-26"}}, "initialize initialize notifications/initialized", ""},
		{"an older one that it answers", "auto", mcptest.Options{Answers: answer("2024-11-05")}, "initialize notifications/initialized", ""},
		{"one that nobody knows", "legacy", mcptest.Options{Answers: answer("2024-10-07")}, "initialize", "speaks MCP 2024-10-07, and agentls " + ProtocolVersions + ": update"},
		{"a list of such", "legacy", mcptest.Options{Versions: []string{"2023-01-01", "2030-01-01"}}, "initialize", "speaks MCP 2023-01-01, 2030-01-01, and agentls"},
		{"one that cannot be had by initialize", "legacy", mcptest.Options{Answers: answer("2026-07-28")}, "initialize", `"protocol" of its configuration excludes: set it to "auto"`},
		{"a newer one", "auto", mcptest.Options{Modern: true, Versions: []string{"2030-01-01"}}, "initialize server/discover", "speaks MCP 2030-01-01, and agentls"},
		// A modern error never leads to initialize.
		{"a newer one, modern alone", "modern", mcptest.Options{Modern: true, Versions: []string{"2030-01-01"}}, "server/discover", "speaks MCP 2030-01-01, and agentls"},
		{"older ones, modern alone", "modern", mcptest.Options{Modern: true, Versions: []string{"2025-11-25"}}, "server/discover", `set it to "auto"`},
		// Servers that answer {} to anything are not modern ones.
		{"nothing at all", "modern", mcptest.Options{Modern: true, Answers: map[string]json.RawMessage{"server/discover": json.RawMessage(`{}`)}}, "server/discover", "names no versions"},
		{"newer ones in the result", "modern", mcptest.Options{Modern: true, Answers: map[string]json.RawMessage{"server/discover": json.RawMessage(`{"supportedVersions":["2030-01-01"],"capabilities":{}}`)}}, "server/discover", "speaks MCP 2030-01-01"},
		{"a result of an unknown type", "modern", mcptest.Options{Modern: true, Answers: map[string]json.RawMessage{"server/discover": json.RawMessage(`{"resultType":"partial","supportedVersions":["2026-07-28"],"capabilities":{}}`)}}, "server/discover", `unknown type "partial"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			log := mcptest.NewLog(t)
			c.o.Log = string(log)
			h := newHouse(t, Options{}, fast())
			cfg := fakeConfig(t, "fake", c.o)
			cfg.Protocol = c.protocol
			h.Configure([]ServerConfig{cfg})
			h.started()
			i := h.status("fake")
			if (i.Status == StatusReady) != (c.words == "") || !strings.Contains(i.Error, c.words) {
				t.Errorf("%s: %s, want %q", i.Status, i.Error, c.words)
			}
			if c.words == "" {
				log.AwaitMethod(t, 1, "notifications/initialized")
			}
			var heard []string
			ids := map[string]bool{}
			for _, e := range log.Entries(t) {
				if e.Method == "" {
					continue
				}
				heard = append(heard, e.Method)
				if id := fmt.Sprint(e.PID, string(e.ID)); len(e.ID) > 0 && ids[id] {
					t.Errorf("the id %s is used twice", e.ID)
				} else {
					ids[id] = true
				}
			}
			want := strings.Fields(c.methods)
			if c.words != "" && !slices.Equal(heard, want) || !slices.Equal(heard[:min(len(heard), len(want))], want) {
				t.Errorf("it heard %v, want %v", heard, want)
			}
			if c.words != "" {
				gone(t, log) // a server that cannot be spoken to is not kept
			}
		})
	}
}

// 2026-07-28, versioning: a client whose version is refused, though the server
// lists it, asks again; it does not fall back. github/copilot-cli#4888: what was
// discovered is asked for with initialize as well, and refuses it.
func TestRemoteVersionThatIsRefusedAndListed(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
	srv.Break(mcptest.Method("server/discover"), mcptest.First(1, mcptest.Answer(http.StatusBadRequest, "application/json",
		`{"jsonrpc":"2.0","id":{id},"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}`)))
	h := newHouse(t, Options{}, fast())
	cfg := remoteConfig("fake", srv.URL)
	cfg.Protocol = "modern"
	h.Configure([]ServerConfig{cfg})
	h.started()
	if i := h.status("fake"); i.Status != StatusReady {
		t.Fatalf("%+v", i)
	}
	asked := srv.Requests(mcptest.Method("server/discover"))
	if len(asked) != 2 || string(asked[0].ID) == string(asked[1].ID) {
		t.Errorf("%v", asked)
	}
	if n := len(srv.Requests(mcptest.Method("initialize"))); n != 0 {
		t.Errorf("initialize was sent %d times", n)
	}
}

// xpzouying/xiaohongshu-mcp#697: a server says in words, with HTTP 400, which
// versions it takes, and is given up.
func TestVersionsThatAreListedInWords(t *testing.T) {
	t.Parallel()
	for _, answer := range []mcptest.Fault{
		mcptest.Answer(http.StatusBadRequest, "text/plain", "Bad Request: Unsupported protocol version (supported versions: 2025-06-18,2025-03-26,2024-11-05)\n"),
		mcptest.Answer(http.StatusBadRequest, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Unsupported protocol version: 2025-11-25 (supported versions: 2025-06-18, 2025-03-26)"}}`),
	} {
		srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
		srv.Break(mcptest.Method("initialize"), mcptest.First(1, answer))
		h := newHouse(t, Options{}, fast())
		h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
		h.started()
		if got := h.mustCall("fake", "echo", args{"text": "older"}); got != "older" {
			t.Errorf("%q", got)
		}
		asked := srv.Requests(mcptest.Method("initialize"))
		if len(asked) != 2 || !strings.Contains(string(asked[1].Params), `"2025-06-18"`) {
			t.Errorf("%v", asked)
		}
		for _, r := range srv.Requests(mcptest.Call("echo")) {
			if v := r.Header.Get("Mcp-Protocol-Version"); v != "2025-06-18" {
				t.Errorf("goes on with %q", v)
			}
		}
	}
}

// A server that was spoken to as a modern one, and now refuses every version
// of ours, is not asked with initialize.
func TestRememberedModernServerThatIsNewerNow(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{Modern: true})})
	h.started()
	if i := h.status("fake"); i.Status != StatusReady {
		t.Fatalf("%+v", i)
	}
	log := mcptest.NewLog(t)
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{Modern: true, Versions: []string{"2030-01-01"}, Log: string(log)})})
	h.started()
	if i := h.status("fake"); i.Status != StatusFailed || !strings.Contains(i.Error, "2030-01-01") {
		t.Errorf("%+v", i)
	}
	if n := len(log.Method(t, "initialize")); n != 0 {
		t.Errorf("initialize was sent %d times", n)
	}
}

// 2025-11-25, lifecycle: a server whose version is not spoken is left, over
// HTTP with the end of its session.
func TestRemoteSessionOfAnUnknownVersionIsEnded(t *testing.T) {
	t.Parallel()
	o := mcptest.HTTPOptions{}
	o.Answers = map[string]json.RawMessage{"initialize": json.RawMessage(`{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"fake","version":"1"}}`)}
	srv := mcptest.ServeHTTP(t, o)
	h := newHouse(t, Options{}, fast())
	cfg := remoteConfig("fake", srv.URL)
	cfg.Protocol = "legacy"
	h.Configure([]ServerConfig{cfg})
	h.started()
	if i := h.status("fake"); i.Status != StatusFailed || !strings.Contains(i.Error, "speaks MCP 1999-01-01") {
		t.Errorf("%+v", i)
	}
	if n := len(srv.Requests(mcptest.Method("notifications/initialized"))); n != 0 {
		t.Error("the session was begun all the same")
	}
	if n := len(srv.Requests(mcptest.Verb(http.MethodDelete))); n != 1 {
		t.Errorf("%d times DELETE", n)
	}
}

// 2026-07-28, basic: a resultType that is absent means complete, one that is
// not known makes the answer invalid; "task" is of an extension that is not
// declared. Earlier versions know no such field.
func TestResultsOfUnknownTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		modern bool
		kind   string // the field and a comma
		words  string
	}{
		{true, ``, ""},
		{true, `"resultType":"complete",`, ""},
		{true, `"resultType":"task",`, `unknown type "task"`},
		{false, `"resultType":"task",`, ""},
	} {
		answer := func(rest string) json.RawMessage { return json.RawMessage("{" + c.kind + rest + "}") }
		h := open(t, map[string]mcptest.Options{"fake": {Modern: c.modern, Answers: map[string]json.RawMessage{
			"tools/call": answer(`"content":[{"type":"text","text":"yes"}]`), "resources/read": answer(`"contents":[{"uri":"x:y","text":"yes"}]`),
		}}})
		got, err := h.call("fake", "echo", nil)
		if (err == nil) != (c.words == "") || err == nil && got != "yes" || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s modern %v: %q, %v", c.kind, c.modern, got, err)
		}
		contents, err := h.Read(t.Context(), "fake", "x:y")
		if (err == nil) != (c.words == "") || err == nil && contents[0].Text != "yes" {
			t.Errorf("%s modern %v: %v, %v", c.kind, c.modern, contents, err)
		}
	}
	// A list of one leaves the server usable, and is told.
	h := open(t, map[string]mcptest.Options{"fake": {Modern: true, Answers: map[string]json.RawMessage{"tools/list": json.RawMessage(`{"resultType":"task","tools":[]}`)}}})
	if i := h.status("fake"); i.Status != StatusReady {
		t.Errorf("%+v", i)
	}
	if e := h.await("fake", EventProblem); !strings.Contains(e.Text, `"task"`) {
		t.Errorf("%+v", e)
	}
}

// JSON-RPC as MCP has it: a request's id is never null and used once in a
// conversation, whatever is asked, asked again or listened to anew.
func TestRequestIDsAreUsedOnce(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		log := mcptest.NewLog(t)
		h := open(t, map[string]mcptest.Options{"fake": {Modern: modern, Log: string(log), Page: 1}})
		eventually(t, "the first lists", func() bool { return h.status("fake").Prompts != nil })
		for n := range 20 {
			h.mustCall("fake", "echo", args{"text": fmt.Sprint(n)})
			_, _ = h.Read(t.Context(), "fake", fmt.Sprintf("file://doc%d.md", n))
		}
		h.mustCall("fake", "add_tool", nil)
		h.await("fake", EventTools)
		h.Close()
		seen := map[string]bool{}
		for _, e := range log.Entries(t) {
			if e.Method == "" || strings.HasPrefix(e.Method, "notifications/") {
				continue
			}
			id := fmt.Sprintf("%d %s", e.PID, e.ID) // each process is a conversation
			if len(e.ID) == 0 || string(e.ID) == "null" || seen[id] {
				t.Errorf("modern %v: %s with the id %q", modern, e.Method, e.ID)
			}
			seen[id] = true
		}
		if len(seen) < 40 {
			t.Errorf("only %d requests", len(seen))
		}
	}
}

// 2026-07-28, "serverInfo": what a server calls itself decides nothing. Two may
// say the same, or the name of the embedded one, or nothing.
func TestWhatAServerCallsItselfDecidesNothing(t *testing.T) {
	t.Parallel()
	servers := map[string]mcptest.Options{}
	for name, info := range map[string]string{"a": `{"name":"workspace","version":"1"}`, "b": `{"name":"workspace","version":"1"}`, "c": `["odd"]`, "d": `null`} {
		servers[name] = mcptest.Options{Answers: map[string]json.RawMessage{
			"initialize": json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":` + info + `}`),
		}}
	}
	h := open(t, servers)
	for name := range servers {
		if i := h.status(name); i.Status != StatusReady || i.Mention != name {
			t.Errorf("%+v", i)
		}
		if got := h.mustCall(name, "echo", args{"text": name}); got != name {
			t.Errorf("%q", got)
		}
	}
}
