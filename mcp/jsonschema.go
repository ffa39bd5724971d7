package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Bounds on the work that a schema of a server can make.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 100       // of objects and lists in each other
	maxCheckSteps  = 200_000   // schemas that are applied in one check
	maxCheckArea   = 4_000_000 // KiB²: bytes of the schema times bytes of the value, over 1024
	maxFaults      = 5         // that an error names
)

// jsonSchema checks values against a schema that a server gave (JSON Schema
// 2020-12 where it names no other draft; nothing is fetched, formats do not
// count). Safe for concurrent use.
type jsonSchema struct {
	size   int // bytes of its text
	schema *jsonschema.Schema

	mu    sync.Mutex // guards steps, so one check at a time
	steps *stepCount
}

// errTooMuch says that a check was given up: the value is neither right nor
// wrong then.
var errTooMuch = errors.New("too much work to check it")

// compileSchema reads a schema. The error says why it cannot be used to check
// anything: it is no valid schema, leads out of itself, or is too large.
func compileSchema(raw json.RawMessage) (*jsonSchema, error) {
	if len(raw) > maxSchemaBytes || tooDeep(raw, maxSchemaDepth) {
		return nil, fmt.Errorf("it has %d bytes, or more than %d levels", len(raw), maxSchemaDepth)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	steps := &stepCount{}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(closedLoader{})
	c.UseRegexpEngine(lenientRegexp)
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "agentls:steps", Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
		return steps, nil
	}})
	c.AssertVocabs()
	const at = "agentls:schema.json"
	if err := c.AddResource(at, doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile(at)
	if err != nil {
		return nil, errors.New(firstLines(err.Error(), 3))
	}
	return &jsonSchema{size: len(raw), schema: schema, steps: steps}, nil
}

// check returns nil for a value that fits, errTooMuch where that is not found
// out, else an error that says where it does not, by JSON pointers, and why.
func (s *jsonSchema) check(value json.RawMessage) (err error) {
	if s.size/1024*(len(value)/1024) > maxCheckArea {
		return errTooMuch
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("it is no valid JSON: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps.n = 0
	defer func() {
		if p := recover(); p != nil {
			if p != any(errTooMuch) {
				panic(p)
			}
			err = errTooMuch
		}
	}()
	invalid, ok := errors.AsType[*jsonschema.ValidationError](s.schema.Validate(v))
	if !ok {
		return nil
	}
	found := faults(invalid, nil)
	if n := len(found) - maxFaults; n > 0 {
		found = append(found[:maxFaults], fmt.Sprintf("and %d more", n))
	}
	return errors.New(strings.Join(found, "; "))
}

// faults words what is wrong, a place each. Of alternatives none of which fits
// they are named together: each alone would be misleading.
func faults(e *jsonschema.ValidationError, found []string) []string {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(e.Causes) == 0 {
			break
		}
		var each []string
		for _, c := range e.Causes {
			if inner := faults(c, nil); len(inner) > 0 && len(each) < maxFaults {
				each = append(each, clip(strings.Join(inner, ", "), 300))
			}
		}
		return append(found, fmt.Sprintf("%s fits none of its alternatives: %s", pointer(e.InstanceLocation), strings.Join(each, " | ")))
	}
	if len(e.Causes) == 0 {
		return append(found, pointer(e.InstanceLocation)+": "+clip(e.ErrorKind.LocalizedString(message.NewPrinter(language.English)), 300))
	}
	for _, c := range e.Causes {
		found = faults(c, found)
	}
	return found
}

// pointer writes a place as a JSON pointer (RFC 6901), the whole as "the value".
func pointer(tokens []string) string {
	if len(tokens) == 0 {
		return "the value"
	}
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(clip(t, 100)))
	}
	return b.String()
}

func firstLines(text string, n int) string {
	lines := strings.SplitN(text, "\n", n+1)
	return clip(strings.Join(lines[:min(n, len(lines))], " "), 500)
}

// stepCount is part of each schema, so that a check which takes too long ends:
// a few kilobytes of references to each other can be more than a day's work.
type stepCount struct{ n int }

// Validate counts; it finds no fault.
func (s *stepCount) Validate(*jsonschema.ValidatorContext, any) {
	if s.n++; s.n > maxCheckSteps {
		panic(errTooMuch)
	}
}

// closedLoader loads nothing: a schema of a server never makes us fetch.
type closedLoader struct{}

func (closedLoader) Load(string) (any, error) {
	return nil, errors.New("schemas outside of the server's own are not fetched")
}

// lenientRegexp takes a pattern of ECMA-262 that Go does not know for one that
// matches: what cannot be checked is no fault.
func lenientRegexp(pattern string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(pattern); err == nil {
		return re, nil
	}
	return anyText(pattern), nil
}

type anyText string

func (anyText) MatchString(string) bool { return true }
func (p anyText) String() string        { return string(p) }

// tooDeep reports whether objects and lists of a JSON text stand more than
// most levels in each other.
func tooDeep(raw []byte, most int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
