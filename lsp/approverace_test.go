package lsp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/agent"
	"agentls/lsp/lsptest"
)

// PEERS 40: a question is resolved exactly once, whatever answers it at the
// same time: the client, agentls.approve (several times), a cancel, the
// deadline. What came first is what the run and the audit have.
func TestQuestionIsResolvedOnce(t *testing.T) {
	for _, features := range [][]string{nil, {"approvals"}} {
		t.Run(fmt.Sprint(features), func(t *testing.T) {
			var mu sync.Mutex
			rnd := rand.New(rand.NewPCG(1, uint64(len(features))))
			random := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return rnd.IntN(n)
			}
			pause := func() { time.Sleep(time.Duration(random(6000)) * time.Microsecond) } // a person
			w := newWorld(t, setup{llm: callsTool(t), options: obj{"approval": obj{"ask": []string{"list_dir"}, "timeoutSeconds": 0.006}}, init: lsptest.Init{Features: features}})
			stock := []any{nil, obj{"title": "Deny"}, obj{"title": "Allow once"}, obj{"title": "allow once"}, 7}
			own := []any{nil, obj{"decision": "deny"}, obj{"decision": "once"}, obj{"decision": "once", "arguments": obj{"path": "./."}}, obj{"decision": 7}}
			answer := func(list []any) lsptest.Answer {
				return func(json.RawMessage) (any, error) {
					pause()
					switch n := random(len(list) + 2); n {
					case len(list):
						return nil, lsptest.ErrSilent
					case len(list) + 1:
						return nil, &lsptest.Error{Code: -32601, Message: "method not found"}
					default:
						return list[n], nil
					}
				}
			}
			w.On("window/showMessageRequest", answer(stock))
			w.On("agentls/approve", answer(own))
			for i := range 150 {
				id := fmt.Sprint("run", i)
				p := w.ask("go", obj{"runId": id, "session": id})
				w.race(p, id, random, pause)
			}
			if open := w.server.asks.waiting(); len(open) > 0 {
				t.Errorf("still open: %+v", open)
			}
		})
	}
}

// race lets several answer the question of a run, and checks what came of it.
func (w *world) race(p *lsptest.Pending, id string, random func(int) int, pause func()) {
	w.t.Helper()
	var open []*question
	poll(w.t, "a question or an end", func() bool {
		open = w.server.asks.waiting()
		select {
		case <-p.Done():
			return true
		default:
			return len(open) > 0
		}
	})
	resolved := make(chan string, 3)
	var wg sync.WaitGroup
	if len(open) > 0 {
		for range random(3) {
			decision := []string{"once", "deny", "session"}[random(3)]
			wg.Go(func() {
				pause()
				if commandAs[map[string]bool](w, "agentls.approve", obj{"id": open[0].id, "decision": decision, "reason": "by command"})["resolved"] {
					resolved <- decision
				}
			})
		}
	}
	cancelled := random(4) == 0
	if cancelled {
		wg.Go(func() { pause(); p.Cancel() })
	}
	wg.Wait()
	<-p.Done()
	close(resolved)
	var said []string
	for d := range resolved {
		said = append(said, d)
	}
	if len(said) > 1 {
		w.t.Errorf("%s: resolved %d times", id, len(said))
	}
	lines := commandAs[[]agent.AuditEntry](w, "agentls.audit", obj{"runId": id})
	if len(lines) != 1 {
		w.t.Fatalf("%s: audit %+v", id, lines)
	}
	if raw, err := p.Wait(); err == nil {
		r := decodeAs[agent.Result](w.t, raw)
		if got := statuses(r); len(got) != 1 || got[0] != lines[0].Outcome {
			w.t.Errorf("%s: outcomes %v, audit %+v", id, got, lines[0])
		}
		if len(said) == 1 && lines[0].Outcome != map[string]agent.Outcome{"deny": agent.Rejected, "once": agent.Completed, "session": agent.Completed}[said[0]] {
			w.t.Errorf("%s: answered %s, audit %+v", id, said[0], lines[0])
		}
		if len(said) == 1 && said[0] == "deny" && !strings.Contains(r.Text, "by command") {
			w.t.Errorf("%s: the model was told %q", id, r.Text)
		}
	} else if !cancelled {
		w.t.Errorf("%s: %v", id, err)
	}
}
