package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	maxFormBytes   = 256 << 10 // of a requestedSchema
	maxFormFields  = 50
	maxFormOptions = 500 // of one property
)

// Form is what the requestedSchema of an elicitation asks for: a flat object
// (client/elicitation, 2026-07-28, Requested Schema). All names and texts in it
// are the server's.
type Form struct {
	Fields []Field // in the order of the schema's properties
}

// FieldKind is the type of a form's property.
type FieldKind string

// The kinds of a [Field].
const (
	FieldString  FieldKind = "string"
	FieldNumber  FieldKind = "number"
	FieldInteger FieldKind = "integer"
	FieldBoolean FieldKind = "boolean"
	FieldEnum    FieldKind = "enum"  // one of Options
	FieldEnums   FieldKind = "enums" // some of Options, an array
	FieldList    FieldKind = "list"  // an array of any strings
)

// Field is one property of a [Form].
type Field struct {
	Name, Title, Description string // Title may be empty
	Kind                     FieldKind
	Required                 bool
	Options                  []Option        // of an enum, never empty
	Default                  json.RawMessage // a value that the field takes; nil: none
	Secret                   bool            // it looks like a password, a key or the like
	rules                    fieldRules
}

// Option is a value that a field may have, a string, number or boolean.
type Option struct {
	Value json.RawMessage
	Title string // what the server calls it; else the value as text
}

// fieldRules are the keywords that a value is held against.
type fieldRules struct {
	Format       maybe[string]  `json:"format"`
	MinLength    maybe[float64] `json:"minLength"`
	MaxLength    maybe[float64] `json:"maxLength"`
	Pattern      maybe[string]  `json:"pattern"`
	Minimum      maybe[float64] `json:"minimum"`
	Maximum      maybe[float64] `json:"maximum"`
	ExclusiveMin maybe[float64] `json:"exclusiveMinimum"`
	ExclusiveMax maybe[float64] `json:"exclusiveMaximum"`
	MultipleOf   maybe[float64] `json:"multipleOf"`
	MinItems     maybe[float64] `json:"minItems"`
	MaxItems     maybe[float64] `json:"maxItems"`
	Unique       maybe[bool]    `json:"uniqueItems"`
	pattern      *regexp.Regexp // nil: none, or one that only ECMAScript knows
}

// secretField matches the names of what must not be asked for in a form.
var secretField = regexp.MustCompile(`(?i)passw|passphrase|passcode|secret|credential|\btoken\b|api.?key|access.?key|private.?key|\bpin\b|\bcvv\b|\bcvc\b|card.?number|bearer|\botp\b`)

