package openai

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentls/agent"
)

// recording is what a provider sends, and what must come of it.
type recording struct {
	file   string // testdata/<file>.sse
	mime   string // default text/event-stream
	text   string
	reason string   // reasoning
	calls  []string // name arguments
	finish string   // default stop
	usage  int      // total tokens
	cached int      // of the prompt's
	kind   agent.ErrorKind
	again  bool   // retryable
	says   string // part of the error's message; | parts several
}

var recordings = []recording{
	{file: "openai", text: `Hello <there> & "you"`, usage: 15},
	{file: "crlf", text: `Hello <there> & "you"`, usage: 15},
	{file: "cr", text: `Hello <there> & "you"`, usage: 15},
	{file: "bom", text: `Hello <there> & "you"`, usage: 15},
	{file: "nospace", text: `Hello <there> & "you"`, usage: 15},
	{file: "single-newlines", text: `Hello <there> & "you"`, usage: 15},
	{file: "comments", text: `Hello <there> & "you"`, usage: 15},
	{file: "no-done", text: `Hello <there> & "you"`, usage: 15},
	{file: "done-without-finish", text: `Hello <there> & "you"`, usage: 15},
	{file: "no-final-newline", text: `Hello <there> & "you"`},
	{file: "openai", mime: "application/json", text: `Hello <there> & "you"`, usage: 15},
	{file: "openai", mime: "text/html", text: `Hello <there> & "you"`, usage: 15},
	{file: "multiline", text: "Hello there"},
	{file: "multiline-crlf", text: "Hello there"},
	{file: "ping", text: "Hello there"},
	{file: "split-utf8", text: "hé 😀 \ufffd\ufffd\ufffd ok"},
	{file: "float-created", text: "Hello there", usage: 15},
	{file: "second-choice", text: "Hello there"},
	{file: "parts", text: "Hello there", reason: "Let me think."},
	{file: "refusal", text: "I cannot do that.", finish: "content_filter"},
	{file: "reasoning-content", text: "Done.", reason: "Let me think."},
	{file: "reasoning", text: "Done.", reason: "Let me think."},

	{file: "reasoning-details", text: "Done.", reason: "Let me think.", usage: 15, cached: 4},
	{file: "thinking-blocks", text: "Done.", reason: "Let me think."},
	{file: "think-tag", text: "Done.", reason: "Let me think."},
	{file: "usage-deepseek", text: "Hello there", usage: 15, cached: 8},
	{file: "usage-kimi", text: "Hello there", usage: 15, cached: 6},

	{file: "tools", calls: []string{`read_file {"path":"a"}`, `list_dir {"path":"b"}`}, finish: "tool_calls"},
	{file: "tools-no-index", calls: []string{`read_file {"path":"a"}`, `list_dir {"path":"b"}`}, finish: "tool_calls"},
	{file: "tools-reused-index", calls: []string{`read_file {"path":"a"}`, `list_dir {"path":"b"}`}, finish: "tool_calls"},
	{file: "tools-no-id", calls: []string{`read_file {"path":"a"}`, `list_dir {"path":"b"}`}, finish: "tool_calls"},
	{file: "tools-index-zero-no-id", calls: []string{`read_file {"path":"a"}`, `list_dir {"path":"b"}`}, finish: "tool_calls"},
	{file: "tools-same-id", calls: []string{`read_file {"path":"a"}`, `list_dir {"path":"b"}`}, finish: "tool_calls"},
	{file: "tools-no-arguments", calls: []string{`list_dir {}`}, finish: "tool_calls"},
	{file: "function-call", calls: []string{`read_file {"path":"a"}`}, finish: "tool_calls"},
	{file: "length", calls: []string{`read_file {"pa`}, finish: "length"},

	{file: "completion", mime: "application/json", text: "Hello there", reason: "Let me think.", usage: 15, calls: []string{`read_file {"path":"a"}`, `list_dir {"path":"b"}`}, finish: "tool_calls"},
	{file: "completion-pretty", mime: "application/json", text: "Hello there"},
	{file: "json-lines", mime: "application/x-ndjson", text: "Hello there"},

	{file: "early-end", text: `Hello <there> & "you"`, kind: agent.KindNetwork, again: true, says: "broke off"},
	{file: "cut-in-chunk", text: "Hello ", kind: agent.KindProvider, says: "an event that is no chunk"},
	{file: "error-event", text: "Hello ", kind: agent.KindProvider, again: true, says: "The engine is overloaded"},
	{file: "error-object", text: "Hello ", kind: agent.KindProvider, again: true, says: "CUDA out of memory"},
	{file: "error-string", kind: agent.KindProvider, says: "an error was encountered while running the model"},
	{file: "error-anthropic", text: "Hello ", kind: agent.KindProvider, again: true, says: "Overloaded"},
	{file: "error-openrouter", kind: agent.KindProvider, again: true, says: "Provider disconnected unexpectedly"},
	{file: "error-choice", kind: agent.KindProvider, again: true, says: "502: Upstream idle: upstream is down"},
	{file: "error-finish", text: "Hello ", kind: agent.KindProvider, says: "an error that it does not name"},
	{file: "error-bare-line", text: "Hello ", kind: agent.KindContext, says: "context window of 4096 tokens exceeded"},
	{file: "error-vllm", kind: agent.KindContext, says: "longer than the maximum model length"},
	{file: "not-json", text: "Hello ", kind: agent.KindProvider, says: "no chunk|upstream connect error|text/event-stream"},
	{file: "done-only", kind: agent.KindProvider, again: true, says: "an empty answer|status 200|text/event-stream"},
	{file: "json-error", mime: "application/json", kind: agent.KindProvider, again: true, says: "503: The model is overloaded"},
	{file: "json-error-list", mime: "application/json", kind: agent.KindRateLimit, again: true, says: "Resource has been exhausted"},
	{file: "json-other", mime: "application/json", kind: agent.KindProvider, says: `a document that is no completion|application/json|{"status":"ok"}`},
	{file: "html", mime: "text/html; charset=utf-8", kind: agent.KindProvider, says: "status 200, text/html: Sign in to the network|baseURL"},
	{file: "plain", mime: "text/plain", kind: agent.KindProvider, says: "text/plain: upstream connect error or disconnect"},
	{file: "empty", mime: "-", kind: agent.KindProvider, again: true, says: "an empty answer|status 200|no content type"},
}

