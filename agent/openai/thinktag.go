package openai

import "strings"

// thinkTags parts a text from the reasoning that a model writes before it,
// between tags: servers that do not know the model's form hand them on in the
// text. Tags count at the very beginning of the answer alone, where no person
// asked for them; a piece that may be the beginning of one is held back.
type thinkTags struct {
	at   thinkPlace
	held string // may be the beginning of a tag
	end  string // the tag that closes
}

type thinkPlace int

const (
	beforeTag thinkPlace = iota // nothing but white space came
	insideTag
	afterTag // white space between the reasoning and the text
	inText
)

// Those of DeepSeek, Qwen and most others, and of Gemini.
//
//nolint:gochecknoglobals // a constant table
var tagNames = []string{"think", "thinking", "thought"}

// maxHeld is how much white space before a tag is held back.
const maxHeld = 256

// take takes a piece of the text and gives what is certain of it.
func (t *thinkTags) take(piece string) (said, thought string) {
	if t.at == inText || piece == "" {
		return piece, ""
	}
	t.held += piece
	if t.at == beforeTag && !t.open() {
		return t.flush()
	}
	if t.at == insideTag {
		thought = t.inside()
	}
	if t.at == afterTag {
		if t.held = strings.TrimLeft(t.held, " \t\r\n"); t.held != "" {
			said, _ = t.flush()
		}
	}
	return said, thought
}

// open looks for an opening tag; false: there is none, and none comes.
func (t *thinkTags) open() bool {
	text := strings.TrimLeft(t.held, " \t\r\n")
	maybe := text == "" && len(t.held) <= maxHeld
	for _, name := range tagNames {
		tag := "<" + name + ">"
		if rest, ok := strings.CutPrefix(text, tag); ok {
			t.at, t.held, t.end = insideTag, rest, "</"+name+">"
			return true
		}
		maybe = maybe || text != "" && strings.HasPrefix(tag, text)
	}
	return maybe
}

// inside takes the reasoning up to the closing tag, or to what may be its
// beginning.
func (t *thinkTags) inside() (thought string) {
	if before, after, ok := strings.Cut(t.held, t.end); ok {
		t.at, t.held = afterTag, after
		return before
	}
	keep := min(len(t.held), len(t.end)-1)
	for ; keep > 0; keep-- {
		if strings.HasSuffix(t.held, t.end[:keep]) {
			break
		}
	}
	thought, t.held = t.held[:len(t.held)-keep], t.held[len(t.held)-keep:]
	return thought
}

// flush gives what is held back: nothing more comes.
func (t *thinkTags) flush() (said, thought string) {
	held := t.held
	t.held = ""
	if t.at == insideTag {
		return "", held
	}
	t.at = inText
	return held, ""
}
