package mcp

import (
	"cmp"
	"context"
	"encoding/json"
)

// Elicitation is what a server asks of a person (elicitation/create).
type Elicitation struct {
	Mode    string          // "form" or "url"
	Message string          // the server's words
	Schema  json.RawMessage // requestedSchema of a form, as it came
	Form    Form            // what it asks for
	Link    Link            // of mode url
	// Opened: the same link was opened in the same call before. The person says
	// when what it is for is done.
	Opened bool
}

// elicitResult is the answer to elicitation/create.
type elicitResult struct {
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"`
	opened  string          // the link that was
}

// serveElicitation answers elicitation/create: it asks a person.
func serveElicitation(ctx context.Context, s *session, r serverRequest) (any, error) {
	e, id, err := parseElicitation(r)
	if err != nil {
		s.problem("it asked for something that no person can be asked for: " + err.Error())
		return nil, err
	}
	e.Opened = r.opened[e.Link.URL] && e.Mode == "url"
	return s.elicit(ctx, r, e, id)
}

// elicit asks a person. id is the elicitationId of a link; empty: it has none.
func (s *session) elicit(ctx context.Context, r serverRequest, e Elicitation, id string) (elicitResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if e.Mode == "url" {
		defer r.conn.links.asks(id, func() { cancel(errLinkDone) })()
	}
	a, err := s.askPerson(ctx, r, Request{Kind: RequestElicit, Elicit: e})
	switch {
	case err != nil:
		return elicitResult{}, err
	case context.Cause(ctx) == errLinkDone: //nolint:errorlint // is never wrapped
		return elicitResult{Action: "accept", opened: e.Link.URL}, nil // the server itself says that it is done
	case a.Accept && e.Mode == "url":
		r.conn.links.opened(id)
		return elicitResult{Action: "accept", opened: e.Link.URL}, nil
	case a.Accept:
		content, err := e.Form.Check(a.Content)
		if err != nil { // front ends check it, and ask again
			return elicitResult{}, &rpcError{Code: codeInternal, Message: "the answer is none that the form takes"}
		}
		s.keepSecret(e.Form, content)
		return elicitResult{Action: "accept", Content: content}, nil
	case a.Decline:
		return elicitResult{Action: "decline"}, nil
	}
	return elicitResult{Action: "cancel"}, nil
}

// keepSecret makes what was given for a field that asks for a secret one.
func (s *session) keepSecret(f Form, content json.RawMessage) {
	var values map[string]json.RawMessage
	_ = json.Unmarshal(content, &values) // is what Check made
	for _, field := range f.Fields {
		if field.Secret && values[field.Name] != nil {
			s.secrets.Add(plainValue(values[field.Name]))
		}
	}
}

// parseElicitation reads the params of elicitation/create; id is an
// elicitationId. Errors are -32602.
func parseElicitation(r serverRequest) (e Elicitation, id string, err error) {
	var p struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
		URL     string          `json:"url"`
		ID      string          `json:"elicitationId"`
	}
	if err := r.parseParams(&p); err != nil {
		return e, "", err
	}
	e = Elicitation{Mode: cmp.Or(p.Mode, "form"), Message: p.Message, Schema: p.Schema}
	switch e.Mode {
	case "form":
		if missing(p.Schema) {
			return e, "", r.badParams("requestedSchema is missing")
		}
		e.Form, err = ParseForm(p.Schema)
	case "url":
		e.Schema = nil
		e.Link, err = ParseLink(p.URL)
	default:
		return e, "", r.badParams("the mode %q is not known; form and url are", e.Mode)
	}
	if err != nil {
		return e, "", r.badParams("%v", err)
	}
	return e, p.ID, nil
}
