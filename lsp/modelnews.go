package lsp

import "context"

// modelNews are the params of agentls/didChangeModel: what the next run uses.
type modelNews struct {
	Provider string `json:"provider"`
	Model    string `json:"model,omitzero"` // none of the offline provider's
	Error    string `json:"error,omitzero"` // why it cannot be used
}

// followModel tells a client with `model` what provider and model are in force,
// first when that is known, then whenever it is another one: by a command, a
// line of a prompt, or the configuration (CONTRACT §12). It returns with ctx.
func (s *Server) followModel(ctx context.Context) {
	if _, err := s.settings.inForce(ctx); err != nil {
		return
	}
	var told modelNews
	for {
		p := s.cfg.Load().Provider
		if now := (modelNews{p.Name, p.Model, s.tell(p.Err)}); now != told {
			s.notify("agentls/didChangeModel", now)
			told = now
		}
		select {
		case <-ctx.Done():
			return
		case <-s.settings.chose:
		}
	}
}
