package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
)

// script is a provider without sockets, for tests under a fake clock. It
// answers the nth request, from 1, and notes when each came.
type script struct {
	answer func(n int) *canned
	start  time.Time
	came   []time.Duration
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	s.came = append(s.came, time.Since(s.start))
	c := s.answer(len(s.came))
	if c == nil {
		return nil, errors.New("connection reset by peer")
	}
	return &http.Response{
		StatusCode: c.status, Status: strconv.Itoa(c.status), Header: c.header,
		Body: io.NopCloser(strings.NewReader(c.body)), Request: r,
	}, nil
}

func (s *script) llm(t *testing.T) *LLM {
	l, err := New(Options{BaseURL: "http://provider.test/v1", APIKey: "k", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	s.start, l.client.Transport = time.Now(), s
	return l
}

// canned is a response of a script; nil: a connection that breaks.
type canned struct {
	status int
	header http.Header
	body   string
}

func reply(status int, body string, header ...string) *canned {
	h := http.Header{"Content-Type": {"text/event-stream"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &canned{status, h, body}
}

const wholeAnswer = "data: " + hello + "\n\ndata: " + there + "\n\ndata: [DONE]\n\n"

func TestRetries(t *testing.T) {
	always := func(status int, header ...string) func(int) *canned {
		return func(int) *canned { return reply(status, `{"error":"no"}`, header...) }
	}
	then := func(fails int, status int, header ...string) func(int) *canned {
		return func(n int) *canned {
			if n > fails {
				return reply(200, wholeAnswer)
			}
			return reply(status, `{"error":"no"}`, header...)
		}
	}
	// The clock of a synctest bubble starts at this time.
	date := func(after time.Duration) string {
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(after).Format(http.TimeFormat)
	}
	for _, c := range []struct {
		name   string
		answer func(n int) *canned
		tries  int
		exact  []time.Duration // when each try came; nil: back-off
		kind   agent.ErrorKind
		says   string
	}{
		{name: "seconds", answer: then(2, 429, "Retry-After", "7"), tries: 3, exact: []time.Duration{0, 7 * time.Second, 14 * time.Second}},
		{name: "fraction", answer: then(1, 429, "Retry-After", "1.5"), tries: 2, exact: []time.Duration{0, 1500 * time.Millisecond}},
		{name: "milliseconds", answer: then(1, 429, "Retry-After-Ms", "250"), tries: 2, exact: []time.Duration{0, 250 * time.Millisecond}},
		{name: "date", answer: then(1, 503, "Retry-After", date(9*time.Second)), tries: 2, exact: []time.Duration{0, 9 * time.Second}},
		{name: "past date", answer: then(1, 503, "Retry-After", date(-time.Hour)), tries: 2},
		{name: "zero", answer: then(1, 503, "Retry-After", "0"), tries: 2},
		{name: "garbage", answer: then(1, 503, "Retry-After", "soon"), tries: 2},
		{name: "back-off", answer: then(3, 500), tries: 4},
		{name: "408", answer: then(1, 408), tries: 2},
		{name: "409", answer: then(1, 409), tries: 2},
		{name: "529", answer: then(1, 529), tries: 2},
		{name: "reset", tries: 3, answer: func(n int) *canned {
			if n < 3 {
				return nil
			}
			return reply(200, wholeAnswer)
		}},
		{name: "broken off before the first chunk", tries: 2, answer: func(n int) *canned {
			if n < 2 {
				return reply(200, ": waiting\n\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n")
			}
			return reply(200, wholeAnswer)
		}},
		{name: "error of a stream before the first chunk", tries: 2, answer: func(n int) *canned {
			if n < 2 {
				return reply(200, `data: {"error":{"code":429,"message":"slow down"}}`+"\n\n")
			}
			return reply(200, wholeAnswer)
		}},
		{name: "Gemini", tries: 2, exact: []time.Duration{0, 34 * time.Second}, answer: func(n int) *canned {
			if n < 2 {
				return reply(429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}]`)
			}
			return reply(200, wholeAnswer)
		}},

		// The wait in words, where no header tells it.
		{name: "in words, OpenAI", tries: 2, exact: []time.Duration{0, 20 * time.Second}, answer: first(429, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 20s. Visit https://platform.openai.com/account/rate-limits to learn more.","type":"tokens","code":"rate_limit_exceeded"}}`)},
		{name: "in words, Groq", tries: 2, exact: []time.Duration{0, 7660 * time.Millisecond}, answer: first(429, `{"error":{"message":"Rate limit reached for model x on tokens per minute (TPM): Limit 6000, Used 5000, Requested 1766. Please try again in 7.66s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing","code":"rate_limit_exceeded"}}`)},
		{name: "in words, milliseconds", tries: 2, exact: []time.Duration{0, 250 * time.Millisecond}, answer: first(429, `{"error":{"message":"Rate limit reached. Please try again in 250ms."}}`)},
		{name: "in words, Azure", tries: 2, exact: []time.Duration{0, 6 * time.Second}, answer: first(429, `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 6 seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit."}}`)},
		{name: "in a member", tries: 2, exact: []time.Duration{0, 3 * time.Second}, answer: first(503, `{"error":{"message":"busy","retry_after":3}}`)},
		{name: "as a header of the one behind, OpenRouter", tries: 2, exact: []time.Duration{0, 9 * time.Second}, answer: func(n int) *canned {
			if n > 1 {
				return reply(200, wholeAnswer)
			}
			reset := strconv.FormatInt(time.Now().Add(9*time.Second).UnixMilli(), 10)
			return reply(429, `{"error":{"message":"Rate limit exceeded: free-models-per-min.","code":429,"metadata":{"headers":{"X-RateLimit-Reset":"`+reset+`"}}}}`)
		}},
		{name: "the day of Groq ends soon", tries: 2, exact: []time.Duration{0, 17 * time.Second}, answer: first(429, `{"error":{"message":"Rate limit reached on tokens per day (TPD): Limit 100000, Used 99990, Requested 30. Please try again in 17s."}}`)},
		{name: "the day is over", tries: 1, kind: agent.KindRateLimit, says: "no more requests today", answer: func(int) *canned {
			return reply(429, `{"error":{"message":"Rate limit exceeded: free-models-per-day"}}`)
		}},
		{name: "no credit, whatever wait is told", tries: 1, kind: agent.KindRateLimit, says: "no quota left", answer: func(int) *canned {
			return reply(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, "Retry-After", "5")
		}},
		{name: "four tries", answer: always(503), tries: 4, kind: agent.KindProvider, says: "503"},
		{name: "a minute", answer: always(429, "Retry-After", "25"), tries: 3, kind: agent.KindRateLimit, says: "25s"},
		{name: "too long a wait is told at once", answer: always(429, "Retry-After", "3600"), tries: 1, kind: agent.KindRateLimit, says: "asks to wait 1h0m0s"},
		{name: "too late a date is told at once", answer: always(429, "Retry-After", date(2*time.Hour)), tries: 1, kind: agent.KindRateLimit, says: "asks to wait 2h0m0s"},
		{name: "no quota", tries: 1, kind: agent.KindRateLimit, says: "billing", answer: func(int) *canned {
			return reply(429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`)
		}},
		{name: "400", answer: always(400), tries: 1, kind: agent.KindProvider, says: "400: no"},
		{name: "401", answer: always(401), tries: 1, kind: agent.KindAuth, says: "apiKey"},
		{name: "404", answer: always(404), tries: 1, kind: agent.KindConfig, says: "baseURL"},
		{name: "501", answer: always(501), tries: 1, kind: agent.KindProvider, says: "501"},
		{name: "never after the first chunk", tries: 1, kind: agent.KindNetwork, says: "broke off", answer: func(int) *canned { return reply(200, "data: "+hello+"\n\n") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answer: c.answer}
				waits := 0
				r, err := s.llm(t).Complete(t.Context(), prompt, func(d agent.Delta) {
					if d.Waits != "" {
						waits++
						if !strings.Contains(d.Waits, "asked again in ") || len(c.exact) > waits && !strings.HasSuffix(d.Waits, (c.exact[waits]-c.exact[waits-1]).String()) {
							t.Errorf("told %q", d.Waits)
						}
					}
				})
				if waits != c.tries-1 {
					t.Errorf("told of %d waits before %d tries", waits, c.tries)
				}
				if len(s.came) != c.tries {
					t.Errorf("tries at %v, want %d", s.came, c.tries)
				}
				for i, at := range c.exact {
					if i < len(s.came) && s.came[i] != at {
						t.Errorf("tries at %v, want %v", s.came, c.exact)
					}
				}
				if c.exact == nil && len(s.came) > 1 && (s.came[1] == 0 || s.came[len(s.came)-1] > 10*time.Second && c.kind != agent.KindRateLimit) {
					t.Errorf("back-off: tries at %v", s.came)
				}
				if c.kind == "" {
					if err != nil || r.Text != "Hello there" {
						t.Errorf("%q, %v", r.Text, err)
					}
					return
				}
				if pe := providerError(t, err); pe.Kind != c.kind || !strings.Contains(pe.Message, c.says) || pe.Began != strings.HasPrefix(c.name, "never after") {
					t.Errorf("%s: %s", pe.Kind, pe.Message)
				}
				if total := time.Since(s.start); total > maxElapsed {
					t.Errorf("took %s", total)
				}
			})
		})
	}
}

// first answers the first request so, and the next ones right.
func first(status int, body string) func(int) *canned {
	return func(n int) *canned {
		if n == 1 {
			return reply(status, body)
		}
		return reply(200, wholeAnswer)
	}
}

var errStop = errors.New("stopped by a person")

// cancelled runs a completion, cancels it when ready is closed, and checks
// that it ends at once with the cause.
func cancelled(t *testing.T, l *LLM, ready <-chan struct{}) agent.Response {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	type result struct {
		r   agent.Response
		err error
	}
	done := make(chan result, 1)
	go func() { // ends with the completion, which is waited for below
		r, err := l.Complete(ctx, prompt, nil)
		done <- result{r, err}
	}()
	select {
	case <-ready:
	case r := <-done:
		t.Fatalf("ended before the cancel: %v", r.err)
	}
	at := time.Now()
	cancel(errStop)
	got := <-done
	if d := time.Since(at); d > 2*time.Second {
		t.Errorf("ended %s after the cancel", d)
	}
	if !errors.Is(got.err, errStop) {
		t.Errorf("error %v, want the cause", got.err)
	}
	return got.r
}

// editor-code-assistant/eca#554: a stop before the first token did not end
// the request.
func TestCancelBeforeTheFirstTokenClosesTheConnection(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"before headers": func(http.ResponseWriter) {},
		"after headers":  func(w http.ResponseWriter) { say(w); w.(http.Flusher).Flush() },
		"after comments": func(w http.ResponseWriter) { say(w, "\n: keep-alive") },
		"mid-stream":     func(w http.ResponseWriter) { say(w, hello) },
	} {
		t.Run(name, func(t *testing.T) {
			ready, gone := make(chan struct{}), make(chan struct{})
			l := serve(t, func(w http.ResponseWriter, r *http.Request) {
				answer(w)
				close(ready)
				<-r.Context().Done()
				close(gone)
			})
			r := cancelled(t, l, ready)
			select {
			case <-gone:
			case <-time.After(2 * time.Second):
				t.Error("the provider did not see the hang-up")
			}
			if name == "mid-stream" && r.Text != "Hello " && r.Text != "" {
				t.Errorf("text %q", r.Text)
			}
		})
	}
}

// avante-corp/avante.nvim#1861: a stop was ignored while the client waited to
// try again.
func TestCancelEndsTheWaitForAnotherTry(t *testing.T) {
	for name, header := range map[string]string{"Retry-After": "30", "back-off": ""} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			ready := make(chan struct{})
			l := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", header)
				w.WriteHeader(429)
				if asked.Add(1) == 1 {
					close(ready)
				}
			})
			l.limits.wait = 30 * time.Second
			cancelled(t, l, ready)
			time.Sleep(50 * time.Millisecond) // no request may follow
			if n := asked.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestCancelledBeforehandAsksNobody(t *testing.T) {
	l := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	if _, err := l.Complete(ctx, prompt, nil); !errors.Is(err, errStop) {
		t.Errorf("error %v, want the cause", err)
	}
}

func TestDeadlineOfTheCaller(t *testing.T) {
	l := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Complete(ctx, prompt, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
