package lsp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"agentls/agent"
)

// answerMax is the most bytes of an answer document that is added to: editors
// do badly with more. Then there is another one.
const answerMax = 8 << 20

// answers keeps the answer documents (CONTRACT §6): one of each session,
// <state>/answers/<session>.agentls.md, which grows by a turn at a time. What
// the editor has open is changed there, and the rest on disk, where several
// processes add to it.
type answers struct {
	s *Server

	mu    sync.Mutex
	shown map[string]bool // by session: the client was asked to show it
}

func newAnswers(s *Server) *answers { return &answers{s: s, shown: make(map[string]bool)} }

// exchange is what was asked and what was answered, as it was said.
type exchange struct{ session, asked, answer string }

// kept is where an exchange stands.
type kept struct {
	file string
	at   protocol.Position // of the answer
	open bool              // it was written in the editor
}

// keep writes an exchange at the end of its session's document, before what a
// person writes there. Where the editor has it open and does not take the edit
// it goes into a document beside that one: nothing is written behind the
// editor's back, and nothing is lost.
func (a *answers) keep(ctx context.Context, e exchange) (kept, error) {
	for n := 1; ; n++ {
		file := a.file(e.session, n)
		k, err := a.write(ctx, file, e)
		if errors.Is(err, errNoRoom) {
			continue
		}
		return k, err
	}
}

// errNoRoom is a document that cannot be added to.
var errNoRoom = errors.New("there is no room in this document")

// write adds an exchange to one file.
func (a *answers) write(ctx context.Context, file string, e exchange) (kept, error) {
	if d, ok := a.s.docs.get(string(uri.File(file))); ok {
		if len(d.text) > answerMax {
			return kept{}, errNoRoom
		}
		at, turn := e.place(d.text)
		p := newPoint(a.s, d, at)
		if err := p.insert(ctx, turn.text, ""); err != nil {
			a.s.o.Log.Info("an answer document that is open was not changed", "file", file, "error", err)
			return kept{}, errNoRoom
		}
		return kept{file, turn.answerAt(a.s.docs.position(p.at.text, p.offset)), true}, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return kept{file: file}, err
	}
	unlock, err := agent.LockFile(filepath.Join(filepath.Dir(file), ".lock"))
	if err != nil {
		return kept{file: file}, err
	}
	defer unlock()
	raw, err := readAnswers(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		raw = []byte(header(file, e.session))
	case err != nil:
		return kept{file: file}, err
	}
	at, turn := e.place(string(raw))
	text := turn.text
	if strings.Contains(string(raw), "\r\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	whole := string(raw[:at]) + text + string(raw[at:])
	return kept{file, turn.answerAt(a.s.docs.position(whole, at+len(text))), false}, agent.ReplaceFile(file, []byte(whole))
}

// readAnswers reads a document that can be added to.
func readAnswers(file string) ([]byte, error) {
	switch info, err := os.Stat(file); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > answerMax:
		return nil, errNoRoom
	}
	return os.ReadFile(file)
}

// written is an exchange as it stands in a document.
type written struct {
	text   string
	answer int // offset of the answer's heading
}

// place says where an exchange goes in a document, and how it is written
// there: before the last block when that is a person's, which may hold what is
// not sent yet, else at the end.
func (e exchange) place(text string) (at int, turn written) {
	before, after := "", ""
	list := turns(text)
	if last := list[len(list)-1]; last.role == "you" {
		at = strings.LastIndex(text[:last.start], "## You")
	} else {
		at = len(strings.TrimRight(text, " \t\r\n"))
		m := walkMarkdown(text[:at])
		for m.next() { // to the fence that is open there
		}
		switch {
		case m.fence != "":
			before = "\n" + m.fence + "\n\n"
		case at > 0:
			before = "\n\n"
		}
		after = "## You\n"
	}
	before += "## You\n\n" + escaped(e.asked) + "\n\n"
	return at, written{before + "## Agent\n\n" + escaped(e.answer) + "\n\n" + after, len(before)}
}

