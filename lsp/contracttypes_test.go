package lsp

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

// contractTypes writes Go's types in the words of the contract, see
// [lsptest.Contract].
type contractTypes struct {
	t       *testing.T
	words   map[string][]string // of a named string type of Go: its constants
	methods map[string]bool     // of our own, "agentls/…"
	named   map[reflect.Type]string
	types   map[string]map[string]string
	enums   map[string][]string
}

func newContractTypes(t *testing.T, packages ...string) *contractTypes {
	t.Helper()
	b := &contractTypes{t: t, words: map[string][]string{}, methods: map[string]bool{}, named: map[reflect.Type]string{}, types: map[string]map[string]string{}, enums: map[string][]string{}}
	for _, dir := range packages {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no Go in %s: %v", dir, err)
		}
		for _, file := range files {
			b.readWords(file)
		}
	}
	b.of(reflect.TypeFor[agent.Mode]()) // named by tags alone
	b.of(reflect.TypeFor[agent.Action]())
	b.of(reflect.TypeFor[agent.ToolCallState]())
	return b
}

// ownMethod is a method of our own as Go writes it; packages have such names too.
var ownMethod = regexp.MustCompile(`^"agentls/[a-zA-Z]+"$`)

// readWords takes the constants of named string types of one file, and the
// methods that it names.
func (b *contractTypes) readWords(file string) {
	parsed, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if _, ok := n.(*ast.ImportSpec); ok {
			return false
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == gotoken.STRING && ownMethod.MatchString(lit.Value) && !strings.HasSuffix(file, "_test.go") {
			b.methods[strings.Trim(lit.Value, `"`)] = true
		}
		return true
	})
	for _, d := range parsed.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != gotoken.CONST {
			continue
		}
		for _, s := range group.Specs {
			spec := s.(*ast.ValueSpec)
			if spec.Type == nil {
				continue
			}
			name := ""
			switch of := spec.Type.(type) {
			case *ast.Ident:
				name = parsed.Name.Name + "." + of.Name
			case *ast.SelectorExpr:
				name = of.X.(*ast.Ident).Name + "." + of.Sel.Name
			}
			for _, value := range spec.Values {
				if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == gotoken.STRING {
					word, _ := strconv.Unquote(lit.Value)
					b.words[name] = append(b.words[name], word)
				}
			}
		}
	}
}

// expr is the type of a value of Go.
func (b *contractTypes) expr(v any) string { return b.of(reflect.TypeOf(v)) }

func (b *contractTypes) of(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "string"
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[protocol.LSPAny]():
		return "any"
	case reflect.TypeFor[positionArg](), reflect.TypeFor[protocol.Position]():
		return "lsp.Position"
	case reflect.TypeFor[rangeArg](), reflect.TypeFor[protocol.Range]():
		return "lsp.Range"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.of(t.Elem())
	case reflect.String:
		if words := b.words[t.String()]; words != nil {
			name := b.name(t)
			b.enums[name] = words
			return name
		}
		if t.PkgPath() != "" {
			b.t.Errorf("%s is a word of the wire and has no constants", t)
		}
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Interface:
		return "any"
	case reflect.Slice:
		return b.of(t.Elem()) + "[]"
	case reflect.Map:
		return "Record<string, " + b.of(t.Elem()) + ">"
	case reflect.Struct:
		name := b.name(t)
		if b.types[name] == nil {
			b.types[name] = map[string]string{} // it may hold itself
			b.types[name] = b.fields(t)
		}
		return name
	}
	b.t.Fatalf("the contract has no word for %s", t)
	return ""
}

// name is what a type is called in the contract: as in Go, or as CONTRACT.md
// calls it, since packages share no names there.
func (b *contractTypes) name(t reflect.Type) string {
	if name := b.named[t]; name != "" {
		return name
	}
	name := map[string]string{
		"agent.Result": "RunResult", "mcp.Status": "ServerStatus", "mcp.Prompt": "MCPPrompt", "agent.StepStatus": "StepStatus",
	}[t.String()]
	if name == "" {
		name = strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	}
	for other, taken := range b.named {
		if taken == name {
			b.t.Fatalf("%s and %s have one name in the contract", t, other)
		}
	}
	b.named[t] = name
	return name
}

// fields are those of a struct as JSON has them; "name?" may be left out. A tag
// `contract` says what Go's own type leaves open, `required` which field of an
// object in an argument must be there.
func (b *contractTypes) fields(t reflect.Type) map[string]string {
	list := map[string]string{}
	for f := range t.Fields() {
		tag, hasTag := f.Tag.Lookup("json")
		name, rest, _ := strings.Cut(tag, ",")
		switch {
		case name == "-", !f.IsExported() && !f.Anonymous:
			continue
		case !hasTag && f.Anonymous:
			maps.Copy(list, b.fields(f.Type))
			continue
		case name == "":
			b.t.Errorf("%s.%s has no name on the wire", t, f.Name)
		}
		expr := f.Tag.Get("contract")
		if expr == "" {
			expr = b.of(f.Type)
		}
		switch {
		case strings.HasSuffix(t.Name(), "Arg"): // what may be left out is null in Go
			if f.Tag.Get("required") == "" {
				name += "?"
			}
		case strings.Contains(rest, "omit"):
			name += "?"
		case f.Type.Kind() == reflect.Pointer:
			expr += " | null"
		}
		list[name] = expr
	}
	return list
}
