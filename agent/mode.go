package agent

// Mode is how a run works.
type Mode string

// The modes. [Modes] has those that work already.
const (
	ModeReAct Mode = "react" // the default
	ModePlan  Mode = "plan"  // steps that a person accepts first
	ModeTeam  Mode = "team"  // the same, carried out by workers and looked at by a reviewer
)

// ModeInfo is a way of working that a run can have.
type ModeInfo struct {
	Mode    Mode
	Command string // of the `/` line that starts a run in it, without '/'; "": it needs none
	About   string // a line for a person
}

// Modes lists the modes that there are. A mode is added here, and its command
// of CONTRACT §6 is there.
func Modes() []ModeInfo {
	return []ModeInfo{
		{Mode: ModeReAct, About: "think and call tools, step by step"},
	}
}

// IsLaterMode reports whether a word names a mode of CONTRACT §4 that this
// version does not have.
func IsLaterMode(word string) bool {
	for _, m := range Modes() {
		if string(m.Mode) == word {
			return false
		}
	}
	return word == "plan" || word == "team"
}
