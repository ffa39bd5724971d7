package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

func TestReadsBesideEachOtherShareOneListening(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Modern: true, Log: string(log)}})
	uri := "file://doc1.md"
	kept := func() bool {
		before := len(log.Method(t, "resources/read"))
		if _, err := h.Read(t.Context(), "fake", uri); err != nil {
			t.Error(err)
		}
		return len(log.Method(t, "resources/read")) == before
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() { // they end with stop
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = h.Read(t.Context(), "fake", uri)
				}
			}
		})
	}
	eventually(t, "the body is kept", kept)
	close(stop)
	readers.Wait()
	if n := len(log.Method(t, "subscriptions/listen")); n > 3 {
		t.Errorf("the listening was begun %d times", n)
	}
}

// What changes while the filter of the listening is renewed is told all the
// same: the one before goes on until the new one counts.
func TestListeningIsRenewedWithoutAGap(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
	tm := fast()
	tm.acknowledge = time.Minute
	h := newHouse(t, Options{}, tm)
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	first, second := "file://doc1.md", "file://doc2.md"
	kept := func(uri string) bool {
		before := len(srv.Requests(mcptest.Method("resources/read")))
		if _, err := h.Read(t.Context(), "fake", uri); err != nil {
			t.Error(err)
		}
		return len(srv.Requests(mcptest.Method("resources/read"))) == before
	}
	eventually(t, "the first body is kept", func() bool { return kept(first) })
	listens := len(srv.Requests(mcptest.Method("subscriptions/listen")))
	srv.Break(mcptest.Method("subscriptions/listen"), mcptest.First(1, mcptest.HangOpen)) // never acknowledged
	kept(second)
	srv.Await(t, listens+1, mcptest.Method("subscriptions/listen"))
	if !kept(first) {
		t.Error("the first body is not kept while the listening is renewed")
	}
	h.mustCall("fake", "touch", args{"uri": first})
	h.await("fake", EventUpdated)
	h.mustCall("fake", "add_tool", nil)
	h.await("fake", EventTools)
}

func TestListeningThatEndsIsBegunAgain(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
	eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
	uri := "file://doc1.md"
	kept := func() bool {
		before := len(srv.Requests(mcptest.Method("resources/read")))
		if _, err := h.Read(t.Context(), "fake", uri); err != nil {
			t.Error(err)
		}
		return len(srv.Requests(mcptest.Method("resources/read"))) == before
	}
	eventually(t, "the body is kept", kept)
	lists := len(srv.Requests(mcptest.Method("tools/list")))
	srv.Break(mcptest.Method("subscriptions/listen"), mcptest.First(2, mcptest.Status(http.StatusServiceUnavailable)))
	srv.DropStreams()
	eventually(t, "the body is asked for", func() bool { return !kept() })
	eventually(t, "it listens again", func() bool { return srv.Listeners() == 1 })
	srv.Await(t, lists+1, mcptest.Method("tools/list")) // what was missed is asked for
	eventually(t, "the body is kept again", kept)
	if n := len(h.kind("fake", EventLost)); n != 0 {
		t.Errorf("%+v", h.seen())
	}
}

func TestServerWithoutListeningIsAskedAtEachUse(t *testing.T) {
	t.Parallel()
	o := mcptest.HTTPOptions{Mode: mcptest.Modern}
	o.Missing = []string{"subscriptions/listen"}
	h, srv := remote(t, o)
	eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
	h.mustCall("fake", "add_resource", nil)
	if list, err := h.ListResources(t.Context(), "fake"); err != nil || len(list.Resources) != 4 {
		t.Errorf("%d resources, %v", len(list.Resources), err)
	}
	if n := len(srv.Requests(mcptest.Method("subscriptions/listen"))); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// mcp-go's server ends a listening at once of which it took on nothing: it is
// not begun anew, with all lists each time, before there is more to hear.
func TestListeningWithNothingToHear(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
	srv.Break(mcptest.Method("subscriptions/listen"), func(_ *mcptest.HTTPServer, w http.ResponseWriter, _ *http.Request, in mcptest.HTTPRequest) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"notifications\":{}}}\n\n"+
			"data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\"}}\n\n", in.ID)
	})
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	eventually(t, "prompts", func() bool { return h.status("fake").Prompts != nil })
	listens := func() int { return len(srv.Requests(mcptest.Method("subscriptions/listen"))) }
	for range 10 { // what would have begun one meanwhile
		h.mustCall("fake", "sleep", args{"seconds": 0.05})
	}
	if n, lists := listens(), len(srv.Requests(mcptest.Method("tools/list"))); n != 1 || lists != 1 {
		t.Errorf("%d listenings, %d lists", n, lists)
	}
	srv.Mend()
	if _, err := h.Read(t.Context(), "fake", "file://doc1.md"); err != nil {
		t.Error(err)
	}
	eventually(t, "it listens", func() bool { return srv.Listeners() == 1 })
	h.mustCall("fake", "add_tool", nil)
	h.await("fake", EventTools)
}

