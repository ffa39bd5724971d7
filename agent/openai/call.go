package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sashabaranov/go-openai"

	"agentls/agent"
)

// The bounds of trying again. A provider that asks for a longer wait than
// maxElapsed leaves is not waited for: its error is told at once.
const (
	maxTries   = 4
	maxElapsed = time.Minute
)

// call is one completion: the HTTPDoer that go-openai sends it through.
type call struct {
	llm     *LLM
	history []openai.ChatCompletionMessage
	tools   bool        // the request has some
	wishes  wishes      // of the answer
	tried   concessions // what this call leaves out
	body    *body       // of the try that got an answer
	on      func(agent.Delta)
}

// Do sends the request until an answer begins, a failure is final, the bounds
// are reached or the request's context ends. An error is a
// [*agent.ProviderError] or the context's cause.
func (c *call) Do(req *http.Request) (*http.Response, error) {
	plain, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	ctx := req.Context()
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = c.llm.limits.wait, 2, 8*time.Second
	return backoff.Retry(ctx, func() (*http.Response, error) { return c.try(ctx, req.Header, plain) },
		backoff.WithBackOff(b), backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(maxElapsed),
		backoff.WithNotify(func(err error, wait time.Duration) {
			c.llm.o.Log.Info("provider failed, trying again", "host", c.llm.url.Host, "model", c.llm.o.Model, "wait", wait, "error", agent.AsProviderError(err).Message)
			c.on(agent.Delta{Waits: c.llm.url.Host + " " + waits(err) + ", asked again in " + wait.Round(10*time.Millisecond).String()})
		}))
}

// waits says in a word or two why a provider is asked again.
func waits(err error) string {
	switch agent.AsProviderError(err).Kind {
	case agent.KindRateLimit:
		return "limits the rate of requests"
	case agent.KindNetwork:
		return "cannot be reached"
	}
	return "failed to answer"
}

// try sends the request once, or once more for each concession that the
// provider asks for. Its error tells backoff whether and when to go on.
func (c *call) try(ctx context.Context, header http.Header, plain []byte) (*http.Response, error) {
	for {
		resp, wait, refused, err := c.send(ctx, header, plain)
		if err == nil {
			c.llm.learn(c.tried)
			return resp, nil
		}
		if ctx.Err() != nil {
			return nil, backoff.Permanent(context.Cause(ctx))
		}
		if refused != nil && c.concede(refused) {
			continue
		}
		switch pe, ok := errors.AsType[*agent.ProviderError](err); {
		case !ok || !pe.Retryable:
			return nil, backoff.Permanent(err)
		case wait > 0:
			return nil, errors.Join(err, &backoff.RetryAfterError{Duration: wait})
		}
		return nil, err
	}
}

// send makes one request. On failure it gives the wait that the provider asks
// for and what it said, where it did.
func (c *call) send(ctx context.Context, header http.Header, plain []byte) (*http.Response, time.Duration, *refusal, error) {
	l := c.llm
	sent, err := amend(plain, c.history, l, c.tried, c.wishes)
	if err != nil {
		return nil, 0, nil, l.failures.config("the request for model %q at %s cannot be written (%v): check the provider's extraBody", l.o.Model, l.url.Host, err)
	}
	tctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(tctx, http.MethodPost, l.endpoint("/chat/completions"), bytes.NewReader(sent))
	if err != nil {
		cancel(nil)
		return nil, 0, nil, l.failures.config("the provider's baseURL %s cannot be used (%v): give something like http://127.0.0.1:11434/v1", l.failures.base, err)
	}
	req.Header = header.Clone()
	l.header(req.Header)
	id := newIdle(l.o.IdleTimeout, cancel)
	resp, err := l.do(req, id)
	if err != nil {
		defer cancel(nil)
		return nil, 0, nil, l.failures.unreachable(tctx, err)
	}
	if resp.StatusCode >= 300 {
		defer cancel(nil)
		e := l.readError(resp, id)
		return nil, e.Wait, &refusal{resp.StatusCode, e.text()}, l.failures.status(resp.StatusCode, e)
	}
	b := newBody(tctx, cancel, resp, id, l)
	if err := b.prime(); err != nil && !b.finished() {
		_ = b.Close()
		return nil, retryAfter(resp.Header, time.Now()), nil, err
	}
	c.body = b
	resp.Body = b
	return resp, 0, nil, nil
}

// do sends req under the watch of id until the headers came.
func (l *LLM) do(req *http.Request, id *idle) (*http.Response, error) {
	id.start()
	defer id.stop()
	return l.client.Do(req)
}

// readError reads and closes the body of a response that is no success.
func (l *LLM) readError(resp *http.Response, id *idle) *apiError {
	data, _ := io.ReadAll(&idleReader{r: resp.Body, idle: id, left: l.limits.failed}) // what came is better than nothing
	_ = resp.Body.Close()
	e := parseAPIError(data)
	if resp.StatusCode < 400 {
		e = &apiError{Message: shownURL(resp.Header.Get("Location"))}
	}
	if w := retryAfter(resp.Header, time.Now()); w > 0 {
		e.Wait = w
	}
	return e
}
