package lsp

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.lsp.dev/protocol"

	"agentls/lsp/lsptest"
	"agentls/mcp/mcptest"
)

// tokensOf reads tokens back: each as its type and its text.
func tokensOf(t *testing.T, text string, encoding protocol.PositionEncodingKind, data []uint32) (list []string) {
	t.Helper()
	if len(data)%5 != 0 {
		t.Fatalf("%d numbers", len(data))
	}
	d := newDocuments(nil)
	d.encoding = encoding
	var at protocol.Position
	for ; len(data) > 0; data = data[5:] {
		if data[0] > 0 {
			at = protocol.Position{Line: at.Line + data[0]}
		}
		at.Character += data[1]
		from, to := d.offset(text, at), d.offset(text, protocol.Position{Line: at.Line, Character: at.Character + data[2]})
		list = append(list, tokenLegend().TokenTypes[data[3]]+" "+text[from:to])
		if data[2] == 0 || data[4] != 0 || int(data[3]) >= len(tokenLegend().TokenTypes) {
			t.Errorf("an odd token: %v", data[:5])
		}
	}
	return list
}

func TestSemanticTokens(t *testing.T) {
	text := "@workspace:x:0\n## You\n\n/clear now\r\n/nope\n/clear\n😀 (@workspace:a:b) \"@workspace:c:d\" @nobody:x:y\n```\n@workspace:e:f\n/clear\n```\n## Agent\n@workspace:g:h\n/clear\n## You \n/mcp list @workspace:i:j\n@workspace:k:l"
	want := []string{
		"keyword ## You", "function /clear", "namespace @workspace:", "variable a:b", "keyword ## Agent",
		"keyword ## You ", "function /mcp", "namespace @workspace:", "variable k:l",
	}
	for _, encoding := range []protocol.PositionEncodingKind{protocol.PositionEncodingKindUTF8, protocol.PositionEncodingKindUTF16} {
		s := idleServer(t, encoding)
		ask := func(p promptParams) []string {
			t.Helper()
			got, err := serveSemanticTokens(s, context.Background(), s.promptModel(document{text: text}), p)
			if err != nil {
				t.Fatal(err)
			}
			return tokensOf(t, text, encoding, got.(*protocol.SemanticTokens).Data)
		}
		if got := ask(promptParams{}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", encoding, got, want)
		}
		at := func(line, character integer) (p textPosition) { return textPosition{line, character} }
		part := promptParams{}
		part.Range = &struct {
			Start textPosition `json:"start"`
			End   textPosition `json:"end"`
		}{at(5, 0), at(11, 3)}
		if got := ask(part); !slices.Equal(got, want[2:5]) {
			t.Errorf("%s, a part: %q, want %q", encoding, got, want[2:5])
		}
		part.Range.Start, part.Range.End = at(7, 0), at(10, 0)
		if got := ask(part); len(got) > 0 {
			t.Errorf("%s, a fence: %q", encoding, got)
		}
	}
}

// What servers offer has its own tokens: URIs that are listed or of a template, and prompts with the
// names of their arguments.
func TestSemanticTokensOfServers(t *testing.T) {
	w := newWorld(t, setup{servers: fake(mcptest.Options{})})
	uri := lsptest.FileURI(filepath.Join(w.root, "a.agentls.md"))
	text := "/fake:review focus=tests loud\n/fake:nothing focus=x\n@fake:file://doc1.md and @fake:file://doc9.txt"
	w.Open(uri, "agentls", text)
	want := []string{
		"namespace /fake:", "function review", "parameter focus=", "namespace @fake:", "string file://doc1.md", "namespace @fake:", "variable file://doc9.txt",
	}
	poll(t, "the tokens of what the server offers", func() bool {
		raw := w.Call("textDocument/semanticTokens/full", obj{"textDocument": obj{"uri": uri}})
		return slices.Equal(tokensOf(t, text, protocol.PositionEncodingKindUTF16, decodeAs[struct{ Data []uint32 }](t, raw).Data), want)
	})
}

// Highlighting is asked for while a person types: an empty prompt, and an edit
// of the text that the tokens are of.
func TestSemanticTokensFollowTheText(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "my file.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e, _ := served(t, testOptions(t), nil)
	e.Initialize(lsptest.Init{Root: root})
	uri := lsptest.FileURI(filepath.Join(root, "a.agentls.md"))
	e.Open(uri, "markdown", "")
	ask := func() (list []string) {
		raw := e.Call("textDocument/semanticTokens/full", obj{"textDocument": obj{"uri": uri}})
		return tokensOf(t, e.Text(uri), protocol.PositionEncodingKindUTF16, decodeAs[struct{ Data []uint32 }](t, raw).Data)
	}
	if got := ask(); len(got) > 0 {
		t.Errorf("an empty buffer: %q", got)
	}
	e.Edit(uri, lsptest.TextEdit{NewText: "see @workspace:<file://my%20file.md>, please"})
	e.Await("the token of a listed URI", func() bool {
		return slices.Equal(ask(), []string{"namespace @workspace:", "string <file://my%20file.md>"})
	})
	e.Edit(uri, lsptest.TextEdit{NewText: strings.Repeat("\n", 3), Range: &lsptest.Range{}})
	if got := ask(); !slices.Equal(got, []string{"namespace @workspace:", "string <file://my%20file.md>"}) {
		t.Errorf("after an edit: %q", got)
	}
}