// A server may take on less than it is asked for: what it does not tell of is
// not kept.
func TestListeningThatIsAcknowledgedInPart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, established string
		lists, body       bool
	}{
		{"all", `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file://doc1.md"]}`, true, true},
		{"no updates", `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`, true, false},
		{"no lists", `{"resourceSubscriptions":["file://doc1.md"]}`, false, true},
		{"another's updates", `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file://doc2.md",7]}`, true, false},
		{"nothing", `{}`, false, false},
		{"it does not say", `null`, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
			srv.Break(mcptest.Method("subscriptions/listen"), func(_ *mcptest.HTTPServer, w http.ResponseWriter, r *http.Request, in mcptest.HTTPRequest) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"notifications\":%s,\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}}}\n\n", c.established, in.ID)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			h := newHouse(t, Options{}, fast())
			h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
			h.started()
			eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
			count := func(method string, use func() error) int {
				before := len(srv.Requests(mcptest.Method(method)))
				if err := use(); err != nil {
					t.Error(err)
				}
				return len(srv.Requests(mcptest.Method(method))) - before
			}
			read := func() error { _, err := h.Read(t.Context(), "fake", "file://doc1.md"); return err }
			list := func() error { _, err := h.ListResources(t.Context(), "fake"); return err }
			_ = read()
			srv.Await(t, 2, mcptest.Method("subscriptions/listen"), func(r mcptest.HTTPRequest) bool { return r.Status == http.StatusOK })
			if c.body {
				eventually(t, "the body is kept", func() bool { return count("resources/read", read) == 0 })
			} else {
				for range 10 {
					if count("resources/read", read) == 0 {
						t.Fatal("a body is kept that nobody tells of")
					}
				}
			}
			if n := count("resources/list", list); c.lists != (n == 0) {
				t.Errorf("the list was asked for %d times", n)
			}
		})
	}
}

// The server may end a listening: by its result, or by notifications/cancelled
// (the specification says both), which is the only sign of it on stdio.
func TestListeningThatTheServerEndsIsBegunAgain(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"result", "cancelled", "text"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			log := mcptest.NewLog(t)
			h := open(t, map[string]mcptest.Options{"fake": {Modern: true, Log: string(log)}})
			eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
			uri := "file://doc1.md"
			kept := func() bool {
				before := len(log.Method(t, "resources/read"))
				if _, err := h.Read(t.Context(), "fake", uri); err != nil {
					t.Error(err)
				}
				return len(log.Method(t, "resources/read")) == before
			}
			eventually(t, "the body is kept", kept)
			lists := len(log.Method(t, "resources/list"))
			listens := len(log.Method(t, "subscriptions/listen"))
			if n := h.mustCall("fake", "unlisten", args{"text": how}); n != "1" {
				t.Fatalf("%s listenings", n)
			}
			log.AwaitMethod(t, listens+1, "subscriptions/listen")
			log.AwaitMethod(t, lists+1, "resources/list") // what was missed is asked for
			eventually(t, "the body is kept again", kept)
			h.mustCall("fake", "add_resource", nil)
			eventually(t, "a change is heard", func() bool { return len(h.uris("fake")) == 4 })
		})
	}
}

// What is acknowledged is of the listening that its subscription's id names
// (2026-07-28, basic/patterns/subscriptions): that of one which was given up
// says nothing of the next.
func TestAcknowledgementsFindTheirListening(t *testing.T) {
	t.Parallel()
	c := &connection{caps: capabilities{toolsChange: true, resourcesChange: true}}
	begin := func(id string) *listening {
		l := &listening{uris: []string{"a:1"}, ack: make(chan agreed, 1), id: id}
		c.listenings = append(c.listenings, l)
		return l
	}
	old, next := begin("3"), begin("4")
	ack := func(id any, fields string) {
		meta, said := map[string]any{}, map[string]any{}
		if id != nil {
			meta["io.modelcontextprotocol/subscriptionId"] = id
		}
		if err := json.Unmarshal([]byte(fields), &said); err != nil {
			t.Fatal(err)
		}
		c.acknowledged(meta, said)
	}
	none := func(l *listening) bool { return len(l.ack) == 0 }
	ack(9.0, `{"notifications":{}}`)
	ack("x", `{"notifications":{}}`)
	if !none(old) || !none(next) {
		t.Fatal("an acknowledgement of nobody's counts")
	}
	ack(3.0, `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:1","a:2",5]}}`)
	if none(old) || !none(next) {
		t.Fatal("it went to another")
	}
	if is := <-old.ack; !is.lists[listTools] || is.lists[listResources] || is.empty || !slices.Equal(is.uris, []string{"a:1"}) {
		t.Errorf("%+v", is)
	}
	ack(3.0, `{}`) // twice
	if !none(old) {
		t.Error("acknowledged twice")
	}
	ack(nil, `{}`) // whose it is, it does not say
	if is := <-next.ack; is.lists != [listKinds]bool{true, true, true} || is.empty || len(is.uris) != 1 {
		t.Errorf("%+v", is)
	}
	ack("4", `{"notifications":"odd"}`)
	third := begin("5")
	ack("5", `{"notifications":{"toolsListChanged":"yes"}}`)
	if is := <-third.ack; is.lists != [listKinds]bool{} || !is.empty || is.uris != nil {
		t.Errorf("%+v", is)
	}
	// Each list of which the server takes on nothing is asked for by itself.
	c.acknowledge(old, agreed{lists: [listKinds]bool{listTools: true}})
	for k, want := range map[listKind]bool{listTools: true, listResources: false, listPrompts: false} {
		if c.tells(k) != want {
			t.Errorf("list %d: told %v", k, !want)
		}
	}
}
