package main

import (
	"testing"
	"time"
)

// A question that its server takes back leaves a read behind, which cannot be
// called off: the next question gets its line all the same, and nothing that was
// typed before.
func TestLineAfterAQuestionThatWasTakenBack(t *testing.T) {
	var under typing
	keys := make(chan string)
	ask := func() <-chan typed {
		return under.next(false, func() typed { return typed{line: <-keys} })
	}
	get := func(lines <-chan typed, want string) {
		t.Helper()
		select {
		case got := <-lines:
			if got.line != want {
				t.Errorf("%q, want %q", got.line, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%q is lost", want)
		}
	}
	_ = ask() // and it is taken back
	second := ask()
	if under.reads != 1 { // none can end yet
		t.Errorf("%d reads beside each other", under.reads)
	}
	keys <- "yes"
	get(second, "yes")

	stale := ask()
	keys <- "for the one before"
	for end := time.Now().Add(10 * time.Second); len(stale) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no line")
		}
	}
	next := ask()
	keys <- "no"
	get(next, "no")
}