func TestRecordings(t *testing.T) {
	used := map[string]bool{}
	for _, r := range recordings {
		used[r.file+".sse"] = true
		t.Run(r.file+strings.ReplaceAll(r.mime, "/", "-"), func(t *testing.T) { check(t, r) })
	}
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, f := range files {
		if !used[filepath.Base(f)] {
			t.Errorf("%s is in no test", f)
		}
	}
}

// check plays a recording, in one piece and byte by byte.
func check(t *testing.T, want recording) {
	data, err := os.ReadFile("testdata/" + want.file + ".sse")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{len(data), 1} {
		l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			if want.mime != "-" {
				w.Header().Set("Content-Type", orDefault(want.mime, "text/event-stream"))
			}
			for i := 0; i < len(data); i += step {
				_, _ = w.Write(data[i:min(len(data), i+step)])
				if len(data) < 4000 {
					w.(http.Flusher).Flush()
				}
			}
		})
		var text, reasoning strings.Builder
		got, err := l.Complete(t.Context(), prompt, func(d agent.Delta) {
			text.WriteString(d.Text)
			reasoning.WriteString(d.Reasoning)
		})
		if text.String() != got.Text || reasoning.String() != got.Reasoning {
			t.Errorf("deltas %q %q, answer %q %q", text.String(), reasoning.String(), got.Text, got.Reasoning)
		}
		want.check(t, l, got, err)
	}
}

func (want recording) check(t *testing.T, l *LLM, got agent.Response, err error) {
	t.Helper()
	if got.Text != want.text || got.Reasoning != want.reason || got.Usage.TotalTokens != want.usage || got.Usage.CachedTokens != want.cached {
		t.Errorf("text %q, reasoning %q, usage %v\nwant %q, %q, %d", got.Text, got.Reasoning, got.Usage, want.text, want.reason, want.usage)
	}
	if want.kind != "" {
		pe := providerError(t, err)
		if pe.Kind != want.kind || pe.Retryable != want.again {
			t.Errorf("kind %s, retryable %v, want %s, %v: %s", pe.Kind, pe.Retryable, want.kind, want.again, pe.Message)
		}
		for _, part := range append(strings.Split(want.says, "|"), l.url.Host, `"m"`) {
			if !strings.Contains(pe.Message, part) {
				t.Errorf("message %q lacks %q", pe.Message, part)
			}
		}
		if len(got.ToolCalls) > 0 {
			t.Errorf("a failed answer has the calls %v", got.ToolCalls)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.FinishReason != orDefault(want.finish, "stop") {
		t.Errorf("finish reason %q, want %q", got.FinishReason, orDefault(want.finish, "stop"))
	}
	var calls []string
	ids := map[string]bool{}
	for _, c := range got.ToolCalls {
		calls = append(calls, c.Name+" "+c.Arguments)
		ids[c.ID] = true
	}
	if strings.Join(calls, "\n") != strings.Join(want.calls, "\n") {
		t.Errorf("calls %q, want %q", calls, want.calls)
	}
	if len(ids) != len(calls) || ids[""] {
		t.Errorf("ids %v of %d calls", ids, len(calls))
	}
}

func orDefault(s, d string) string {
	if s == "" {
		return d
	}
	return s
}
