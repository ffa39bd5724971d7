package lsp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// slowly is a client that takes a little at a time.
type slowly struct {
	mu sync.Mutex
	bytes.Buffer
}

func (s *slowly) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Buffer.Write(b)
}

func put(o *outbox, body string) error {
	return o.put(func(dst []byte) []byte { return append(dst, body...) })
}

func TestOutboxKeepsFramesWholeAndInOrder(t *testing.T) {
	o, w := newOutbox(), &slowly{}
	go o.write(w) // ends with close
	var want []string
	for i := range 1000 {
		body := fmt.Sprintf("%d:%s", i, strings.Repeat("x", i%97*i%4099))
		want = append(want, body)
		if err := put(o, body); err != nil {
			t.Fatal(err)
		}
	}
	o.close(t.Context())
	got, bad, err := frames(&w.Buffer)
	if strings.Join(got, "|") != strings.Join(want, "|") || bad != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d frames, %d bad, %v", len(got), bad, err)
	}
	if err := put(o, "late"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("put after close: %v", err)
	}
	if o.failure() != nil || o.behind() != 0 {
		t.Errorf("%v, %d bytes behind", o.failure(), o.behind())
	}
}

func TestOutboxIsBounded(t *testing.T) {
	o := newOutbox()
	r, w := io.Pipe() // nobody reads
	go o.write(w)     // ends with the pipe
	body := strings.Repeat("x", 1<<20)
	n := 0
	for ; put(o, body) == nil; n++ {
		if n > maxUnread>>20 {
			t.Fatal("more than the bound was taken")
		}
	}
	if n < maxUnread>>20-2 {
		t.Errorf("only %d MiB were taken", n)
	}
	<-o.failed
	if err := o.failure(); !errors.Is(err, errUnread) {
		t.Error(err)
	}
	_ = r.Close()
	<-o.done
}

func TestOutboxCloseDoesNotWaitForADeafClient(t *testing.T) {
	o := newOutbox()
	r, w := io.Pipe()
	go o.write(w) // ends with the pipe
	if err := put(o, "x"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	o.close(ctx)
	_ = r.Close()
	<-o.done
}
