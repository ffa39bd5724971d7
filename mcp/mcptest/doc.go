// Package mcptest gives tests MCP servers: fake ones, scripted by [Options],
// and the ones of others that `make setup` installs.
//
// A fake on stdio is a real child process: the test binary itself, started
// again. TestMain calls [Main] first, [Command] says how to start it, and [Log]
// reads what it received.
//
// A fake over HTTP, [ServeHTTP], runs in the test's process: its transport and
// answers are scripted by [HTTPOptions], [HTTPServer.Break] makes requests meet
// a [Fault], and [HTTPServer.Requests] tells what it received.
package mcptest
