// Package agent works on tasks: it knows no editor and no provider.
package agent

import (
	"context"
	"errors"
	"log/slog"

	"agentls/mcp"
)

// ErrCancelled is the cause of a run that was cancelled by a person.
var ErrCancelled = errors.New("cancelled")

// Options is what an [Agent] needs.
type Options struct {
	Manager *mcp.Manager
	Audit   *Audit
	Secrets *mcp.Secrets
	// RememberFile is <state>/approvals.json: what was allowed for always.
	RememberFile string
	Log          *slog.Logger
}

// Agent runs tasks. It keeps the sessions' histories and what was allowed.
type Agent struct{}

// New returns an agent.
func New(o Options) *Agent { panic("skeleton") }

// Run works on a task until it is done, a limit stops it, it fails or ctx is
// cancelled. Runs of one session wait for each other; sessions run beside each
// other. The Result holds what was done also when err is not nil. err is
// context.Cause(ctx) when cancelled, else a [*ProviderError].
func (a *Agent) Run(ctx context.Context, t Task) (Result, error) { panic("skeleton") }

// Close waits for tool calls that were left to their owner, a second at most.
func (a *Agent) Close() { panic("skeleton") }
