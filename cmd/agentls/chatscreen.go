package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// screen is the face on a terminal: what was said scrolls away above, below it
// stands what goes on, and the line that is typed. Its fields are of the
// program's one loop; others reach it by post.
type screen struct {
	d       *dialogue
	p       program
	style   style
	program *tea.Program
	mail    *screenMail
	ended   <-chan struct{} // closed when the dialogue is to end
	gone    chan struct{}   // closed when nothing is shown any more

	width, height int
	input         textarea.Model
	pastes        pastes
	menu          menu
	past          past
	asked         asked
	warned        string // what is wrong with what is typed
	leaving       bool
	interrupted   time.Time // Ctrl-C on an empty line

	text     markdown
	open     string   // the line of the answer that has not ended
	lines    []string // to be printed above, in order
	printing bool
	shown    bool
}

// newScreen makes it; run begins to show it.
func newScreen(d *dialogue, p program) *screen {
	s := &screen{d: d, p: p, style: newStyle(p.getenv), width: 80, height: 24, printing: true}
	s.text.style = s.style
	s.input = newInput(s.style)
	s.past = loadPast(d.parts.paths.state, d.parts.log)
	s.mail, s.gone = newScreenMail(), make(chan struct{})
	return s
}

// do is something that the loop does.
type do func(s *screen) tea.Cmd

// printed says that what was to be printed is.
type printed struct{}

// tick comes while something goes on.
type tick struct{}

const (
	tickFirst = 100 * time.Millisecond // some frames
	tickEvery = 250 * time.Millisecond
)

// screenMail takes what others want done, in order, without ever blocking.
type screenMail struct {
	mu   sync.Mutex
	list []do
	wake chan struct{} // 1 slot
}

func newScreenMail() *screenMail { return &screenMail{wake: make(chan struct{}, 1)} }

func (m *screenMail) put(f do) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, f)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *screenMail) take() []do {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.list
	m.list = nil
	return list
}

func (s *screen) post(f do) { s.mail.put(f) }

// answer implements [face].
func (s *screen) answer(delta string) {
	s.post(func(s *screen) tea.Cmd {
		if delta == "" && s.open != "" {
			delta = "\n"
		}
		s.open += delta
		for {
			line, rest, ok := strings.Cut(s.open, "\n")
			if !ok {
				break
			}
			s.open = rest
			s.print(s.text.line(strings.ReplaceAll(line, "\t", "    ")))
		}
		if delta == "" {
			s.text.fence = "" // an answer may leave one open
		}
		return nil
	})
}

// note implements [face].
func (s *screen) note(kind noteKind, text string) {
	s.post(func(s *screen) tea.Cmd {
		s.print(s.style.note(kind, strings.ReplaceAll(text, "\t", "    ")))
		return nil
	})
}

// print has a text printed above; the loop calls it. While a question is open it
// is held back: what is asked stays where its answer is typed.
func (s *screen) print(text string) {
	to := &s.lines
	if s.asked.open() {
		to = &s.asked.held
	}
	*to = append(*to, strings.Split(text, "\n")...)
}

// changed implements [face].
func (s *screen) changed() { s.post(func(*screen) tea.Cmd { return nil }) }

func (s *screen) hint(text string) {
	s.post(func(s *screen) tea.Cmd { s.warned = text; return nil })
}

func (s *screen) console() console { return (*screenConsole)(s) }

