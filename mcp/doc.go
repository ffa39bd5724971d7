// Package mcp connects to MCP servers, keeps what they offer and routes calls
// to them. A [Manager] owns one session for each configured server; a session
// owns the connections that come and go, each on a child process, over HTTP, or
// on the server embedded in this one. It is the only importer of mcp-go, whose
// client carries the protocol; wire.go mends what it does wrong, and peer.go
// says why the transports over HTTP are ours.
package mcp
