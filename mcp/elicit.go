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
	URL     string          // to be opened, of mode url
	ID      string          // elicitationId of mode url, up to 2025-11-25; may be empty
}

// serveElicitation answers elicitation/create: it asks a person.
func serveElicitation(ctx context.Context, s *session, r serverRequest) (any, error) {
	e, err := parseElicitation(r)
	if err != nil {
		return nil, err
	}
	a, err := s.askPerson(ctx, r, Request{Kind: RequestElicit, Elicit: e})
	if err != nil {
		return nil, err
	}
	switch {
	case a.Accept && e.Mode == "form":
		return elicitResult{Action: "accept", Content: a.Content}, nil
	case a.Accept:
		return elicitResult{Action: "accept"}, nil
	case a.Decline:
		return elicitResult{Action: "decline"}, nil
	}
	return elicitResult{Action: "cancel"}, nil
}

// elicitResult is the answer to elicitation/create.
type elicitResult struct {
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"`
}

func parseElicitation(r serverRequest) (Elicitation, error) {
	var p struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
		URL     string          `json:"url"`
		ID      string          `json:"elicitationId"`
	}
	if err := r.parseParams(&p); err != nil {
		return Elicitation{}, err
	}
	e := Elicitation{Mode: cmp.Or(p.Mode, "form"), Message: p.Message, Schema: p.Schema, URL: p.URL, ID: p.ID}
	switch {
	case e.Mode == "form" && missing(e.Schema):
		return Elicitation{}, r.badParams("requestedSchema is missing")
	case e.Mode == "url" && e.URL == "":
		return Elicitation{}, r.badParams("url is missing")
	case e.Mode != "form" && e.Mode != "url":
		return Elicitation{}, r.badParams("the mode %q is not known; form and url are", e.Mode)
	}
	return e, nil
}
