package mcp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func readEvents(r io.Reader, max int) (out []serverEvent, s *eventStream, err error) {
	s = newEventStream(r, max)
	for {
		e, err := s.next()
		if err != nil {
			return out, s, err
		}
		e.data = bytes.Clone(e.data)
		out = append(out, e)
	}
}

func TestEventStream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want string
		id             string
		retry          time.Duration
	}{
		{"one", "event: message\ndata: a\n\n", "message=a", "", -1},
		{"no name, no space", "data:a\n\ndata: b\n\n", "message=a message=b", "", -1},
		{"CR LF", "event: endpoint\r\ndata: /m\r\n\r\n", "endpoint=/m", "", -1},
		{"many lines", "data: a\ndata:  b\ndata\n\n", "message=a| b|", "", -1},
		{"comments and unknown fields", ": hi\nfoo: bar\nda: x\ndata: a\n\n", "message=a", "", -1},
		{"byte order mark", "\ufeffdata: a\n\n", "message=a", "", -1},
		{"no end", "data: a", "message=a", "", -1},
		{"a name without data is gone", "event: x\n\ndata: a\n\n", "message=a", "", -1},
		{"ids", "id: 1\ndata: a\n\nid: 2\ndata: b\n\n", "message=a message=b", "2", -1},
		{"an id without data", "id: 7\ndata:\n\n", "", "7", -1},
		{"an id counts with its event", "id: 1\ndata: a\n\nid: 2\ndata: b\n", "message=a message=b", "1", -1},
		{"an empty id forgets", "id: 1\ndata: a\n\nid\ndata: b\n\n", "message=a message=b", "", -1},
		{"an id that no header can carry", "id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n", "message=a message=b", "1", -1},
		{"retry", "retry: 250\ndata: a\n\n", "message=a", "", 250 * time.Millisecond},
		{"retry that is none", "retry: 1s\nretry: -1\nretry:\ndata: a\n\n", "message=a", "", -1},
		{"retry too long", "retry: 99999999\n\n", "", "", maxRetry},
		{"empty", "", "", "", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				events, s, err := readEvents(r, 1<<20)
				var got []string
				for _, e := range events {
					got = append(got, e.name+"="+strings.ReplaceAll(string(e.data), "\n", "|"))
				}
				if strings.Join(got, " ") != c.want || s.lastID != c.id || s.retry != c.retry || !errors.Is(err, io.EOF) {
					t.Errorf("%q, id %q, retry %v, %v", got, s.lastID, s.retry, err)
				}
			}
		})
	}
}

func TestEventStreamThatBreaksGivesNoHalfEvent(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("data: a\n\ndata: {\"half\":"), iotest.ErrReader(broken))
	events, _, err := readEvents(r, 1<<20)
	if len(events) != 1 || !errors.Is(err, broken) {
		t.Errorf("%v, %v", events, err)
	}
}

func TestEventOverTheLimitKeepsItsEdges(t *testing.T) {
	t.Parallel()
	const max = 64 << 10
	long := `{"jsonrpc":"2.0","id":3,"result":{"x":"` + strings.Repeat("y", 2*max) + `"}}`
	lines := strings.Repeat("data: "+strings.Repeat("z", max/4)+"\n", 8) + `data: ,"id":4}` + "\n"
	events, _, _ := readEvents(strings.NewReader("data: "+long+"\n\n"+lines+"\ndata: a\n\n"), max)
	if len(events) != 3 || events[0].tail == nil || events[1].tail == nil || events[2].tail != nil || string(events[2].data) != "a" {
		t.Fatalf("%d events", len(events))
	}
	for i, want := range []string{"3", "4"} {
		e := events[i]
		if len(e.data) > frameEdge || len(e.tail) > frameEdge {
			t.Errorf("kept %d and %d bytes", len(e.data), len(e.tail))
		}
		answers, _ := oversized(e.data, e.tail, max)
		if len(answers) != 1 || !strings.Contains(string(answers[0]), `"id":`+want) {
			t.Errorf("%s", answers)
		}
	}
}

func FuzzEventStream(f *testing.F) {
	for _, s := range []string{
		"event: message\nid: 1\nretry: 5\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", "data: a\ndata: b\r\n\r\n", ": c\n\n\n", "data\n\n",
		"\ufeffdata:a", "data: " + strings.Repeat("x", 9000) + "\n\n", strings.Repeat("data: y\n", 600) + "\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const max = 8 << 10
		whole, s, err := readEvents(bytes.NewReader(in), max)
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		split, _, _ := readEvents(iotest.HalfReader(bytes.NewReader(in)), max)
		if len(whole) != len(split) {
			t.Errorf("%d events, %d when they come in pieces", len(whole), len(split))
		}
		for _, e := range whole {
			if len(e.data) == 0 || len(e.data) > max || len(e.tail) > frameEdge || e.name == "" {
				t.Errorf("%d bytes of %q, tail of %d", len(e.data), e.name, len(e.tail))
			}
		}
		if !headerValue(s.lastID) || s.retry > maxRetry {
			t.Errorf("id %q, retry %v", s.lastID, s.retry)
		}
	})
}
