package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
)

// When a model goes in circles (charmbracelet/crush#2130). A round is the
// calls of one answer with their results.
const (
	maxPeriod   = 4  // rounds that repeat as one
	tellRepeats = 3  // repeats in a row that the model is told of; one more ends the run
	lately      = 10 // rounds that are looked at for one call among others
	tellSame    = 6  // rounds of them with the same call and result that the model is told of
	tellFailed  = 3  // the same of a call that did not complete
	afterTold   = 3  // further ones that end the run
)

// digest stands for a call with its result, or for a round.
type digest [sha256.Size]byte

// circles notices the same calls with the same results again. A call whose
// result changes is none: a server may be polled.
type circles struct {
	rounds []digest       // as many as the longest circle needs
	calls  [][]digest     // of the last rounds, each once
	told   map[digest]int // rounds ago that the model was told of a call
}

// add takes a round. note is for the model, "" when all is well; stop says that
// the note before was of no use. wrote says that the round changed a file of
// the workspace: the same check afterwards is then no circle.
func (l *circles) add(calls []ToolCall, results []callResult, wrote bool) (note string, stop bool) {
	var seen []digest
	h := sha256.New()
	failing := map[digest]bool{}
	for i, c := range calls {
		d := sameCall(c, results[i])
		h.Write(d[:])
		failing[d] = results[i].status != Completed
		if !slices.Contains(seen, d) {
			seen = append(seen, d)
		}
	}
	l.rounds = newest(append(l.rounds, digest(h.Sum(nil))), maxPeriod*(tellRepeats+1))
	if wrote {
		l.calls, l.told = nil, nil
	}
	l.calls = newest(append(l.calls, seen), lately)
	note, stop = l.repeats()
	again, over := l.again(seen, failing)
	if note == "" {
		note = again
	}
	if note != "" {
		note = "[agentls: " + note + ". Do something else, or answer with what is known.]"
	}
	return note, stop || over
}

// repeats looks for rounds that come again and again in the same order.
func (l *circles) repeats() (note string, stop bool) {
	for period := 1; period <= maxPeriod; period++ {
		n := period // rounds at the end that repeat with this period
		for n < len(l.rounds) && l.rounds[len(l.rounds)-n-1] == l.rounds[len(l.rounds)-n-1+period] {
			n++
		}
		switch {
		case n >= period*(tellRepeats+1):
			return "", true
		case n == period*tellRepeats && period == 1:
			return fmt.Sprintf("the same calls gave the same results %d times in a row", tellRepeats), false
		case n == period*tellRepeats:
			return fmt.Sprintf("the same %d rounds of calls gave the same results %d times in a row", period, tellRepeats), false
		}
	}
	return "", false
}

// again looks for one call that comes often among others.
func (l *circles) again(seen []digest, failing map[digest]bool) (note string, stop bool) {
	for d, ago := range l.told {
		if l.told[d] = ago + 1; ago+1 >= lately {
			delete(l.told, d)
		}
	}
	for _, d := range seen {
		ago, told := l.told[d]
		if told {
			stop = stop || l.count(d, ago) >= afterTold
			continue
		}
		n, most, what := l.count(d, lately), tellSame, "gave the same result"
		if failing[d] {
			most, what = tellFailed, "failed in the same way"
		}
		if n >= most {
			if l.told == nil {
				l.told = map[digest]int{}
			}
			l.told[d] = 0
			note = fmt.Sprintf("a call %s in %d of the last %d rounds", what, n, len(l.calls))
		}
	}
	return note, stop
}

// count counts the rounds of the last n that hold a call.
func (l *circles) count(d digest, n int) (found int) {
	for _, round := range l.calls[max(len(l.calls)-n, 0):] {
		if slices.Contains(round, d) {
			found++
		}
	}
	return found
}

// newest gives the last n of a list, in memory of their own.
func newest[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	return slices.Clone(list[len(list)-n:])
}

// sameCall is equal for two calls that ask for the same and got the same,
// however the arguments are written.
func sameCall(c ToolCall, r callResult) digest {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %x\n", c.Name, canonical(c.Arguments), r.status, r.digest)
	return digest(h.Sum(nil))
}

// canonical writes a JSON object in one way; what is none stays as it is.
func canonical(arguments string) []byte {
	args, err := object(arguments)
	if err != nil {
		return []byte(arguments)
	}
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return args
	}
	return marshal(v) // its keys are sorted
}

// digestResult is what a result is known by: its text as the tool gave it, in
// which a long part that is kept is named by its content, and its images.
func digestResult(res callResult) digest {
	h := sha256.New()
	h.Write([]byte(res.text))
	for _, img := range res.images {
		fmt.Fprintf(h, "\x00%s\x00%s", img.MIMEType, img.Data)
	}
	return digest(h.Sum(nil))
}
