package lsp

import (
	"fmt"
	"go.lsp.dev/jsonrpc2"
)

type refusal struct {
	code    jsonrpc2.Code
	message string
}

func (e *refusal) Error() string { return e.message }

const codeRequestFailed jsonrpc2.Code = -32803

func failed(format string, args ...any) error {
	return &refusal{codeRequestFailed, fmt.Sprintf(format, args...)}
}
