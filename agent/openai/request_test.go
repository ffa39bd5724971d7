package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
)

// history is one of everything that is hard to send.
var history = agent.Request{
	Messages: []agent.Message{
		{Role: agent.System, Text: "sys"},
		{Role: agent.User, Text: ""},
		{Role: agent.User, Text: "look", Images: []agent.Image{{MIMEType: "image/png", Data: "AAAA"}}},
		{Role: agent.User, Images: []agent.Image{{MIMEType: "image/gif", Data: "BBBB"}}},
		{Role: agent.Assistant}, // says nothing
		{Role: agent.Assistant, ToolCalls: []agent.ToolCall{
			{ID: "1", Name: "read_file", Arguments: `{"path":"a"}`},
			{ID: "2", Name: "no such tool!", Arguments: ""},
			{ID: "3", Name: "", Arguments: `{"path": "a`},
			{ID: "4", Name: "t", Arguments: `"{\"path\":\"a\"}"`},
			{ID: "5", Name: "t", Arguments: `[1]`},
			{ID: "6", Name: strings.Repeat("n", 100), Arguments: "null"},
		}},
		{Role: agent.ToolRole, ToolCallID: "1", Text: "text"},
		{Role: agent.ToolRole, ToolCallID: "2", Text: ""},
		{Role: agent.Assistant, Text: "said", ToolCalls: []agent.ToolCall{{ID: "7", Name: "t", Arguments: "{}"}}},
		{Role: agent.ToolRole, ToolCallID: "7", Text: " \n"},
	},
	Tools: []agent.ToolSpec{
		{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"#/$defs/y"}},"$defs":{"y":{"type":"string"}}}`)},
		{Name: "b", Description: "d"},
		{Name: "c", Description: "d", Schema: json.RawMessage(`null`)},
		{Name: "d", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "e", Description: "d", Schema: json.RawMessage(`{"type":["object","null"],"properties":null,"title":"t"}`)},
		{Name: "f", Description: "d", Schema: json.RawMessage(`{"broken`)},
	},
}

// editor-code-assistant/eca#340: broken arguments of the model, or a tool
// without a schema, made the provider refuse the request.
func TestRequestIsOneThatProvidersTake(t *testing.T) {
	var got sent
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = readSent(t, r)
		answerHello(w)
	})
	if _, err := l.Complete(t.Context(), history, nil); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range got.Messages {
		content, ok := m["content"]
		if !ok {
			t.Errorf("no content in %v", m)
		}
		lines = append(lines, fmt.Sprintf("%s %s", m["role"], asJSON(t, content)))
		calls, _ := m["tool_calls"].([]any)
		for _, c := range calls {
			call := c.(map[string]any)
			f := call["function"].(map[string]any)
			lines = append(lines, fmt.Sprintf("  %s %s %s %s", call["type"], call["id"], f["name"], f["arguments"]))
			var args map[string]any
			if err := json.Unmarshal([]byte(f["arguments"].(string)), &args); err != nil {
				t.Errorf("arguments %s: %v", f["arguments"], err)
			}
		}
	}
	want := `system "sys"
user ""
user [{"text":"look","type":"text"},{"image_url":{"url":"data:image/png;base64,AAAA"},"type":"image_url"}]
user [{"image_url":{"url":"data:image/gif;base64,BBBB"},"type":"image_url"}]
assistant null
  function 1 read_file {"path":"a"}
  function 2 no_such_tool_ {}
  function 3 unknown {"malformed_arguments":"{\"path\": \"a"}
  function 4 t {"path":"a"}
  function 5 t {"malformed_arguments":"[1]"}
  function 6 ` + strings.Repeat("n", 64) + ` {}
tool "text"
tool "(empty)"
assistant "said"
  function 7 t {}
tool "(empty)"`
	if all := strings.Join(lines, "\n"); all != want {
		t.Errorf("sent\n%s\nwant\n%s", all, want)
	}
	var schemas []string
	for _, tool := range got.Tools {
		schemas = append(schemas, asJSON(t, tool["function"].(map[string]any)["parameters"]))
	}
	wantSchemas := `{"$defs":{"y":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/y"}},"type":"object"}
{"properties":{},"type":"object"}
{"properties":{},"type":"object"}
{"properties":{},"type":"object"}
{"properties":{},"title":"t","type":"object"}
{"properties":{},"type":"object"}`
	if all := strings.Join(schemas, "\n"); all != wantSchemas {
		t.Errorf("schemas\n%s\nwant\n%s", all, wantSchemas)
	}
	if got.StreamOptions["include_usage"] != true {
		t.Errorf("stream_options %v", got.StreamOptions)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestExtraBody(t *testing.T) {
	var got sent
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = readSent(t, r)
		answerHello(w)
	}, func(o *Options) {
		o.ExtraBody = map[string]json.RawMessage{
			"thinking": json.RawMessage(`{"type":"enabled"}`), "reasoning_effort": json.RawMessage(`"high"`), "stream_options": json.RawMessage(`null`),
			"model": json.RawMessage(`"other"`), "stream": json.RawMessage(`false`), "messages": json.RawMessage(`[]`),
		}
	})
	if _, err := l.Complete(t.Context(), prompt, nil); err != nil {
		t.Fatal(err)
	}
	if string(got.Extra) != `{"type":"enabled"}` || got.Effort != "high" || got.StreamOptions != nil || got.Model != "other" || !got.Stream || len(got.Messages) != 1 {
		t.Errorf("sent %+v", got)
	}
	l = serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") }, func(o *Options) {
		o.ExtraBody = map[string]json.RawMessage{"thinking": json.RawMessage(`{`)}
	})
	_, err := l.Complete(t.Context(), prompt, nil)
	if pe := providerError(t, err); pe.Kind != agent.KindConfig || !strings.Contains(pe.Message, "extraBody") {
		t.Errorf("%s: %s", pe.Kind, pe.Message)
	}
}

