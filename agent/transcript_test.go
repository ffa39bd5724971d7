package agent

import (
	"reflect"
	"testing"
)

// The records of the whole say all, whatever was there before: a writer that
// fell behind its disk ends with it.
func TestWholeVoidsWhatWasThere(t *testing.T) {
	begun := func() *transcript {
		var t transcript
		t.apply(record{Type: recordRun, Message: &Message{Role: User, Text: "go"}})
		t.apply(record{Type: recordSteer, Text: "and on"})
		t.apply(record{Type: recordText, Text: "partial"})
		return &t
	}
	memory, file := begun(), begun()
	memory.interrupt()
	for _, r := range memory.whole() {
		file.apply(r)
	}
	for _, one := range []*transcript{memory, file} {
		one.apply(record{Type: recordRun, Message: &Message{Role: User, Text: "next"}})
	}
	if !reflect.DeepEqual(memory.messages(), file.messages()) || len(file.entries) != 5 {
		t.Errorf("the file says\n%q\nthe memory\n%q", file.messages(), memory.messages())
	}
}
