package agent

// Mode is how a run works.
type Mode string

// The modes.
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
		{Mode: ModePlan, Command: "plan", About: "plan first: the steps run once you accept them"},
		{Mode: ModeTeam, Command: "team", About: "plan first; workers do the steps, and a reviewer looks at each"},
	}
}
