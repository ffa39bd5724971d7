package openai

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"agentls/agent"
)

func TestIdleBetweenChunks(t *testing.T) {
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		say(w, hello)
		<-r.Context().Done()
	}, func(o *Options) { o.IdleTimeout = 50 * time.Millisecond })
	r, err := l.Complete(t.Context(), prompt, nil)
	if pe := providerError(t, err); pe.Kind != agent.KindNetwork || !strings.Contains(pe.Message, "idleTimeoutSeconds") || r.Text != "Hello " {
		t.Errorf("%s: %s, text %q", pe.Kind, pe.Message, r.Text)
	}
}

func TestIdleBeforeHeaders(t *testing.T) {
	l := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(o *Options) { o.IdleTimeout = 20 * time.Millisecond })
	_, err := l.Complete(t.Context(), prompt, nil)
	if pe := providerError(t, err); pe.Kind != agent.KindNetwork || !strings.Contains(pe.Message, "sent nothing for 20ms") {
		t.Errorf("%s: %s", pe.Kind, pe.Message)
	}
}

func TestCommentsKeepAnAnswerAlive(t *testing.T) {
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		say(w, hello)
		for range 30 { // 300 ms in all
			time.Sleep(10 * time.Millisecond)
			_, _ = w.Write([]byte(": keep-alive\n\n"))
			w.(http.Flusher).Flush()
		}
		say(w, there, done)
	}, func(o *Options) { o.IdleTimeout = 200 * time.Millisecond })
	if r, err := l.Complete(t.Context(), prompt, nil); err != nil || r.Text != "Hello there" {
		t.Errorf("%q, %v", r.Text, err)
	}
}

// The reader's own time is no silence of the provider.
func TestSlowReaderIsNotIdle(t *testing.T) {
	read := make(chan struct{})
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		say(w, hello)
		<-read
		say(w, there, done)
	}, func(o *Options) { o.IdleTimeout = 200 * time.Millisecond })
	r, err := l.Complete(t.Context(), prompt, func(d agent.Delta) {
		if d.Text == "Hello " {
			time.Sleep(400 * time.Millisecond)
			close(read)
		}
	})
	if err != nil || r.Text != "Hello there" {
		t.Errorf("%q, %v", r.Text, err)
	}
}

func TestFinishedAnswerDoesNotWaitForDone(t *testing.T) {
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		say(w, hello, there)
		<-r.Context().Done() // neither [DONE] nor an end
	})
	l.limits.tail = 20 * time.Millisecond
	if r, err := l.Complete(t.Context(), prompt, nil); err != nil || r.Text != "Hello there" {
		t.Errorf("%q, %v", r.Text, err)
	}
}

func TestSizesAreBounded(t *testing.T) {
	big := strings.Repeat("x", 1000)
	chunk := `{"choices":[{"delta":{"content":"` + big + `"}}]}`
	for _, c := range []struct {
		name, says string
		limits     func(*limits)
		send       func(w http.ResponseWriter)
	}{
		{"event", "event over", func(l *limits) { l.event = 900 }, func(w http.ResponseWriter) { say(w, chunk) }},
		{"event of many lines", "event over", func(l *limits) { l.event = 900 }, func(w http.ResponseWriter) {
			say(w, "{"+strings.Repeat("\ndata: 0123456789", 200))
		}},
		{"line that never ends", "event over", func(l *limits) { l.event = 900 }, func(w http.ResponseWriter) {
			for range 100 {
				_, _ = w.Write([]byte(":" + big))
			}
		}},
		{"document", "event over", func(l *limits) { l.event = 900 }, func(w http.ResponseWriter) { _, _ = w.Write([]byte(chunk)) }},
		{"stream", "for one answer", func(l *limits) { l.stream = 5000 }, func(w http.ResponseWriter) {
			for range 100 {
				say(w, chunk)
			}
		}},
		{"comments without end", "for one answer", func(l *limits) { l.stream = 5000 }, func(w http.ResponseWriter) {
			for range 100 {
				_, _ = w.Write([]byte(": " + big + "\n\n"))
			}
		}},
		{"white space without end", "for one answer", func(l *limits) { l.stream = 5000 }, func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(strings.Repeat(" ", 100_000)))
		}},
		{"answer", "answer of model", func(l *limits) { l.answer = 5000 }, func(w http.ResponseWriter) {
			for range 100 {
				say(w, chunk)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := serve(t, func(w http.ResponseWriter, r *http.Request) { c.send(w) })
			c.limits(&l.limits)
			_, err := l.Complete(t.Context(), prompt, nil)
			if pe := providerError(t, err); pe.Kind != agent.KindProvider || !strings.Contains(pe.Message, c.says) {
				t.Errorf("%s: %s", pe.Kind, pe.Message)
			}
		})
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	for name, trailer := range map[string]time.Duration{"at once": 0, "end comes late": 20 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			peers := map[string]bool{}
			l := serve(t, func(w http.ResponseWriter, r *http.Request) {
				peers[r.RemoteAddr] = true
				answerHello(w)
				time.Sleep(trailer)
			})
			for range 5 {
				if _, err := l.Complete(t.Context(), prompt, nil); err != nil {
					t.Fatal(err)
				}
			}
			if len(peers) != 1 {
				t.Errorf("%d connections for 5 answers", len(peers))
			}
		})
	}
}

// The library leaves the body of a refusal open.
func TestConnectionsOfRefusalsAreUsedAgain(t *testing.T) {
	peers := map[string]bool{}
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
	})
	for range 5 {
		if _, err := l.Complete(t.Context(), prompt, nil); err == nil {
			t.Fatal("no error")
		}
	}
	if len(peers) != 1 {
		t.Errorf("%d connections for 5 refusals", len(peers))
	}
}

func TestDrainIsBounded(t *testing.T) {
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answerHello(w)
		<-r.Context().Done() // [DONE], but the stream stays open
	})
	l.limits.drain = 10 * time.Millisecond
	start := time.Now()
	if _, err := l.Complete(t.Context(), prompt, nil); err != nil || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(start))
	}
}
