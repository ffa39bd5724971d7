package openai

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"agentls/agent"
)

// Reasoning in the text is told apart wherever the pieces are cut, at the
// beginning alone.
func TestThinkTags(t *testing.T) {
	for text, want := range map[string][2]string{
		"<think>Let me see.</think>Done.":              {"Done.", "Let me see."},
		"\n <think>\nLet me see.\n</think>\n\n Done. ": {"Done. ", "\nLet me see.\n"},
		"<think></think>Done.":                         {"Done.", ""},
		"<thought>Hm.</thought>Done.":                  {"Done.", "Hm."},
		"<thinking>Hm</think></thinking>Done.":         {"Done.", "Hm</think>"},
		"<think>a < b </thin </think>x":                {"x", "a < b </thin "},
		"<think>never closed </thi":                    {"", "never closed </thi"},
		"<think>only</think>\n\n":                      {"", "only"},
		"Say <think>so</think>.":                       {"Say <think>so</think>.", ""},
		"<think>a</think>b<think>c</think>":            {"b<think>c</think>", "a"},
		"<thinker>x</thinker>":                         {"<thinker>x</thinker>", ""},
		"<t":                                           {"<t", ""},
		"<":                                            {"<", ""},
		"  plain":                                      {"  plain", ""},
		" \n":                                          {" \n", ""},
		"é<think>":                                     {"é<think>", ""},
		"<think>日本</think>語":                           {"語", "日本"},
		strings.Repeat(" ", 2*maxHeld) + "<think>x":    {strings.Repeat(" ", 2*maxHeld) + "<think>x", ""},
	} {
		for size := 1; size <= len(text); size += max(1, len(text)/20) {
			var tags thinkTags
			var said, thought strings.Builder
			note := func(s, th string) { said.WriteString(s); thought.WriteString(th) }
			for i := 0; i < len(text); i += size {
				note(tags.take(text[i:min(len(text), i+size)]))
			}
			note(tags.flush())
			if said.String() != want[0] || thought.String() != want[1] {
				t.Errorf("%q by %d: said %q, thought %q, want %q", text, size, said.String(), thought.String(), want)
			}
		}
	}
}

// The tags in an answer as servers send it: streamed, whole, before tool calls
// and where it breaks off.
func TestThinkTagsOfAnAnswer(t *testing.T) {
	piece := func(text string) string {
		raw, _ := json.Marshal(text) // a string encodes
		return `{"choices":[{"delta":{"content":` + string(raw) + `}}]}`
	}
	calls := `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	end := `{"choices":[{"delta":{},"finish_reason":"stop"}]}`
	for name, c := range map[string]struct {
		send         func(http.ResponseWriter)
		text, reason string
		calls        int
		kind         agent.ErrorKind
	}{
		"split": {send: func(w http.ResponseWriter) {
			say(w, piece("<th"), piece("ink>Hm"), piece(".</thi"), piece("nk>\n\nSo"), piece("."), end, done)
		}, text: "So.", reason: "Hm."},
		"no end":       {send: func(w http.ResponseWriter) { say(w, piece("<think>Hm</th"), end) }, reason: "Hm</th"},
		"no tag":       {send: func(w http.ResponseWriter) { say(w, piece("<th"), end, done) }, text: "<th"},
		"done alone":   {send: func(w http.ResponseWriter) { say(w, piece("<th"), done) }, text: "<th"},
		"before calls": {send: func(w http.ResponseWriter) { say(w, piece("<think>Hm.</think>\n\n"), calls, done) }, reason: "Hm.", calls: 1},
		"whole": {send: func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"<think>Hm.</think>So."},"finish_reason":"stop"}]}`))
		}, text: "So.", reason: "Hm."},
		"broken off":        {send: func(w http.ResponseWriter) { say(w, piece("<think>Hm.</think>So"), piece("<thi")) }, text: "So<thi", reason: "Hm.", kind: agent.KindNetwork},
		"held at the break": {send: func(w http.ResponseWriter) { say(w, piece("<think>Hm.</thi")) }, reason: "Hm.</thi", kind: agent.KindNetwork},
		"a field besides": {send: func(w http.ResponseWriter) {
			say(w, `{"choices":[{"delta":{"reasoning_content":"A "}}]}`, piece("<think>b</think>c"), end, done)
		}, text: "c", reason: "A b"},
	} {
		t.Run(name, func(t *testing.T) {
			l := serve(t, func(w http.ResponseWriter, _ *http.Request) { c.send(w) })
			var text, reason strings.Builder
			r, err := l.Complete(t.Context(), prompt, func(d agent.Delta) { text.WriteString(d.Text); reason.WriteString(d.Reasoning) })
			if r.Text != c.text || r.Reasoning != c.reason || text.String() != r.Text || reason.String() != r.Reasoning || len(r.ToolCalls) != c.calls {
				t.Errorf("%q %q %v, deltas %q %q", r.Text, r.Reasoning, r.ToolCalls, text.String(), reason.String())
			}
			if (err == nil) != (c.kind == "") || err != nil && providerError(t, err).Kind != c.kind {
				t.Error(err)
			}
		})
	}
}
