// Package workspace is the embedded MCP server "workspace": the folder's
// files, the editor's unsaved buffers and more as resources.
package workspace
