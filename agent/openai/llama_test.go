package openai

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/openai/llamatest"
)

// These talk to a real provider: llama.cpp's server on a model of our own.

func llama(t testing.TB, s *llamatest.Server, change ...func(*Options)) *LLM {
	t.Helper()
	o := Options{BaseURL: s.BaseURL(), Model: llamatest.Alias}
	for _, f := range change {
		f(&o)
	}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l.limits.wait = time.Millisecond
	t.Cleanup(l.Close)
	return l
}

// says is a request of one user message.
func says(text string) agent.Request {
	return agent.Request{Messages: []agent.Message{{Role: agent.System, Text: "You are a test."}, {Role: agent.User, Text: text}}}
}

func TestLlamaStreamsTextAndTellsUsage(t *testing.T) {
	l := llama(t, llamatest.Start(t, llamatest.Options{}))
	var deltas []string
	resp, err := l.Complete(t.Context(), says("hello"), func(d agent.Delta) { deltas = append(deltas, d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	if resp.Text != llamatest.Sentence || resp.FinishReason != "stop" {
		t.Errorf("answer %q, finish reason %q", resp.Text, resp.FinishReason)
	}
	if len(deltas) < len(strings.Fields(llamatest.Sentence)) || strings.Join(deltas, "") != resp.Text {
		t.Errorf("deltas %q", deltas)
	}
	u := resp.Usage
	if u.PromptTokens < 20 || u.CompletionTokens < 7 || u.TotalTokens != u.PromptTokens+u.CompletionTokens {
		t.Errorf("usage %+v", u)
	}
}

func TestLlamaThinks(t *testing.T) {
	l := llama(t, llamatest.Start(t, llamatest.Options{}))
	var reasoning, text []string
	resp, err := l.Complete(t.Context(), says("THINK"), func(d agent.Delta) {
		if d.Reasoning != "" {
			reasoning = append(reasoning, d.Reasoning)
		}
		if d.Text != "" {
			text = append(text, d.Text)
		}
	})
	if err != nil || resp.Reasoning != llamatest.Thought || resp.Text != llamatest.Sentence {
		t.Fatalf("%+v, %v", resp, err)
	}
	if len(reasoning) < 4 || strings.Join(reasoning, "") != resp.Reasoning || strings.Join(text, "") != resp.Text {
		t.Errorf("deltas %q and %q", reasoning, text)
	}
}

// tools are of the shapes that the server's grammar has to take.
func tools() []agent.ToolSpec {
	return []agent.ToolSpec{
		{Name: "read_file", Description: "Reads a file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "zebra", Description: "Counts stripes", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,
			"properties":{"side":{"type":"string","enum":["left","right"]},"stripes":{"type":"integer","minimum":1,"maximum":9},"note":{"type":"string","maxLength":20}},
			"required":["side","stripes"]}`)},
	}
}

func TestLlamaCallsAToolAndReadsItsResult(t *testing.T) {
	l := llama(t, llamatest.Start(t, llamatest.Options{}))
	req := says("CALL it")
	req.Tools = tools()
	resp, err := l.Complete(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.ToolCalls) != 1 || resp.FinishReason != "tool_calls" {
		t.Fatalf("answer %+v", resp)
	}
	call := resp.ToolCalls[0]
	var args struct {
		Side    string
		Stripes int
	}
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil || call.Name != "zebra" || call.ID == "" {
		t.Fatalf("call %+v: %v", call, err)
	}
	if args.Side != "left" && args.Side != "right" || args.Stripes < 1 {
		t.Errorf("arguments %s are not of the schema", call.Arguments)
	}
	req.Messages = append(req.Messages, agent.Message{Role: agent.Assistant, ToolCalls: resp.ToolCalls},
		agent.Message{Role: agent.ToolRole, ToolCallID: call.ID, Text: "7 stripes"})
	resp, err = l.Complete(t.Context(), req, nil)
	if err != nil || resp.Text != llamatest.Sentence || len(resp.ToolCalls) > 0 {
		t.Errorf("answer to the result %+v: %v", resp, err)
	}
}

// TestLlamaTakesOddSchemas: one tool whose schema the server's grammar cannot
// take must not end every run (editor-code-assistant/eca#340).
func TestLlamaTakesOddSchemas(t *testing.T) {
	s := llamatest.Start(t, llamatest.Options{})
	property := func(schema string) string {
		return `{"type":"object","properties":{"a":` + schema + `},"required":["a"]}`
	}
	for _, schema := range []string{
		`{"type":"object","properties":[]}`,
		property(`true`),
		property(`false`),
		property(`{"type":"file"}`),
		property(`{"enum":[]}`),
		property(`{"$ref":"#/definitions/none"}`),
		property(`{"$ref":"https://example.com/schema.json"}`),
		property(`{"type":"string","minLength":3000}`),
		property(`{"type":"string","pattern":"^(?!x)\\p{L}+$"}`),
		property(`{"type":"array","prefixItems":[{"type":"string"}],"items":false}`),
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"},"no":false}}}}`,
	} {
		l := llama(t, s, func(o *Options) { o.ExtraBody = map[string]json.RawMessage{"max_tokens": json.RawMessage("100")} })
		req := says("CALL it")
		req.Tools = []agent.ToolSpec{{Name: llamatest.Tool, Description: "Counts stripes", Schema: json.RawMessage(schema)}}
		resp, err := l.Complete(t.Context(), req, nil)
		if err != nil || len(resp.ToolCalls) != 1 || resp.ToolCalls[0].Name != llamatest.Tool {
			t.Errorf("%s: %+v, %v", schema, resp, err)
		}
	}
}

// overflowWords are the server's own, with what was asked and what there is.
var overflowWords = regexp.MustCompile(`\(400: .*?([0-9]+) tokens.*?([0-9]+) tokens`)

// TestLlamaTellsAnOverflowWithBothNumbers: what a person needs to know when a
// context is full (editor-code-assistant/eca#391).
func TestLlamaTellsAnOverflowWithBothNumbers(t *testing.T) {
	l := llama(t, llamatest.Start(t, llamatest.Options{Context: 2048}))
	_, err := l.Complete(t.Context(), says(strings.Repeat("word ", 1000)), nil)
	pe, ok := errors.AsType[*agent.ProviderError](err)
	if !ok || pe.Kind != agent.KindContext || pe.Retryable {
		t.Fatalf("error %#v", err)
	}
	m := overflowWords.FindStringSubmatch(pe.Message)
	if m == nil || m[2] != "2048" {
		t.Fatalf("the sentence lacks the numbers: %s", pe.Message)
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < 4000 {
		t.Errorf("%s tokens were asked for", m[1])
	}
	if resp, err := l.Complete(t.Context(), says("hello"), nil); err != nil || resp.Text != llamatest.Sentence {
		t.Errorf("the next answer: %q, %v", resp.Text, err)
	}
}

// An answer that fills the context is cut, and told as cut.
func TestLlamaFullContext(t *testing.T) {
	l := llama(t, llamatest.Start(t, llamatest.Options{Context: 512}))
	resp, err := l.Complete(t.Context(), says("ENDLESS"), nil)
	if err != nil || resp.FinishReason != "length" || resp.Usage.TotalTokens < 500 {
		t.Errorf("finish reason %q, usage %+v, %v", resp.FinishReason, resp.Usage, err)
	}
}

// TestLlamaGibberish: split UTF-8, control characters and no end of its own.
func TestLlamaGibberish(t *testing.T) {
	l := llama(t, llamatest.Start(t, llamatest.Options{Model: llamatest.Gibberish, Context: 2048}), func(o *Options) {
		o.ExtraBody = map[string]json.RawMessage{"max_tokens": json.RawMessage("700"), "seed": json.RawMessage("7"), "ignore_eos": json.RawMessage("true")}
	})
	var text strings.Builder
	resp, err := l.Complete(t.Context(), says("hello"), func(d agent.Delta) { text.WriteString(d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	if resp.FinishReason != "length" || resp.Usage.CompletionTokens != 700 || resp.Text != text.String() || len(resp.ToolCalls) > 0 {
		t.Errorf("finish reason %q, usage %+v, %d bytes of text and %d of deltas", resp.FinishReason, resp.Usage, len(resp.Text), text.Len())
	}
	if !strings.ContainsFunc(resp.Text, func(r rune) bool { return r < ' ' }) || !strings.ContainsRune(resp.Text, '\uFFFD') {
		t.Errorf("this is no gibberish, so it proves nothing: %q", resp.Text)
	}
}

func TestLlamaWantsAKey(t *testing.T) {
	const key, wrong = "sk-test-right-0123456789", "sk-test-wrong-0123456789"
	s := llamatest.Start(t, llamatest.Options{APIKey: key})
	for given, want := range map[string]string{"": "wants a key", wrong: "refuses the key"} {
		_, err := llama(t, s, func(o *Options) { o.APIKey = given }).Complete(t.Context(), says("hello"), nil)
		pe, ok := errors.AsType[*agent.ProviderError](err)
		if !ok || pe.Kind != agent.KindAuth || pe.Retryable || !strings.Contains(pe.Message, want) || strings.Contains(pe.Message, wrong) {
			t.Errorf("key %q: %v", given, err)
		}
	}
	if resp, err := llama(t, s, func(o *Options) { o.APIKey = key }).Complete(t.Context(), says("hello"), nil); err != nil || resp.Text != llamatest.Sentence {
		t.Errorf("answer %q, %v", resp.Text, err)
	}
}

// TestLlamaTakesNoImages: a model that cannot see answers to the words.
func TestLlamaTakesNoImages(t *testing.T) {
	l := llama(t, llamatest.Start(t, llamatest.Options{}))
	req := says("look")
	req.Messages[1].Images = []agent.Image{{MIMEType: "image/png", Data: "iVBORw0KGgo="}}
	for range 2 {
		if resp, err := l.Complete(t.Context(), req, nil); err != nil || resp.Text != llamatest.Sentence {
			t.Errorf("answer %q, %v", resp.Text, err)
		}
	}
}

func TestLlamaListsItsModel(t *testing.T) {
	s := llamatest.Start(t, llamatest.Options{})
	names, err := llama(t, s).Models(t.Context())
	if err != nil || len(names) != 1 || names[0] != llamatest.Alias {
		t.Errorf("models %q, %v", names, err)
	}
}

// A server of one model answers under any name, and so the wrong one is only
// seen in its list (see doctor).
func TestLlamaAnswersUnderAnotherName(t *testing.T) {
	l := llama(t, llamatest.Start(t, llamatest.Options{}), func(o *Options) { o.Model = "gpt-5" })
	if resp, err := l.Complete(t.Context(), says("hello"), nil); err != nil || resp.Text != llamatest.Sentence {
		t.Errorf("answer %q, %v", resp.Text, err)
	}
}
