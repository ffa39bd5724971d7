package child

import "os/exec"

// Watch ends the groups that outlive this process.
type Watch interface {
	// Expect is called before a group is started. It returns the command line of
	// a process that calls [Hold]: it becomes the program once Add has returned,
	// or ends with this process. Nil: there is none.
	Expect() (hold []string)
	Add(g Group)
	Remove(g Group)
}

// StartWatched is [Start] with watch, unless that is nil, told of the group
// before the program in it runs: a kill of this process in between would leave
// it behind.
func StartWatched(cmd *exec.Cmd, watch Watch) (Group, error) {
	if watch == nil {
		return Start(cmd)
	}
	hold := watch.Expect()
	if len(hold) == 0 || cmd.Err != nil || !holdable(hold[0]) {
		return startTold(cmd, watch)
	}
	return startHeld(cmd, hold, watch)
}

// startTold is [Start] with watch told of the group right after.
func startTold(cmd *exec.Cmd, watch Watch) (Group, error) {
	g, err := Start(cmd)
	if err == nil {
		watch.Add(g)
	}
	return g, err
}

// unwatched is the [Watch] of what nobody watches.
type unwatched struct{}

func (unwatched) Expect() []string { return nil }
func (unwatched) Add(Group)        {}
func (unwatched) Remove(Group)     {}
