// Package lsp serves one editor over the Language Server Protocol. It is the
// only importer of go.lsp.dev.
//
// A connection has two halves. The wire (transport, dispatch, documents)
// handles notifications on the read loop, in order, and gives each request an
// inline half, its prepare, which takes a snapshot in that order. The runs
// (command, runs, run) own every prompt from its place in the queue to its
// answer: one goroutine works, another one alone tells the client.
//
// Requests and notifications of the client are dispatched in front of
// jsonrpc2, which only matches the answers to our own calls: it would hang up
// on input that a server has to survive, and drop what is owed when the input
// ends.
package lsp
