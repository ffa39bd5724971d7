package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxFaults is how many faults an error names.
const maxFaults = 5

// jsonSchema checks values against a schema that a server gave (JSON Schema
// 2020-12 where it names no other draft; nothing is fetched, formats do not
// count). Safe for concurrent use.
type jsonSchema struct {
	schema *jsonschema.Schema

	mu   sync.Mutex // guards work, so one check at a time
	work *checkWork
}

// knownFormats are what the library would hold values against under drafts up
// to 7, which most servers name: each judges a date or a URI in its own way.
//
//nolint:gochecknoglobals // a constant table
var knownFormats = []string{
	"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6", "hostname", "email", "date", "time", "date-time",
	"uri", "iri", "uri-reference", "iri-reference", "uri-template", "semver",
}

// errTooMuch says that a check was given up: the value is neither right nor
// wrong then.
var errTooMuch = errors.New("too much work to check it")

// compileSchema reads a schema. The error says why it cannot be used to check
// anything: it is no valid schema, leads out of itself, or is too large.
func compileSchema(raw json.RawMessage) (schema *jsonSchema, err error) {
	if len(raw) > maxSchemaBytes || tooDeep(raw, maxSchemaDepth) {
		return nil, fmt.Errorf("it has %d bytes, or more than %d levels", len(raw), maxSchemaDepth)
	}
	if hasHugeNumber(raw) {
		return nil, errors.New("it has a number that is too large to reckon with")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if n := schemaParts(doc); n > maxSchemaParts {
		return nil, fmt.Errorf("it has %d parts", n)
	}
	work := newCheckWork(doc)
	defer func() { // what the library itself checks of a schema counts as well
		if p := recover(); p == any(errTooMuch) {
			schema, err = nil, errTooMuch
		} else if p != nil {
			panic(p)
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(closedLoader{})
	c.UseRegexpEngine(work.regexp)
	for _, name := range knownFormats {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "agentls:work", Compile: work.compile})
	c.AssertVocabs()
	const at = "agentls:schema.json"
	if err := c.AddResource(at, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(at)
	if err != nil {
		return nil, errors.New(firstLines(err.Error(), 3))
	}
	return &jsonSchema{schema: compiled, work: work}, nil
}

// check returns nil for a value that fits, errTooMuch where that is not found
// out, else an error that says where it does not, by JSON pointers, and why.
func (s *jsonSchema) check(value json.RawMessage) (err error) {
	if hasHugeNumber(value) {
		return errTooMuch
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("it is no valid JSON: %w", err)
	}
	if valueParts(v) > maxCheckWork/s.work.each {
		return errTooMuch
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work.done = 0
	defer func() {
		if p := recover(); p == any(errTooMuch) {
			err = errTooMuch
		} else if p != nil {
			panic(p)
		}
	}()
	invalid, ok := errors.AsType[*jsonschema.ValidationError](s.schema.Validate(v))
	if !ok {
		return nil
	}
	f := faults{}
	f.add(invalid)
	switch {
	case f.circle:
		return errTooMuch
	case f.n > maxFaults:
		f.words = append(f.words, fmt.Sprintf("and %d more", f.n-maxFaults))
	}
	return errors.New(strings.Join(f.words, "; "))
}

// faults words what is wrong, a place each, and no more than are told: a list
// of ten thousand may be wrong in each item.
type faults struct {
	words  []string // maxFaults at most
	n      int      // of all
	circle bool     // the schema refers to itself without end, which is no fault of the value
}

// add takes what is wrong. Of alternatives none of which fits they are named
// together: each alone would be misleading.
func (f *faults) add(e *jsonschema.ValidationError) {
	switch e.ErrorKind.(type) {
	case *kind.RefCycle:
		f.circle = true
		return
	case *kind.AnyOf, *kind.OneOf:
		if len(e.Causes) > 0 {
			f.addAlternatives(e)
			return
		}
	}
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			f.add(c)
		}
		return
	}
	f.say(func() string {
		return pointer(e.InstanceLocation) + ": " + clip(e.ErrorKind.LocalizedString(message.NewPrinter(language.English)), 300)
	})
}

func (f *faults) addAlternatives(e *jsonschema.ValidationError) {
	var each []string
	for _, c := range e.Causes {
		inner := faults{n: maxFaults} // what is not told needs no words
		if f.n < maxFaults && len(each) < maxFaults {
			inner.n = 0
		}
		inner.add(c)
		if f.circle = f.circle || inner.circle; len(inner.words) > 0 {
			each = append(each, clip(strings.Join(inner.words, ", "), 300))
		}
	}
	f.say(func() string {
		return fmt.Sprintf("%s fits none of its alternatives: %s", pointer(e.InstanceLocation), strings.Join(each, " | "))
	})
}

func (f *faults) say(words func() string) {
	if f.n++; f.n <= maxFaults {
		f.words = append(f.words, words())
	}
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

// closedLoader loads nothing: a schema of a server never makes us fetch.
type closedLoader struct{}

func (closedLoader) Load(string) (any, error) {
	return nil, errors.New("schemas outside of the server's own are not fetched")
}
