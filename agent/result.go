package agent

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agentls/mcp"
)

// Bounds on the images that reach the model.
const (
	maxImage  = 5 << 20 // bytes of one, decoded
	maxImages = 8       // of one tool result or one prompt
)

// imageTypes are the formats that models read.
//
//nolint:gochecknoglobals // a constant table
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// IsImage reports whether a content goes to the model as an image, where the
// provider takes images.
func IsImage(c mcp.Content) bool { return image(c) != nil }

// image returns a content as an image for the model, nil when it is none that
// models read, too large or no base64. What it is its first bytes say: a
// provider refuses the whole request for an image of another type than it is
// told, and servers err, or say none.
func image(c mcp.Content) *Image {
	if c.Blob == "" || decodedLen(c.Blob) > maxImage {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(c.Blob)
	if err != nil {
		return nil
	}
	mime := http.DetectContentType(raw)
	if !slices.Contains(imageTypes, mime) {
		return nil
	}
	return &Image{MIMEType: mime, Data: c.Blob}
}

func imageLine(mime string, size int, note string) string {
	return fmt.Sprintf("[image %s, %d bytes, %s]", oneLine(mime, 100), size, note)
}

func decodedLen(b64 string) int {
	return base64.StdEncoding.DecodedLen(len(b64)) - (len(b64) - len(strings.TrimRight(b64, "=")))
}

// truncate cuts text in the middle to at most limit bytes, the notice of how
// much is gone included. The result is valid UTF-8 and shares no memory with
// a longer text.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return validWithin(text, limit)
	}
	return cut{head: text, tail: text, size: int64(len(text))}.fit(limit)
}

// validWithin is text of at most limit bytes as valid UTF-8 of at most as many.
func validWithin(text string, limit int) string {
	if valid := strings.ToValidUTF8(text, "\uFFFD"); len(valid) <= limit {
		return valid
	}
	return strings.ToValidUTF8(text, "?")
}

// clipEnd drops a character that was cut at the end.
func clipEnd(s string) string {
	for i := 1; i <= min(utf8.UTFMax, len(s)); i++ {
		if utf8.RuneStart(s[len(s)-i]) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			return s
		}
	}
	return s
}

// clipStart drops a character that was cut at the start.
func clipStart(s string) string {
	for i := 0; i < min(utf8.UTFMax, len(s)); i++ {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s
}

// clip returns the first n code points of s, and whether something is gone.
func clip(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}

// ellipsis is clip with a mark where something is gone.
func ellipsis(s string, n int) string {
	if _, gone := clip(s, n); !gone {
		return s
	}
	cut, _ := clip(s, n-1)
	return cut + "…"
}

// oneLine makes foreign text one line of at most n characters without control
// and format characters.
func oneLine(s string, n int) string {
	cut, gone := clip(s, 4*n)
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case Unseen(r) || unicode.Is(unicode.Co, r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, cut)), " ")
	if gone {
		s += "…"
	}
	return ellipsis(s, n)
}

// compact returns valid JSON without the white space between its parts.
func compact(raw []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
