package main

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// newInput makes the editor of the prompt.
func newInput(style style) textarea.Model {
	in := textarea.New()
	in.ShowLineNumbers = false
	in.SetPromptFunc(2, func(i textarea.PromptInfo) string {
		if i.LineNumber == 0 {
			return style.in(lookBold, "› ")
		}
		return "  "
	})
	in.EndOfBufferCharacter = ' '
	in.DynamicHeight, in.MinHeight, in.MaxHeight, in.MaxWidth = true, 1, 8, 0
	in.MaxContentHeight = maxInputRows
	in.SetVirtualCursor(false)
	in.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter", "ctrl+j"))
	in.KeyMap.LineNext = key.NewBinding(key.WithKeys("down"))
	in.KeyMap.LinePrevious = key.NewBinding(key.WithKeys("up"))
	in.KeyMap.DeleteCharacterForward = key.NewBinding(key.WithKeys("delete"))
	in.KeyMap.SelectAll.SetEnabled(false)
	in.KeyMap.Paste.SetEnabled(false) // the terminal pastes
	in.KeyMap.CopySelection.SetEnabled(false)
	plain := textarea.StyleState{}
	plain.Placeholder = lipgloss.NewStyle()
	styles := in.Styles()
	styles.Focused, styles.Blurred = plain, plain
	in.SetStyles(styles)
	return in
}

// The bounds of what is edited; more goes in as one paste.
const (
	maxInputRows = 5000
	wholePaste   = 8 // lines of a paste that are shown where it is put
)

// key takes a key: for the question that has them, the menu, or the prompt.
func (s *screen) key(msg tea.KeyPressMsg) tea.Cmd {
	if s.asked.focused() {
		return s.questionKey(msg)
	}
	s.asked.typing()
	name := msg.Keystroke()
	if cmd, taken := s.menuKey(name); taken {
		return cmd
	}
	switch name {
	case "enter":
		return s.enter()
	case "ctrl+c":
		return s.interrupt()
	case "ctrl+d":
		if s.input.Value() == "" {
			s.leaving = true
			return nil
		}
		return s.edit(tea.KeyPressMsg{Code: tea.KeyDelete})
	case "esc":
		if s.asked.waits() {
			return s.turn()
		}
		return nil
	case "ctrl+l":
		return tea.ClearScreen
	case "tab":
		return s.complete(true)
	case "ctrl+g":
		return s.editPrompt()
	case "up", "ctrl+p":
		if s.input.Line() == 0 {
			return s.recall(s.past.back(s.input.Value()))
		}
	case "down", "ctrl+n":
		if s.input.Line() == s.input.LineCount()-1 {
			return s.recall(s.past.forward())
		}
	}
	return s.edit(msg)
}

// edit gives a key to the editor, and completes what is typed then.
func (s *screen) edit(msg tea.Msg) (cmd tea.Cmd) {
	before := s.input.Value()
	s.input, cmd = s.input.Update(msg)
	if s.input.Value() == before {
		s.menu.close()
		return cmd
	}
	s.past.leave()
	return tea.Batch(cmd, s.complete(false))
}

// passOn gives the editors what they send to themselves.
func (s *screen) passOn(msg tea.Msg) tea.Cmd {
	var a, b tea.Cmd
	s.input, a = s.input.Update(msg)
	if s.asked.open() {
		s.asked.line, b = s.asked.line.Update(msg)
	}
	return tea.Batch(a, b)
}

