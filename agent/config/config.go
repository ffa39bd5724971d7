package config

import (
	"context"
	"encoding/json"
	"time"

	"agentls/agent"
	"agentls/mcp"
	"agentls/mcp/child"
)

// Source is where the user's part comes from.
type Source struct {
	Dir     string                      // <config>: holds config.json and mcp.json
	Home    string                      // ${userHome}
	Getenv  func(string) (string, bool) // as os.LookupEnv
	Environ []string                    // for ${cmd:…}
	Secrets *mcp.Secrets                // learns every expanded value; may be nil
	// Alone gives each ${cmd:…} a process group, so that all of it ends with
	// the Load. Such a command cannot ask on the terminal.
	Alone bool
	// Watch hears of each that runs alone, and ends those that outlive this
	// process; may be nil.
	Watch child.Watch
}

// Request is what the front end adds.
type Request struct {
	// Editor holds the editor's settings, the weakest first
	// (initializationOptions, then section agentls); empty and null mean unset.
	Editor  []json.RawMessage
	Folders []string // absolute workspace folders
	// NoCommands leaves ${cmd:…} for a later Load, because a command may take
	// seconds: what needs one is left out, and Config.Pending is set.
	NoCommands bool
	// Files gives what is in force; nil: what is on disk.
	Files *Files
	// Units counts a text as the columns of a Problem are counted; nil: bytes.
	Units func(text string) int
}

// Config is the whole configuration in force.
type Config struct {
	Provider      Provider            // the one in force; offline when none is configured
	Unset         bool                // nobody configured a provider, nor chose offline
	Providers     map[string]Provider // all that are configured
	presets       map[string]Provider // those that can be chosen all the same, by name
	Servers       []mcp.ServerConfig  // by name
	Approval      agent.Approval
	Limits        agent.Limits
	Notifications string // all, important, off
	Answers       string // document, message, none
	Detached      string // auto, always, never
	Problems      []Problem
	Pending       bool // a Load without NoCommands gives more
	// Waiting are the servers that it will give, not to be started as they are.
	Waiting []mcp.ServerConfig
}

// Offline is the name of the built-in provider.
const Offline = "offline"

// Provider is one configured model provider.
type Provider struct {
	Name          string
	Preset        string // of the table of [Presets]; empty: none
	BaseURL       string
	APIKey        string
	KeyHeader     string // the header that takes the key; empty: Authorization
	Model         string
	ContextWindow int // tokens; 0: unknown
	Headers       map[string]string
	ExtraBody     map[string]json.RawMessage
	IdleTimeout   time.Duration
	// Err says why it cannot be used as configured, and what to do.
	Err string

	Deployments bool // see [KnownProvider]
	Reasons     bool // likewise

	noModel, noKey, noBase string // that in words, where this is missing; empty: nothing more is known of it
}

// Problem is something wrong in a layer.
type Problem struct {
	File    string // absolute path; empty: the editor's settings
	Line    int    // 1-based; 0: unknown
	From    int    // column on that line, from 0, in Request.Units
	To      int    // the column after it; 0: the line's end
	Path    string // the key's path, such as approval.deny[2]
	Message string
	// Disables: something does not work at all because of it, where otherwise
	// it is passed over.
	Disables bool
	// Elsewhere: the server or the provider that it disables says so as well.
	Elsewhere bool
}

func (p Problem) String() string {
	where := p.File
	if where == "" {
		where = "editor settings"
	}
	if p.Path != "" {
		where += ": " + p.Path
	}
	return where + ": " + p.Message
}

// Default returns the configuration of someone who has configured nothing.
func Default() Config {
	return Config{
		Provider:      Provider{Name: Offline},
		Providers:     map[string]Provider{},
		Approval:      agent.Approval{Default: "ask", Timeout: 600 * time.Second},
		Limits:        agent.DefaultLimits(),
		Notifications: "important",
		Answers:       "document",
		Detached:      "auto",
	}
}

// Load reads all layers and merges them.
func Load(ctx context.Context, s Source, r Request) Config {
	l := &loader{
		ctx: ctx, source: s, request: r, config: Default(), files: r.Files,
		servers: map[string]mcp.ServerConfig{}, withheld: map[string]bool{}, faults: map[string]Problem{},
	}
	if l.files == nil {
		l.files = NewFiles()
	}
	l.user()
	for _, raw := range r.Editor {
		l.editor(raw)
	}
	for _, f := range r.Folders {
		l.project(f)
	}
	return l.finish()
}
