package lsp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"agentls/agent"
)

// promptExtension is how the names of prompt buffers end.
const promptExtension = ".agentls.md"

// newArg is the argument of agentls.new.
type newArg struct {
	Document *documentArg `json:"document"`
	Mode     *string      `json:"mode" contract:"Mode"`
}

// newInfo is the result of agentls.new.
type newInfo struct {
	URI     string `json:"uri"`
	Session string `json:"session"`
}

// prepareNew makes a prompt buffer and shows it. The files are the user's own
// and are never deleted.
func prepareNew(s *Server, _ context.Context, arg newArg, in invocation) (serveFunc, error) {
	mode, err := modeOf(in.command, arg.Mode)
	if err != nil {
		return nil, err
	}
	document, err := s.attach(in.command, arg.Document)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		if err := document.load(); err != nil {
			return nil, err
		}
		// A line break ends the line to write in: to some editors there is no
		// line behind it.
		before, after := newText(mode, document)
		text := before + after
		file, err := createPrompt(filepath.Join(s.o.StateDir, "prompts"), time.Now(), text)
		if err != nil {
			return nil, failed("the prompt buffer cannot be made: %v; open any file whose name ends in %s instead", err, promptExtension)
		}
		at := s.docs.position(text, len(before))
		if err := s.showDocument(ctx, file, true, &at); err != nil {
			s.o.Log.Info("the client did not show a prompt buffer", "file", file, "error", err)
			s.showMessage(protocol.MessageTypeInfo, "agentls: open "+file+", write your question there, and send it with agentls.send")
		}
		made := string(uri.File(file))
		key, file := canonical(made)
		return newInfo{made, s.bufferSession(key, file, 0)}, nil
	}, nil
}

// newText is what a prompt buffer holds at first, before and behind the place
// to write at. A mode is its `/` line, so that it is seen, and can be changed.
func newText(mode agent.Mode, document *attachment) (before, after string) {
	for _, m := range agent.Modes() {
		if m.Mode == mode && m.Command != "" {
			return "## You\n\n/" + m.Command + " ", "\n\n" + document.quote()
		}
	}
	return "## You\n\n" + document.quote(), "\n"
}

// createPrompt writes a file with a name of its own, <time>.agentls.md.
func createPrompt(dir string, now time.Time, text string) (file string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var f *os.File
	for n := 1; ; n++ {
		name := now.Format("20060102-150405")
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		file = filepath.Join(dir, name+promptExtension)
		f, err = os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(file) // half of it would be sent
		return "", err
	}
	return file, nil
}

// quote puts the part of the document into a prompt buffer: where it is from,
// and its text in a fence. Nothing of it can be a mention or a turn's heading.
func (a *attachment) quote() string {
	if a == nil {
		return ""
	}
	where := "About " + inCode(a.Path)
	if a.rng == nil {
		return where + ":\n\n"
	}
	if a.StartLine == a.EndLine {
		where += fmt.Sprintf(", line %d:\n\n", a.StartLine)
	} else {
		where += fmt.Sprintf(", lines %d-%d:\n\n", a.StartLine, a.EndLine)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(a.Text, "\r\n", "\n"), "\r", "\n")
	if a.Truncated {
		text = strings.TrimSuffix(text, "\n") + "\n[cut here]"
	}
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	return where + fence + a.language() + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n\n"
}

// language is what stands behind a fence.
func (a *attachment) language() string {
	name := a.LanguageID
	if name == "" {
		name = strings.TrimPrefix(path.Ext(a.Path), ".")
	}
	return fenceLanguage(name)
}

// fenceLanguage is a language's name if it may stand behind a fence, else "".
func fenceLanguage(name string) string {
	plain := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("+#-_", r)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return ""
	}
	return name
}

// inCode writes a name as code that it cannot leave.
func inCode(name string) string {
	if name = quoteVisible(name); !strings.Contains(name, "`") {
		return "`" + name[1:len(name)-1] + "`"
	}
	return "`" + strings.ReplaceAll(name, "`", `\x60`) + "`"
}

// longestRun is the length of the longest run of backticks.
func longestRun(text string) (longest int) {
	run := 0
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
