package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Why a [Steer] takes no text.
var (
	ErrSteerEnded = errors.New("the run takes nothing more: it has ended, or is about to")
	ErrSteerFull  = errors.New("too much waits for the model already; wait for its next turn")
)

// Steer takes what a person adds to a run while it works (agentls.steer). One
// lock decides between a text that comes and the run that ends: a text that was
// taken reaches the model in this run, or Close tells it. A nil Steer takes
// nothing. Safe for concurrent use.
type Steer struct {
	mu     sync.Mutex
	texts  []string     // all, in order
	taken  int          // how many of them the run's own conversation has got
	kept   func(string) // takes down what is added; nil: the run has not begun
	closed bool
}

// Add takes a text, [MaxPrompt] bytes with all that wait. The error says why
// it is not taken.
func (s *Steer) Add(text string) error {
	if s == nil {
		return ErrSteerEnded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	size := len(text)
	for _, t := range s.texts[s.taken:] {
		size += len(t)
	}
	switch {
	case s.closed:
		return ErrSteerEnded
	case size > MaxPrompt:
		return ErrSteerFull
	}
	s.texts = append(s.texts, text)
	if s.kept != nil {
		s.kept(text)
	}
	return nil
}

// keep lets f take down what was added and what will be, in order, until
// Close. f must not block.
func (s *Steer) keep(f func(text string)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.texts {
		f(t)
	}
	s.kept = f
}

// Close lets it take nothing more, and gives what no turn of the model got, in
// order: each time the same.
func (s *Steer) Close() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.texts[s.taken:]
}

// take gives what waits for the model. Where nothing does and this is the last
// turn, nothing is taken from then on.
func (s *Steer) take(last bool) []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil // what is left is told as such
	}
	texts := s.texts[s.taken:]
	s.taken = len(s.texts)
	s.closed = last && len(texts) == 0
	return texts
}

// heard is how many texts the run's own conversation has got.
func (s *Steer) heard() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

// after gives the texts that follow the first n.
func (s *Steer) after(n int) []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.texts[n:])
}

// steered gives what a person added for the next turn, in order; nothing where
// the run has no turn left. Where nothing waits and this is the last turn,
// nothing is taken from then on.
func (t *thread) steered(last bool) []string {
	if t.limit() != nil {
		return nil
	}
	var texts []string
	if t.isOwn() {
		texts = t.task.Steer.take(last)
	} else { // it gets them beside the run's own, which has the say when no more is taken
		texts = t.task.Steer.after(t.heard)
	}
	t.heard += len(texts)
	if len(texts) > 0 {
		t.circles = circles{} // a person's word is something new
	}
	return texts
}

// give adds to the history what a person added: its mentions are read.
func (t *thread) give(ctx context.Context, texts []string) {
	if len(texts) > 0 {
		t.s.join(len(texts), []Message{user(t.added(ctx, texts))})
	}
}

// added reads what a person added last, for a message.
func (t *thread) added(ctx context.Context, texts []string) (parts []string, images []Image) {
	for i, text := range texts {
		e := t.expandAdded(ctx, t.heard-len(texts)+i, text)
		parts = append(parts, e.content(text, nil, t.task.Limits.MentionChars))
		images = append(images, e.images...)
	}
	t.wants = append(t.wants, texts...)
	return parts, images
}

// shared is what one thread reads for all.
type shared struct {
	done chan struct{} // closed once it is read
	expansion
}

// expandAdded reads what the n-th text mentions that a person added: once in
// the run, though several threads get it.
func (r *run) expandAdded(ctx context.Context, n int, text string) expansion {
	r.mu.Lock()
	if r.expansions == nil {
		r.expansions = map[int]*shared{}
	}
	one, ok := r.expansions[n]
	if !ok {
		one = &shared{done: make(chan struct{})}
		r.expansions[n] = one
	}
	r.mu.Unlock()
	if !ok {
		defer close(one.done)
		one.expansion = r.expand(ctx, text)
		return one.expansion
	}
	<-one.done // soon after ctx ended: it is that of the run
	return one.expansion
}

// user makes a user message of parts; images that are too many are told of.
func user(parts []string, images []Image) Message {
	if n := len(images) - maxImages; n > 0 {
		images = images[:maxImages]
		parts = append(parts, fmt.Sprintf("[agentls: %d more images are not shown: too many]", n))
	}
	return Message{Role: User, Text: paragraphs(parts...), Images: images}
}

// paragraphs joins texts by blank lines.
func paragraphs(texts ...string) string {
	texts = slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return strings.TrimSpace(t) == "" })
	return strings.Join(texts, "\n\n")
}
