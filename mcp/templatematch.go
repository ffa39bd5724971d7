package mcp

import (
	"slices"
	"strings"
)

// typedTemplate is where a text that was typed has come to in a template.
type typedTemplate struct {
	values map[string]string // of the variables before, decoded
	// The variable that the text ends in, and where its value begins; nil: the
	// text ends in or behind a literal, of which rest is to come.
	variable *templateStep
	at       int
	rest     string
	leads    bool // rest is what stands before a variable, not a literal
	next     int  // the step that comes after
}

// typed finds where a text has come to: in the last variable that it can be in,
// else in a literal behind one. false: it is no beginning of an expansion, or
// has not come to the first variable. tries is what may be tried, and what is
// left of it.
func (t *uriTemplate) typed(text string, tries *int) (typedTemplate, bool) {
	for _, goal := range []matchGoal{endsInVariable, endsInLiteral} {
		m := templateMatcher{t: t, text: text, goal: goal, tries: tries}
		if !m.from(0, false, 0) || m.end.variable == nil && len(text) <= len(t.literal()) {
			continue
		}
		m.end.values = map[string]string{}
		for _, v := range m.values {
			m.end.values[v.name] = decodeValue(v.text)
		}
		return m.end, true
	}
	return typedTemplate{}, false
}

// matches reports whether a URI is an expansion of the template. One without
// variables has itself alone. tries is typed's.
func (t *uriTemplate) matches(uri string, tries *int) bool {
	m := templateMatcher{t: t, text: uri, goal: isWhole, tries: tries}
	return m.from(0, false, 0)
}

// after returns what is certain to follow when the steps before i are written,
// and whether it is the whole rest.
func (t *uriTemplate) after(i int) (text string, whole bool) {
	var b strings.Builder
	for ; i < len(t.steps); i++ {
		switch s := &t.steps[i]; {
		case s.name == "":
			b.WriteString(s.literal)
		case s.optional:
			return b.String(), !t.needed(i)
		default:
			b.WriteString(t.lead(i, i > 0 && t.steps[i-1].expr == s.expr))
			return b.String(), false
		}
	}
	return b.String(), true
}

// needed reports whether a step from i on cannot be left out.
func (t *uriTemplate) needed(i int) bool {
	return slices.ContainsFunc(t.steps[i:], func(s templateStep) bool { return !s.optional })
}

// lead is what stands before the value of step i; used: another variable of
// its expression stands before it.
func (t *uriTemplate) lead(i int, used bool) string {
	if used {
		return t.steps[i].sep
	}
	return t.steps[i].first
}

// matchGoal says what ends a match.
type matchGoal int

const (
	isWhole        matchGoal = iota // the template ends where the text does
	endsInVariable                  // likewise, or the text ends in a variable
	endsInLiteral                   // likewise, or in a literal or what stands before a variable
)

// templateMatcher reads a text by a template, the longest values first.
type templateMatcher struct {
	t      *uriTemplate
	text   string
	goal   matchGoal
	tries  *int
	failed map[matchState]bool
	values []struct{ name, text string }
	end    typedTemplate
}

type matchState struct {
	step, pos int
	used      bool
}

// from reports whether the text from pos on can be read from step i on.
func (m *templateMatcher) from(i int, used bool, pos int) bool {
	rest := m.text[pos:]
	if i == len(m.t.steps) {
		m.end = typedTemplate{next: i}
		return rest == ""
	}
	s := &m.t.steps[i]
	if s.name != "" {
		used = used && i > 0 && m.t.steps[i-1].expr == s.expr
	}
	state := matchState{i, pos, used}
	if *m.tries--; *m.tries < 0 || m.failed[state] {
		return false
	}
	ok := false
	if s.name == "" {
		ok = m.literal(i, pos, s.literal)
	} else {
		ok = m.variable(i, used, pos) || s.optional && m.from(i+1, used, pos)
	}
	if !ok {
		if m.failed == nil {
			m.failed = map[matchState]bool{}
		}
		m.failed[state] = true
	}
	return ok
}

func (m *templateMatcher) literal(i, pos int, literal string) bool {
	rest := m.text[pos:]
	switch {
	case strings.HasPrefix(rest, literal):
		return m.from(i+1, false, pos+len(literal))
	case m.goal == endsInLiteral && strings.HasPrefix(literal, rest):
		m.end = typedTemplate{rest: literal[len(rest):], next: i + 1}
		return true
	}
	return false
}

func (m *templateMatcher) variable(i int, used bool, pos int) bool {
	s, lead := &m.t.steps[i], m.t.lead(i, used)
	rest := m.text[pos:]
	if !strings.HasPrefix(rest, lead) {
		if m.goal == endsInLiteral && rest != "" && strings.HasPrefix(lead, rest) {
			m.end = typedTemplate{rest: lead[len(rest):], leads: true, next: i}
			return true
		}
		return false
	}
	begin := pos + len(lead)
	last := begin + s.run(m.text[begin:])
	least := begin + 1
	if strings.HasSuffix(lead, "=") {
		least = begin
	}
	for end := last; end >= least && *m.tries > 0; end-- {
		if end == len(m.text) && m.goal != isWhole {
			continue // ends in this variable, unless a later one can have it
		}
		*m.tries--
		m.values = append(m.values, struct{ name, text string }{s.name, m.text[begin:end]})
		if m.from(i+1, true, end) {
			return true
		}
		m.values = m.values[:len(m.values)-1]
	}
	if m.goal == endsInVariable && last == len(m.text) {
		m.end = typedTemplate{variable: s, at: begin, next: i + 1}
		return true
	}
	return false
}
