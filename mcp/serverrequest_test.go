package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentls/mcp/mcptest"
)

// form is the params of an elicitation with one property.
func form(message string) map[string]any {
	return map[string]any{"message": message, "requestedSchema": json.RawMessage(`{"type":"object","properties":{"zulu":{"type":"string"},"alpha":{"type":"boolean"}}}`)}
}

// calling calls a tool beside the test, which takes the outcome.
func (h *house) calling(ctx context.Context, tool string, a any) func() (string, error) {
	h.t.Helper()
	return h.callingOn(ctx, "fake", tool, a)
}

func (h *house) callingOf(server, tool string, a any) func() (string, error) {
	h.t.Helper()
	return h.callingOn(h.t.Context(), server, tool, a)
}

func (h *house) callingOn(ctx context.Context, server, tool string, a any) func() (string, error) {
	type outcome struct {
		text string
		err  error
	}
	c := make(chan outcome, 1)
	go func() {
		text, err := h.callCtx(ctx, server, tool, a)
		c <- outcome{text, err}
	}()
	return func() (string, error) {
		h.t.Helper()
		select {
		case o := <-c:
			return o.text, o.err
		case <-time.After(10 * time.Second):
			h.t.Fatalf("%s has no end in 10 s", tool)
			return "", nil
		}
	}
}

// everyWay runs a test on stdio and over the transports of HTTP.
func everyWay(t *testing.T, test func(t *testing.T, h *house)) {
	t.Run("stdio", func(t *testing.T) { test(t, open(t, map[string]mcptest.Options{"fake": {}})) })
	for name, mode := range map[string]mcptest.HTTPMode{"streamable": mcptest.Streamable, "sse": mcptest.SSE} {
		t.Run(name, func(t *testing.T) {
			h, _ := remote(t, mcptest.HTTPOptions{Mode: mode})
			test(t, h)
		})
	}
}

// MCP 2025-11-25, client/elicitation: the schema reaches the person as it is,
// with the order of its properties, and the answer the server.
func TestElicitationIsAskedAndAnswered(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, h *house) {
		ctx := WithOrigin(t.Context(), Origin{"run-1", "session-1"})
		for want, a := range map[string]RequestAnswer{
			`{"action":"accept","content":{"zulu":"x"}}`: {Accept: true, Content: json.RawMessage(`{"zulu":"x"}`)},
			`{"action":"decline"}`:                       {Decline: true},
			`{"action":"cancel"}`:                        {},
		} {
			end := h.calling(ctx, "ask", args{"method": "elicitation/create", "params": form("Your name?")})
			r := h.asked()
			if r.Kind != RequestElicit || r.Server != "fake" || r.Elicit.Message != "Your name?" || r.Elicit.Mode != "form" || r.Origin != (Origin{"run-1", "session-1"}) {
				t.Errorf("%+v", r)
			}
			if s := string(r.Elicit.Schema); strings.Index(s, "zulu") > strings.Index(s, "alpha") {
				t.Errorf("the order is lost: %s", s)
			}
			r.Reply(a)
			if got, err := end(); err != nil || !strings.Contains(got, `"result":`+want) {
				t.Errorf("%s %v, want %s", got, err, want)
			}
		}
	})
}

func TestRequestOfTheServerEndsWithItsCall(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, h *house) {
		ctx, cancel := context.WithCancel(t.Context())
		end := h.calling(ctx, "ask", args{"method": "elicitation/create", "params": form("?")})
		r := h.asked()
		cancel()
		select {
		case <-r.Done:
		case <-time.After(10 * time.Second):
			t.Error("the question outlives its call")
		}
		if _, err := end(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		r.Reply(RequestAnswer{Accept: true}) // late: it does nothing
		if got := h.mustCall("fake", "echo", args{"text": "on"}); got != "on" {
			t.Errorf("%q", got)
		}
	})
}

// A question stays as long as one of the calls that it may come of.
func TestRequestOfTheServerBesideOtherCalls(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {}})
	one, cancel := context.WithCancel(WithOrigin(t.Context(), Origin{RunID: "one"}))
	never := h.calling(one, "never", nil)
	eventually(t, "the call is under way", func() bool { return len(h.inFlight("fake")) == 1 })
	end := h.calling(WithOrigin(t.Context(), Origin{RunID: "two"}), "ask", args{"method": "elicitation/create", "params": form("?")})
	r := h.asked()
	if r.Origin != (Origin{}) {
		t.Errorf("%+v: it is not known which of two it is", r.Origin)
	}
	cancel()
	if _, err := never(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.Reply(RequestAnswer{Decline: true})
	if got, err := end(); err != nil || !strings.Contains(got, "decline") {
		t.Error(got, err)
	}
}

func (h *house) inFlight(server string) []*callUnderWay {
	s, err := h.find(server)
	if err != nil {
		h.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	open, _ := s.conn.calls.now()
	return open
}

// MCP, basic/utilities/cancellation: what is cancelled gets no answer.
func TestServerTakesItsRequestBack(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, h *house) {
		ctx, cancel := context.WithCancel(t.Context())
		end := h.calling(ctx, "ask_cancel", args{"method": "elicitation/create", "params": form("?")})
		r := h.asked()
		if got := h.mustCall("fake", "ask_cancel", args{"method": ""}); got != "taken back" {
			t.Fatal(got)
		}
		select {
		case <-r.Done:
		case <-time.After(10 * time.Second):
			t.Error("the question is still asked")
		}
		// An answer to it would come before that to a later request.
		if got := h.mustCall("fake", "ask", args{"method": "ping"}); !strings.Contains(got, `"result":{}`) {
			t.Error(got)
		}
		cancel()
		if got, err := end(); !errors.Is(err, context.Canceled) {
			t.Errorf("it was answered: %s %v", got, err)
		}
	})
}

