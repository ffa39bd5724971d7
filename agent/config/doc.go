// Package config reads agentls' configuration: the user's files, the editor's
// settings and the project's files, merged into one value (CONTRACT §2).
// It reads no environment by itself, and nothing in it fails: what is wrong
// becomes a [Problem] and the rest still counts.
package config
