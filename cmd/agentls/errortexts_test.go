package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// remedy matches a text that says what to do, or what would be right.
var remedy = regexp.MustCompile(`(?i)did you mean|there (is|are) %s|must (be|have|wait)|\btakes (one|a|no|nothing|%s)|` +
	`(^|[;:,.(] ?|\bor |\band |\bto )(give|use|open|wait|cancel|check|set|choose|leave|put|run|try|mend|save|write|read|look|select|send|end|trust|mention|see|change|raise|add|get|load|let|go on|quote|keep|restart|ask|start|do|make|move|close|name|remove|log in|free)\b|` +
	`agentls\S* (lists|shows|says)|/\w+ lists|it offers %s|%s offers %s|is needed|are needed|one has|usage:|bad (params|textDocument)`)

// helpers are funcs whose text is a remedy, as an argument of a format.
var helpers = []string{"suggest", "Suggest", "nearestSlash", "Pull", "remedy", "example", "usageOr"}

// reviewed are the texts that say nothing of what to do, each with its reason.
var reviewed = map[string]string{
	"this question is settled already":          "nothing is left to do",
	"this run has ended already":                "nothing is left to do",
	"there is nothing more of this run to undo": "nothing is left to do",

	"internal error: ": "a fault of ours; the log says where", "internal error: %v": "a fault of ours; the log says where",
	"internal error:  ended unexpectedly; the log has the details": "a fault of ours; the log says where",

	"interrupted": "chat tells of Ctrl-C in its own words",

	" after shutdown":                            "LSP's own rule, for who writes a client",
	"method not found: ":                         "LSP's own rule, for who writes a client",
	"id %q is that of another request in flight": "JSON-RPC's own rule, for who writes a client",

	"%d tokens: %v":           "what the LLM advises, which is checked here",
	"nothing was written: %s": "of a provider, whose errors are checked here",
	"nothing was written: %v": "of config, whose errors end in what to do", "nothing was written: %w": "of config, whose errors end in what to do",
	"The prompt %s cannot be used: %s": "of an MCP server, in its words",
	"%s cannot be opened: %s":          "of an MCP server, in its words", "%s of %s cannot be opened: %s": "of an MCP server, in its words",
	"/undo: %s": "of the agent, in its words",

	"%s is no file": "network.go ends it in what to do", "%s is over %d MiB": "network.go ends it in what to do", "%s holds no certificate in PEM": "network.go ends it in what to do",
	"the system's certificates cannot be read: ": "network.go ends it in what to do",
	"the mention was never offered":              "the demo ends it in what to do", "the answer does not hold the resource: %+v": "the demo ends it in what to do",
	"the allowed call was not made: %+v": "the demo ends it in what to do", "the run was not cancelled: %w": "the demo ends it in what to do", "the next prompt: %+v": "the demo ends it in what to do",
}

// errorText is one text that reaches a person or a client as an error.
type errorText struct {
	at, text string
	helped   bool // a helper's text is in it
}

// TestErrorTextsSayWhatToDo: every error that a person or a client gets says
// what to do next. A new one that does not is noticed here.
func TestErrorTextsSayWhatToDo(t *testing.T) {
	letters := regexp.MustCompile(`[a-zA-Z]`)
	verbs := regexp.MustCompile(`%[+#]?[a-z]`)
	var all []errorText
	for _, dir := range []string{"../../lsp", "../../agent", "../../agent/openai", "../../agent/config", "."} {
		all = append(all, errorTexts(t, dir)...)
	}
	if len(all) < 100 {
		t.Fatalf("only %d texts were found", len(all))
	}
	used := map[string]bool{}
	for _, e := range all {
		if !letters.MatchString(verbs.ReplaceAllString(e.text, "")) {
			continue // it hands on another text
		}
		_, known := reviewed[e.text]
		used[e.text] = true
		switch says := e.helped || remedy.MatchString(e.text); {
		case !says && !known:
			t.Errorf("%s: %q does not say what to do next: say it behind a semicolon, or review it here", e.at, e.text)
		case says && known:
			t.Errorf("%s: %q says what to do, and needs no review", e.at, e.text)
		}
	}
	for text := range reviewed {
		if !used[text] {
			t.Errorf("%q is reviewed and not used any more", text)
		}
	}
}

// errorTexts collects the literal texts of a package's errors.
func errorTexts(t *testing.T, dir string) (list []errorText) {
	t.Helper()
	set := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatal(dir, names, err)
	}
	inCommand := dir == "."
	add := func(n ast.Node, e ast.Expr, args []ast.Expr) {
		text, ok := literal(e)
		if call, isCall := e.(*ast.CallExpr); isCall && nameOf(call.Fun) == "Sprintf" {
			args = call.Args[1:]
			text, ok = literal(call.Args[0])
		}
		if ok {
			helped := slices.ContainsFunc(args, func(a ast.Expr) bool {
				call, isCall := a.(*ast.CallExpr)
				return isCall && slices.Contains(helpers, nameOf(call.Fun))
			})
			at := set.Position(n.Pos())
			list = append(list, errorText{fmt.Sprintf("%s:%d", filepath.Join(dir, filepath.Base(at.Filename)), at.Line), text, helped})
		}
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				name := nameOf(n.Fun)
				for i, a := range n.Args {
					wanted := i == 0 && (dir == "../../lsp" && (name == "badf" || name == "failed") || dir == "../../agent/config" && (name == "unfit" || name == "refused") || dir == "../../agent/openai" && (name == "config" || name == "provider") || inCommand && (name == "Errorf" || name == "New" && nameOf2(n.Fun) == "errors")) ||
						i == 3 && name == "make" || i == 3 && name == "say" && (nameOf(n.Args[0]) == "tooBad" || nameOf(n.Args[0]) == "poor")
					if wanted {
						add(n, a, n.Args[i+1:])
					}
				}
			case *ast.CompositeLit:
				kind := nameOf(n.Type)
				for i, e := range n.Elts {
					kv, isPair := e.(*ast.KeyValueExpr)
					switch {
					case isPair && (kind == "ProviderError" || kind == "FileError") && nameOf(kv.Key) == "Message":
						add(n, kv.Value, nil)
					case !isPair && (kind == "paramsError" && i == 0 || kind == "refusal" && i == 1):
						add(n, e, nil)
					}
				}
			}
			return true
		})
	}
	return list
}

func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr: // "…" + x: what is literal in it
		a, isA := literal(e.X)
		b, isB := literal(e.Y)
		return a + b, isA || isB
	}
	return "", false
}

// nameOf is the last part of a name such as s.o.x.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func nameOf2(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return nameOf(s.X)
	}
	return ""
}
