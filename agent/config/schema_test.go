package config

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"
)

type object = map[string]any

// schemaDoc is the schema as a document, and as what judges others.
func schemaDoc(t *testing.T) (object, *jsonschema.Schema) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return doc.(object), s
}

// resolved is a schema with what its $ref names; what stands beside it counts.
func resolved(root, schema object) object {
	ref, ok := schema["$ref"].(string)
	if !ok {
		return schema
	}
	out := maps.Clone(root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object))
	maps.Copy(out, schema)
	delete(out, "$ref")
	return out
}

// walk gives each key of the schema with its schema, by its path: NAME stands
// for a name that a person gives.
func walk(root, schema object, path string, visit func(path string, schema object)) {
	schema = resolved(root, schema)
	visit(path, schema)
	properties, _ := schema["properties"].(object)
	for key, s := range properties {
		walk(root, s.(object), join(path, key), visit)
	}
	if named, ok := schema["additionalProperties"].(object); ok && named["$ref"] != nil {
		walk(root, named, join(path, "NAME"), visit)
	}
}

// The keys of the schema, those that the decoder takes, and those that it knows
// to suggest are the same; each has a description.
func TestSchemaHasTheDecodersKeys(t *testing.T) {
	root, _ := schemaDoc(t)
	inSchema := map[string][]string{}
	walk(root, root, "", func(path string, s object) {
		if text, _ := s["description"].(string); len(text) < 10 {
			t.Errorf("%s has no description", path)
		}
		if s["additionalProperties"] == false {
			keys := slices.Collect(maps.Keys(s["properties"].(object)))
			if path == "" {
				keys = slices.DeleteFunc(keys, func(k string) bool { return k == "$schema" })
			}
			inSchema[path] = keys
		}
	})
	if got, want := slices.Sorted(maps.Keys(inSchema)), slices.Sorted(maps.Keys(keysIn)); !slices.Equal(got, want) {
		t.Errorf("closed objects %q, want %q", got, want)
	}
	decoded := decodedKeys(t)
	for path, known := range keysIn {
		for where, keys := range map[string][]string{"the schema": inSchema[path], "the decoder": decoded[path]} {
			if got, want := slices.Sorted(slices.Values(keys)), slices.Sorted(slices.Values(known)); !slices.Equal(got, want) {
				t.Errorf("%q: %s has %q, keysIn has %q", path, where, got, want)
			}
		}
	}
}

// decodedKeys are the keys that the funcs compare with, as their source has
// them, by the object that each decodes.
func decodedKeys(t *testing.T) map[string][]string {
	t.Helper()
	funcs := map[string]string{
		"whole": "", "approval": "approval", "limits": "limits", "decodeProvider": "providers.NAME",
		"serverField": "mcpServers.NAME", "oauthField": "mcpServers.NAME.oauth",
	}
	elsewhere := []string{"$schema", "workspaceTrusted"} // not of this table
	keys := map[string][]string{}
	for _, file := range []string{"load.go", "server.go", "oauth.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			path, ok := funcs[f.Name.Name]
			if !ok {
				continue
			}
			take := func(e ast.Expr) {
				if b, ok := e.(*ast.BinaryExpr); ok { // m.key == "ask"
					e = b.Y
				}
				if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if key, err := strconv.Unquote(lit.Value); err == nil && !slices.Contains(elsewhere, key) {
						keys[path] = append(keys[path], key)
					}
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CaseClause:
					for _, e := range n.List {
						take(e)
					}
				case *ast.CompositeLit:
					for _, e := range n.Elts {
						if kv, ok := e.(*ast.KeyValueExpr); ok {
							take(kv.Key)
						}
					}
				}
				return true
			})
		}
	}
	return keys
}

