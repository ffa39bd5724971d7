package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// waits holds what the run asks of the servers.
func (s *schedule) waits(ctx context.Context, method string) {
	r := s.of(ctx)
	rnd := r.chance(method, r.count(method))
	place, most := "", 0
	switch method {
	case "WaitStarted":
		r.atTurn()
		place, most = atServers, 2500
	case "Settle":
		place, most = atSettle, 700
	default: // Read, of what a person mentions
		if place = atExpansion; r.asked() {
			place = atAddedExpansion
		}
		most = 2000
	}
	if method == "Read" && r.inTool() {
		place = "" // the tool's place says so
	}
	defer r.in(place)()
	if rnd.IntN(3) > 0 {
		most = 5
	}
	sleep(ctx, milliseconds(rnd, most))
}

// sleep sleeps unless ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// decided sees the lines of the log.
func (s *schedule) decided(line string) {
	if !strings.Contains(line, "tool call decided") {
		return
	}
	for _, r := range s.runs {
		if strings.Contains(line, "run="+r.task.RunID+" ") {
			r.in(atGate)()
		}
	}
}

func (s *schedule) setSlow(ms int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = ms
}

// scheduledDisk takes its time.
type scheduledDisk struct {
	hasty
	s *schedule
}

func (d scheduledDisk) WriteAt(p []byte, off int64) (int, error) {
	d.s.mu.Lock()
	r, slow := d.s.turn, d.s.slow
	d.s.mu.Unlock()
	if r != nil {
		defer r.in(atDisk)()
	}
	if rnd := d.s.chance("disk", off); slow > 0 && rnd.IntN(4) == 0 {
		time.Sleep(milliseconds(rnd, slow))
	}
	return d.File.WriteAt(p, off)
}

// act is what the tools do: what their arguments say.
func (s *schedule) act(ctx context.Context, args json.RawMessage) (string, error) {
	r := s.of(ctx)
	r.starts("a tool")
	var in struct {
		Do string
		MS int
	}
	_ = json.Unmarshal(args, &in) // the zero value does nothing
	if in.Do == "deaf" {
		defer r.in(atDeafTool)()
		return "late", s.deaf(ctx)
	}
	defer r.in(atTool)()
	switch in.Do {
	case "wait":
		sleep(ctx, time.Duration(in.MS)*time.Millisecond)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	case "fail":
		return "", errors.New("no such thing")
	case "panic":
		panic("a tool's bug")
	case "long":
		return strings.Repeat("long line\n", 500), nil
	}
	return "did " + string(args), nil
}
