package mcp

import (
	"maps"
	"slices"
	"time"
)

// ServerConfig is one configured server, its variables expanded where Err is
// empty. Package agent/config makes it from the three layers of CONTRACT §2.
type ServerConfig struct {
	Name     string // the key in the configuration
	Source   string // "user", "editor", or the project file's path
	Project  bool   // from a project file: starts only when trusted
	Folder   string // the workspace folder it came with, absolute; may be empty
	Type     string // "stdio", "http" or "sse"; empty: "http" with a URL, else "stdio"
	Command  string
	Args     []string
	Env      map[string]string
	Cwd      string // absolute; empty: the folder
	URL      string
	Headers  map[string]string
	OAuth    OAuthConfig
	Disabled bool
	// InheritEnv gives the child the whole environment, less provider keys.
	InheritEnv       bool
	TrustAnnotations bool
	Sampling         bool
	Timeout          time.Duration // of one request; 60 s by default
	StartupTimeout   time.Duration // of initialize and the first list; 30 s by default
	Protocol         string        // "auto", "legacy" or "modern"
	EnabledTools     []string      // empty: all
	DisabledTools    []string
	// Withheld names variables that InheritEnv must not give on, because a
	// configured provider reads its key from them.
	Withheld []string
	// Fingerprint is the SHA-256 (hex) over folder, file, key and the
	// unexpanded command, args, cwd, env, url and headers (CONTRACT §8).
	Fingerprint string
	// Shown is the definition as it is written, for a person to judge.
	Shown Definition
	// Reads names the variables that its fields would read, sorted.
	Reads []string
	// Inputs are asked for before it first starts; its fields hold them as
	// ${input:ID}.
	Inputs []Input
	// Err says why the server cannot start as configured (an unset variable,
	// naming the field); such a server is listed as failed.
	Err string
}

// remote reports whether the server is spoken to over HTTP.
func (c ServerConfig) remote() bool {
	return c.Type != "stdio" && (c.Type != "" || c.Command == "" && c.URL != "")
}

// Definition is what a server's configuration says, unexpanded: what trust is
// asked for.
type Definition struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	EnvFile string            `json:"envFile,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// redacted is the definition without the secrets that somebody wrote into it.
func (d Definition) redacted(s *Secrets) Definition {
	d.Command, d.Cwd, d.EnvFile, d.URL = s.Redact(d.Command), s.Redact(d.Cwd), s.Redact(d.EnvFile), s.Redact(d.URL)
	d.Args = slices.Clone(d.Args)
	for i := range d.Args {
		d.Args[i] = s.Redact(d.Args[i])
	}
	d.Env, d.Headers = maps.Clone(d.Env), maps.Clone(d.Headers)
	for _, values := range []map[string]string{d.Env, d.Headers} {
		for name := range values {
			values[name] = s.Redact(values[name])
		}
	}
	return d
}

// Default deadlines of a server.
const (
	DefaultTimeout        = 60 * time.Second
	DefaultStartupTimeout = 30 * time.Second
)
