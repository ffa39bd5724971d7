package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sashabaranov/go-openai"

	"agentls/agent"
)

func addRecordings(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) == 0 {
		f.Fatal("no recordings", err)
	}
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && len(data) < 4000 {
			f.Add(data)
		}
	}
}

// FuzzEvents: however a stream is cut into reads, the events are the same.
func FuzzEvents(f *testing.F) {
	addRecordings(f)
	f.Add([]byte("data\ndata:\n\n:\r\rdata: a\r\ndata:b\n\revent:x\ndata: {}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 10
		one, err1 := readEvents(bytes.NewReader(data), limit)
		two, err2 := readEvents(iotest.OneByteReader(bytes.NewReader(data)), limit)
		if one != two || !errors.Is(err1, err2) {
			t.Errorf("in one piece %q (%v), byte by byte %q (%v)", one, err1, two, err2)
		}
		if len(one) > 4*len(data)+4 {
			t.Errorf("%d bytes of events from %d", len(one), len(data))
		}
	})
}

func readEvents(r io.Reader, limit int) (string, error) {
	var all strings.Builder
	for e := newEvents(r, limit); ; {
		ev, err := e.next()
		if err != nil {
			return all.String(), err
		}
		all.WriteString(ev.name + "|" + string(ev.data) + "\n")
	}
}

// FuzzChunk: whatever is no error comes out as a chunk that go-openai reads,
// and its calls are numbered without gaps.
func FuzzChunk(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if _, after, ok := strings.Cut(line, "data: "); ok && len(line) < 1000 {
				f.Add([]byte(after), []byte(after))
			}
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		n := normaliser{slots: newSlots()}
		a := answer{limit: 1 << 20}
		calls := 0
		for _, data := range [][]byte{first, second, first} {
			chunk, ok, failed, err := n.chunk(data)
			if err != nil || failed != nil || !ok {
				continue
			}
			out, err := json.Marshal(chunk)
			if err != nil {
				t.Fatal(err)
			}
			var read openai.ChatCompletionStreamResponse
			if err := json.Unmarshal(out, &read); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
			for _, c := range read.Choices {
				for _, call := range c.Delta.ToolCalls {
					if call.Index == nil || *call.Index < 0 || *call.Index > calls {
						t.Fatalf("index of %s after %d calls", out, calls)
					}
					calls = max(calls, *call.Index+1)
				}
			}
			a.add(read, func(agent.Delta) {})
		}
		if r := a.response(); len(r.ToolCalls) != calls {
			t.Errorf("%d calls, want %d", len(r.ToolCalls), calls)
		}
	})
}

// FuzzAnswer: any answer ends, as a whole one or with an error in one line.
func FuzzAnswer(f *testing.F) {
	addRecordings(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := New(Options{BaseURL: "http://provider.test/v1", Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		l.limits.wait = 1
		l.client.Transport = fixed(data)
		r, err := l.Complete(t.Context(), prompt, nil)
		if err == nil {
			if r.FinishReason == "" {
				t.Errorf("no finish reason: %+v", r)
			}
			return
		}
		if pe := providerError(t, err); strings.ContainsAny(pe.Message, "\n\r\x00") || pe.Message == "" {
			t.Errorf("message %q", pe.Message)
		}
	})
}

// fixed answers each request alike.
type fixed []byte

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(f)), Request: r}, nil
}

// FuzzArguments: what is sent back of a model's arguments is a JSON object.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{"", "{}", "{", `"{}"`, "null", "[]", "{}{}", "\xff", strings.Repeat("é", 999)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var m map[string]any
		if err := json.Unmarshal([]byte(sentArguments(s)), &m); err != nil || m == nil {
			t.Errorf("%q: %v", sentArguments(s), err)
		}
		if name := sentName(s); nameChars().MatchString(name) || name == "" || len(name) > 64 {
			t.Errorf("name %q", name)
		}
	})
}
