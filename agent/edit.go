package agent

import "errors"

// Errors of [Editor.Edit] that a caller tells apart. After any other error
// nothing was changed.
var (
	// ErrNotOpen: the front end does not have the file open, so the disk is
	// what counts.
	ErrNotOpen = errors.New("the file is not open in the editor")
	// ErrStale: the text is not [Edit.Before] any more. Nothing was changed.
	ErrStale = errors.New("the text is not what the edit was made for")
	// ErrUnconfirmed: whether the edit happened is not known.
	ErrUnconfirmed = errors.New("the editor did not confirm the edit")
)

// Edit replaces the text of a file that the front end has open.
type Edit struct {
	Path   string // absolute
	Before string // the text that it is made for, as Document gave it
	After  string
	Label  string // says to a person what it is, one line
	Asked  bool   // a person has approved it; else the editor may ask
}

// Edited is an edit that was done.
type Edited struct {
	URI string // as the front end spells it
	// Text is what the edit made of the document. It is not Edit.After where
	// the editor has its own mind: about a last newline, or by formatting what
	// it saves.
	Text  string
	Saved bool // it is on disk too
}
