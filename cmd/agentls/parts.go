package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/agent/offline"
	"agentls/agent/openai"
	"agentls/mcp"
	"agentls/mcp/workspace"
)

// parts are the packages tied together, for serve and for the shell commands.
type parts struct {
	paths   paths
	source  config.Source
	secrets *mcp.Secrets
	log     *slog.Logger
	logFile *logFile
	state   *workspace.State
	manager *mcp.Manager
	audit   *agent.Audit
	agent   *agent.Agent
	network func() (t *http.Transport, problems []string) // made at its first use
	files   *config.Files                                 // what openFolder read; nil: it was not called

	answered chan struct{} // 1 slot: a question of the manager's has its answer

	mu       sync.Mutex
	provider config.Provider // what llm is of
	llm      *openai.LLM     // kept for its connections and what it learned
}

// newParts makes them. attended: there is somebody whom servers can ask.
func newParts(p program, attended bool) *parts {
	where := p.paths()
	secrets := mcp.NewSecrets()
	file := &logFile{path: filepath.Join(where.state, "log", "agentls.log")}
	log := newLog(p.stderr, file, secrets)
	state := workspace.NewState()
	var reaper, hold []string
	if self, err := os.Executable(); err == nil {
		reaper, hold = []string{self, reaperArgument}, []string{self, holdArgument}
		if runtime.GOOS == "linux" {
			hold[0] = "/proc/self/exe" // this version, also when an update has replaced the file
		}
	}
	// The system's certificates take longer to read than all else up to the
	// answer to initialize.
	network := sync.OnceValues(func() (*http.Transport, []string) {
		t, problems := newTransport(p.getenv, secrets)
		for _, problem := range problems {
			log.Error("environment", "problem", problem)
		}
		return t, problems
	})
	transport := func() *http.Transport { t, _ := network(); return t }
	manager := mcp.NewManager(mcp.Options{
		Name: "agentls", Version: version, State: state, TrustFile: filepath.Join(where.state, "trust.json"),
		InputsFile: filepath.Join(where.state, "inputs.json"), LoginsFile: filepath.Join(where.state, "mcp-auth.json"),
		Environ: p.environ, Reaper: reaper, Hold: hold, HTTP: transport, Secrets: secrets, Log: log, Unattended: !attended,
	})
	audit := agent.NewAudit(filepath.Join(where.state, "audit"), secrets, log)
	return &parts{
		paths: where, answered: make(chan struct{}, 1),
		source:  config.Source{Dir: where.config, Home: where.home, Getenv: p.getenv, Environ: p.environ, Secrets: secrets, Watch: manager.Reaper()},
		secrets: secrets, log: log, logFile: file, state: state, manager: manager, audit: audit, network: network,
		agent: agent.New(agent.Options{
			Manager: manager, State: state, Audit: audit, Secrets: secrets,
			RememberFile: filepath.Join(where.state, "approvals.json"), ResultsDir: filepath.Join(where.state, "results"), UndoDir: filepath.Join(where.state, "undo"),
			SessionsDir: filepath.Join(where.state, "sessions"),
			Own:         []string{where.config, where.state},
			Environ:     p.environ, HTTP: transport, Version: version, Log: log,
		}),
	}
}

// close ends every child and waits for what still runs: beside each other,
// because a call that was left behind often ends with its child.
func (p *parts) close() {
	var ends sync.WaitGroup
	ends.Go(p.agent.Close)
	ends.Go(p.manager.Close)
	ends.Wait()
	if p.llm != nil {
		p.llm.Close()
	}
	_ = p.logFile.Close()
}

// openFolder loads the configuration of a folder and starts its servers.
func (p *parts) openFolder(ctx context.Context, folder string) config.Config {
	trusted := p.manager.FolderTrusted(folder)
	p.state.SetFolders([]workspace.Folder{{Path: folder, Name: filepath.Base(folder), Trusted: trusted}})
	p.manager.TrustFolder(trusted)
	p.files = config.NewFiles()
	c := config.Load(ctx, p.source, config.Request{Folders: []string{folder}, Files: p.files})
	p.manager.Configure(c.Servers)
	return c
}

// settled waits until every server has started or failed, and tells what each
// offers; all of that has its own deadlines. With a name it waits for that one.
func (p *parts) settled(ctx context.Context, only ...string) []mcp.ServerInfo {
	wanted := func(s mcp.ServerInfo) bool { return len(only) == 0 || slices.Contains(only, s.Name) }
	p.awaitInputs(ctx)
	var each sync.WaitGroup
	for _, s := range p.manager.Servers() {
		if !wanted(s) {
			continue
		}
		each.Go(func() {
			if status, err := p.manager.WaitServer(ctx, s.Name); err != nil || status != mcp.StatusReady {
				return
			}
			// A list that fails leaves its count open, and the log says why.
			each.Go(func() { _, _ = p.manager.ListResources(ctx, s.Name) })
			each.Go(func() { _, _ = p.manager.ListPrompts(ctx, s.Name) })
		})
	}
	each.Wait()
	return slices.DeleteFunc(p.manager.Servers(), func(s mcp.ServerInfo) bool { return !wanted(s) })
}

// newLLM makes the model of a provider.
func (p *parts) newLLM(c config.Provider) (agent.LLM, error) {
	if c.Err != "" {
		return nil, &agent.ProviderError{Kind: agent.KindConfig, Message: c.Err}
	}
	if c.Name == config.Offline {
		return offline.New(), nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.llm != nil && reflect.DeepEqual(p.provider, c) {
		return p.llm, nil
	}
	llm, err := openaiLLM(p, c)
	if err != nil {
		return nil, err
	}
	if p.llm != nil {
		p.llm.Close()
	}
	p.provider, p.llm = c, llm
	return llm, nil
}

// models lists what a provider offers.
func (p *parts) models(ctx context.Context, c config.Provider) ([]string, error) {
	llm, err := openaiLLM(p, c)
	if err != nil {
		return nil, err
	}
	defer llm.Close()
	return llm.Models(ctx)
}

func openaiLLM(p *parts, c config.Provider) (*openai.LLM, error) {
	transport, _ := p.network()
	return openai.New(openai.Options{
		BaseURL: c.BaseURL, APIKey: c.APIKey, KeyHeader: c.KeyHeader, Reasons: c.Reasons, Ollama: c.Preset == config.Ollama, Model: c.Model, ContextWindow: c.ContextWindow,
		Headers: c.Headers, ExtraBody: c.ExtraBody, IdleTimeout: c.IdleTimeout, HTTP: transport, Secrets: p.secrets, Log: p.log,
	})
}
