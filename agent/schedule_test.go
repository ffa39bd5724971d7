package agent_test

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// schedules is how many there are; each is a test of its own, named by its seed.
const schedules = 1000

// leastCancelled is how many runs of all schedules are cancelled at each place.
const leastCancelled = 5

// scheduleSeed runs one schedule alone: those above [schedules] too.
var scheduleSeed = flag.Int64("schedule.seed", -1, "run the schedule of this seed alone")

// Random schedules: whatever happens at whatever time, each run ends and soon
// after its cancel, nothing starts after it, each call has one result in the
// history, one line in the audit and one outcome told, nothing that a person
// wrote is lost or comes twice, what is on disk is what was in memory, and the
// history of each role is one that a provider takes.
//
// Most runs are cancelled at a place that was drawn (schedulePlaces); that each
// place had its cancels is part of the test.
func TestRandomSchedules(t *testing.T) {
	tally := &tally{}
	play := func(t *testing.T, seed int64) {
		synctest.Test(t, func(t *testing.T) {
			s := &schedule{world: newWorld(t), seed: uint64(seed), rnd: rand.New(rand.NewPCG(uint64(seed), 1)), written: map[string]bool{}, tally: tally}
			s.play()
		})
	}
	if *scheduleSeed >= 0 {
		play(t, *scheduleSeed)
		return
	}
	if !t.Run("drawn", func(t *testing.T) {
		for seed := range int64(schedules) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				play(t, seed)
			})
		}
	}) {
		return
	}
	for _, mode := range scheduleModes {
		for i, place := range placesOf(mode) {
			for n := range int64(moreSchedules) {
				if tally.of(mode, place) >= leastCancelled {
					break
				}
				seed := aimedSeed(mode, i, n)
				t.Run(fmt.Sprint(seed), func(t *testing.T) { play(t, seed) })
			}
		}
	}
	tally.check(t)
}

// A seed from schedules on says where all runs of its schedule are cancelled:
// at a place that those before hardly came to, as the machine had it.
const (
	moreSchedules = 60   // that are played for one place at most
	aimedPlaces   = 1000 // more than a mode has
)

func aimedSeed(mode agent.Mode, place int, n int64) int64 {
	return schedules + (n*aimedPlaces+int64(place))*int64(len(scheduleModes)) + int64(slices.Index(scheduleModes, mode))
}

// aimed is the inverse of aimedSeed; ok is false for a seed below schedules, and
// for one of no place.
func (s *schedule) aimed() (mode agent.Mode, place string, ok bool) {
	if s.seed < schedules {
		return "", "", false
	}
	at := int64(s.seed) - schedules
	mode = scheduleModes[at%int64(len(scheduleModes))]
	places := placesOf(mode)
	if at = at / int64(len(scheduleModes)) % aimedPlaces; at >= int64(len(places)) {
		return "", "", false
	}
	return mode, places[at], true
}

// tally counts at which places runs were cancelled.
type tally struct {
	mu        sync.Mutex
	cancelled map[agent.Mode]map[string]int
}

func (c *tally) of(mode agent.Mode, place string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancelled[mode][place]
}

// cancel counts a cancel at a place.
func (c *tally) cancel(mode agent.Mode, place string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancelled == nil {
		c.cancelled = map[agent.Mode]map[string]int{}
	}
	if c.cancelled[mode] == nil {
		c.cancelled[mode] = map[string]int{}
	}
	c.cancelled[mode][place]++
}

// check holds that no place was left out.
func (c *tally) check(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, mode := range scheduleModes {
		var told []string
		for _, place := range placesOf(mode) {
			n := c.cancelled[mode][place]
			told = append(told, fmt.Sprintf("%s: %d", place, n))
			if n < leastCancelled {
				t.Errorf("%s: %d runs were cancelled %s, want %d at least", mode, n, place, leastCancelled)
			}
		}
		t.Logf("%s: runs cancelled\n\t%s", mode, strings.Join(told, "\n\t"))
	}
}

// schedule is one of them: some runs of a session beside each other, a few
// times, then a last one that finds everything in order.
type schedule struct {
	*world
	seed  uint64
	rnd   *rand.Rand // of the test's goroutine
	tally *tally
	runs  []*scheduledRun // of all rounds; written before a round begins

	mu      sync.Mutex
	turn    *scheduledRun // whose turn it is; nil: nobody's
	calls   int
	written map[string]bool // what a person wrote; true: it must be in the history
	unkept  bool            // the disk was too slow: the file may lack something
	slow    int             // milliseconds that a write to the disk may take; 0: none
}

// chance is a source of randomness for one thing of a schedule: what else
// happens, and in which order, does not change what it gives.
func (s *schedule) chance(of ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, of...)
	return rand.New(rand.NewPCG(s.seed, h.Sum64()))
}

