package offline

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// block is a part of a user message that is not the user's own words:
// <resource …>, <resource_error …>, <document …>.
type block struct {
	tag        string
	attributes map[string]string
	body       string
}

var (
	opening   = regexp.MustCompile(`(?m)^<([a-z_]+)((?: [A-Za-z_]+="[^"\n]*")*)>`)
	attribute = regexp.MustCompile(`([A-Za-z_]+)="([^"]*)"`)
)

// split parts a user message into the user's words and the blocks. A block
// ends at its closing tag; bodies cannot hold it. One that does not end takes
// all that follows: better too little of the user's words than a tool called
// by what a resource says.
func split(message string) (prompt string, blocks []block) {
	var own strings.Builder
	for {
		at := opening.FindStringSubmatchIndex(message)
		if at == nil {
			break
		}
		b := block{tag: message[at[2]:at[3]], attributes: map[string]string{}}
		for _, a := range attribute.FindAllStringSubmatch(message[at[4]:at[5]], -1) {
			b.attributes[a[1]] = html.UnescapeString(a[2])
		}
		own.WriteString(message[:at[0]])
		var rest string
		b.body, rest, _ = strings.Cut(message[at[1]:], "</"+b.tag+">")
		b.body = strings.Trim(b.body, "\n")
		blocks = append(blocks, b)
		message = rest
	}
	own.WriteString(message)
	return strings.TrimSpace(own.String()), blocks
}

// shown tells of a block in an answer.
func (b block) shown() string {
	name := b.attributes["uri"]
	if name == "" {
		name = b.attributes["path"]
	}
	if s := b.attributes["server"]; s != "" {
		name += "` of `" + s
	}
	name = oneLine(name)
	switch b.tag {
	case "resource_error":
		return fmt.Sprintf("`%s` could not be read: %s", name, oneLine(html.UnescapeString(b.body)))
	case "resource":
		return fmt.Sprintf("`%s` begins:\n%s", name, quote(b.body))
	case "document":
		return fmt.Sprintf("You attached `%s`, which begins:\n%s", name, quote(b.body))
	}
	return fmt.Sprintf("You gave a <%s>, which begins:\n%s", b.tag, quote(b.body))
}