// answerAt is where the answer begins when the exchange ends at a position.
func (w written) answerAt(end protocol.Position) protocol.Position {
	below := uint32(strings.Count(w.text[w.answer:], "\n"))
	return protocol.Position{Line: end.Line - min(end.Line, below)}
}

// escaped makes one text fit to stand in a turn.
func escaped(text string) string {
	var e escaper
	return e.escape(strings.TrimSpace(text)) + e.end()
}

// plainName is a session that can be the name of a file on every system, also
// where case does not count; reservedName are those that have another meaning.
var (
	plainName    = regexp.MustCompile(`^[a-z0-9_-][a-z0-9._-]{0,99}$`)
	reservedName = regexp.MustCompile(`^((con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)|session-[0-9a-f]{32}$)`)
)

// file is the path of a session's nth document, n from 1. No other session has
// it: a plain name holds no +.
func (a *answers) file(session string, n int) string {
	name := session
	if !plainName.MatchString(name) || reservedName.MatchString(name) {
		sum := sha256.Sum256([]byte(session))
		name = "session-" + hex.EncodeToString(sum[:16])
	}
	if n > 1 {
		name += fmt.Sprintf("+%d", n)
	}
	return filepath.Join(a.s.o.StateDir, "answers", name+promptExtension)
}

const headerStart, headerEnd = "<!-- agentls: session ", " -->"

// header says of which session a document is, where its name does not. JSON
// escapes what would end the comment.
func header(file, session string) string {
	if filepath.Base(file) == session+promptExtension {
		return ""
	}
	quoted, err := json.Marshal(session)
	if err != nil {
		return "" // a string always encodes
	}
	return headerStart + string(quoted) + headerEnd
}

// sessionOf is the session of a document that is open, when it is an answer
// document. A document elsewhere cannot say that it is one.
func (a *answers) sessionOf(path, text string) (session string, ok bool) {
	name, isOurs := strings.CutSuffix(filepath.Base(path), promptExtension)
	dir := filepath.Dir(path)
	if !isOurs || filepath.Base(dir) != "answers" || !sameFolder(dir, filepath.Join(a.s.o.StateDir, "answers")) {
		return "", false
	}
	line, _, _ := strings.Cut(text, "\n")
	if quoted, found := strings.CutPrefix(strings.TrimSpace(line), headerStart); found {
		quoted, found = strings.CutSuffix(quoted, headerEnd)
		if found && json.Unmarshal([]byte(quoted), &session) == nil && label("", "", &session) == nil {
			return session, true
		}
	}
	return name, plainName.MatchString(name)
}

// sameFolder compares folders that editors may name with symbolic links
// resolved.
func sameFolder(a, b string) bool {
	if a == b {
		return true
	}
	ia, err1 := os.Stat(a)
	ib, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(ia, ib)
}

// tell lets a person see the answer of a stock client's run as `answers` of
// the configuration says.
func (a *answers) tell(ctx context.Context, e exchange, news bool) {
	words := "agentls: " + a.s.tell(e.answer)
	switch a.s.cfg.Load().Answers {
	case "none":
		return
	case "message":
		if news {
			a.s.showMessage(protocol.MessageTypeInfo, words)
		}
		return
	}
	k, err := a.keep(ctx, e)
	if err != nil {
		a.s.o.Log.Error("an answer cannot be kept", "file", k.file, "error", err)
		a.s.showMessage(protocol.MessageTypeWarning, words+" (This answer cannot be kept: "+a.s.tell(err.Error())+")")
		return
	}
	if !news {
		return
	}
	a.mu.Lock()
	first := !a.shown[k.file]
	a.shown[k.file] = true
	a.mu.Unlock()
	if !first && k.open {
		return // it is before the person's eyes
	}
	if first {
		if err = a.s.showDocument(ctx, k.file, false, &k.at); err == nil {
			return
		}
		a.s.o.Log.Info("the client did not show an answer", "file", k.file, "error", err)
	}
	a.s.showMessage(protocol.MessageTypeInfo, words+" (The whole is in "+k.file+")")
}
