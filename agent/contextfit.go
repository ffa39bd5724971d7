package agent

import "strings"

// fit is what a view has to fit a history into.
type fit struct {
	vocabulary *vocabulary
	shelf      shelf // what is left out is kept there
	history    []Message
	prompt     int  // where the run's prompt stands in history
	fixed      int  // tokens of what stands beside it: instructions and tools
	budget     int  // the most, fixed included
	usual      int  // what it is most of the time; smaller after a refusal
	pinned     int  // so many messages stay whole whatever is left out: a summary
	all        bool // rounds and turns may be left out; else fit tells that they would have to
	crowded    bool // it told so
}

// Of a budget, a view that has to leave something out goes down to thinned and
// takes the next level when the one before left more than full: in large
// strides, so that the requests between share their prefix, which providers
// cache. The newest tokens up to protected, half the budget at most, go last.
const (
	full      = 0.8
	thinned   = 0.6
	protected = 40000
)

// level is a way to leave something out. Each takes the oldest messages first.
type level int

const (
	leaveResults level = iota // results of tools, and images
	leaveTexts                // arguments of calls, attachments and long texts of earlier prompts and answers
	leaveRounds               // answers that asked for calls, with their results
	leaveTurns                // earlier prompts and their answers
	levels
)

// excerpt is a session's history as it was last shown to a model. What was left
// out stays out: a view that would change with each request spoils the cache.
// Its zero value has left nothing out. It belongs to the run that has the turn.
type excerpt struct {
	usual  int         // the budget that it is for
	left   [levels]int // by level: the messages before this one are left out
	counts counted     // of the history
	thin   []thin      // by index
	sent   counted     // the last request
}

// thin is what is shown in the place of a message.
type thin struct {
	of             Message
	results, texts bool // what is left out of it
	shown          Message
	tokens         int  // 0: not made yet
	kept           bool // what is left out is kept; else the ids in it stand for those to come
}

// fit returns the history for a request, thinned where it is over the budget,
// and the tokens of all, the fixed ones included; at most as many. They are
// over the budget where nothing more can be left out. The run's prompt is
// whole, and so is its last round if that can be.
// crowded: rounds or turns would have to be left out, and were not.
func (v *excerpt) fit(f fit) (messages []Message, size int, crowded bool) {
	if f.usual > v.usual*6/5 {
		v.left = [levels]int{} // a larger window
	}
	v.usual = f.usual
	if most := f.atMost(); v.left == [levels]int{} && most <= f.budget {
		return f.joined(f.history), most, false
	}
	s := v.sketch(f)
	last := s.lastRound()
	for _, end := range []int{s.tail(last), last} {
		if s.total <= f.budget && !f.crowded {
			break
		}
		f.crowded = false
		for l := range levels {
			if s.total <= int(full*float64(f.budget)) {
				break
			}
			if l >= leaveRounds && !f.all {
				return nil, s.total, true
			}
			s.advance(l, end)
		}
	}
	messages = s.render()
	if over := s.total - f.budget; over > 0 {
		s.total -= s.squeeze(messages[len(messages)-(len(f.history)-last):], over)
	}
	return messages, s.total, false
}

// atMost bounds the tokens of the whole without a vocabulary.
func (f fit) atMost() int {
	n := f.fixed
	for _, m := range f.history {
		n += m.atMost()
	}
	return n
}

// sketch is a view while it is fitted.
type sketch struct {
	fit
	*excerpt
	whole []int // tokens of each message
	ends  []int // of each message of a round of calls: where the round ends; else 0
	turn  int   // where the first turn begins that is shown
	total int
}

func (v *excerpt) sketch(f fit) *sketch {
	s := &sketch{fit: f, excerpt: v, whole: v.counts.of(f.vocabulary, f.history), ends: roundEnds(f.history), total: f.fixed}
	v.thin = append(v.thin, make([]thin, max(0, len(f.history)-len(v.thin)))...)
	for s.turn = min(v.left[leaveTurns], f.prompt); s.turn > 0 && !s.beginsTurn(s.turn); {
		s.turn-- // a history that was cleared
	}
	if s.turn > 0 {
		s.total += noteTokens
	}
	for i := range f.history {
		s.total += s.cost(i)
	}
	return s
}

