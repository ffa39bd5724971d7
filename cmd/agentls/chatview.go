package main

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// The most rows of what stands below the dialogue.
const (
	openRows = 8 // of the answer's last line
	workRows = 12
	menuRows = 8
)

// View implements [tea.Model].
func (s *screen) View() tea.View {
	if s.leaving {
		return tea.NewView("")
	}
	v := tea.NewView(s.below())
	above := strings.Join(s.above(), "\n")
	y := 0
	if above != "" {
		y = lipHeight(above)
	}
	var c *tea.Cursor
	if s.asked.focused() {
		c = s.asked.line.Cursor()
	} else {
		c = s.input.Cursor()
	}
	if c != nil {
		c.Y += y
		v.Cursor = c
	}
	return v
}

// below is all that stands below what was said.
func (s *screen) below() string {
	rows := s.above()
	if s.asked.focused() {
		rows = append(rows, s.asked.line.View())
	} else {
		rows = append(rows, s.input.View())
		rows = append(rows, s.menu.rows(s.style, s.width, min(menuRows, max(1, s.height/3)))...)
		if hint := s.hintRow(); hint != "" {
			rows = append(rows, hint)
		}
	}
	return strings.Join(rows, "\n")
}

// above is what goes on, above what is typed.
func (s *screen) above() (rows []string) {
	if s.open != "" {
		m := s.text // the line may yet open a fence
		open := strings.Split(wrap(m.line(strings.ReplaceAll(s.open, "\t", "    ")), s.width), "\n")
		rows = append(rows, open[max(0, len(open)-min(openRows, max(1, s.height/3))):]...)
	}
	if s.asked.focused() { // its answer is typed right below what is asked
		return rows
	}
	work := s.d.working()
	room := min(workRows, max(1, s.height/3))
	if n := len(work) - room; n > 0 {
		work = append(work[:room-1:room-1], "… and "+plural(n+1, "more line"))
	}
	for _, line := range work {
		rows = append(rows, s.style.in(lookDim, ansi.Truncate(line, s.width-1, "…")))
	}
	if since, ok := s.d.since(); ok {
		text := "working, " + shortTime(time.Since(since).Truncate(time.Second)) + " · Ctrl-C ends it; what you send now is given to it"
		rows = append(rows, s.style.in(lookDim, ansi.Truncate(text, s.width-1, "…")))
	}
	return rows
}

// hintRow is what is to be known of what is typed.
func (s *screen) hintRow() string {
	switch {
	case s.asked.waits() && s.input.Value() != "":
		return s.style.in(lookYellow, ansi.Truncate("A question waits: send this line first, or press Esc to answer now.", s.width-1, "…"))
	case s.warned != "" && s.input.Value() != "" && len(s.menu.list) == 0:
		return s.style.in(lookYellow, ansi.Truncate(s.warned, s.width-1, "…"))
	}
	return ""
}