// run implements [face].
func (s *screen) run(ctx context.Context) (code int, err error) {
	came, stop := interrupts()
	defer stop()
	outer := ctx
	ctx, cancel := context.WithCancel(outer)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	s.ended = ctx.Done()
	s.program = tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(s.p.stdin), tea.WithOutput(s.p.stdout), tea.WithEnvironment(s.p.environ), tea.WithoutSignalHandler())
	beside.Go(func() { // ends with ctx
		for {
			select {
			case <-s.mail.wake:
				for _, f := range s.mail.take() {
					s.program.Send(f)
				}
			case <-came: // of a kill: keys come as keys
				s.program.Send(do((*screen).interrupt))
			case <-ctx.Done():
				return
			}
		}
	})
	_, err = s.program.Run()
	cancel()
	close(s.gone)
	s.rest()
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return exitFailed, errors.New("a fault of agentls ended the dialogue; please report it with what stands above, and go on with `agentls chat --continue`")
	case outer.Err() != nil:
		return exitCancelled, nil
	case err == nil:
		return exitOK, nil
	}
	return exitFailed, err
}

// rest prints what came too late for the program.
func (s *screen) rest() {
	for _, f := range s.mail.take() {
		f(s)
	}
	s.lines = append(s.lines, s.asked.held...)
	if s.open != "" {
		s.lines = append(s.lines, s.open)
	}
	for _, line := range s.lines {
		_, _ = io.WriteString(s.p.stdout, line+"\r\n")
	}
}

// restore gives the terminal back, before a panic is told.
func (s *screen) restore() {
	if s.program != nil {
		_ = s.program.ReleaseTerminal()
	}
}

// Init implements [tea.Model].
func (s *screen) Init() tea.Cmd { return tea.Batch(s.input.Focus(), ticking(tickFirst)) }

func ticking(after time.Duration) tea.Cmd {
	return tea.Tick(after, func(time.Time) tea.Msg { return tick{} })
}

// Update implements [tea.Model].
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case do:
		cmd = msg(s)
	case printed:
		s.printing = false
	case tick:
		if !s.shown { // nothing can be printed above what is not shown yet
			s.shown, s.printing = true, false
		}
		s.turnToQuestion(time.Now())
		cmd = ticking(tickEvery)
		if s.menu.stale(time.Now()) && wantsCompletion(s.input.Value(), s.cursor()) && !s.asked.focused() {
			cmd = tea.Batch(cmd, s.complete(false))
		}
	case tea.WindowSizeMsg:
		s.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		cmd = s.key(msg)
	case tea.PasteMsg:
		cmd = s.paste(msg)
	default:
		cmd = s.passOn(msg)
	}
	if s.leaving {
		return s, tea.Quit
	}
	return s, tea.Batch(cmd, s.printNext())
}

func (s *screen) resize(width, height int) {
	s.width, s.height = max(width, 10), max(height, 4)
	s.input.SetWidth(s.width - 1) // the cursor stands behind the last letter
	s.input.MaxHeight = max(1, min(10, s.height/3))
	s.asked.line.SetWidth(max(10, s.width-2-ansi.StringWidth(s.asked.line.Prompt)))
}

// printNext prints what waits, as much at once as the screen has room for: the
// program scrolls it in as a whole. What a question is about stays in sight.
func (s *screen) printNext() tea.Cmd {
	if s.printing || len(s.lines) == 0 {
		return nil
	}
	room := max(1, s.height-lipHeight(s.below())-1)
	var out []string
	for len(s.lines) > 0 && len(out) < room {
		rows := strings.Split(wrap(s.lines[0], s.width), "\n")
		if n := room - len(out); len(rows) > n && len(out) > 0 {
			break
		} else if len(rows) > n {
			out = append(out, rows[:n]...)
			s.lines[0] = strings.Join(rows[n:], "\n")
			continue
		}
		out = append(out, rows...)
		s.lines = s.lines[1:]
	}
	s.printing = true
	return tea.Sequence(tea.Println(strings.Join(out, "\n")), func() tea.Msg { return printed{} })
}

// wrap breaks a line between words, so that each row leaves the last column
// free: the program erases what is right of the cursor behind a row, and some
// terminals take a cursor that is about to wrap for one on the last column.
func wrap(line string, width int) string {
	if ansi.StringWidth(line) < width {
		return line
	}
	return ansi.Wrap(line, width-1, "")
}

func lipHeight(text string) int { return strings.Count(text, "\n") + 1 }