// The defaults that the schema tells are those in force.
func TestSchemaHasTheDefaults(t *testing.T) {
	w := newWorld(t)
	w.user(`{"providers": {"p": {}}, "mcpServers": {"s": {"command": "x"}}}`)
	c := w.load()
	s, p := server(t, c, "s"), c.Providers["p"]
	seconds := func(d time.Duration) any { return json.Number(strconv.FormatFloat(d.Seconds(), 'f', -1, 64)) }
	count := func(n int) any { return json.Number(strconv.Itoa(n)) }
	list := func(names []string) any { return append([]any{}, make([]any, len(names))...) }
	want := map[string]any{
		"approval.default": c.Approval.Default, "approval.timeoutSeconds": seconds(c.Approval.Timeout),
		"notifications": c.Notifications, "answers": c.Answers, "detached": c.Detached,
		"limits.steps": count(c.Limits.Steps), "limits.tokens": count(c.Limits.Tokens), "limits.mentionChars": count(c.Limits.MentionChars),
		"limits.toolResultBytes": count(c.Limits.ToolResultBytes), "limits.parallelTools": count(c.Limits.ParallelTools),
		"providers.NAME.idleTimeoutSeconds": seconds(p.IdleTimeout),
		"mcpServers.NAME.timeoutSeconds":    seconds(s.Timeout), "mcpServers.NAME.startupTimeoutSeconds": seconds(s.StartupTimeout),
		"mcpServers.NAME.protocol": s.Protocol, "mcpServers.NAME.disabled": s.Disabled, "mcpServers.NAME.inheritEnv": s.InheritEnv,
		"mcpServers.NAME.trustAnnotations": s.TrustAnnotations, "mcpServers.NAME.sampling": s.Sampling,
		"mcpServers.NAME.enabledTools": list(s.EnabledTools), "mcpServers.NAME.disabledTools": list(s.DisabledTools),
	}
	root, _ := schemaDoc(t)
	got := map[string]any{}
	walk(root, root, "", func(path string, schema object) {
		if d, ok := schema["default"]; ok {
			got[path] = d
		}
	})
	for path := range want {
		if !reflect.DeepEqual(got[path], want[path]) {
			t.Errorf("%s: %#v, want %#v", path, got[path], want[path])
		}
		delete(got, path)
	}
	if len(got) > 0 {
		t.Errorf("defaults that nothing has: %v", got)
	}
}

// judge says what the schema and the decoder think of a user's file.
func judge(t *testing.T, w *world, s *jsonschema.Schema, text string) (told []string, schemaErr error) {
	t.Helper()
	plain, err := hujson.Standardize([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(plain)))
	if err != nil {
		t.Fatal(err)
	}
	w.user(text)
	for _, p := range w.load().Problems {
		told = append(told, p.String())
	}
	return told, s.Validate(doc)
}

// Each key with values of each kind: what the schema refuses, the decoder tells
// of, and the other way about. Null is not offered, though it counts as unset.
func TestSchemaAndDecoderJudgeAlike(t *testing.T) {
	root, schema := schemaDoc(t)
	w := newWorld(t)
	w.project("zz", "A=1\n")
	values := []string{
		`"zz"`, `""`, `"https://example.com/x"`, `"https://example.com"`, `0`, `1`, `1.5`, `-1`, `65535`, `65536`, `1000000`, `1000001`, `2147483648`, `1e3`, `true`, `false`,
		`[]`, `["read_file"]`, `[1]`, `["read_file", null, {}]`, `{}`, `{"a": "b"}`, `{"a": 1, "b": true}`, `{"a": {"b": "c"}}`, `{"a": []}`,
	}
	judged, refused := 0, 0
	walk(root, root, "", func(path string, s object) {
		own := slices.Clone(values)
		words, _ := s["enum"].([]any)
		examples, _ := s["examples"].([]any)
		for _, v := range slices.Concat(words, examples) {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			own = append(own, strings.NewReplacer("${GITHUB_TOKEN}", "x", "${TOKEN}", "x", "${OPENAI_API_KEY}", "x", "${cmd:pass show openai}", "x", "${CLIENT_SECRET}", "x", "/.env", "/zz").Replace(string(raw)))
		}
		for _, v := range own {
			for _, text := range around(path, v) {
				told, schemaErr := judge(t, w, schema, text)
				if said := strings.Join(told, ""); strings.HasPrefix(path, "approval.") && strings.Contains(said, "the rule ") || strings.Contains(said, "envFile: cannot be read: open") {
					continue // what a rule means, and which files there are, is not the schema's to say
				}
				judged++
				if schemaErr != nil {
					refused++
				}
				if (schemaErr == nil) != (len(told) == 0) {
					t.Errorf("%s\nschema: %v\ndecoder: %q", text, schemaErr, told)
				}
			}
		}
	})
	t.Logf("%d documents, %d refused", judged, refused)
	if refused < 200 || judged-refused < 200 {
		t.Error("the values say little")
	}
}

