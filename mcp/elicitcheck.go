package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Check holds a person's answer, an object, against the form, and returns what
// is to be sent: the answer in the order of the fields, with the defaults of
// what it does not mention; null stands for no value. None counts as {}. The
// error says all that is wrong, for the person.
func (f Form) Check(content json.RawMessage) (json.RawMessage, error) {
	if missing(content) {
		content = json.RawMessage("{}")
	}
	members, err := objectMembers(content)
	if err != nil {
		return nil, errors.New("the content must be an object with a member for each field")
	}
	given := map[string]json.RawMessage{}
	var problems []string
	for _, m := range members {
		if f.Field(m.name) == nil {
			problems = append(problems, fmt.Sprintf("%q is no field of this form", clip(m.name, 100)))
		}
		given[m.name] = m.value
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for _, field := range f.Fields {
		value := given[field.Name]
		if value == nil { // null leaves it out
			value = field.Default
		}
		if missing(value) {
			if field.Required {
				problems = append(problems, field.label()+" is missing")
			}
			continue
		}
		if err := field.Check(value); err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		name, _ := json.Marshal(field.Name) // strings always encode
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	if problems != nil {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	return out.Bytes(), nil
}

// Defaults is the content that consists of defaults alone. false: something
// that is required has none.
func (f Form) Defaults() (json.RawMessage, bool) {
	content, err := f.Check(nil)
	return content, err == nil
}

func (f Field) label() string { return strconv.Quote(clip(f.Name, 100)) }

// Check holds a value against the field. The error names the field.
func (f Field) Check(value json.RawMessage) error {
	if problem := f.problem(value); problem != "" {
		return errors.New(f.label() + " " + problem)
	}
	return nil
}

// problem says what is wrong with a value; empty: nothing.
func (f Field) problem(value json.RawMessage) string {
	switch f.Kind {
	case FieldBoolean:
		var b bool
		if json.Unmarshal(value, &b) != nil || missing(value) {
			return "must be true or false"
		}
	case FieldNumber, FieldInteger:
		var n float64
		if json.Unmarshal(value, &n) != nil || missing(value) {
			return "must be a number"
		}
		if f.Kind == FieldInteger && n != math.Trunc(n) {
			return "must be a whole number"
		}
		return f.rules.number(n)
	case FieldString:
		var s string
		if json.Unmarshal(value, &s) != nil || missing(value) {
			return "must be a text"
		}
		return f.rules.text(s)
	case FieldEnum:
		if !f.has(value) {
			return "must be one of " + f.values()
		}
	case FieldEnums, FieldList:
		return f.array(value)
	}
	return ""
}

// array checks a value of several.
func (f Field) array(value json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil || missing(value) {
		return "must be a list"
	}
	seen := map[string]bool{}
	for _, v := range list {
		var s string
		switch {
		case f.Kind == FieldEnums && !f.has(v):
			return "must be a list of " + f.values()
		case f.Kind == FieldList && (json.Unmarshal(v, &s) != nil || missing(v)):
			return "must be a list of texts"
		case seen[canonicalValue(v)] && (f.rules.Unique.v || f.Kind == FieldEnums):
			return "holds a value twice"
		}
		seen[canonicalValue(v)] = true
	}
	n := float64(len(list))
	switch {
	case f.rules.MinItems.ok && n < f.rules.MinItems.v:
		return fmt.Sprintf("needs at least %v values", f.rules.MinItems.v)
	case f.rules.MaxItems.ok && n > f.rules.MaxItems.v:
		return fmt.Sprintf("takes at most %v values", f.rules.MaxItems.v)
	}
	return ""
}

func (f Field) has(value json.RawMessage) bool {
	return slices.ContainsFunc(f.Options, func(o Option) bool { return canonicalValue(o.Value) == canonicalValue(value) })
}

// values lists the options for an error.
func (f Field) values() string {
	var list []string
	for _, o := range f.Options[:min(len(f.Options), 20)] {
		list = append(list, string(o.Value))
	}
	if len(f.Options) > 20 {
		list = append(list, "…")
	}
	return clip(strings.Join(list, ", "), 1000)
}

// canonicalValue is one spelling for all of a scalar.
func canonicalValue(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return string(value)
	}
	raw, _ := json.Marshal(v) // was JSON
	return string(raw)
}

func (r fieldRules) number(n float64) string {
	switch {
	case r.Minimum.ok && n < r.Minimum.v:
		return fmt.Sprintf("must be at least %v", r.Minimum.v)
	case r.Maximum.ok && n > r.Maximum.v:
		return fmt.Sprintf("must be at most %v", r.Maximum.v)
	case r.ExclusiveMin.ok && n <= r.ExclusiveMin.v:
		return fmt.Sprintf("must be more than %v", r.ExclusiveMin.v)
	case r.ExclusiveMax.ok && n >= r.ExclusiveMax.v:
		return fmt.Sprintf("must be less than %v", r.ExclusiveMax.v)
	case r.MultipleOf.v > 0:
		if times := n / r.MultipleOf.v; math.Abs(times-math.Round(times)) > 1e-9 {
			return fmt.Sprintf("must be a multiple of %v", r.MultipleOf.v)
		}
	}
	return ""
}

func (r fieldRules) text(s string) string {
	n := float64(utf8.RuneCountInString(s))
	switch {
	case r.MinLength.ok && n < r.MinLength.v:
		return fmt.Sprintf("needs at least %v characters", r.MinLength.v)
	case r.MaxLength.ok && n > r.MaxLength.v:
		return fmt.Sprintf("takes at most %v characters", r.MaxLength.v)
	case r.pattern != nil && !r.pattern.MatchString(s):
		return "must match " + strconv.Quote(clip(r.Pattern.v, 200))
	}
	switch r.Format.v {
	case "email":
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
			return "must be an e-mail address"
		}
	case "uri":
		if u, err := url.Parse(s); err != nil || u.Scheme == "" {
			return "must be a URI, as https://example.com"
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return "must be a date, as 2026-07-28"
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			return "must be a date and time, as 2026-07-28T09:30:00Z"
		}
	}
	return ""
}

// Hint says in a few words what the field takes, beside its options; empty:
// anything of its kind.
func (f Field) Hint() string {
	r := f.rules
	var parts []string
	add := func(ok bool, format string, v float64) {
		if ok {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	switch f.Kind {
	case FieldString:
		switch r.Format.v {
		case "email":
			parts = append(parts, "an e-mail address")
		case "uri":
			parts = append(parts, "a URI")
		case "date":
			parts = append(parts, "a date, YYYY-MM-DD")
		case "date-time":
			parts = append(parts, "a date and time, YYYY-MM-DDThh:mm:ssZ")
		}
		add(r.MinLength.v > 0, "%v characters at least", r.MinLength.v)
		add(r.MaxLength.ok, "%v characters at most", r.MaxLength.v)
		if r.pattern != nil {
			parts = append(parts, "matches "+strconv.Quote(clip(r.Pattern.v, 200)))
		}
	case FieldInteger, FieldNumber:
		if f.Kind == FieldInteger {
			parts = append(parts, "a whole number")
		} else {
			parts = append(parts, "a number")
		}
		add(r.Minimum.ok, "%v at least", r.Minimum.v)
		add(r.Maximum.ok, "%v at most", r.Maximum.v)
		add(r.ExclusiveMin.ok, "more than %v", r.ExclusiveMin.v)
		add(r.ExclusiveMax.ok, "less than %v", r.ExclusiveMax.v)
		add(r.MultipleOf.v > 0, "a multiple of %v", r.MultipleOf.v)
	case FieldBoolean:
		parts = append(parts, "true or false")
	case FieldEnums, FieldList:
		parts = append(parts, "a list")
		add(r.MinItems.v > 0, "%v values at least", r.MinItems.v)
		add(r.MaxItems.ok, "%v values at most", r.MaxItems.v)
	case FieldEnum:
	}
	return strings.Join(parts, ", ")
}

// Parse makes a value of what a person typed: a text as it is, a number, yes
// or no, an option by its value, its title or its number from 1, several parted
// by commas. Empty text is no value: nil.
func (f Field) Parse(text string) (json.RawMessage, error) {
	word := strings.TrimSpace(text)
	if word == "" {
		return nil, nil
	}
	var value json.RawMessage
	switch f.Kind {
	case FieldString:
		value, _ = json.Marshal(strings.TrimRight(text, "\r\n")) // strings always encode
	case FieldBoolean:
		switch strings.ToLower(word) {
		case "y", "yes", "true", "1":
			value = json.RawMessage("true")
		case "n", "no", "false", "0":
			value = json.RawMessage("false")
		default:
			return nil, errors.New(f.label() + " must be yes or no")
		}
	case FieldEnum:
		value = f.pick(word)
	case FieldEnums, FieldList:
		parts := []json.RawMessage{}
		for part := range strings.SplitSeq(word, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			if f.Kind == FieldEnums {
				parts = append(parts, f.pick(part))
			} else {
				v, _ := json.Marshal(part) // strings always encode
				parts = append(parts, v)
			}
		}
		value, _ = json.Marshal(parts) // are JSON
	case FieldNumber, FieldInteger:
		if !json.Valid([]byte(word)) {
			return nil, errors.New(f.label() + " must be a number")
		}
		value = json.RawMessage(word)
	}
	return value, f.Check(value)
}

// pick finds an option; one that there is not gives the word itself, which
// Check refuses by name.
func (f Field) pick(word string) json.RawMessage {
	for _, o := range f.Options {
		if plainValue(o.Value) == word || o.Title == word {
			return o.Value
		}
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(f.Options) {
		return f.Options[n-1].Value
	}
	raw, _ := json.Marshal(word) // strings always encode
	return raw
}

// InWords is a value as a person reads it: titles in the place of values.
func (f Field) InWords(value json.RawMessage) string {
	var list []json.RawMessage
	if (f.Kind == FieldEnums || f.Kind == FieldList) && json.Unmarshal(value, &list) == nil {
		if len(list) == 0 {
			return "nothing"
		}
		parts := make([]string, len(list))
		for i, v := range list {
			parts[i] = f.optionInWords(v)
		}
		return strings.Join(parts, ", ")
	}
	return f.optionInWords(value)
}

func (f Field) optionInWords(value json.RawMessage) string {
	for _, o := range f.Options {
		if canonicalValue(o.Value) == canonicalValue(value) {
			return o.Title
		}
	}
	switch {
	case f.Kind == FieldBoolean && string(value) == "true":
		return "yes"
	case f.Kind == FieldBoolean:
		return "no"
	}
	return plainValue(value)
}
