package mcp

import "time"

// ServerConfig is one configured server, its variables expanded where Err is
// empty. Package agent/config makes it from the three layers of CONTRACT §2.
type ServerConfig struct {
	Name     string // the key in the configuration
	Source   string // "user", "editor", or the project file's path
	Project  bool   // from a project file: starts only when trusted
	Folder   string // the workspace folder it came with, absolute; may be empty
	Type     string // "stdio", "http" or "sse"
	Command  string
	Args     []string
	Env      map[string]string
	Cwd      string // absolute; empty: the folder
	URL      string
	Headers  map[string]string
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
	// Err says why the server cannot start as configured (an unset variable,
	// naming the field); such a server is listed as failed.
	Err string
}

// Definition is what a server's configuration says, unexpanded: what trust is
// asked for.
type Definition struct {
	Command string
	Args    []string
	Cwd     string
	URL     string
	Env     []string // names
	Headers []string // names
}

// Default deadlines of a server.
const (
	DefaultTimeout        = 60 * time.Second
	DefaultStartupTimeout = 30 * time.Second
)
