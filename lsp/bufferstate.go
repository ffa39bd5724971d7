package lsp

import (
	"crypto/sha256"
	"slices"
	"strings"
)

// promptSum is a sum of what a block of a prompt buffer said when it was sent;
// zero: it was no block.
type promptSum [sha256.Size]byte

func sumOf(body string) promptSum { return sha256.Sum256([]byte(strings.TrimSpace(body))) }

// sessionRun is what a prompt buffer shows of a run of its session.
type sessionRun struct {
	id      string
	status  runStatus
	step    int       // the model call that it is at, from 1; 0: none yet
	plan    string    // how far its plan is; "": none runs
	sent    promptSum // of the block that it answers
	writing bool      // its answer has begun in the buffer
	changed bool      // it changed files, and that was not undone
}

// ofSession lists the runs of a session, as they came: the live ones and the
// last finished ones.
func (r *runs) ofSession(session string) (list []sessionRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if x.session == session {
			list = append(list, sessionRun{x.id, x.status, x.step, x.plan, x.sent, x.writing, len(x.changed) > 0})
		}
	}
	return list
}

// stepped notes the model call that a run is at.
func (r *runs) stepped(x *run, step int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.step = step
	r.s.refreshPromptBuffers()
}

// planned notes how far the plan of a run is.
func (r *runs) planned(x *run, plan string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x.plan != plan {
		x.plan = plan
		r.s.refreshPromptBuffers()
	}
}

// writes notes that a run's answer begins in its buffer.
func (r *runs) writes(x *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.writing = true
}

// undone notes that what a run changed was taken back.
func (r *runs) undone(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.list, func(x *run) bool { return x.id == id }); i >= 0 {
		r.list[i].changed = nil
		r.s.refreshPromptBuffers()
	}
}

// bufferState is a prompt buffer and where the runs of its session stand in it.
type bufferState struct {
	text    string
	session string
	blocks  []blockState
	loose   []sessionRun // live ones that belong to no block
	last    int          // the last block of a person's; -1: there is none
}

// blockState is one block of it.
type blockState struct {
	promptBlock
	empty    bool
	answered bool         // a person's: the model's follows
	live     []sessionRun // a person's: those that answer it
	by       *sessionRun  // the model's: the run that wrote it; nil: not known
}

// mine reports whether a person writes the block.
func (b *blockState) mine() bool { return b.role != "agent" }

// bufferState matches the blocks of a prompt buffer with the runs of its
// session: live ones by where their answers go, finished ones by what was sent.
func (s *Server) bufferState(m promptModel) bufferState {
	b := bufferState{text: m.doc.text, session: s.sessionOf(m.doc), blocks: make([]blockState, len(m.blocks)), last: -1}
	for i := range m.blocks {
		n := &b.blocks[i]
		n.promptBlock = m.blocks[i]
		n.empty = strings.TrimSpace(b.text[n.start:n.end]) == ""
		if n.mine() {
			b.last = i
			n.answered = i+1 < len(m.blocks) && m.blocks[i+1].role == "agent"
		}
	}
	all := s.runs.ofSession(b.session)
	if len(all) > 0 {
		b.place(all, s.answering(m.doc, m.blocks))
		b.match(all)
	}
	return b
}

// place gives the live runs their blocks.
func (b *bufferState) place(all []sessionRun, answering map[int][]string) {
	of := map[string]int{}
	for i, ids := range answering {
		for _, id := range ids {
			of[id] = i
		}
	}
	for _, x := range all {
		i, there := of[x.id]
		switch {
		case !x.status.live():
		case there:
			b.blocks[i].live = append(b.blocks[i].live, x)
		default:
			b.loose = append(b.loose, x)
		}
	}
}

// match finds the runs that wrote the answers, from the last to the first: of
// blocks alike the newest run belongs to the last one, and an answer stands
// before older ones of the same block.
func (b *bufferState) match(all []sessionRun) {
	of := map[promptSum][]sessionRun{}
	for _, x := range all {
		if !x.status.live() && x.writing && x.sent != (promptSum{}) {
			of[x.sent] = append(of[x.sent], x)
		}
	}
	for i := len(b.blocks) - 1; i >= 0 && len(of) > 0; i-- {
		if !b.blocks[i].mine() || !b.blocks[i].answered {
			continue
		}
		sum := sumOf(b.text[b.blocks[i].start:b.blocks[i].end])
		left := of[sum]
		answer := i + 1
		if slices.ContainsFunc(b.blocks[i].live, func(x sessionRun) bool { return x.writing }) {
			answer++ // that one is being written
		}
		for ; answer < len(b.blocks) && !b.blocks[answer].mine() && len(left) > 0; answer++ {
			b.blocks[answer].by = &left[len(left)-1]
			left = left[:len(left)-1]
		}
		of[sum] = left
	}
}