// milliseconds is a random time below most, in steps so small that hardly two
// things happen at one time.
func milliseconds(rnd *rand.Rand, most int) time.Duration {
	return time.Duration(rnd.IntN(most*1000)) * time.Microsecond
}

func (s *schedule) play() {
	s.task.Limits = agent.Limits{Steps: 1 + s.rnd.IntN(6), ParallelTools: 1 + s.rnd.IntN(4), ToolResultBytes: 200 + s.rnd.IntN(2000)}
	if s.rnd.IntN(4) == 0 {
		s.task.Limits.Tokens = 1 + s.rnd.IntN(20000)
	}
	s.task.Approval.Default = []string{"", "ask", "allow", "allow", "deny"}[s.rnd.IntN(5)]
	if s.rnd.IntN(3) == 0 {
		s.task.Approval.Ask = asksAboutAll
	}
	s.resources()
	s.servers.waits = s.waits
	s.log.on = s.decided
	for range 1 + s.rnd.IntN(2) {
		s.begin()
		s.round()
		s.reload()
	}
	s.last()
}

// resources are those that a person mentions: nobody else reads them.
func (s *schedule) resources() {
	for _, uri := range []string{"file://mentioned", "file://added"} {
		s.servers.resources["fake"][uri] = s.servers.resources["fake"]["file://doc.md"]
	}
}

// begin sets up what a restart of the agent takes away.
func (s *schedule) begin() {
	s.setSlow([]int{0, 0, 90, 3000}[s.rnd.IntN(4)])
	s.agent.SetDisk(func(f *os.File) agent.Disk { return scheduledDisk{hasty{f}, s} })
	s.actingBy(s.act, "edit_file")
}

// round lets some runs of the session work beside each other.
func (s *schedule) round() {
	var all []*scheduledRun
	for range 1 + s.rnd.IntN(3) {
		all = append(all, s.newRun(len(s.runs)+1))
		s.runs = append(s.runs, all[len(all)-1])
	}
	var wg sync.WaitGroup
	for _, r := range all {
		wg.Go(r.work) // ends by the run's last cancel at the latest
	}
	wg.Wait()
}

// reload lets another process take the session up: it finds what this one had,
// but where the disk was too slow.
func (s *schedule) reload() {
	before := s.agent.History(s.dir, s.task.Session)
	if s.rnd.IntN(2) == 0 || len(before) == 0 { // none had its turn
		return
	}
	s.agent.Close()
	s.rest()
	s.restart()
	after, err := s.agent.OnDisk(s.dir, s.task.Session)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.unkept:
		if err := agenttest.CheckHistory(append([]agent.Message{{Role: agent.System, Text: "-"}}, after...)); err != nil {
			s.t.Errorf("what a slow disk has is no history: %v", err)
		}
		s.unkept, s.calls, s.written = false, -1, map[string]bool{} // calls may stand open in it
	case err != nil || !reflect.DeepEqual(before, after):
		s.t.Errorf("the history was\n%v\nand is, read from disk,\n%v\n%v", before, after, err)
	}
}

// rest waits until the slowest disk has what it was given.
func (s *schedule) rest() {
	time.Sleep(time.Minute) // of the fake clock
	synctest.Wait()
}

// last asks once more, where nothing goes wrong.
func (s *schedule) last() {
	s.rest()
	s.servers.waits, s.log.on = nil, nil
	s.setSlow(0)
	s.task.Limits, s.task.Approval = agent.Limits{}, agent.Approval{Default: "allow"}
	s.must("the last")
	s.look(s.agent.History(s.dir, s.task.Session))
	s.close()
	s.rest()
	for _, r := range s.runs {
		r.quiet()
	}
}

// look checks what the session has at last.
func (s *schedule) look(messages []agent.Message) {
	s.mu.Lock() // somebody may still try to add
	defer s.mu.Unlock()
	var text strings.Builder
	for _, m := range messages {
		text.WriteString(m.Text + "\n")
	}
	if n := toolResults(messages); n != s.calls && s.calls >= 0 {
		s.t.Errorf("%d results of %d calls", n, s.calls)
	}
	for mark, must := range s.written {
		if n := strings.Count(text.String(), mark); n > 1 || n == 0 && must {
			s.t.Errorf("%s is in the history %d times", mark, n)
		}
	}
}

func toolResults(messages []agent.Message) (n int) {
	for _, m := range messages {
		if m.Role == agent.ToolRole {
			n++
		}
	}
	return n
}

// of is the run that a context belongs to.
func (s *schedule) of(ctx context.Context) *scheduledRun {
	r, ok := ctx.Value(scheduledKey{}).(*scheduledRun)
	if !ok {
		s.t.Error("a context that is of no run")
		return &scheduledRun{schedule: s}
	}
	return r
}

type scheduledKey struct{}
