package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// fake is what a fake server knows and says, however it is reached.
type fake struct {
	Options
	// say sends what is no answer: a notification, or a request to the client.
	// ctx is that of the request which it came of.
	say  func(ctx context.Context, m message)
	exit func(fork bool) // ends the server at once; fork: a grandchild lives on

	mu        sync.Mutex                    // guards everything below
	running   map[string]context.CancelFunc // requests under way, by scope and id
	asked     map[string]chan json.RawMessage
	questions int
	listeners map[*listener]bool
	extra     []Tool
	back      json.RawMessage // the id of what ask_cancel sent last
	needed    int             // rounds of need
	refused   bool            // the last call of refuse was
	made      []any           // the resources there were at first; nil: not made yet
	late      int             // resources added
	changes   map[string]int
	mutated   bool
	sent      chan struct{} // closed when the early notifications were sent
	sentOnce  sync.Once
}

// listener is one open subscriptions/listen.
type listener struct {
	id     json.RawMessage
	filter struct {
		Tools     bool     `json:"toolsListChanged"`
		Prompts   bool     `json:"promptsListChanged"`
		Resources bool     `json:"resourcesListChanged"`
		URIs      []string `json:"resourceSubscriptions"`
	}
	ctx context.Context // says where its notifications go
	end chan string     // capacity 1: how the server ends it
}

// errNoAnswer says that a request gets none.
var errNoAnswer = errors.New("no answer")

// message is any JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

func newFake(o Options) *fake {
	return &fake{
		Options: o, running: map[string]context.CancelFunc{}, asked: map[string]chan json.RawMessage{},
		listeners: map[*listener]bool{}, changes: map[string]int{}, sent: make(chan struct{}),
	}
}

func encodeMessage(m message) []byte {
	m.JSONRPC = "2.0"
	data, err := json.Marshal(m)
	if err != nil {
		panic(err) // all that a fake says marshals
	}
	return data
}

// mute reports whether a method gets no answer.
func (f *fake) mute(method string) bool { return f.Silent || slices.Contains(f.Unanswered, method) }

// begin registers a request, so that notified can cancel it; the ids of one
// scope are unique. end ends it.
func (f *fake) begin(ctx context.Context, scope string, id json.RawMessage) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	key := scope + string(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[key] = cancel
	return ctx, func() {
		cancel()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.running, key)
	}
}

// answer answers one request; false: it was cancelled and gets none.
func (f *fake) answer(ctx context.Context, m message) (message, bool) {
	result, err := f.result(ctx, m)
	if ctx.Err() != nil || errors.Is(err, errNoAnswer) {
		return message{}, false
	}
	out := message{ID: m.ID, Result: result}
	if err != nil {
		out.Result = nil
		if e, ok := errors.AsType[*rpcError](err); ok {
			out.Error = e
		} else {
			out.Error = &rpcError{Code: -32603, Message: err.Error()}
		}
	}
	return out, true
}

// after does what follows the answer to a request.
func (f *fake) after(m message) {
	if m.Method == "initialize" && (f.Early || f.EarlyOnly) {
		for _, list := range []string{"tools", "resources", "prompts"} {
			f.notify(context.Background(), "notifications/"+list+"/list_changed", nil)
		}
		f.sentOnce.Do(func() { close(f.sent) })
	}
}

// answered takes the client's answer to a request of ours.
func (f *fake) answered(line []byte, m message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.asked[string(m.ID)]; c != nil {
		c <- line
		delete(f.asked, string(m.ID))
	}
}

// notified takes a notification of the client's.
func (f *fake) notified(scope string, m message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(m.Params, &p)
	f.mu.Lock()
	defer f.mu.Unlock()
	if cancel := f.running[scope+string(p.RequestID)]; cancel != nil {
		cancel()
	}
}

// notify sends a notification. One that a server of 2026-07-28 must be asked
// for goes to each subscriptions/listen that asks for it.
func (f *fake) notify(ctx context.Context, method string, params object) {
	if !f.Modern || !strings.HasSuffix(method, "list_changed") && !strings.HasSuffix(method, "updated") {
		f.say(ctx, message{Method: method, Params: encodeParams(params)})
		return
	}
	f.mu.Lock()
	var to []*listener
	for l := range f.listeners {
		if l.wants(method, params["uri"]) {
			to = append(to, l)
		}
	}
	f.mu.Unlock()
	for _, l := range to {
		tagged := object{"_meta": object{"io.modelcontextprotocol/subscriptionId": l.id}}
		maps.Copy(tagged, params)
		f.say(l.ctx, message{Method: method, Params: encodeParams(tagged)})
	}
}

func (l *listener) wants(method string, uri any) bool {
	switch method {
	case "notifications/tools/list_changed":
		return l.filter.Tools
	case "notifications/prompts/list_changed":
		return l.filter.Prompts
	case "notifications/resources/list_changed":
		return l.filter.Resources
	}
	u, _ := uri.(string)
	return slices.Contains(l.filter.URIs, u)
}

func encodeParams(params object) json.RawMessage {
	if params == nil {
		return nil
	}
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err) // tests pass what marshals
	}
	return raw
}

// ask sends a request to the client and returns its whole answer.
func (f *fake) ask(ctx context.Context, method string, params json.RawMessage) (string, error) {
	_, c := f.send(ctx, method, params)
	select {
	case answer := <-c:
		return strings.TrimSpace(string(answer)), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (f *fake) send(ctx context.Context, method string, params json.RawMessage) (id json.RawMessage, answer <-chan json.RawMessage) {
	c := make(chan json.RawMessage, 1)
	f.mu.Lock()
	f.questions++
	id = fmt.Appendf(nil, `"ask-%d"`, f.questions)
	f.asked[string(id)] = c
	f.mu.Unlock()
	if params == nil {
		params = json.RawMessage(`{}`)
	}
	f.say(ctx, message{ID: id, Method: method, Params: params})
	return id, c
}

// progressToken is what a request says progress is to be told by; nil: nothing.
func progressToken(params json.RawMessage) any {
	var p struct {
		Meta struct {
			Token any `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(params, &p)
	return p.Meta.Token
}

func toolName(params json.RawMessage) string {
	var p struct{ Name string }
	_ = json.Unmarshal(params, &p)
	return p.Name
}
