package lsp

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/agent/offline"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

const askedSample = `{"messages":[{"role":"user","content":{"type":"text","text":"Name a colour."}}],"maxTokens":77}`

// samples is a step that lets the server "fake" ask the model.
func samples(params string) agenttest.Step {
	return agenttest.Call(agent.ToolCall{ID: "1", Name: "mcp__fake__ask", Arguments: `{"method":"sampling/createMessage","params":` + params + `}`})
}

// newSamplingWorld has a server that may ask the model, and whose tools run
// unasked.
func newSamplingWorld(t *testing.T, answer lsptest.Answer, steps ...agenttest.Step) (*world, *agenttest.LLM) {
	t.Helper()
	llm := agenttest.NewLLM(t, steps...)
	w := newWorld(t, setup{
		llm: llm, servers: map[string]mcptest.Options{"fake": {}}, sampling: true, options: obj{"approval": obj{"allow": []string{"fake/*"}}},
		init: lsptest.Init{Capabilities: obj{"window": obj{"showDocument": obj{"support": true}}}},
	})
	w.On("window/showMessageRequest", answer)
	w.On("window/showDocument", func(json.RawMessage) (any, error) { return obj{"success": true}, nil })
	return w, llm
}

func TestSampling(t *testing.T) {
	t.Run("for the session", func(t *testing.T) {
		w, llm := newSamplingWorld(t, title(allowSession), samples(askedSample), agenttest.Text("Blue"), samples(askedSample), agenttest.Text("Red"))
		r := result[agent.Result](t, w.ask("go", obj{"session": "s"}))
		if n := len(w.Requests("window/showMessageRequest")); n != 1 || len(llm.Requests()) != 5 {
			t.Errorf("%d questions, %d requests to the model, %+v", n, len(llm.Requests()), r)
		}
	})
	t.Run("a long one is shown beside the question", func(t *testing.T) {
		raw := mustEncode(obj{"messages": []obj{{"role": "user", "content": obj{"type": "text", "text": strings.Repeat("line one\n", 50) + "the\u202e end"}}}, "maxTokens": 5})
		w, _ := newSamplingWorld(t, nil, samples(string(raw)), agenttest.Text("x"))
		shown := ""
		w.On("window/showMessageRequest", func(json.RawMessage) (any, error) {
			files, _ := filepath.Glob(filepath.Join(w.state, "previews", "*.txt"))
			if len(files) == 1 {
				text, err := os.ReadFile(files[0])
				shown = string(text)
				return obj{"title": allowOnce}, err
			}
			return nil, nil
		})
		result[agent.Result](t, w.ask("go", obj{"session": "s"}))
		if !strings.HasPrefix(shown, "user: line one\nline one\n") || !strings.HasSuffix(shown, "the end\n") {
			t.Errorf("%q", shown)
		}
		if q := w.questions(); len(q) != 1 || !strings.Contains(q[0], "line one line one") || !strings.Contains(q[0], ". The whole text is shown in ") || !strings.Contains(q[0], "… — For the session: ") {
			t.Errorf("%q", q)
		}
	})
}

// A client with approvals has the answer shown before the server gets it, and
// may change it.
func TestSamplingIsReviewed(t *testing.T) {
	llm := agenttest.NewLLM(t, samples(askedSample), agenttest.Text("Blue"), agenttest.Text("done"))
	w := newWorld(t, setup{
		llm: llm, servers: map[string]mcptest.Options{"fake": {}}, sampling: true, options: obj{"approval": obj{"allow": []string{"fake/*"}}},
		init: lsptest.Init{Capabilities: obj{"experimental": obj{"agentls": obj{"approvals": true}}}},
	})
	asked := 0
	w.On("agentls/approve", func(params json.RawMessage) (any, error) {
		if asked++; asked == 1 {
			return obj{"decision": "once", "content": obj{"review": true}}, nil
		}
		if !strings.Contains(string(params), `"arguments":{"text":"Blue"}`) {
			t.Errorf("to be reviewed: %s", params)
		}
		return obj{"decision": "once", "arguments": obj{"text": "Green"}}, nil
	})
	result[agent.Result](t, w.ask("go", nil))
	last := llm.Requests()[2]
	if text := last.Messages[len(last.Messages)-1].Text; asked != 2 || !strings.Contains(text, "Green") || strings.Contains(text, "Blue") {
		t.Errorf("%d questions, the server said %q", asked, text)
	}
}

// The end of the run whose call the server serves closes its question, and the
// provider's answer to it.
func TestSamplingEndsWithItsRun(t *testing.T) {
	t.Run("the question", func(t *testing.T) {
		withdrawn := make(chan struct{})
		w, llm := newSamplingWorld(t, func(json.RawMessage) (any, error) {
			<-withdrawn
			return obj{"title": allowOnce}, nil // late
		}, samples(askedSample))
		p := w.ask("go", obj{"session": "s", "runId": "r"})
		w.awaitOpen(1)
		commandAs[any](w, "agentls.cancel", obj{"runId": "r"})
		if _, err := p.Wait(); err == nil || err.Code != -32800 {
			t.Errorf("%v", err)
		}
		poll(t, "no open question", func() bool { return len(w.server.asks.waiting()) == 0 })
		close(withdrawn)
		result[agent.Result](t, w.ask("again", obj{"session": "s"}))
		if n := len(llm.Requests()); n != 2 {
			t.Errorf("%d requests to the model: a late answer counted", n)
		}
	})
	t.Run("the answer", func(t *testing.T) {
		w, llm := newSamplingWorld(t, title(allowOnce), samples(askedSample), agenttest.Step{Text: []string{"Bl"}, Block: true})
		p := w.ask("go", obj{"session": "s", "runId": "r"})
		llm.Await(2)
		commandAs[any](w, "agentls.cancel", obj{"runId": "r"})
		if _, err := p.Wait(); err == nil || err.Code != -32800 {
			t.Errorf("%v", err)
		}
		poll(t, "the audit's line", func() bool {
			lines, err := w.server.o.Audit.Read(agent.AuditFilter{Tool: agent.SampleTool})
			return err == nil && len(lines) == 1 && lines[0].Outcome == agent.Cancelled
		})
	})
}

func TestSamplingWithoutAModel(t *testing.T) {
	request, err := mcp.ParseSample(json.RawMessage(askedSample))
	if err != nil {
		t.Fatal(err)
	}
	for want, u := range map[string]setup{
		"there is no language model to ask": {llm: offline.New()},
		"there is no model to ask: broken":  {refuse: errors.New("broken")},
	} {
		w := newWorld(t, u)
		a := w.server.asks.serveSample(t.Context(), mcp.Request{Server: "fake", Sample: request})
		if a.Accept || a.Decline || !strings.Contains(a.Problem, want) {
			t.Errorf("%+v, want %q", a, want)
		}
		if n := len(w.Requests("window/showMessageRequest")); n > 0 {
			t.Error("a person was asked about what cannot be")
		}
	}
}
