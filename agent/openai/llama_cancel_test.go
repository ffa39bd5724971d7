package openai

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/openai/llamatest"
)

// endless starts an answer without an end and returns once words of it came.
func endless(ctx context.Context, t testing.TB, l *LLM) (ended <-chan error) {
	t.Helper()
	began, done := make(chan struct{}), make(chan error, 1)
	go func() { // ends with ctx
		n := 0
		_, err := l.Complete(ctx, says("ENDLESS"), func(agent.Delta) {
			if n++; n == 3 {
				close(began)
			}
		})
		done <- err
	}()
	select {
	case <-began:
	case err := <-done:
		t.Fatalf("the answer ended: %v", err)
	case <-time.After(llamatest.Deadline):
		t.Fatal("no words came")
	}
	return done
}

// freed bounds how long a server works on for a client that is gone; it needs
// a few milliseconds.
const freed = 2 * time.Second

// TestLlamaCancelFreesTheSlot: a cancel closes the connection, and the server
// stops (P14).
func TestLlamaCancelFreesTheSlot(t *testing.T) {
	s := llamatest.Start(t, llamatest.Options{Slots: 1})
	l := llama(t, s)
	why := errors.New("enough")
	for range 20 {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := endless(ctx, t, l)
		s.AwaitBusy(t, 1)
		cancel(why)
		if err := <-ended; !errors.Is(err, why) {
			t.Fatalf("the answer ended with %v", err)
		}
		if took := s.AwaitBusy(t, 0); took > freed {
			t.Errorf("the slot was freed after %s", took)
		}
	}
	if resp, err := l.Complete(t.Context(), says("hello"), nil); err != nil || resp.Text != llamatest.Sentence {
		t.Errorf("the next answer: %q, %v", resp.Text, err)
	}
}

// TestLlamaCancelBeforeTheFirstToken: a cancel does not wait for the server,
// which reads a long prompt to its end (editor-code-assistant/eca#554).
func TestLlamaCancelBeforeTheFirstToken(t *testing.T) {
	s := llamatest.Start(t, llamatest.Options{Slots: 1})
	l := llama(t, s)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	ended := make(chan error, 1)
	go func() { // ends with ctx
		resp, err := l.Complete(ctx, says(strings.Repeat("word ", 1500)), nil)
		if resp.Text != "" {
			err = fmt.Errorf("it said %q: %w", resp.Text, err)
		}
		ended <- err
	}()
	s.AwaitBusy(t, 1)
	cancel(why)
	if err := <-ended; err == nil || err.Error() != why.Error() {
		t.Errorf("the answer ended with %v", err)
	}
	s.AwaitBusy(t, 0)
	if resp, err := l.Complete(t.Context(), says("hello"), nil); err != nil || resp.Text != llamatest.Sentence {
		t.Errorf("the next answer: %q, %v", resp.Text, err)
	}
}

func TestLlamaTwoAnswersBesideEachOther(t *testing.T) {
	s := llamatest.Start(t, llamatest.Options{})
	l := llama(t, s)
	one, cancelOne := context.WithCancel(t.Context())
	two, cancelTwo := context.WithCancel(t.Context())
	defer cancelTwo()
	endedOne, endedTwo := endless(one, t, l), endless(two, t, l)
	s.AwaitBusy(t, 2)
	cancelOne()
	<-endedOne
	s.AwaitBusy(t, 1) // the other's goes on
	select {
	case err := <-endedTwo:
		t.Errorf("the other answer ended too: %v", err)
	default:
	}
	cancelTwo()
	<-endedTwo
}

func TestLlamaKilledInMidStream(t *testing.T) {
	s := llamatest.Start(t, llamatest.Options{})
	l := llama(t, s)
	ended := endless(t.Context(), t, l)
	s.Kill()
	pe, ok := errors.AsType[*agent.ProviderError](<-ended)
	if !ok || pe.Kind != agent.KindNetwork || !pe.Retryable {
		t.Fatalf("error %#v", pe)
	}
	_, err := l.Complete(t.Context(), says("hello"), nil)
	pe, ok = errors.AsType[*agent.ProviderError](err)
	if !ok || pe.Kind != agent.KindNetwork || !strings.Contains(pe.Message, "cannot reach") {
		t.Errorf("the next answer: %v", err)
	}
}

// TestLlamaHung: a server that stops in mid-stream is given up after the idle
// timeout, and a cancel does not wait for it.
func TestLlamaHung(t *testing.T) {
	s := llamatest.Start(t, llamatest.Options{})
	l := llama(t, s, func(o *Options) { o.IdleTimeout = 500 * time.Millisecond })
	patient := llama(t, s)
	ctx, cancel := context.WithCancelCause(t.Context())
	given, waiting := endless(t.Context(), t, l), endless(ctx, t, patient)
	s.Hang(t)
	pe, ok := errors.AsType[*agent.ProviderError](<-given)
	if !ok || pe.Kind != agent.KindNetwork || !pe.Retryable || !strings.Contains(pe.Message, "sent nothing for 500ms") {
		t.Errorf("error %#v", pe)
	}
	why := errors.New("enough")
	cancel(why)
	if err := <-waiting; !errors.Is(err, why) {
		t.Errorf("the cancelled answer ended with %v", err)
	}
}

// TestLlamaCancelWhileQueued: a request that waits for a slot has no headers
// yet (editor-code-assistant/eca#554). Later ones do not wait for it.
func TestLlamaCancelWhileQueued(t *testing.T) {
	s := llamatest.Start(t, llamatest.Options{Slots: 1})
	l := llama(t, s)
	first, cancelFirst := context.WithCancel(t.Context())
	defer cancelFirst()
	ended := endless(first, t, l)
	second, cancelSecond := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("enough"))
	defer cancelSecond()
	if resp, err := l.Complete(second, says("hello"), nil); err == nil || err.Error() != "enough" {
		t.Errorf("the queued answer: %+v, %v", resp, err)
	}
	s.AwaitBusy(t, 1) // the first goes on
	cancelFirst()
	<-ended
	if resp, err := l.Complete(t.Context(), says("hello"), nil); err != nil || resp.Text != llamatest.Sentence {
		t.Errorf("the next answer: %q, %v", resp.Text, err)
	}
}
