package mcp

import (
	"context"
	"encoding/json"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// attended is a request of which its server may report progress: tools/call,
// resources/read, prompts/get. Its timeout counts anew from each progress
// (basic/utilities/progress: "MAY reset"), stands still while its server waits
// for a person, and timing.longest bounds the rest ("SHOULD always
// enforce a maximum").
type attended struct {
	what     string         // for errors and the log, such as "tools/call of echo"
	progress func(Progress) // may be nil; never called after the request's end
	// send calls mcp-go's client; meta goes into the request's params.
	send func(ctx context.Context, meta *mcpgo.Meta) error
}

// attend sends a request and waits for its raw result.
func (c *connection) attend(ctx context.Context, ex *exchange, a attended) (json.RawMessage, error) {
	token, values := c.progress.add()
	defer c.progress.remove(token)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type outcome struct {
		raw json.RawMessage
		err error
	}
	done := make(chan outcome, 1)
	go func() { // ends with ctx at the latest; awaited below
		raw, err := c.askWithin(ctx, a.what, ex, guarded(func(ctx context.Context) error {
			return a.send(ctx, &mcpgo.Meta{ProgressToken: token})
		}))
		done <- outcome{raw, err}
	}()

	start := time.Now()
	clock := c.clocks.start(c.timeout, func() { cancel(&timeoutError{a.what, time.Since(start).Round(time.Millisecond)}) })
	defer clock.stop()
	for {
		select {
		case p := <-values:
			clock.reset(min(c.timeout, max(0, max(c.longest, c.timeout)-clock.elapsed())))
			a.report(ctx, p)
		case r := <-done:
			for len(values) > 0 { // what came before the result
				a.report(ctx, <-values)
			}
			return r.raw, r.err
		}
	}
}

func (a attended) report(ctx context.Context, p Progress) {
	if a.progress != nil && ctx.Err() == nil {
		a.progress(p)
	}
}
