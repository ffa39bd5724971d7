package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// FuzzListWithABrokenItem holds that whatever stands among the good items of a
// list, and beside them in its page, the good ones are there.
func FuzzListWithABrokenItem(f *testing.F) {
	for _, seed := range []string{
		`null`, `5`, `""`, `{}`, `[]`, `{"name":7,"uri":7,"uriTemplate":{}}`, `{"name":"good1","uri":"good1","uriTemplate":"good1","description":[]}`,
		`{"name":"x","uri":"x","size":1e999,"annotations":{"audience":"user","priority":"high","lastModified":5}}`, `{"name":"x","inputSchema":{"type":{}},"arguments":[1,{}]}`,
		`{"NAME":"x","Uri":"y"}`, `{"name":"\ud800","uri":"a\u0000b"}`, `{"name":"x","name":5}`, `{"name":"x","icons":{},"outputSchema":[],"execution":0,"_meta":"m"}`,
	} {
		for kind := range uint8(4) {
			f.Add([]byte(seed), kind, uint8(2), []byte(`5`))
		}
	}
	f.Fuzz(func(t *testing.T, bad []byte, kind, place uint8, beside []byte) {
		if !json.Valid(bad) || !json.Valid(beside) {
			return // such a message is no message: FuzzFrames
		}
		const good = 5
		items := make([]json.RawMessage, 0, good+1)
		var want []string
		for i := range good {
			name := fmt.Sprint("good", i)
			want = append(want, name)
			items = append(items, fmt.Appendf(nil, `{"name":%q,"uri":%q,"uriTemplate":%q,"inputSchema":{"type":"object"}}`, name, name, name))
		}
		items = slices.Insert(items, int(place)%(good+1), json.RawMessage(bad))
		list, err := json.Marshal(items)
		if err != nil {
			t.Fatal(err)
		}
		keys := []string{"tools", "resources", "resourceTemplates", "prompts"}
		key := keys[int(kind)%len(keys)]
		page := fmt.Appendf(nil, `{"ttlMs":%s,"cacheScope":%s,"_meta":%s,%q:%s}`, beside, beside, beside, key, list)
		parse := map[string]func(json.RawMessage) (string, bool){
			"tools":             func(raw json.RawMessage) (string, bool) { v, ok := parseTool("s", raw); return v.Name, ok },
			"resources":         func(raw json.RawMessage) (string, bool) { v, ok := parseResource("s", raw); return v.URI, ok },
			"resourceTemplates": func(raw json.RawMessage) (string, bool) { v, ok := parseTemplate(raw); return v.URITemplate, ok },
			"prompts":           func(raw json.RawMessage) (string, bool) { v, ok := parsePrompt(raw); return v.Name, ok },
		}[key]
		var got []string
		problems := 0
		p := pager{
			key: key, problem: func(string) { problems++ },
			fetch: func(context.Context, json.RawMessage) (json.RawMessage, error) { return page, nil },
			life:  func(page json.RawMessage) lifetime { return parseLifetime(page, true, time.Unix(0, 0)) },
			add: func(raw json.RawMessage) bool {
				name, ok := parse(raw)
				if ok && name == "" {
					t.Fatalf("%s: an item without a name", raw)
				}
				if ok && !slices.Contains(got, name) {
					got = append(got, name)
				}
				return ok
			},
		}
		if _, _, err := p.all(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Fatalf("%s beside %s: %s is lost: %q", bad, beside, name, got)
			}
		}
		if len(got) == good && problems == 0 {
			if name, ok := parse(bad); !ok || !slices.Contains(want, name) {
				t.Fatalf("%s was dropped in silence", bad)
			}
		}
	})
}

// FuzzNotified holds that no notification panics, blocks, or fills more than
// its bounds.
func FuzzNotified(f *testing.F) {
	methods := []string{
		"notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/prompts/list_changed", "notifications/resources/updated",
		"notifications/message", "notifications/progress", "notifications/cancelled", "notifications/subscriptions/acknowledged", "notifications/elicitation/complete", "notifications/unknown",
	}
	for i := range methods {
		for _, seed := range []string{
			`{}`, `{"uri":"u:1"}`, `{"uri":5,"level":{},"data":[1,{"a":null}],"logger":7}`, `{"progressToken":1,"progress":"x","total":-1}`, `{"requestId":"2"}`,
			`{"notifications":{"resourceSubscriptions":["u:1",null]},"_meta":{"io.modelcontextprotocol/subscriptionId":2}}`, `{"_meta":{"io.modelcontextprotocol/subscriptionId":{"a":[]}}}`,
		} {
			f.Add(uint8(i), []byte(seed))
		}
	}
	m := newManager(Options{Name: "agentls", Version: "test"}, fast())
	f.Cleanup(m.Close)
	f.Fuzz(func(t *testing.T, method uint8, params []byte) {
		var n mcpgo.JSONRPCNotification
		n.Method = methods[int(method)%len(methods)]
		if json.Unmarshal(params, &n.Params) != nil {
			return
		}
		s := newSession(&m.hub, ServerConfig{Name: "s"})
		c := &connection{inbox: newInbox(time.Hour, time.Hour), gap: func() {}, problem: s.problem}
		_, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		l := &listening{uris: []string{"u:1"}, ack: make(chan agreed, 1), id: "2", cancel: cancel}
		c.listenings = []*listening{l}
		for range 3 {
			s.notified(c, n)
		}
		if len(s.cache.updated) > 1 || len(l.ack) > 1 {
			t.Fatalf("%s %s: %d marks, %d acknowledgements", n.Method, params, len(s.cache.updated), len(l.ack))
		}
		for _, line := range s.logs.all() {
			if len(line.Text) > maxLogText+len("…") {
				t.Fatalf("%s: a line of %d bytes", params, len(line.Text))
			}
		}
	})
}
