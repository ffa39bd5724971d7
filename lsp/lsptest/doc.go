// Package lsptest is a fake editor: it speaks raw LSP to a server over pipes,
// records what comes, and answers as a stock client would. It knows nothing of
// the server's types, so that a test sees what an editor sees.
package lsptest
