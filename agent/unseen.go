package agent

import "unicode"

// Unseen reports characters that are not seen, or that change how others are
// seen, and that a model reads all the same: controls, formats (bidi, zero width,
// tags, soft hyphen), variation selectors, which can spell any bytes behind
// another character, and the fillers that fonts draw as nothing. White space of
// the controls is among them.
func Unseen(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	const braille = 0x2800 // a cell without dots
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r == braille
}
