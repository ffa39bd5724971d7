package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

type object = map[string]any

const modernVersion = "2026-07-28"

// result answers one request.
func (f *fake) result(ctx context.Context, m message) (any, error) {
	switch {
	case slices.Contains(f.Missing, m.Method):
		return nil, &rpcError{Code: -32601, Message: "Method not found"}
	case slices.Contains(f.Broken, m.Method):
		return nil, &rpcError{Code: -32603, Message: "broken as asked"}
	}
	if err := pause(ctx, f.Delays[m.Method].Seconds()); err != nil {
		return nil, err
	}
	if n := f.Reports[m.Method]; n > 0 {
		if _, err := f.progress(ctx, progressToken(m.Params), arguments{Steps: n, Every: 0.1}); err != nil {
			return nil, err
		}
	}
	if raw := f.Answers[m.Method]; raw != nil {
		return raw, nil
	}
	if inputs := f.Needs[m.Method]; inputs != nil {
		var p struct {
			Responses json.RawMessage `json:"inputResponses"`
		}
		if _ = json.Unmarshal(m.Params, &p); p.Responses == nil {
			return inputRequired(inputs, nil), nil
		}
	}
	switch m.Method {
	case "initialize":
		return f.initialize(ctx, m.Params)
	case "server/discover":
		if !f.Modern {
			break
		}
		if len(f.Versions) > 0 {
			return nil, &rpcError{Code: codeUnsupportedVersion, Message: "Unsupported protocol version", Data: object{"supported": f.Versions, "requested": modernVersion}}
		}
		return object{"resultType": "complete", "supportedVersions": []string{modernVersion}, "capabilities": f.capabilities(), "instructions": f.Says, "ttlMs": 0, "cacheScope": "public"}, nil
	case "subscriptions/listen":
		if f.Modern {
			return f.listen(ctx, m)
		}
	case "ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel":
		return object{}, nil
	case "tools/list":
		if f.EarlyOnly {
			<-f.sent
		}
		return f.page("tools", f.tools(), m.Params)
	case "resources/list":
		return f.page("resources", f.resources(), m.Params)
	case "resources/templates/list":
		return f.page("resourceTemplates", f.templates(), m.Params)
	case "prompts/list":
		return f.page("prompts", f.prompts(), m.Params)
	case "resources/read":
		return f.read(m.Params)
	case "prompts/get":
		return f.prompt(m.Params)
	case "completion/complete":
		return f.complete(m.Params)
	case "tools/call":
		return f.call(ctx, m.Params)
	}
	return nil, &rpcError{Code: -32601, Message: "Method not found: " + m.Method}
}

func (f *fake) initialize(ctx context.Context, params json.RawMessage) (any, error) {
	if f.Modern {
		return nil, &rpcError{Code: -32601, Message: "Method not found: initialize"}
	}
	if err := pause(ctx, f.SlowInit.Seconds()); err != nil {
		return nil, err
	}
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &p)
	if len(f.Versions) > 0 && !slices.Contains(f.Versions, p.ProtocolVersion) {
		return nil, &rpcError{Code: -32602, Message: "Unsupported protocol version", Data: object{"supported": f.Versions, "requested": p.ProtocolVersion}}
	}
	return object{"protocolVersion": p.ProtocolVersion, "capabilities": f.capabilities(), "instructions": f.Says, "serverInfo": object{"name": "fake", "version": "1"}}, nil
}

func (f *fake) capabilities() object {
	all := object{
		"tools": object{"listChanged": true}, "resources": object{"subscribe": true, "listChanged": true},
		"prompts": object{"listChanged": true}, "logging": object{}, "completions": object{},
	}
	for _, name := range f.Without {
		delete(all, name)
	}
	return all
}

// listen acknowledges and holds the stream open until it is cancelled, or the
// tool unlisten ends it.
func (f *fake) listen(ctx context.Context, m message) (any, error) {
	var p struct {
		Notifications json.RawMessage `json:"notifications"`
	}
	_ = json.Unmarshal(m.Params, &p)
	l := &listener{id: m.ID, ctx: ctx, end: make(chan string, 1)}
	_ = json.Unmarshal(p.Notifications, &l.filter)
	f.mu.Lock()
	f.listeners[l] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, l)
	}()
	if !f.NoAck {
		f.notify(ctx, "notifications/subscriptions/acknowledged", object{
			"notifications": p.Notifications,
			"_meta":         object{"io.modelcontextprotocol/subscriptionId": m.ID},
		})
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case how := <-l.end:
		switch how {
		case "result":
			return object{"resultType": "complete"}, nil
		case "text":
			f.notify(ctx, "notifications/cancelled", object{"requestId": string(m.ID)})
		default:
			f.notify(ctx, "notifications/cancelled", object{"requestId": m.ID, "reason": "shutting down"})
		}
		return nil, errNoAnswer
	}
}

// page returns one page of a list. Cursors are the index of the next item,
// but for those that the options spoil.
func (f *fake) page(key string, items []any, params json.RawMessage) (any, error) {
	var p struct {
		Cursor *string `json:"cursor"`
	}
	_ = json.Unmarshal(params, &p)
	start := 0
	switch {
	case p.Cursor == nil:
	case *p.Cursor == "" && f.EmptyCursor:
		start = f.Page
	default:
		n, err := strconv.Atoi(*p.Cursor)
		if err != nil || n < 0 || n > len(items) {
			return nil, &rpcError{Code: -32602, Message: fmt.Sprintf("bad cursor %q", *p.Cursor)}
		}
		start = n
	}
	end := len(items)
	r := object{}
	if f.Page > 0 && start+f.Page < len(items) {
		end = start + f.Page
		r["nextCursor"] = strconv.Itoa(end)
		if start == 0 && f.EmptyCursor {
			r["nextCursor"] = ""
		}
	}
	if f.RepeatCursor && f.Page > 0 {
		r["nextCursor"] = strconv.Itoa(f.Page)
	}
	r[key] = items[start:end]
	maps.Copy(r, f.Hints)
	return r, nil
}