func TestTooManyQuestionsOfAServer(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {}})
	ask := args{"method": "elicitation/create", "params": form("?")}
	var ends []func() (string, error)
	var open []Request
	for range maxAsking {
		ends = append(ends, h.calling(t.Context(), "ask", ask))
		open = append(open, h.asked())
	}
	if got := h.mustCall("fake", "ask", ask); !strings.Contains(got, "-32603") || !strings.Contains(got, "8 questions") {
		t.Error(got)
	}
	for i, r := range open {
		r.Reply(RequestAnswer{Decline: true})
		if got, err := ends[i](); err != nil || !strings.Contains(got, "decline") {
			t.Error(got, err)
		}
	}
}

func TestMalformedRequestsOfAServer(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {}})
	for _, params := range []string{`[]`, `5`, `{"message":5}`, `{"message":"no schema"}`, `{"mode":"telepathy","message":"?"}`, `{"mode":"url","message":"no url"}`} {
		if got := h.mustCall("fake", "ask", args{"method": "elicitation/create", "params": json.RawMessage(params)}); !strings.Contains(got, "-32602") {
			t.Errorf("%s: %s", params, got)
		}
	}
}

// A call's clock stands still while its server waits for a person.
func TestCallClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &connection{}
		start := time.Now()
		var over time.Duration
		k := c.clocks.start(10*time.Second, func() { over = time.Since(start) })
		time.Sleep(4 * time.Second)
		end := c.waitsForPerson()
		other := c.waitsForPerson()
		time.Sleep(time.Minute)
		end()
		end() // counts once
		late := c.clocks.start(time.Second, func() { t.Error("it ran while a person was asked") })
		time.Sleep(time.Minute)
		if k.elapsed() != 4*time.Second {
			t.Errorf("the server had %v", k.elapsed())
		}
		late.stop()
		other()
		time.Sleep(5 * time.Second)
		k.reset(7 * time.Second)
		time.Sleep(8 * time.Second)
		synctest.Wait()
		if over != 136*time.Second || k.elapsed() != 16*time.Second {
			t.Errorf("over after %v, the server had %v", over, k.elapsed())
		}
	})
}

// bare is a connection whose requests are given by hand.
func bare(t *testing.T, serve func(context.Context, serverRequest) (any, error)) (c *connection, answers chan string) {
	t.Helper()
	answers = make(chan string, 10*maxServerAsks)
	c = &connection{problem: func(string) {}, redact: NewSecrets().Redact, serve: serve}
	c.reply = func(_ context.Context, m []byte) error {
		answers <- string(m)
		return nil
	}
	c.incoming.conn = c
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	t.Cleanup(func() {
		c.cancel(errStopped)
		c.wg.Wait()
	})
	return c, answers
}

// A question may wait for a person: mcp-go ends it over HTTP after 30 s.
func TestRequestsOfTheServerAreNotBounded(t *testing.T) {
	t.Parallel()
	c, answers := bare(t, func(ctx context.Context, r serverRequest) (any, error) {
		if at, ok := ctx.Deadline(); ok {
			t.Errorf("it ends %v", at)
		}
		return json.RawMessage(`{"action":"accept"}`), nil
	})
	p := newPeer(&address{}, slog.New(slog.DiscardHandler), func(string) {})
	p.asked = c.incoming.take
	p.take([]byte(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{}}`))
	if got := <-answers; !strings.Contains(got, `"id":"q1"`) || !strings.Contains(got, "accept") {
		t.Errorf("%s", got)
	}
	p.shut(nil)
}

// A server that asks without end does not fill the memory.
func TestRequestsOfTheServerAreCounted(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 10*maxServerAsks)
	c, answers := bare(t, func(ctx context.Context, _ serverRequest) (any, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	var problems sync.Map
	c.problem = func(text string) { problems.Store(text, true) }
	for i := range 5 * maxServerAsks {
		c.incoming.take(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
	}
	eventually(t, "as many as there may be", func() bool { return len(begun) == maxServerAsks })
	c.cancel(errStopped)
	c.wg.Wait()
	if len(begun) != maxServerAsks || len(answers) != maxServerAsks {
		t.Errorf("%d at once, %d answers", len(begun), len(answers))
	}
	problems.Range(func(text, _ any) bool {
		if !strings.Contains(text.(string), "too many") {
			t.Error(text)
		}
		return true
	})
}

// Ids are what JSON-RPC allows, and go back as they came.
func TestIdsOfTheServersRequests(t *testing.T) {
	t.Parallel()
	c, answers := bare(t, func(context.Context, serverRequest) (any, error) { return struct{}{}, nil })
	for _, id := range []string{`7`, `"7"`, `9007199254740993`, `-1`, `1.5`, `"a\"b"`} {
		c.incoming.take(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id))
		if got := <-answers; !strings.Contains(got, `"id":`+id+`,`) {
			t.Errorf("%s: %s", id, got)
		}
		c.wg.Wait()
	}
}

// MCP, client/elicitation, Capabilities: what nobody can be asked is not
// announced, and declined all the same.
func TestUnattendedManagerAnnouncesNoElicitation(t *testing.T) {
	t.Parallel()
	for name, modern := range map[string]bool{"legacy": false, "modern": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := mcptest.NewLog(t)
			h := newHouse(t, Options{Unattended: true}, fast())
			h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{Modern: modern, Log: string(log)})})
			h.started()
			for _, e := range log.Entries(t) {
				if strings.Contains(string(e.Params), "elicitation") {
					t.Errorf("%s %s", e.Method, e.Params)
				}
			}
		})
	}
}
