package lsp

import (
	"context"
	"strings"
)

// sendArg is the argument of agentls.send.
type sendArg struct {
	URI      *string      `json:"uri"`
	Position *positionArg `json:"position"`
	Mode     *string      `json:"mode" contract:"Mode"`
	Detached *bool        `json:"detached"`
	Stream   *bool        `json:"stream"`
}

func prepareSend(s *Server, _ context.Context, arg sendArg, in invocation) (serveFunc, error) {
	if err := required(in.command, "uri", arg.URI); err != nil {
		return nil, err
	}
	mode, err := modeOf(in.command, arg.Mode)
	if err != nil {
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
	blocks := turns(d.text)
	i := promptBlockAt(blocks, offset)
	body := ""
	if i >= 0 {
		body = d.text[blocks[i].start:blocks[i].end]
	}
	if strings.TrimSpace(body) == "" {
		return nil, badf("%s: there is no prompt there; write it below a heading \"## You\"", in.command)
	}
	if by := s.answering(d, blocks)[i]; len(by) > 0 {
		return nil, badf("%s: this block is being answered already, by the run %s; wait for its end, or cancel it: agentls.cancel", in.command, by[0])
	}
	x, err := s.sendRun(in.command, body, s.sessionOf(d))
	if err != nil {
		return nil, err
	}
	x.works(mode)
	x.sent = sumOf(body)
	x.folder = s.bufferFolder(d.uri, d.path)
	end := blocks[i].start + len(strings.TrimRight(body, " \t\r\n"))
	x.buffer = newBufferWriter(x, d, end, deref(arg.Stream))
	return s.queue(x, in, arg.Detached)
}

// sendRun makes the run of a block: of its `/` line, or of its words.
func (s *Server) sendRun(command, body, session string) (*run, error) {
	q, err := slashOf(command, body, session, true)
	switch {
	case err != nil:
		return nil, err
	case q != nil:
		return s.slashRun(q, "")
	}
	return s.newRun(body, body, session, ""), nil
}

// answering finds the blocks of a document that are being answered, and by which
// runs: an answer goes behind the block's words, or into what stands below them.
func (s *Server) answering(d document, blocks []promptBlock) map[int][]string {
	by := map[int][]string{}
	for _, x := range s.runs.writing() {
		at, known, here := x.buffer.placeIn(d)
		if !here {
			continue
		}
		for i, b := range blocks {
			below := i+1 < len(blocks) && blocks[i+1].role == "agent" && blocks[i+1].start <= at && at <= blocks[i+1].end
			if known && b.role != "agent" && (below || b.start <= at && at <= b.end) {
				by[i] = append(by[i], x.id)
				break
			}
		}
	}
	return by
}

// writing lists the live runs whose answers go to a buffer.
func (r *runs) writing() (list []*run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if x.status.live() && x.buffer != nil {
			list = append(list, x)
		}
	}
	return list
}

// sessionOf is the session of a prompt buffer that is open. An answer document
// carries its own.
func (s *Server) sessionOf(d document) string {
	if session, ok := s.answers.sessionOf(d.path, d.text); ok {
		return session
	}
	return s.bufferSession(d.uri, d.path, d.opened)
}