func (f *fake) scheme() string {
	if f.Scheme == "" {
		return "file"
	}
	return f.Scheme
}

func (f *fake) resources() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	item := func(name string) object {
		return object{"uri": f.scheme() + "://" + name, "name": name, "mimeType": "text/markdown", "description": "Document " + name}
	}
	if f.made == nil { // once: a page of a long list would take as long as all of it
		n := 3
		if f.Resources != nil {
			n = *f.Resources
		}
		name := func(i int) string { return fmt.Sprintf("doc%d.md", i) }
		if f.Tree != 0 {
			name = tree(f.Tree)
		}
		f.made = make([]any, 0, n+len(f.Listed))
		for i := range n {
			f.made = append(f.made, item(name(i)))
		}
		for _, line := range f.Listed {
			uri, title, _ := strings.Cut(line, "\t")
			f.made = append(f.made, object{"uri": uri, "name": uri[strings.LastIndexByte(uri, '/')+1:], "title": title})
		}
	}
	out := slices.Clip(f.made)
	for i := range f.late {
		out = append(out, item(fmt.Sprintf("late%d.md", i)))
	}
	if f.BadItems {
		out = append(out, 5, nil, "text", object{"name": "no uri"}, object{"uri": 7, "name": "x"},
			object{"uri": "odd://size", "name": "odd", "size": "big", "annotations": 4, "title": object{}}, item("doc0.md"))
	}
	return out
}

// tree names files as those of a program, the same for a seed each time.
func tree(seed uint64) func(i int) string {
	r := rand.New(rand.NewPCG(seed, 0))
	words := strings.Fields("agent buffer cache client complete config event handler index main mention model parse queue request resource search server session store stream test token util view worker")
	word := func() string { return words[r.IntN(len(words))] }
	return func(i int) string { return fmt.Sprintf("pkg%d/%s/%s_%s%d.go", r.IntN(50), word(), word(), word(), i) }
}

func (f *fake) templates() []any {
	out := []any{object{"uriTemplate": f.scheme() + "://{name}.md", "name": "docs", "mimeType": "text/markdown"}}
	for _, uri := range f.Templates {
		out = append(out, object{"uriTemplate": uri, "name": "template " + uri})
	}
	if f.BadItems {
		out = append(out, object{"name": "no template"}, false)
	}
	return out
}

func (f *fake) prompts() []any {
	out := []any{object{
		"name": "review", "title": "Review", "description": "Review a pull request",
		"arguments": []any{object{"name": "focus", "required": true}},
	}}
	for _, raw := range f.Prompts {
		out = append(out, raw)
	}
	if f.BadItems {
		out = append(out, object{"title": "no name"}, object{"name": "odd", "arguments": "none"}, object{"name": "odd2", "arguments": []any{3, object{"name": "a", "required": "yes"}}})
	}
	return out
}

func (f *fake) read(params json.RawMessage) (any, error) {
	var p struct {
		URI string `json:"uri"`
	}
	_ = json.Unmarshal(params, &p)
	known := slices.ContainsFunc(f.resources(), func(item any) bool {
		o, ok := item.(object)
		return ok && o["uri"] == p.URI
	})
	if !known && !f.ReadAny {
		code := -32002
		if f.Modern {
			code = -32602
		}
		return nil, &rpcError{Code: code, Message: "Resource not found: " + p.URI}
	}
	f.mu.Lock()
	text := strings.Repeat(f.Text, max(f.Times, 1))
	if text == "" {
		text = fmt.Sprintf("# Content of %s v%d\n", p.URI, f.changes[p.URI])
	}
	f.mu.Unlock()
	r := object{"contents": []object{{"uri": p.URI, "mimeType": "text/markdown", "text": text}}}
	maps.Copy(r, f.Hints)
	return r, nil
}

// prompt answers prompts/get with the arguments in its text.
func (f *fake) prompt(params json.RawMessage) (any, error) {
	var p struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	_ = json.Unmarshal(params, &p)
	parts := []string{"Review it"}
	for _, name := range slices.Sorted(maps.Keys(p.Arguments)) {
		parts = append(parts, name+" "+p.Arguments[name])
	}
	return object{"description": p.Name, "messages": []object{{"role": "user", "content": object{"type": "text", "text": strings.Join(parts, ", ")}}}}, nil
}

// complete gives the values that begin with what is typed.
func (f *fake) complete(params json.RawMessage) (any, error) {
	var p struct {
		Argument struct{ Name, Value string } `json:"argument"`
		Context  struct {
			Arguments map[string]string `json:"arguments"`
		} `json:"context"`
	}
	_ = json.Unmarshal(params, &p)
	known := f.Values
	if known == nil {
		known = map[string][]string{"focus": {"security", "speed"}}
	}
	all := known[p.Argument.Name]
	for name, value := range p.Context.Arguments {
		if more, ok := known[p.Argument.Name+" "+name+"="+value]; ok {
			all = more
		}
	}
	if _, ok := known[p.Argument.Name]; ok && all == nil {
		return nil, &rpcError{Code: -32602, Message: "missing required arguments"}
	}
	values := []string{}
	for _, v := range all {
		if strings.HasPrefix(v, p.Argument.Value) {
			values = append(values, v)
		}
	}
	total := len(values)
	values = values[:min(total, 100)]
	return object{"completion": object{"values": values, "total": total, "hasMore": total > len(values)}}, nil
}