// imagesNote begins the message with the images of a round's results.
const imagesNote = "[agentls: the images of the tool results above"

// roundEnds returns for each message of a round of calls where that ends.
func roundEnds(history []Message) []int {
	ends := make([]int, len(history))
	for i := 0; i < len(history); i++ {
		if len(history[i].ToolCalls) == 0 {
			continue
		}
		end := i + 1
		for end < len(history) && history[end].Role == ToolRole {
			end++
		}
		if end < len(history) && history[end].Role == User && strings.HasPrefix(history[end].Text, imagesNote) {
			end++
		}
		for k := i; k < end; k++ {
			ends[k] = end
		}
		i = end - 1
	}
	return ends
}

// lastRound returns where the run's last round begins, or its prompt where
// there is none: what stands from there on is left out by squeeze alone.
func (s *sketch) lastRound() int {
	for i := len(s.history) - 1; i > s.prompt; i-- {
		if s.history[i].Role == Assistant {
			return i
		}
	}
	return s.prompt
}

// tail returns where the newest messages begin, that go last.
func (s *sketch) tail(last int) int {
	room := min(protected, s.budget/2)
	at := len(s.history)
	for at > 0 && s.whole[at-1] <= room {
		at--
		room -= s.whole[at]
	}
	return min(at, last)
}

// advance leaves messages before end out, until enough is.
func (s *sketch) advance(l level, end int) {
	target := int(thinned * float64(s.budget))
	for s.left[l] < end && s.total > target {
		from := s.left[l]
		to := s.next(l, from)
		if to > end || l == leaveTurns && to > s.prompt {
			return
		}
		for i := from; i < to; i++ {
			s.total -= s.cost(i)
		}
		if s.left[l] = to; l == leaveTurns {
			if s.turn == 0 {
				s.total += noteTokens
			}
			s.turn = to
		}
		for i := from; i < to; i++ {
			s.total += s.cost(i)
		}
	}
}

// next returns the first place after from up to which a level can leave out.
func (s *sketch) next(l level, from int) int {
	to := from + 1
	switch l {
	case leaveRounds:
		to = max(to, s.ends[from])
	case leaveTurns:
		for to < s.prompt && !s.beginsTurn(to) {
			to++
		}
	}
	return to
}

// beginsTurn reports whether a message may be the first of a request.
func (s *sketch) beginsTurn(i int) bool {
	return i == s.prompt || s.history[i].Role == User && s.ends[i] == 0 && (i == 0 || s.history[i-1].Role != ToolRole)
}

// gone reports whether a message is not shown at all.
func (s *sketch) gone(i int) bool {
	return i >= s.pinned && (i < s.turn || s.ends[i] > 0 && s.ends[i] <= s.left[leaveRounds])
}

// cost returns the tokens of what is shown of a message.
func (s *sketch) cost(i int) int {
	switch {
	case i < s.pinned:
		return s.whole[i]
	case i < s.turn, s.gone(i) && i > 0 && s.gone(i-1):
		return 0
	case s.gone(i):
		return noteTokens
	}
	if t := s.thinned(i); t != nil {
		return t.tokens
	}
	return s.whole[i]
}

// thinned returns what is shown in the place of a message; nil: itself.
func (s *sketch) thinned(i int) *thin {
	m := s.history[i]
	results, texts := i < s.left[leaveResults], i < s.left[leaveTexts]
	if i == s.prompt || i < s.pinned || !results && !texts {
		return nil
	}
	t := &s.thin[i]
	if t.tokens > 0 && t.results == results && t.texts == texts && t.of.Stored == m.Stored && sameTexts(t.of, m) {
		return t
	}
	*t = thin{of: m, results: results, texts: texts}
	t.shown = s.leaveOut(t, i, shelf{store: s.shelf.store})
	t.tokens = s.vocabulary.message(t.shown) + idTokens
	return t
}

// idTokens is more than the words about an id have.
const idTokens = 16

// leaveOut returns what is shown in the place of the i-th message, and keeps
// on shelf what is not.
func (s *sketch) leaveOut(t *thin, i int, shelf shelf) Message {
	m := t.of
	if t.results {
		m = s.withoutResult(i, m, shelf)
	}
	if t.texts && (m.Role != User || i < s.prompt) {
		m = withoutTexts(m, shelf)
	}
	return m
}
