package agent

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Memory is bounded: of idle sessions the oldest are forgotten, never one that
// is in use.
func TestOldSessionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sessions
		used := s.enter(sessionKey{"f", "used"})
		unwritten := s.enter(sessionKey{"f", "unwritten"})
		unwritten.file.behind = true
		s.leave(unwritten)
		for i := range 2 * maxSessions {
			one := s.enter(sessionKey{"f", fmt.Sprint(i)})
			time.Sleep(time.Second)
			s.leave(one)
		}
		if n := len(s.all); n != maxSessions {
			t.Errorf("%d sessions", n)
		}
		if s.enter(sessionKey{"f", "used"}) != used {
			t.Error("a session in use was forgotten")
		}
		if s.enter(sessionKey{"f", "unwritten"}) != unwritten {
			t.Error("what could not be written was forgotten before what can be read again")
		}
		if s.all[sessionKey{"f", fmt.Sprint(2*maxSessions - 1)}] == nil || s.all[sessionKey{"f", "0"}] != nil {
			t.Error("not the oldest was forgotten")
		}
	})
}
