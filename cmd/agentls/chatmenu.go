package main

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// menu is what could stand in the place of what is typed.
type menu struct {
	list   []candidate
	at     int       // the one that Tab takes
	chosen bool      // by the arrows: Enter takes it
	asked  int       // the last question for a list
	when   time.Time // it was asked
	shut   bool      // by the person
}

func (m *menu) show(list []candidate) { m.list, m.at, m.chosen = list, 0, false }
func (m *menu) close()                { m.show(nil) }

// stale reports whether to ask again: what is listed may not be known yet.
func (m *menu) stale(now time.Time) bool {
	return len(m.list) == 0 && !m.shut && now.Sub(m.when) >= askAgain
}

const askAgain = time.Second

// menuKey takes a key for the menu that is open.
func (s *screen) menuKey(name string) (cmd tea.Cmd, taken bool) {
	m := &s.menu
	n := len(m.list)
	if n == 0 {
		return nil, false
	}
	switch name {
	case "down", "ctrl+n":
		if m.chosen {
			m.at = (m.at + 1) % n
		}
		m.chosen = true
	case "up", "ctrl+p":
		m.at, m.chosen = (m.at+n-1)%n, true
	case "tab":
		return s.take(m.list[m.at]), true
	case "enter":
		if !m.chosen {
			m.close()
			return nil, false
		}
		return s.take(m.list[m.at]), true
	case "esc":
		m.close()
		m.shut = true
	default:
		return nil, false
	}
	return nil, true
}

// take puts a candidate in the place of what is typed.
func (s *screen) take(c candidate) tea.Cmd {
	text, cursor := s.input.Value(), s.cursor()
	if c.from > cursor {
		return nil
	}
	before, after := text[:c.from]+c.insert, text[cursor:]
	s.input.SetValue(before)
	row, column := s.input.Line(), s.input.Column()
	s.input.InsertString(after)
	for s.input.Line() > row {
		s.input.CursorUp()
	}
	s.input.SetCursorColumn(column)
	s.menu.close()
	return s.complete(false)
}

// rows shows the menu: the labels, what they are of, and which one counts.
func (m *menu) rows(style style, width, most int) (rows []string) {
	if len(m.list) == 0 {
		return nil
	}
	first := max(0, min(m.at-most/2, len(m.list)-most))
	shown := m.list[first:min(len(m.list), first+most)]
	wide := 0
	for _, c := range shown {
		wide = max(wide, ansi.StringWidth(c.label))
	}
	wide = min(wide, max(8, (width-4)*2/3))
	for i, c := range shown {
		label := ansi.Truncate(c.label, wide, "…")
		row := "  " + label + strings.Repeat(" ", wide-ansi.StringWidth(label))
		if about := c.about; about != "" {
			row += "  " + about
		}
		row = ansi.Truncate(row, width-1, "…")
		if first+i == m.at {
			row = style.in("7", row)
		} else {
			row = style.in(lookDim, row)
		}
		rows = append(rows, row)
	}
	return rows
}
