package lsp

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"agentls/agent"
	"agentls/agent/config"
)

// modelArg is the argument of agentls.model.
type modelArg struct {
	Provider *string `json:"provider"`
	Model    *string `json:"model"`
	// Choices: false wants the choice in force alone, and asks no provider.
	Choices *bool `json:"choices"`
}

// modelInfo is the result of agentls.model: the choice in force.
type modelInfo struct {
	Provider string        `json:"provider"`
	Model    string        `json:"model,omitzero"`   // none of the offline provider's
	Choices  []modelChoice `json:"choices,omitzero"` // nil: they were not asked for
}

// modelChoice is a provider that can be chosen.
type modelChoice struct {
	Provider string   `json:"provider"`
	Models   []string `json:"models,omitempty"` // none: it does not list them, or not in time
	Error    string   `json:"error,omitempty"`  // why it does not, and what to do
}

// prepareModel chooses in wire order: what is asked after it runs on the choice.
func prepareModel(s *Server, _ context.Context, arg modelArg, in invocation) (serveFunc, error) {
	if err := s.settings.choose(in.command, deref(arg.Provider), deref(arg.Model)); err != nil {
		return nil, err
	}
	if arg.Choices != nil && !*arg.Choices {
		return func(ctx context.Context) (any, error) {
			cfg, err := s.settings.inForce(ctx)
			if err != nil {
				return nil, err
			}
			return modelInfo{cfg.Provider.Name, cfg.Provider.Model, nil}, nil
		}, nil
	}
	return func(ctx context.Context) (any, error) {
		p := s.cfg.Load().Provider
		return modelInfo{p.Name, p.Model, s.modelChoices(ctx)}, nil
	}, nil
}

// modelsWait bounds the asking of providers for their models, modelsGlance that
// of one that gave none before.
const (
	modelsWait   = 5 * time.Second
	modelsGlance = time.Second
)

// modelChoices are the providers and what they offer, as far as they tell it in
// time.
func (s *Server) modelChoices(ctx context.Context) []modelChoice {
	cfg := s.cfg.Load()
	names := cfg.ProviderNames()
	out := make([]modelChoice, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		out[i].Provider = name
		if p, ok := cfg.Use(name, ""); ok {
			wg.Go(func() {
				var problem string
				out[i].Models, problem = s.models.list(ctx, p)
				out[i].Error = s.tell(problem)
			})
		}
	}
	wg.Wait()
	return out
}

// picked is a provider and a model that a person chose for this connection.
type picked struct {
	provider, model string
	over            config.Provider // what was configured then
}

// choose puts a provider and a model in the place of what is configured, for
// this connection and until that changes; "" leaves the one that is in force.
func (t *settings) choose(command, provider, model string) error {
	if provider == "" && model == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	cfg := *t.s.cfg.Load()
	p, ok := cfg.Use(provider, model)
	switch names := cfg.ProviderNames(); {
	case !ok:
		return badf("%s: no provider is named %q%s", command, clip(provider, 100), suggest(provider, names))
	case p.Name == config.Offline && model != "":
		return badf("%s: the provider %s has no models; leave the model out", command, p.Name)
	case p.Err != "":
		return badf("%s: %s", command, t.s.tell(p.Err))
	}
	over := cfg.Provider
	if t.chosen != nil {
		over = t.chosen.over
	}
	t.chosen = &picked{p.Name, p.Model, over}
	cfg.Provider = p
	t.put(cfg)
	return nil
}

// unchoose lets what is configured count again.
func (t *settings) unchoose() (was bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was = t.chosen != nil
	t.chosen = nil
	return was
}

// withChoice is a configuration with what a person chose over it. One that says
// something else than it said then ends the choice. t.mu is held.
func (t *settings) withChoice(cfg config.Config) config.Config {
	if t.chosen == nil {
		return cfg
	}
	if cfg.Provider.Name != t.chosen.over.Name || cfg.Provider.Model != t.chosen.over.Model {
		t.chosen = nil
		return cfg
	}
	if p, ok := cfg.Use(t.chosen.provider, t.chosen.model); ok {
		cfg.Provider = p
	}
	return cfg
}

// How long a list of models counts as new, and how long it does that none came:
// a program that serves models is started because none was listed.
const (
	modelsAge   = 5 * time.Minute
	modelsRetry = 10 * time.Second
)

// models keeps what providers offer. A list is asked for by one at a time, on a
// goroutine of the server's.
type models struct {
	s     *Server
	retry time.Duration // modelsRetry
	mu    sync.Mutex
	of    map[string]*modelList // by the provider's name
}

// modelList is what one provider said.
type modelList struct {
	provider config.Provider // as it was asked
	names    []string
	at       time.Time     // when it answered
	until    time.Time     // when it is asked again
	came     chan struct{} // closed when it has answered
	again    bool          // it gave none when it was asked before
	failed   bool          // it gave none
	problem  string        // why it gave none, and what to do
}

func newModels(s *Server) *models {
	return &models{s: s, retry: modelsRetry, of: map[string]*modelList{}}
}

// known gives what is known of a provider's models, and has it asked where that
// is not new; asked says that it has not answered. Never blocks.
func (m *models) known(p config.Provider) (names []string, asked bool) {
	l := m.ask(p)
	m.mu.Lock()
	defer m.mu.Unlock()
	return l.names, l.at.IsZero()
}

// list waits for what a provider says, as far as it says it in time. problem
// says why there is nothing of now.
func (m *models) list(ctx context.Context, p config.Provider) (names []string, problem string) {
	l := m.ask(p)
	wait := modelsWait
	if l.again {
		wait = modelsGlance
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case <-l.came:
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.at.IsZero() {
		return l.names, "it has not listed its models in time: look whether it runs, and try again"
	}
	return l.names, l.problem
}

// ask has a provider asked that was not lately, and gives its list.
func (m *models) ask(p config.Provider) *modelList {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.of[p.Name]
	asked := p
	asked.Model, asked.Err = "", "" // it lists the same
	if l != nil && reflect.DeepEqual(l.provider, asked) && (l.at.IsZero() || time.Now().Before(l.until)) {
		return l
	}
	next := &modelList{provider: asked, came: make(chan struct{})}
	if l != nil && reflect.DeepEqual(l.provider, asked) {
		next.names, next.again = l.names, l.failed // until there is a new one
	}
	m.of[p.Name] = next
	if p.BaseURL == "" || m.s.o.Models == nil {
		next.at = time.Now()
		next.until = next.at.Add(modelsAge)
		close(next.came)
		return next
	}
	m.s.inBackground("the list of models", func(ctx context.Context) {
		defer close(next.came)
		names, err := m.s.o.Models(ctx, p)
		if err != nil && !errors.Is(err, context.Canceled) {
			m.s.o.Log.Info("a provider does not list its models", "provider", p.Name, "error", m.s.o.Secrets.Redact(err.Error()))
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		next.at = time.Now()
		next.until, next.failed = next.at.Add(m.retry), err != nil
		if err != nil {
			next.problem = agent.AsProviderError(err).Message
			return
		}
		next.names, next.until = slices.Clone(names), next.at.Add(modelsAge)
	})
	return next
}
