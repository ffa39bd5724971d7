package agent

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds on what an output may make us hold.
const (
	maxOpenLine = 64 << 10 // bytes of a line that has not ended: a \r may still take it back
	maxEscape   = 4096     // bytes of an escape sequence; a longer one is none
	maxLastLine = 4000     // bytes of a line that is told as progress
)

// plainer makes of a terminal's output the plain text that a person would see:
// without escape sequences, of a line that was written over the last form, and
// valid UTF-8 without control characters. It passes the text on to out.
type plainer struct {
	out io.Writer

	line    []byte // the open line
	passed  bool   // the start of the line was passed on already
	over    bool   // a \r came: what follows writes over the line
	escape  escape
	params  []byte // of a control sequence
	skipped int    // bytes of an escape sequence
	ready   []byte // for out

	mu   sync.Mutex
	last []byte // the last line that ended and is not blank
}

// escape is where in an escape sequence the output stands (ECMA-48).
type escape int

const (
	noEscape      escape = iota
	afterEscape          // ESC came
	inSequence           // ESC [ …
	inString             // ESC ] …, up to BEL or ESC \
	inStringAfter        // the same, and ESC came
	inShort              // ESC and intermediate bytes
)

func (p *plainer) Write(data []byte) (int, error) {
	p.ready = p.ready[:0]
	for i := 0; i < len(data); {
		if p.escape == noEscape {
			if n := printable(data[i:]); n > 0 {
				p.text(data[i : i+n])
				i += n
				continue
			}
			p.control(data[i])
		} else {
			p.sequence(data[i])
		}
		i++
	}
	if len(p.ready) == 0 {
		return len(data), nil
	}
	_, err := p.out.Write(p.ready)
	return len(data), err
}

// Close passes on the last line, if it has not ended.
func (p *plainer) Close() {
	p.ready = p.ready[:0]
	p.pass(len(p.line))
	_, _ = p.out.Write(p.ready) // as above
}

// lastLine returns the last line that ended.
func (p *plainer) lastLine() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.last)
}

// printable returns how many bytes data begins with that are no controls.
func printable(data []byte) int {
	for i, c := range data {
		if c < ' ' && c != '\t' || c == 0x7f {
			return i
		}
	}
	return len(data)
}

func (p *plainer) text(data []byte) {
	if p.over {
		p.clear()
	}
	for len(data) > 0 {
		n := min(len(data), maxOpenLine-len(p.line))
		p.line = append(p.line, data[:n]...)
		if data = data[n:]; len(p.line) == maxOpenLine {
			p.pass(len(p.line) - partialRune(p.line))
			p.passed = true
		}
	}
}

func (p *plainer) control(c byte) {
	switch c {
	case '\n':
		p.end()
	case '\r':
		p.over = true
		p.keepLast()
	case '\b':
		if !p.over && len(p.line) > 0 {
			_, n := utf8.DecodeLastRune(p.line)
			p.line = p.line[:len(p.line)-n]
		}
	case 0x1b:
		p.escape, p.skipped, p.params = afterEscape, 0, p.params[:0]
	}
}

// end ends the line.
func (p *plainer) end() {
	p.keepLast()
	p.pass(len(p.line))
	p.ready = append(p.ready, '\n')
	p.passed, p.over = false, false
}

// clear takes the line back, or what of it was not passed on yet.
func (p *plainer) clear() {
	p.over = false
	if p.passed {
		p.end()
	}
	p.line = p.line[:0]
}

// pass makes n bytes of the line ready, and keeps the others.
func (p *plainer) pass(n int) {
	text := p.line[:n]
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if bytes.IndexByte(text, 0xc2) >= 0 { // C1 controls are C2 80 to C2 9F
		text = bytes.Map(func(r rune) rune {
			if r >= 0x80 && r <= 0x9f {
				return -1
			}
			return r
		}, text)
	}
	p.ready = append(p.ready, text...)
	p.line = append(p.line[:0], p.line[n:]...)
}

func (p *plainer) keepLast() {
	text := bytes.TrimSpace(p.line)
	if len(text) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = append(p.last[:0], text[:min(len(text), maxLastLine)]...)
}

// sequence takes a byte of an escape sequence.
func (p *plainer) sequence(c byte) {
	if p.skipped++; c == '\n' || p.skipped > maxEscape {
		p.escape = noEscape // binary data, or one that was cut
		if c == '\n' {
			p.end()
		}
		return
	}
	switch p.escape {
	case afterEscape:
		p.introduce(c)
	case inSequence:
		switch {
		case c >= 0x40 && c <= 0x7e:
			p.escape = noEscape
			p.obey(c)
		case c < 0x20 || c > 0x7e:
			p.escape = noEscape
		default:
			p.params = append(p.params, c)
		}
	case inShort:
		if c < 0x20 || c > 0x2f {
			p.escape = noEscape
		}
	case inString:
		switch c {
		case 0x07:
			p.escape = noEscape
		case 0x1b:
			p.escape = inStringAfter
		}
	case inStringAfter:
		if p.escape = inString; c == '\\' {
			p.escape = noEscape
		}
	}
}

func (p *plainer) introduce(c byte) {
	switch {
	case c == '[':
		p.escape = inSequence
	case strings.IndexByte("]P^_X", c) >= 0: // OSC, DCS, PM, APC, SOS
		p.escape = inString
	case c >= 0x20 && c <= 0x2f:
		p.escape = inShort
	default:
		p.escape = noEscape
	}
}

// obey does what of the control sequences changes which text is seen.
func (p *plainer) obey(final byte) {
	params := string(p.params)
	switch {
	case final == 'K' && (params == "1" || params == "2"): // erase the line
		p.clear()
	case final == 'G' && (params == "" || params == "1"): // to its first column
		p.over = true
	}
}

// partialRune returns how many bytes at the end begin a character.
func partialRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
