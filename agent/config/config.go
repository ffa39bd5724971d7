// Package config reads agentls' configuration (CONTRACT §2): the user's files,
// the editor's settings and the project's files, merged into one value.
// It reads no environment by itself.
package config

import (
	"context"
	"encoding/json"
	"time"

	"agentls/agent"
	"agentls/mcp"
)

// Source is where the user's part comes from; cmd fills it.
type Source struct {
	Dir     string                      // <config>: holds config.json and mcp.json
	Home    string                      // ${userHome}
	Getenv  func(string) (string, bool) // as os.LookupEnv
	Environ []string                    // for ${cmd:…}
	Secrets *mcp.Secrets                // learns every expanded value
}

// Request is what the front end adds.
type Request struct {
	// Editor holds the editor's settings, weakest first (initializationOptions,
	// then section agentls); nil and null mean unset.
	Editor  []json.RawMessage
	Folders []string // absolute workspace folders
}

// Config is the whole configuration in force.
type Config struct {
	Provider      Provider // the chosen one, expanded
	Providers     map[string]Provider
	Servers       []mcp.ServerConfig
	Approval      agent.Approval
	Limits        agent.Limits
	Notifications string // all, important, off
	Answers       string // document, message, none
	Detached      string // auto, always, never
	Problems      []Problem
}

// Provider is one configured model provider.
type Provider struct {
	Name          string // the key; "offline" is built in
	BaseURL       string
	APIKey        string
	Model         string
	ContextWindow int
	Headers       map[string]string
	ExtraBody     map[string]json.RawMessage
	IdleTimeout   time.Duration
	// Err says why it cannot be used as configured (unset variable, no model).
	Err string
}

// Problem is something wrong in a layer; the rest still counts.
type Problem struct {
	File    string // absolute path; empty for the editor's settings
	Line    int    // 1-based; 0: unknown
	Path    string // the key's path, such as approval.deny[2]
	Message string
}

// Load reads all layers. It fails never: what is wrong is in Problems.
func Load(ctx context.Context, s Source, r Request) Config { panic("skeleton") }