// A provider that refuses a part of the request by name gets it without, once
// to find out and from then on at once.
func TestConcessions(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		refusal string
		refuses func(sent) bool
	}{
		{"stream_options", 400, `{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`, func(s sent) bool { return s.StreamOptions != nil }},
		{"stream_options, pydantic", 422, `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]}`, func(s sent) bool { return s.StreamOptions != nil }},
		{"null content", 400, `{"error":{"message":"Invalid value for 'content': expected a string, got null."}}`, hasContent(nil)},
		{"null content, serde", 422, `Failed to deserialize the JSON body into the target type: messages[4]: invalid type: null, expected a string`, hasContent(nil)},
		{"null content, pydantic", 422, `{"detail":[{"loc":["body","messages",4,"content"],"msg":"none is not an allowed value"}]}`, hasContent(nil)},
		{"images, DeepSeek", 400, "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text`", hasImages},
		{"images, llama.cpp", 500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, hasImages},
		{"images, OpenRouter", 404, `{"error":{"message":"No endpoints found that support image input","code":404}}`, hasImages},
		{"images, vLLM", 400, `{"error":{"message":"At most 0 image(s) may be provided in one prompt."}}`, hasImages},
		{"no system, Gemma", 400, `[{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`, hasRole("system")},
		{"no system, a template", 500, `{"error":{"code":500,"message":"System role not supported at row 1, column 46","type":"server_error"}}`, hasRole("system")},
		{"no system, OpenAI", 400, `{"error":{"message":"Unsupported value: 'messages[0].role' does not support 'system' with this model.","type":"invalid_request_error","param":"messages[0].role","code":"unsupported_value"}}`, hasRole("system")},
		{"short ids, Mistral", 400, `{"object":"error","message":"Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","code":"3280"}`, hasLongIDs},
		{"short ids, OpenAI", 400, `{"error":{"message":"Invalid 'messages[5].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 64 instead.","type":"invalid_request_error","param":"messages[5].tool_calls[0].id","code":"string_above_max_length"}}`, hasLongIDs},
		{"short ids, Anthropic", 400, `{"error":{"message":"messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"}}`, hasLongIDs},
		{"schemas, llama.cpp", 400, `{"error":{"code":400,"message":"Unable to generate parser for this template. Automatic parser generation failed: JSON schema error at #/properties/a: cannot resolve $ref #/definitions/none, definitions not found","type":"invalid_request_error"}}`, hasReference},
		{"schemas, llama.cpp's grammar", 400, `{"error":{"code":400,"message":"Failed to initialize samplers: failed to parse grammar","type":"invalid_request_error"}}`, hasReference},
		{"schemas, OpenAI", 400, `{"error":{"message":"Invalid schema for function 'a': In context=('properties', 'x'), schema must have a 'type' key.","type":"invalid_request_error","param":"tools[0].function.parameters","code":"invalid_function_parameters"}}`, hasReference},
		{"schemas, Gemini", 400, `[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"$ref\" at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.","status":"INVALID_ARGUMENT"}}]`, hasReference},
		{"schemas, Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"}}`, hasReference},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			l := serve(t, func(w http.ResponseWriter, r *http.Request) {
				n++
				if c.refuses(readSent(t, r)) {
					http.Error(w, c.refusal, c.status)
					return
				}
				answerHello(w)
			})
			for i, want := range []int{2, 3, 4} {
				if _, err := l.Complete(t.Context(), history, nil); err != nil || n != want {
					t.Errorf("call %d: %d requests so far, want %d: %v", i, n, want, err)
				}
			}
		})
	}
}

func hasContent(want any) func(sent) bool {
	return func(s sent) bool {
		for _, m := range s.Messages {
			if m["content"] == want {
				return true
			}
		}
		return false
	}
}

func hasImages(s sent) bool {
	for _, m := range s.Messages {
		if _, ok := m["content"].([]any); ok {
			return true
		}
	}
	return false
}

func hasRole(role string) func(sent) bool {
	return func(s sent) bool {
		return slices.ContainsFunc(s.Messages, func(m map[string]any) bool { return m["role"] == role })
	}
}

// hasLongIDs also reports calls and results that do not fit together any more.
func hasLongIDs(s sent) bool {
	calls := map[any]bool{}
	for _, m := range s.Messages {
		list, _ := m["tool_calls"].([]any)
		for _, c := range list {
			id := c.(map[string]any)["id"].(string)
			calls[id] = true
			if len(id) != 9 {
				return true
			}
		}
		if m["role"] == "tool" && !calls[m["tool_call_id"]] {
			return true
		}
	}
	return false
}

func hasReference(s sent) bool {
	data, err := json.Marshal(s.Tools)
	return err != nil || strings.Contains(string(data), "$ref")
}

// A concession that did not help is not kept.
func TestConcessionInVain(t *testing.T) {
	var with []bool
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		with = append(with, readSent(t, r).StreamOptions != nil)
		http.Error(w, "stream_options: something else", 400)
	})
	for range 2 {
		if _, err := l.Complete(t.Context(), prompt, nil); err == nil {
			t.Error("no error")
		}
	}
	if fmt.Sprint(with) != "[true false true false]" {
		t.Errorf("stream_options sent: %v", with)
	}
}

// What a server's sampling asks of its answer, and what the user's own
// extraBody makes of it.
func TestWishesOfARequest(t *testing.T) {
	zero := 0.0
	wishes := agent.Request{Messages: prompt.Messages, MaxTokens: 100, Temperature: &zero, Stop: []string{"a", "b", "c", "d", "e"}}
	for name, c := range map[string]struct {
		extra   map[string]json.RawMessage
		refusal string // of a request with what refuses names
		refuses string
		want    string
	}{
		"as asked":         {want: `max_tokens=100 stop=["a","b","c","d"] temperature=0`},
		"a lower own":      {extra: map[string]json.RawMessage{"max_tokens": json.RawMessage(`50`)}, want: `max_tokens=50 stop=["a","b","c","d"] temperature=0`},
		"a higher own":     {extra: map[string]json.RawMessage{"max_completion_tokens": json.RawMessage(`5000`)}, want: `max_completion_tokens=100 stop=["a","b","c","d"] temperature=0`},
		"taken out":        {extra: map[string]json.RawMessage{"max_tokens": nil, "temperature": json.RawMessage(`1`)}, want: `stop=["a","b","c","d"] temperature=1`},
		"OpenAI's newer":   {refusal: `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`, refuses: "max_tokens", want: `max_completion_tokens=100 stop=["a","b","c","d"] temperature=0`},
		"one temperature":  {refusal: `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."}}`, refuses: "temperature", want: `max_tokens=100 stop=["a","b","c","d"]`},
		"no stop":          {refusal: `{"error":{"message":"Unsupported parameter: 'stop' is not supported with this model."}}`, refuses: "stop", want: `max_tokens=100 temperature=0`},
		"no limit, pydant": {refusal: `{"detail":[{"loc":["body","max_tokens"],"msg":"use max_completion_tokens"}]}`, refuses: "max_tokens", want: `max_completion_tokens=100 stop=["a","b","c","d"] temperature=0`},
	} {
		t.Run(name, func(t *testing.T) {
			var got map[string]json.RawMessage
			l := serve(t, func(w http.ResponseWriter, r *http.Request) {
				got = nil
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
					t.Error(err)
				}
				if c.refuses != "" && got[c.refuses] != nil {
					http.Error(w, c.refusal, http.StatusBadRequest)
					return
				}
				answerHello(w)
			}, func(o *Options) { o.ExtraBody = c.extra })
			if _, err := l.Complete(t.Context(), wishes, nil); err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, k := range []string{"max_completion_tokens", "max_tokens", "stop", "temperature"} {
				if got[k] != nil {
					out = append(out, k+"="+string(got[k]))
				}
			}
			if strings.Join(out, " ") != c.want {
				t.Errorf("sent %s, want %s", strings.Join(out, " "), c.want)
			}
		})
	}
	// Others of the same provider are asked as ever.
	var got map[string]json.RawMessage
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&got)
		answerHello(w)
	})
	if _, err := l.Complete(t.Context(), prompt, nil); err != nil || got["max_tokens"] != nil || got["temperature"] != nil || got["stop"] != nil {
		t.Errorf("%v %v", got, err)
	}
}
