// Package mcptest gives tests an MCP server that runs as a real child process:
// a fake one, scripted by [Options], and the ones of others that `make setup`
// installs.
//
// The fake is the test binary itself, started again: TestMain calls [Main]
// first, [Command] says how to start it, and [Log] reads what it received.
package mcptest
