package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agentls/lsp/lspclient"
)

// probeID is the id of a probe's requests, which the client never comes to.
const probeID = "900000001"

// probe times requests on a server's pipe, from the first byte written to the
// last one read. Answers are not decoded, as that would hide the server.
type probe struct {
	s    *server
	came chan int
	n    int
	ask  [][]byte // frames, in turn
}

// errNothing is a list without items.
var errNothing = errors.New("nothing is completed")

// newProbe is one that asks for the completion of each beginning of texts, as
// somebody types them, each in a prompt buffer of its own. It waits until each
// has an answer: a list that came this moment is not searched yet.
func (s *server) newProbe(ctx context.Context, texts ...string) (*probe, error) {
	p := &probe{s: s, came: make(chan int, 1)}
	for i, text := range texts {
		uri := fmt.Sprintf("file:///bench/%d.agentls.md", i)
		s.Notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "agentls", "version": 1, "text": text}})
		for at := bytes.IndexByte([]byte(text), '@') + 1; at <= len(text); at++ {
			p.add("textDocument/completion", fmt.Sprintf(`{"textDocument":{"uri":%q},"position":{"line":0,"character":%d}}`, uri, at))
		}
	}
	s.take(p.take)
	for range p.ask {
		err := eventually(ctx, "a completion stays empty", func() (bool, error) {
			_, err := p.once(ctx)
			if errors.Is(err, errNothing) {
				p.n-- // the same again
				return false, nil
			}
			return true, err
		})
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *probe) add(method, params string) {
	p.ask = append(p.ask, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, probeID, method, params))
}

func (p *probe) take(frame []byte) bool {
	if !bytes.Contains(frame[:min(len(frame), 64)], []byte(`"id":`+probeID)) {
		return false
	}
	p.came <- len(frame)
	return true
}

// once makes the next request.
func (p *probe) once(ctx context.Context) (time.Duration, error) {
	frame := p.ask[p.n%len(p.ask)]
	p.n++
	start := time.Now()
	if err := p.s.Write(frame); err != nil {
		return 0, err
	}
	select {
	case n := <-p.came:
		const empty = 200 // the answer of a list without items is shorter
		if n < empty {
			return 0, fmt.Errorf("%w: %d bytes to %s", errNothing, n, frame)
		}
		return time.Since(start), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-time.After(10 * time.Second):
		return 0, errors.New("a completion is not answered")
	}
}

// times makes n requests, the first of which are not counted, with a pause
// before each.
func (p *probe) times(ctx context.Context, n int, apart time.Duration) (t took, err error) {
	for i := range n + n/10 {
		if apart > 0 {
			if err := pause(ctx, apart); err != nil {
				return nil, err
			}
		}
		d, err := p.once(ctx)
		if err != nil {
			return nil, err
		}
		if i >= n/10 {
			t = append(t, d)
		}
	}
	return t, nil
}

// echoVariable makes this binary the echo: the file with the answer.
const echoVariable = "AGENTLS_BENCH_ECHO"

// echoMain answers every request with the same result until its input ends.
func echoMain() {
	file := os.Getenv(echoVariable)
	if file == "" {
		return
	}
	result, err := os.ReadFile(file)
	if err != nil {
		os.Exit(1)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		body, err := lspclient.ReadFrame(in)
		if err != nil {
			os.Exit(0)
		}
		var m lspclient.Message
		if json.Unmarshal(body, &m) == nil && m.ID != nil {
			_ = lspclient.WriteFrame(os.Stdout, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, *m.ID, result))
		}
	}
}

// againstEcho measures completion at 1,000 resources, and an echo of one of
// its answers, in turns.
func (b *bench) againstEcho(ctx context.Context, s *server) (row, error) {
	const text = "see @handler"
	ours, err := s.newProbe(ctx, text)
	if err != nil {
		return row{}, err
	}
	ours.ask = ours.ask[len(ours.ask)-1:]
	echo, floor, size, err := b.echo(ctx, s, text)
	if err != nil {
		return row{}, err
	}
	defer func() { _ = echo.Close() }()
	floor.ask = ours.ask
	var a, e took
	for range b.samples(20) { // in turns, so that both meet the same noise
		x, err := ours.times(ctx, 100, 0)
		if err != nil {
			return row{}, err
		}
		y, err := floor.times(ctx, 100, 0)
		if err != nil {
			return row{}, err
		}
		a, e = append(a, x...), append(e, y...)
	}
	r := float64(a.p50()) / float64(e.p50())
	return row{
		fmt.Sprintf("completion of a mention at 1,000 cached resources, an answer of %d KB", size>>10), "p50 ≤ 3× an echo",
		fmt.Sprintf("%s (%s against %s; p99 %s against %s)", ratio(r, 1), ms(a.p50()), ms(e.p50()), ms(a.p99()), ms(e.p99())), r <= 3,
	}, nil
}

// echo starts a process that answers as s does now at the end of a text, in the
// first buffer, and gives a probe of it, and the answer's size in bytes.
func (b *bench) echo(ctx context.Context, s *server, text string) (echo *server, floor *probe, size int, err error) {
	var reply json.RawMessage
	err = s.Call(ctx, "textDocument/completion", map[string]any{
		"textDocument": map[string]string{"uri": "file:///bench/0.agentls.md"}, "position": map[string]int{"line": 0, "character": len(text)},
	}, &reply)
	if err != nil {
		return nil, nil, 0, err
	}
	b.folder++
	file := filepath.Join(b.dir, fmt.Sprintf("reply%d.json", b.folder))
	if err := os.WriteFile(file, reply, 0o600); err != nil {
		return nil, nil, 0, err
	}
	if echo, err = b.process(ctx, b.self, "", echoVariable+"="+file); err != nil {
		return nil, nil, 0, err
	}
	if floor, err = echo.newProbe(ctx, text); err != nil {
		_ = echo.Close()
		return nil, nil, 0, err
	}
	return echo, floor, len(reply), nil
}
