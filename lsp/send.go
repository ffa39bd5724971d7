package lsp

import (
	"context"
	"strings"
)

// sendArg is the argument of agentls.send.
type sendArg struct {
	URI      *string      `json:"uri"`
	Position *positionArg `json:"position"`
	Mode     *string      `json:"mode"`
	Detached *bool        `json:"detached"`
	Stream   *bool        `json:"stream"`
}

func prepareSend(s *Server, _ context.Context, arg sendArg, in invocation) (serveFunc, error) {
	if err := required(in.command, "uri", arg.URI); err != nil {
		return nil, err
	}
	if err := reactOnly(in.command, arg.Mode); err != nil {
		return nil, err
	}
	d, ok := s.docs.get(*arg.URI)
	if !ok {
		return nil, badf("%s: %s is not open in the editor; open it first", in.command, clip(*arg.URI, 200))
	}
	if !isPromptBuffer(d) {
		return nil, badf("%s: %s is no prompt buffer; one has the language agentls or a name that ends in .agentls.md", in.command, clip(*arg.URI, 200))
	}
	offset := -1
	if arg.Position != nil {
		offset = s.docs.offset(d.text, arg.Position.Position)
	}
	body, ok := promptAt(d.text, offset)
	if !ok || strings.TrimSpace(body) == "" {
		return nil, badf("%s: there is no prompt there; write it below a heading \"## You\"", in.command)
	}
	x := s.newRun(body, body, s.sessionOf(d), "")
	x.sent = sumOf(body)
	x.folder = s.bufferFolder(d.uri, d.path)
	x.buffer = newBufferWriter(x, d, promptEnd(d.text, body, offset), deref(arg.Stream))
	return s.queue(x, in, arg.Detached)
}

// promptEnd is the offset right behind the last word of the block that was
// sent: the answer goes there.
func promptEnd(text, body string, offset int) int {
	body = strings.TrimSpace(body)
	end, best := len(strings.TrimRight(text, " \t\r\n")), -1
	for _, t := range turns(text) {
		if t.role == "agent" || strings.TrimSpace(text[t.start:t.end]) != body {
			continue
		}
		far := max(t.start-offset, offset-t.end, 0)
		if offset < 0 {
			far = 0 // the last one
		}
		if best < 0 || far <= best {
			best = far
			end = t.start + len(strings.TrimRight(text[t.start:t.end], " \t\r\n"))
		}
	}
	return end
}

// sessionOf is the session of a prompt buffer that is open. An answer document
// carries its own.
func (s *Server) sessionOf(d document) string {
	if session, ok := s.answers.sessionOf(d.path, d.text); ok {
		return session
	}
	return s.bufferSession(d.uri, d.path, d.opened)
}