// enter sends the line, unless it goes on behind a backslash.
func (s *screen) enter() tea.Cmd {
	text := s.input.Value()
	if before, ok := strings.CutSuffix(text[:s.cursor()], `\`); ok && s.cursor() == len(text) {
		s.input.SetValue(before + "\n")
		return s.complete(false)
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	whole := s.pastes.whole(text)
	if n := utf8.RuneCountInString(whole); n > maxPrompt {
		s.print(s.style.note(noteError, fmt.Sprintf("The prompt has %d characters, the most is %d; put the text into a file and mention it.", n, maxPrompt)))
		return nil
	}
	s.echo(text)
	s.past.add(text, whole)
	s.setInput("")
	s.pastes = pastes{}
	s.leaving = s.d.line(whole)
	return nil
}

// maxPrompt is how long a prompt can be, in code points (CONTRACT §4).
const maxPrompt = 1_000_000

// echoRows is how much of a prompt is shown again, once it is sent.
const echoRows = 12

// echo shows what was sent.
func (s *screen) echo(text string) {
	lines := strings.Split(printable(strings.TrimRight(text, "\n")), "\n")
	more := len(lines) - echoRows
	if more > 0 {
		lines = lines[:echoRows]
	}
	say := func(text string) { s.lines = append(s.lines, text) }
	say("")
	for i, line := range lines {
		mark := "  "
		if i == 0 {
			mark = "› "
		}
		say(s.style.in(lookBold, mark+strings.ReplaceAll(line, "\t", "    ")))
	}
	if more > 0 {
		say(s.style.in(lookDim, "  … and "+plural(more, "more line")))
	}
}

// interrupt is Ctrl-C: it clears what is typed, else ends the run, else leaves
// when it comes twice.
func (s *screen) interrupt() tea.Cmd {
	now := time.Now()
	switch {
	case s.asked.focused():
		return s.questionKey(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	case s.input.Value() != "":
		s.past.leave()
		s.setInput("")
		s.pastes = pastes{}
	case s.d.cancel():
	case now.Sub(s.interrupted) < 2*time.Second:
		s.leaving = true
	default:
		s.interrupted = now
		s.print(s.style.note(noteDim, "Ctrl-C once more leaves; so do Ctrl-D and /exit."))
	}
	return nil
}

func (s *screen) setInput(text string) {
	s.input.SetValue(text)
	s.warned = ""
	s.menu.close()
	s.d.typed(text)
}

// recall puts an earlier prompt in the place of what is typed.
func (s *screen) recall(text string, ok bool) tea.Cmd {
	if ok {
		s.setInput(s.put(text))
	}
	return nil
}

// cursor is where the cursor stands, a byte offset in what is typed.
func (s *screen) cursor() int {
	lines := strings.Split(s.input.Value(), "\n")
	at := 0
	for _, line := range lines[:min(s.input.Line(), len(lines))] {
		at += len(line) + 1
	}
	for i, r := range []rune(lines[min(s.input.Line(), len(lines)-1)]) {
		if i == s.input.Column() {
			break
		}
		at += utf8.RuneLen(r)
	}
	return at
}

// paste puts a paste where the cursor stands: short ones as they are, long ones
// as a word that stands for them.
func (s *screen) paste(msg tea.PasteMsg) (cmd tea.Cmd) {
	text := strings.ReplaceAll(strings.ReplaceAll(msg.Content, "\r\n", "\n"), "\r", "\n")
	if s.asked.focused() {
		s.asked.pressed = time.Now()
		s.asked.line, cmd = s.asked.line.Update(msg)
		return cmd
	}
	s.asked.typing()
	return s.edit(tea.PasteMsg{Content: s.put(text)})
}

// put is what stands for a text that is put into the prompt.
func (s *screen) put(text string) string {
	if strings.Count(text, "\n") >= wholePaste || strings.Contains(text, "\t") || len(text) > 2000 {
		return s.pastes.keep(text)
	}
	return text
}

// editPrompt takes the prompt to the person's editor, and back.
func (s *screen) editPrompt() tea.Cmd {
	if s.d.asks.editor == "" {
		s.print(s.style.note(noteError, "There is no editor: set VISUAL or EDITOR to one that runs in this terminal."))
		return nil
	}
	before := s.pastes.whole(s.input.Value())
	s.d.work.Go(func() {
		defer s.d.guard()
		text, err := s.d.asks.edit(context.Background(), "prompt.md", before)
		if err != nil {
			s.d.fail(err)
			return
		}
		s.post(func(s *screen) tea.Cmd {
			s.pastes = pastes{}
			s.setInput(s.put(strings.TrimRight(text, "\n")))
			return nil
		})
	})
	return nil
}

// pastes are the long pastes of a prompt, each by the word that stands for it.
type pastes struct{ words, texts []string }

func (p *pastes) keep(text string) (word string) {
	word = fmt.Sprintf("[paste %d: %s]", len(p.words)+1, plural(strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1, "line"))
	p.words, p.texts = append(p.words, word), append(p.texts, text)
	return word
}

// whole is a prompt with what its words stand for.
func (p *pastes) whole(text string) string {
	for i, word := range p.words {
		text = strings.Replace(text, word, p.texts[i], 1)
	}
	return text
}

// complete asks for what could stand at the cursor, where something can; always:
// the person wants to see it.
func (s *screen) complete(always bool) tea.Cmd {
	text, at := s.input.Value(), s.cursor()
	s.d.typed(text)
	s.menu.asked++
	s.menu.when, s.menu.shut = time.Now(), false
	if !always && !wantsCompletion(text, at) {
		s.menu.close()
		return nil
	}
	n := s.menu.asked
	return func() tea.Msg {
		list, err := s.d.complete(context.Background(), text, at) // ends with the server
		return do(func(s *screen) tea.Cmd {
			if err == nil && n == s.menu.asked {
				s.menu.show(list)
			}
			return nil
		})
	}
}
