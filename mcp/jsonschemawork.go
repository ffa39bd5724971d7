package mcp

import (
	"encoding/json"
	"iter"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on the work that a schema of a server can make. Work is counted in
// about a hundred nanoseconds.
const (
	maxSchemaBytes  = 1 << 20
	maxSchemaDepth  = 100       // of objects and lists in each other
	maxSchemaParts  = 10_000    // objects, and what may be schemas beside them
	maxCheckWork    = 5_000_000 // of one check
	schemaWork      = 10        // of applying a schema to a value
	numberWork      = 200       // of comparing two numbers; of two texts, 1
	maxPattern      = 1024      // bytes
	maxInstructions = 100_000   // of all patterns of a schema
	maxNumberDigits = 400       // of a number, or of what its exponent makes of it
)

// checkWork counts what a check does, so that one which takes too long ends: a
// few kilobytes of references to each other can be more than a day's work. The
// library does not say when it begins with a schema, only when it has been
// through most of it; so each counts as much as the largest, for each part of
// the value that it may be applied to.
type checkWork struct {
	each         int // what one application takes
	done         int
	instructions int // of the patterns so far
}

func newCheckWork(schema any) *checkWork {
	return &checkWork{each: schemaWork + largestEnum(schema)/10}
}

func (w *checkWork) add(n int) {
	if w.done += n; w.done > maxCheckWork {
		panic(errTooMuch)
	}
}

// largestEnum is what it takes to compare a value with the largest of the
// enumerations and constants of a schema.
func largestEnum(schema any) (most int) {
	switch v := schema.(type) {
	case []any:
		for _, item := range v {
			most = max(most, largestEnum(item))
		}
	case map[string]any:
		for key, value := range v {
			if most = max(most, largestEnum(value)); key == "enum" || key == "const" {
				most = max(most, comparing(value))
			}
		}
	}
	return most
}

// schemaParts counts what may be schemas in a schema.
func schemaParts(v any) (n int) {
	switch v := v.(type) {
	case bool:
		return 1
	case []any:
		for _, item := range v {
			n += schemaParts(item)
		}
	case map[string]any:
		n = 1
		for _, value := range v {
			n += schemaParts(value)
		}
	}
	return n
}

// comparing is what it takes to compare something with a value.
func comparing(v any) int { return countParts(v, numberWork) }

func valueParts(v any) int { return countParts(v, 1) }

// countParts counts the parts of a value, each number as so many.
func countParts(v any, number int) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += countParts(item, number)
		}
	case map[string]any:
		for _, value := range v {
			n += countParts(value, number)
		}
	case json.Number:
		return number
	}
	return n
}

// compile makes a part of each schema that counts its work.
func (w *checkWork) compile(_ *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
	required, _ := schema["required"].([]any)
	return weight{w, len(required), schema["uniqueItems"] == true}, nil
}

// weight is what applying one schema takes.
type weight struct {
	work     *checkWork
	required int
	unique   bool
}

// Validate counts; it finds no fault.
func (w weight) Validate(_ *jsonschema.ValidatorContext, v any) {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v) >> 8
	case map[string]any:
		n += len(v)
	case []any:
		n += len(v)
		if w.unique {
			w.work.add(valueParts(v) * schemaWork)
		}
	}
	w.work.add(w.required + n*w.work.each)
}

// regexp takes a pattern of ECMA-262 that Go does not know, or that is large,
// for one that matches: what cannot be checked is no fault.
func (w *checkWork) regexp(pattern string) (jsonschema.Regexp, error) {
	if len(pattern) > maxPattern || w.instructions > maxInstructions {
		return anyText(pattern), nil
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return anyText(pattern), nil //nolint:nilerr // it matches
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return anyText(pattern), nil //nolint:nilerr // likewise
	}
	if w.instructions += len(prog.Inst); w.instructions > maxInstructions {
		return anyText(pattern), nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return anyText(pattern), nil //nolint:nilerr // likewise
	}
	return &countedRegexp{re, len(prog.Inst), w}, nil
}

// countedRegexp counts what a match takes at most.
type countedRegexp struct {
	*regexp.Regexp
	size int // instructions
	work *checkWork
}

func (r *countedRegexp) MatchString(s string) bool {
	r.work.add(1 + len(s)*r.size/8)
	return r.Regexp.MatchString(s)
}

type anyText string

func (anyText) MatchString(string) bool { return true }
func (p anyText) String() string        { return string(p) }

// outsideTexts gives the bytes of a JSON text that stand in none of its strings.
func outsideTexts(raw []byte) iter.Seq[byte] {
	return func(yield func(byte) bool) {
		quoted := false
		for i := 0; i < len(raw); i++ {
			switch c := raw[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case !quoted && !yield(c):
				return
			}
		}
	}
}

// hasHugeNumber reports whether a JSON text has a number that takes long to
// reckon with: the digits of 1e1000000000 would fill the memory.
func hasHugeNumber(raw []byte) bool {
	digits, exponent, inExponent := 0, 0, false
	for c := range outsideTexts(raw) {
		switch {
		case c >= '0' && c <= '9' && inExponent:
			exponent = min(10*exponent+int(c-'0'), 2*maxNumberDigits)
		case c >= '0' && c <= '9':
			digits++
		case (c == 'e' || c == 'E') && digits > 0:
			inExponent = true
		case c == '.' || c == '+' || c == '-':
		default:
			digits, exponent, inExponent = 0, 0, false
		}
		if digits > maxNumberDigits || exponent > maxNumberDigits {
			return true
		}
	}
	return false
}

// tooDeep reports whether objects and lists of a JSON text stand more than
// most levels in each other.
func tooDeep(raw []byte, most int) bool {
	depth := 0
	for c := range outsideTexts(raw) {
		switch c {
		case '{', '[':
			if depth++; depth > most {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}
