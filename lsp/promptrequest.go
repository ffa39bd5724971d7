package lsp

import (
	"context"

	"go.lsp.dev/protocol"
)

// promptParams are those of the requests about a prompt buffer.
type promptParams struct {
	TextDocument textDocument  `json:"textDocument"`
	Position     *textPosition `json:"position"`
	Range        *struct {
		Start textPosition `json:"start"`
		End   textPosition `json:"end"`
	} `json:"range"`
}

// onPrompt makes the prepare of a request about prompt buffers. For any other
// document the answer is null, and its text is not made: servers are asked
// about all. It is never an empty list, over which VS Code gives up folding by
// indentation and looks no further for tokens.
func onPrompt(serve func(s *Server, ctx context.Context, m promptModel, p promptParams) (any, error)) prepare {
	return func(s *Server, _ context.Context, params []byte) (serveFunc, error) {
		var p promptParams
		if err := protocol.Unmarshal(params, &p); err != nil {
			return nil, &paramsError{"bad params: " + err.Error()}
		}
		if p.TextDocument.URI == "" {
			return nil, &paramsError{"textDocument.uri is needed"}
		}
		doc, ok := s.docs.prompt(p.TextDocument.URI)
		if !ok {
			return answerNow(nil), nil
		}
		return func(ctx context.Context) (any, error) { return serve(s, ctx, s.promptModel(doc), p) }, nil
	}
}
