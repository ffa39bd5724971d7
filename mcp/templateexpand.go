package mcp

import "strings"

// TemplateVariable is a variable of a [Template].
type TemplateVariable struct {
	Name     string `json:"name"`
	Required bool   `json:"required"` // without it there is no URI
}

// Variables are the variables of a template in their order, each once.
func (t Template) Variables() []TemplateVariable {
	list := []TemplateVariable{}
	parsed, _ := parseURITemplate(t.URITemplate) // one that is none has no variables
	at := map[string]int{}
	for _, s := range parsed.steps {
		if s.name == "" {
			continue
		}
		if i, twice := at[s.name]; twice {
			list[i].Required = list[i].Required || !s.optional
			continue
		}
		at[s.name] = len(list)
		list = append(list, TemplateVariable{s.name, !s.optional})
	}
	return list
}

// Expand gives the URI that the template says with values (RFC 6570 §3). An
// empty value counts as none; ok is false while a variable that is required has
// none, or where the text is no template.
func (t Template) Expand(values map[string]string) (uri string, ok bool) {
	parsed, ok := parseURITemplate(t.URITemplate)
	if !ok {
		return "", false
	}
	var b strings.Builder
	used := 0 // the expression of which a value was written last; 0: none
	for i, s := range parsed.steps {
		value := values[s.name]
		switch {
		case s.name == "":
			b.WriteString(s.literal)
		case value == "" && s.optional:
		case value == "":
			return "", false
		default:
			b.WriteString(parsed.lead(i, used == s.expr))
			if s.explode && strings.IndexByte(";?&", s.op) >= 0 && s.op != 0 {
				b.WriteString(s.name + "=")
			}
			b.WriteString(s.encode(value))
			used = s.expr
		}
	}
	return b.String(), true
}
