package lsp

import (
	"encoding/json"
	"fmt"
	"io"

	"go.lsp.dev/protocol"
)

// TellWaiting tells a client that another one is served before it. It is for
// the time between the beginning of the client's initialize and Serve: LSP
// allows window/showMessage before that is answered ("Initialize Request").
func TellWaiting(w io.Writer) error {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "method": "window/showMessage",
		"params": map[string]any{"type": protocol.MessageTypeInfo, "message": "agentls: another client is served on this socket; you are next when it leaves"},
	})
	if err == nil {
		_, err = fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	return err
}
