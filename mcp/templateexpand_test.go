package mcp

import (
	"slices"
	"testing"

	"github.com/yosida95/uritemplate/v3"
)

func TestTemplateVariables(t *testing.T) {
	for text, want := range map[string][]TemplateVariable{
		"demo://{id}/{kind}{?page,id}": {{"id", true}, {"kind", true}, {"page", false}},
		"x://s{?q}{&q}{#q}{/q}/{q}":    {{"q", true}},
		"plain://x":                    {},
		"odd://{":                      {},
	} {
		if got := (Template{URITemplate: text}).Variables(); !slices.Equal(got, want) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// What stands in all variables is written as the RFC's own examples have it, and
// read back by the same template.
func TestTemplateExpand(t *testing.T) {
	values := map[string]string{"a": "v w", "b": "x/y", "c": "e=e&f", "d": "100%", "none": ""}
	for _, text := range []string{
		"x://{a}/{b}.md", "x://{+b}", "x://{+d}{#b}", "x://{a,b}", "x://{/a,b}", "x://{.a,b}", "x://s{?a,none,c}", "x://s{?none}", "x://s{;a,c}", "x://s?q=1{&a,c}", "x://{c:2}",
		"x://s{?none,a}", "x://{a}{/none,b}{#none}",
	} {
		reference := uritemplate.MustNew(text)
		given := uritemplate.Values{}
		for name, v := range values {
			if v != "" {
				given.Set(name, uritemplate.String(v))
			}
		}
		want, err := reference.Expand(given)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := (Template{URITemplate: text}).Expand(values)
		p, _ := parseURITemplate(text)
		if got != want || !ok || !p.matches(got, new(maxTemplateTries)) {
			t.Errorf("%s: %q %v, want %q", text, got, ok, want)
		}
	}
	if got, ok := (Template{URITemplate: "x://{c}{?c}"}).Expand(map[string]string{"c": "größe"}); got != "x://gr%C3%B6%C3%9Fe?c=gr%C3%B6%C3%9Fe" || !ok { // the other library writes Latin-1
		t.Errorf("%q %v", got, ok)
	}
	if got, ok := (Template{URITemplate: "x://s{?a*}"}).Expand(values); got != "x://s?a=v%20w" || !ok {
		t.Errorf("%q %v", got, ok)
	}
	for _, text := range []string{"x://{none}", "x://{a}/{missing}", "odd://{", ""} {
		if got, ok := (Template{URITemplate: text}).Expand(values); ok || got != "" {
			t.Errorf("%s: %q", text, got)
		}
	}
}
