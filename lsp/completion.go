package lsp

import (
	"context"
)

func prepareCompletion(s *Server, _ context.Context, params []byte) (func(context.Context) (any, error), error) {
	p, err := decodePosition(params)
	if err != nil {
		return nil, err
	}
	_, ok := s.docs.prompt(p.TextDocument.URI)
	return func(context.Context) (any, error) {
		if !ok {
			return nil, nil
		}
		return nil, nil
	}, nil
}

func prepareResolve(s *Server, _ context.Context, params []byte) (func(context.Context) (any, error), error) {
	return nil, &paramsError{"x"}
}