// words parts a name that is written in camelCase, snake_case or the like.
func words(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if lower && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		if strings.ContainsRune("_-.", r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// property is one property of a schema as servers write them.
type property struct {
	Type        json.RawMessage   `json:"type"`
	Title       maybe[string]     `json:"title"`
	Description maybe[string]     `json:"description"`
	Default     json.RawMessage   `json:"default"`
	Enum        []json.RawMessage `json:"enum"`
	EnumNames   maybe[[]string]   `json:"enumNames"` // up to 2025-06-18
	Const       json.RawMessage   `json:"const"`
	OneOf       []json.RawMessage `json:"oneOf"`
	AnyOf       []json.RawMessage `json:"anyOf"`
	Items       json.RawMessage   `json:"items"`
	Ref         string            `json:"$ref"`
	WriteOnly   maybe[bool]       `json:"writeOnly"`
	fieldRules
}

// formParser reads one schema.
type formParser struct {
	defs map[string]json.RawMessage // by "#/$defs/NAME" or "#/definitions/NAME"
}

// ParseForm reads a requestedSchema. The error says, for the server's author,
// what in it cannot be asked of a person.
func ParseForm(schema json.RawMessage) (Form, error) {
	if len(schema) > maxFormBytes {
		return Form{}, fmt.Errorf("requestedSchema has %d bytes; at most %d are taken", len(schema), maxFormBytes)
	}
	var top struct {
		Type        json.RawMessage            `json:"type"`
		Properties  json.RawMessage            `json:"properties"`
		Required    maybe[[]string]            `json:"required"`
		Defs        map[string]json.RawMessage `json:"$defs"`
		Definitions map[string]json.RawMessage `json:"definitions"`
	}
	if err := json.Unmarshal(schema, &top); err != nil {
		return Form{}, fmt.Errorf("requestedSchema is no JSON Schema of an object: %w", err)
	}
	if kind, _ := soleType(top.Type); kind != "object" && !(missing(top.Type) && !missing(top.Properties)) {
		return Form{}, fmt.Errorf(`requestedSchema must have "type": "object"`)
	}
	p := formParser{defs: map[string]json.RawMessage{}}
	for name, def := range top.Defs {
		p.defs["#/$defs/"+name] = def
	}
	for name, def := range top.Definitions {
		p.defs["#/definitions/"+name] = def
	}
	var members []member
	if !missing(top.Properties) {
		var err error
		if members, err = objectMembers(top.Properties); err != nil {
			return Form{}, fmt.Errorf("properties of requestedSchema: %w", err)
		}
	}
	if len(members) > maxFormFields {
		return Form{}, fmt.Errorf("requestedSchema has %d properties; a person is asked for at most %d", len(members), maxFormFields)
	}
	var f Form
	for _, m := range members {
		field, err := p.field(m.name, m.value)
		if err != nil {
			return Form{}, fmt.Errorf("the property %q of requestedSchema: %w", clip(m.name, 100), err)
		}
		field.Required = slices.Contains(top.Required.v, m.name)
		f.Fields = append(f.Fields, field)
	}
	for _, name := range top.Required.v {
		if f.Field(name) == nil {
			return Form{}, fmt.Errorf("requestedSchema requires %q, which is none of its properties", clip(name, 100))
		}
	}
	return f, nil
}

// Field returns the field of a name, or nil.
func (f Form) Field(name string) *Field {
	i := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Fields[i]
}

// field reads one property.
func (p formParser) field(name string, raw json.RawMessage) (Field, error) {
	s, err := p.property(raw)
	if err != nil {
		return Field{}, err
	}
	f := Field{Name: name, Title: s.Title.v, Description: s.Description.v, rules: s.fieldRules}
	if f.rules.Pattern.v != "" {
		f.rules.pattern, _ = regexp.Compile(f.rules.Pattern.v)
	}
	if f.Kind, err = p.kind(s, &f); err != nil {
		return Field{}, err
	}
	f.Secret = f.Kind != FieldBoolean && f.Options == nil && (s.WriteOnly.v || s.Format.v == "password" || secretField.MatchString(words(name+" "+f.Title)))
	if !missing(s.Default) && f.Check(s.Default) == nil {
		f.Default = bytes.Clone(s.Default)
	}
	return f, nil
}

// property decodes a property, follows a local $ref once, and takes the one
// branch of anyOf or oneOf that is not null, as pydantic writes an optional
// value.
func (p formParser) property(raw json.RawMessage) (property, error) {
	var s property
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	if s.Ref != "" {
		def, ok := p.defs[s.Ref]
		if !ok {
			return s, fmt.Errorf("its $ref %q leads nowhere in it", clip(s.Ref, 100))
		}
		return p.under(def, s)
	}
	for _, branches := range [][]json.RawMessage{s.AnyOf, s.OneOf} {
		some := slices.DeleteFunc(slices.Clone(branches), isNull)
		if len(some) == 1 && len(some) < len(branches) {
			return p.under(some[0], s)
		}
	}
	return s, nil
}

// under decodes the schema that stands for s; what s says of itself counts more.
func (p formParser) under(raw json.RawMessage, s property) (property, error) {
	var inner property
	if err := json.Unmarshal(raw, &inner); err != nil {
		return s, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	if def, ok := p.defs[inner.Ref]; ok && inner.Ref != s.Ref { // Optional[SomeEnum]
		inner = property{}
		if err := json.Unmarshal(def, &inner); err != nil {
			return s, fmt.Errorf("it is no JSON Schema: %w", err)
		}
	}
	if s.Title.v != "" {
		inner.Title = s.Title
	}
	if s.Description.v != "" {
		inner.Description = s.Description
	}
	if !missing(s.Default) {
		inner.Default = s.Default
	}
	return inner, nil
}

func isNull(schema json.RawMessage) bool {
	var s struct {
		Type json.RawMessage `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && string(s.Type) == `"null"`
}

// soleType is the type of a schema: its one type beside null. false: there are
// more, or it is none.
func soleType(raw json.RawMessage) (string, bool) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one, true
	}
	var several []string
	_ = json.Unmarshal(raw, &several)
	several = slices.DeleteFunc(several, func(t string) bool { return t == "null" })
	if len(several) != 1 {
		return "", false
	}
	return several[0], true
}

// kind tells what a property asks for and takes its options.
func (p formParser) kind(s property, f *Field) (FieldKind, error) {
	var err error
	if f.Options, err = options(s); err != nil {
		return "", err
	}
	kind, ok := soleType(s.Type)
	switch {
	case f.Options != nil && (missing(s.Type) || kind == "string" || kind == "number" || kind == "integer"):
		return FieldEnum, nil
	case f.Options != nil && kind == "boolean": // true alone, say
		return FieldEnum, nil
	case kind == "array":
		return p.arrayKind(s, f)
	case kind == "string", kind == "number", kind == "integer", kind == "boolean":
		return FieldKind(kind), nil
	case !ok:
		return "", fmt.Errorf("it has no single type of string, number, integer, boolean or array")
	}
	return "", fmt.Errorf("the type %q cannot be asked for: a form is flat, of strings, numbers, booleans and enumerations", clip(kind, 50))
}

// arrayKind reads the items of an array.
func (p formParser) arrayKind(s property, f *Field) (FieldKind, error) {
	if missing(s.Items) {
		return "", fmt.Errorf("an array needs items, an enumeration")
	}
	items, err := p.property(s.Items)
	if err != nil {
		return "", err
	}
	if len(items.OneOf) == 0 {
		items.OneOf = items.AnyOf
	}
	if f.Options, err = options(items); err != nil {
		return "", err
	}
	kind, _ := soleType(items.Type)
	switch {
	case f.Options != nil:
		return FieldEnums, nil
	case kind == "string":
		return FieldList, nil
	}
	return "", fmt.Errorf("the items of an array must be an enumeration")
}

// options are the values that a property lists; nil: none.
func options(s property) (list []Option, err error) {
	for i, value := range s.Enum {
		o := Option{Value: value, Title: plainValue(value)}
		if names := s.EnumNames.v; len(names) == len(s.Enum) && names[i] != "" {
			o.Title = names[i]
		}
		list = append(list, o)
	}
	if !missing(s.Const) && list == nil {
		list = []Option{{s.Const, plainValue(s.Const)}}
	}
	for _, branch := range s.OneOf {
		var o struct {
			Const json.RawMessage `json:"const"`
			Title maybe[string]   `json:"title"`
		}
		if json.Unmarshal(branch, &o) != nil || o.Const == nil {
			return nil, fmt.Errorf("each branch of an enumeration must have a const")
		}
		option := Option{o.Const, o.Title.v}
		if option.Title == "" {
			option.Title = plainValue(o.Const)
		}
		list = append(list, option)
	}
	list = slices.DeleteFunc(list, func(o Option) bool { return string(o.Value) == "null" })
	if len(list) > maxFormOptions {
		return nil, fmt.Errorf("it has %d values; at most %d are taken", len(list), maxFormOptions)
	}
	for _, o := range list {
		if c := o.Value[0]; c == '{' || c == '[' {
			return nil, fmt.Errorf("the values of an enumeration must be strings, numbers or booleans")
		}
	}
	return list, nil
}

// plainValue is a scalar as text.
func plainValue(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}
