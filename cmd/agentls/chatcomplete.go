package main

import (
	"context"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
)

// promptURI names the document that completion is asked in: it is in memory
// only, and outside of the folder, so that no resource is made of it.
func (d *dialogue) promptURI() string {
	return fileURI(filepath.Join(d.parts.paths.state, "prompts", "chat.agentls.md"))
}

func escapePath(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// openPrompt opens that document.
func (d *dialogue) openPrompt() {
	d.client.Notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": d.promptURI(), "languageId": "agentls", "version": 0, "text": ""}})
}

// typed tells the server what stands in the prompt.
func (d *dialogue) typed(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.version++
	d.client.Notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": d.promptURI(), "version": d.version},
		"contentChanges": []any{map[string]string{"text": text}},
	})
}

// candidate is one completion of what is typed.
type candidate struct {
	label, about string
	from         int // a byte offset in the text: what the insertion replaces, to the cursor
	insert       string
}

// wantsCompletion reports whether a mention or a command is being typed in
// front of the cursor, a byte offset.
func wantsCompletion(text string, cursor int) bool {
	line := text[strings.LastIndexByte(text[:cursor], '\n')+1 : cursor]
	if strings.HasPrefix(line, "/") && strings.TrimSpace(text[:cursor-len(line)]) == "" {
		return true
	}
	at := strings.LastIndexByte(line, '@')
	return at >= 0 && !strings.ContainsAny(line[at:], " \t") || strings.Contains(line, `:"`) && strings.Contains(line, "@")
}

// complete asks for what could stand at the cursor, a byte offset in what was
// told by typed.
func (d *dialogue) complete(ctx context.Context, text string, cursor int) ([]candidate, error) {
	line := strings.Count(text[:cursor], "\n")
	start := strings.LastIndexByte(text[:cursor], '\n') + 1
	var list struct {
		Items []struct {
			Label        string
			LabelDetails struct{ Description string }
			Detail       string
			TextEdit     struct {
				Range   struct{ Start struct{ Line, Character int } }
				NewText string
			}
		}
	}
	err := d.client.Call(ctx, "textDocument/completion", map[string]any{
		"textDocument": map[string]string{"uri": d.promptURI()},
		"position":     map[string]int{"line": line, "character": cursor - start}, // utf-8 was agreed on
	}, &list)
	if err != nil {
		return nil, err
	}
	var out []candidate
	for _, item := range list.Items {
		from := start + item.TextEdit.Range.Start.Character
		if from > cursor || item.TextEdit.NewText == text[from:cursor] { // it stands there
			continue
		}
		about := item.LabelDetails.Description
		if about == "" {
			about = item.Detail
		}
		out = append(out, candidate{oneLine(item.Label, 200), oneLine(about, 200), from, item.TextEdit.NewText})
	}
	for _, c := range ownCandidates(text[:cursor]) {
		if c.insert != text[:cursor] {
			out = append(out, c)
		}
	}
	return out, nil
}

// ownCandidates completes the commands of the dialogue itself.
func ownCandidates(typed string) (list []candidate) {
	name, ok := strings.CutPrefix(typed, "/")
	if !ok || strings.ContainsAny(name, " \t\n") {
		return nil
	}
	for _, c := range ownCommands() {
		if strings.HasPrefix(c.name, name) {
			about := c.about
			if about == "" {
				about = "leave"
			}
			list = append(list, candidate{"/" + c.name, about, 0, "/" + c.name})
		}
	}
	return list
}

// diagnosed keeps what is wrong with what is typed.
func (d *dialogue) diagnosed(params json.RawMessage) {
	var p struct {
		URI         string
		Diagnostics []struct{ Message string }
	}
	f, ok := d.face.(interface{ hint(string) })
	if json.Unmarshal(params, &p) != nil || !ok || p.URI != d.promptURI() {
		return
	}
	text := ""
	if len(p.Diagnostics) > 0 {
		text = oneLine(p.Diagnostics[0].Message, 300)
	}
	f.hint(text)
}
