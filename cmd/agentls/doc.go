// Command agentls is a language server that makes any editor the front end of
// an agent native to MCP; README.md says how to use it.
package main
