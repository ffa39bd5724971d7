package lsptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ranged are the methods whose answers hold places in the document that was
// asked about, each of which must be one of it.
var ranged = map[string]bool{
	"textDocument/completion": true, "textDocument/hover": true, "textDocument/codeLens": true, "textDocument/documentLink": true,
	"textDocument/foldingRange": true, "textDocument/documentSymbol": true,
}

// asked is the document of a request as it was sent; nil: none is known.
type asked struct {
	uri string
	document
}

// about is the document that params are about, as it is open. e.mu is held.
func (e *Editor) about(params json.RawMessage) *asked {
	var p struct {
		TextDocument struct{ URI string }
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	d := e.docs[p.TextDocument.URI]
	if d == nil || d.unknown {
		return nil
	}
	return &asked{p.TextDocument.URI, *d}
}

// forget says that a test tells of changes itself, of which the editor knows
// nothing.
func (e *Editor) forget(sent []byte) {
	if !bytes.Contains(sent, []byte(`"textDocument/didChange"`)) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range e.docs {
		d.unknown = true
	}
}

// checkPlaces looks that the ranges in a value lie in a text. A lens' command
// and the data of an item are the server's own matter.
func checkPlaces(value any, d document, inUTF8 bool) error {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if err := checkPlaces(item, d, inUTF8); err != nil {
				return err
			}
		}
	case map[string]any:
		start, isRange := v["start"].(map[string]any)
		end, _ := v["end"].(map[string]any)
		if isRange && end != nil {
			return checkRange(start, end, d, inUTF8)
		}
		for key, item := range v {
			if key == "command" || key == "data" {
				continue
			}
			if line, ok := item.(float64); ok && (key == "startLine" || key == "endLine") && int(line) > strings.Count(d.text, "\n") {
				return fmt.Errorf("%s %v is behind the last line", key, line)
			}
			if err := checkPlaces(item, d, inUTF8); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkRange(start, end map[string]any, d document, inUTF8 bool) error {
	var at [2]Position
	for i, p := range []map[string]any{start, end} {
		line, _ := p["line"].(float64)
		character, _ := p["character"].(float64)
		at[i] = Position{int(line), int(character)}
		if !isPlace(d.text, at[i], inUTF8) {
			return fmt.Errorf("%+v is no place in %.200q", at[i], d.text)
		}
	}
	if at[1].Line < at[0].Line || at[1].Line == at[0].Line && at[1].Character < at[0].Character {
		return fmt.Errorf("the range %+v ends before it starts", at)
	}
	return nil
}

// isPlace reports whether a position is between two characters of a text.
func isPlace(text string, p Position, inUTF8 bool) bool {
	lines := strings.Split(text, "\n")
	if p.Line < 0 || p.Line >= len(lines) || p.Character < 0 {
		return false
	}
	line := strings.TrimSuffix(lines[p.Line], "\r")
	if inUTF8 {
		return p.Character == len(line) || p.Character < len(line) && utf8.RuneStart(line[p.Character])
	}
	units := utf16.Encode([]rune(line))
	return p.Character == len(units) || p.Character < len(units) && (units[p.Character] < 0xDC00 || units[p.Character] > 0xDFFF)
}