// around puts a value at a path into documents that are right but for it.
func around(path, value string) []string {
	if path == "" || strings.HasSuffix(path, "NAME") {
		return nil // the object itself
	}
	keys := strings.Split(path, ".")
	key := keys[len(keys)-1]
	fields := []string{""}
	switch {
	case strings.HasPrefix(path, "mcpServers.NAME.oauth."):
		fields = []string{"", `"clientId": "x", `}
	case strings.HasPrefix(path, "mcpServers.NAME."):
		fields = []string{"", `"command": "x", `, `"url": "https://x", `, `"type": "stdio", "command": "x", `, `"type": "sse", "url": "https://x", `, `"command": "x", "url": "https://x", `}
	}
	var out []string
	for _, before := range fields {
		if strings.Contains(before, strconv.Quote(key)+":") {
			continue
		}
		text := fmt.Sprintf("{%s%q: %s}", before, key, value)
		for i := len(keys) - 2; i >= 0; i-- {
			more := ""
			if keys[i] == "oauth" {
				more = `"url": "https://x", `
			}
			text = fmt.Sprintf("{%s%q: %s}", more, keys[i], text)
		}
		out = append(out, text)
	}
	return out
}

// Whole files, and what stands in CONTRACT.md and README.md.
func TestSchemaTakesWholeFiles(t *testing.T) {
	_, schema := schemaDoc(t)
	w := newWorld(t)
	w.env["TOKEN"] = "t"
	samples := map[string]bool{ // whether it is right
		`{}`: true,
		`{"$schema": "./config.schema.json", "mcpServers": {"a": {"command": "x"}, "b": {"url": "https://x"}}}`: true,
		`{"mcpServers": {"a": {"command": "x", "cmd": "y"}}}`:                                                   false,
		`{"mcpServers": {"workspace": {"command": "x"}}}`:                                                       false,
		`{"mcpServers": {"": {"command": "x"}}}`:                                                                false,
		`{"mcpServers": {"a": "x"}}`:                                                                            false,
		`{"mcpServers": {"a": {}}}`:                                                                             false,
		`{"mcpServers": [{"command": "x"}]}`:                                                                    false,
		`{"mcpServers": {"a": {"type": "stdio", "url": "https://x"}}}`:                                          false,
		`{"mcpServers": {"a": {"type": "http", "command": "x"}}}`:                                               false,
		`{"mcpServers": {"a": {"type": "ws", "url": "https://x"}}}`:                                             false,
		`{"servers": {}}`:                            false,
		`{"limits": {"stepz": 1}}`:                   false,
		`{"approval": {"allow": "read_file"}}`:       false,
		`{"providers": {"p": {"base_url": "x"}}}`:    false,
		`{"providers": {"p": {"headers": {"A":1}}}}`: true,
	}
	for text, right := range samples {
		told, schemaErr := judge(t, w, schema, text)
		if (schemaErr == nil) != right || (len(told) == 0) != right {
			t.Errorf("%s: right %v\nschema: %v\ndecoder: %q", text, right, schemaErr, told)
		}
	}
	found := 0
	for _, page := range []string{"CONTRACT.md", "README.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "```json")[1:] {
			block, _, _ = strings.Cut(strings.TrimPrefix(block, "c"), "```")
			if _, err := hujson.Standardize([]byte(block)); err != nil || !strings.Contains(block, `"mcpServers"`) && !strings.Contains(block, `"providers"`) {
				continue // of something else
			}
			found++
			if told, schemaErr := judge(t, w, schema, block); schemaErr != nil || len(told) > 0 {
				t.Errorf("%s: %s\nschema: %v\ndecoder: %q", page, block, schemaErr, told)
			}
		}
	}
	if found == 0 {
		t.Error("no sample was found")
	}
}

// The schema offers the presets that there are.
func TestSchemaHasThePresets(t *testing.T) {
	root, _ := schemaDoc(t)
	var offered []string
	walk(root, root, "", func(path string, s object) {
		if path == "providers.NAME.preset" {
			for _, v := range s["enum"].([]any) {
				offered = append(offered, v.(string))
			}
		}
	})
	if !slices.Equal(offered, presetNames()) {
		t.Errorf("the schema has %q, the table %q", offered, presetNames())
	}
}
