package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"agentls/agent/config"
	"agentls/mcp"
)

// sendTheForm begins the title of the action that sends a document's form.
const sendTheForm = "Send the form"

// formDocument is the document of a form: JSON with comments,
// <state>/forms/*.jsonc, until the question is settled.
func (s *Server) formDocument(w *question) *askedDocument {
	return &askedDocument{
		s: s, kind: formFile, key: w.id, what: "the form",
		text: func() string { return s.formText(w) }, content: formContent,
	}
}

// howToSendForm follows what is to be done with the document of a form.
func (w *question) howToSendForm() string {
	return fmt.Sprintf(`and save it, then send it by the code action “%s”, in any document, or by the command agentls.approve with {"id": %q, "decision": "once"}. Nothing is sent before.`, sendTheForm, w.id)
}

// formText is the form with its defaults. What the server says of it is in
// comments, each of them one line.
func (s *Server) formText(w *question) string {
	var b strings.Builder
	comment := func(indent, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s// %s\n", indent, text)
		}
	}
	tell := s.tell
	comment("", w.message)
	comment("", fmt.Sprintf(`Fill this in, save it and send it: the code action “%s”, in any document, or the command`, sendTheForm))
	comment("", fmt.Sprintf(`agentls.approve with {"id": %q, "decision": "once"}. Nothing is sent before. null leaves a field out.`, w.id))
	b.WriteString("{\n")
	fields := w.elicit.form.Fields
	for i, f := range fields {
		if i > 0 {
			b.WriteString("\n")
		}
		comment("  ", tell(f.Title))
		comment("  ", tell(f.Description))
		about := []string{"optional"}
		if f.Required {
			about[0] = "required"
		}
		if hint := tell(f.Hint()); hint != "" {
			about = append(about, hint)
		}
		comment("  ", strings.Join(about, "; "))
		for _, o := range f.Options {
			comment("  ", "  "+optionInWords(o, tell))
		}
		value := f.Default
		if value == nil {
			value = json.RawMessage("null")
		}
		fmt.Fprintf(&b, "  %s: %s", jsonString(f.Name), value)
		if i < len(fields)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func optionInWords(o mcp.Option, tell func(string) string) string {
	value := tell(string(o.Value))
	if title := tell(o.Title); title != "" && title != strings.Trim(value, `"`) {
		return value + " (" + title + ")"
	}
	return value
}

// formContent reads the document of a form.
func formContent(text string) (json.RawMessage, error) {
	plain, err := config.PlainJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("agentls.approve: the form is no JSON (%w)", err)
	}
	if bytes.Equal(bytes.TrimSpace(plain), []byte("null")) {
		plain = []byte("{}")
	}
	return plain, nil
}
