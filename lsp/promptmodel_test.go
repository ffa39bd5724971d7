package lsp

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.lsp.dev/protocol"

	"agentls/mcp"
	"agentls/mcp/workspace"
)

// modelOf reads a prompt buffer where the servers know nothing.
func modelOf(t testing.TB, text string) promptModel {
	t.Helper()
	return idleServer(t, protocol.PositionEncodingKindUTF16).promptModel(document{text: text})
}

// idleServer is one that serves nobody: only its reading of texts counts.
func idleServer(t testing.TB, encoding protocol.PositionEncodingKind) *Server {
	t.Helper()
	manager := mcp.NewManager(mcp.Options{Name: "agentls", Version: "test", State: workspace.NewState(), TrustFile: t.TempDir() + "/trust.json"})
	t.Cleanup(manager.Close)
	awaitEmbedded(t, manager)
	s := New(Options{Manager: manager, Secrets: mcp.NewSecrets()})
	s.docs.encoding = encoding
	return s
}

// awaitEmbedded waits for the embedded server and its lists.
func awaitEmbedded(t testing.TB, manager *mcp.Manager) {
	t.Helper()
	poll(t, "the embedded server", func() bool {
		info, _ := manager.ServerNamed(workspaceServer)
		return info.Status == mcp.StatusReady && info.Resources != nil
	})
}

func TestPromptModel(t *testing.T) {
	text := "intro\n/no @workspace:a:b\n## You \n/plan now\n see /no\n```\n/no @workspace:a:b\n```\n@workspace:file://x and `@workspace:c:d`\n" +
		"## Agent\n/no @workspace:a:b\n~~~ go\nx\n~~~\n```\n```\n## You\n/\r\n/a:b\tc\n```\nopen"
	m := modelOf(t, text)
	type block struct {
		role, heading           string
		fences, slash, mentions []string
	}
	var got []block
	for _, b := range m.blocks {
		one := block{role: b.role, heading: b.heading.of(text)}
		for _, f := range b.fences {
			one.fences = append(one.fences, f.of(text))
		}
		for _, l := range b.slash {
			one.slash = append(one.slash, fmt.Sprintf("%s|%s|%v", l.word.of(text), l.line.of(text), l.leads))
		}
		for _, mention := range b.mentions {
			one.mentions = append(one.mentions, fmt.Sprintf("%s %s %v", text[mention.Start:mention.End], mention.URI, mention.Quoted))
		}
		got = append(got, one)
	}
	want := []block{
		{"you", "## You ", []string{"```\n/no @workspace:a:b\n```"}, []string{"/plan|/plan now|true"}, []string{
			"@workspace:a:b a:b true", "@workspace:file://x file://x false", "@workspace:c:d c:d true",
		}},
		{"agent", "## Agent", []string{"~~~ go\nx\n~~~", "```\n```"}, nil, nil},
		{"you", "## You", []string{"```\nopen"}, []string{"/|/|true", "/a:b|/a:b\tc|false"}, nil},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	whole := modelOf(t, "@workspace:a:b\n/x").blocks
	if len(whole) != 1 || whole[0].heading != (textSpan{}) || len(whole[0].mentions) != 1 || len(whole[0].slash) != 1 {
		t.Errorf("without headings: %+v", whole)
	}
}

func TestPromptModelAt(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		offset := strings.Index(text, "|")
		text = strings.Replace(text, "|", "", 1)
		got := "none"
		if b, ok := modelOf(t, text).block(offset); ok {
			got = strings.TrimSpace(b.whole().of(text))
			if m, ok := b.mention(offset); ok {
				got = text[m.Start:m.End]
			} else if l, ok := b.command(offset); ok {
				got = l.line.of(text)
			}
		}
		if got != want {
			t.Errorf("%q at %d: %q, want %q", text, offset, got, want)
		}
	}
	check("in|tro\n## You\n", "none")
	check("x\n|## You\nhi\n## Agent\n", "## You\nhi")
	check("## Y|ou\nhi\n## Agent\n", "## You\nhi")
	check("## You\nhi\n|## Agent\n", "## Agent")
	check("## You\nhi|", "## You\nhi")
	check("pl|ain", "plain")
	check("see |@a:b:c now", "@a:b:c")
	check("see @a:b:|c now", "@a:b:c")
	check("see @a:b:c| now", "@a:b:c")
	check("see @a:b:c |now", "see @a:b:c now")
	check("/x| y\nz", "/x y")
	check("/x y|\nz", "/x y")
	check("/x y\n|z", "/x y\nz")
}

// FuzzPromptModel: the blocks of any text are in order, cover it from the first
// heading on, and what they hold is in them.
func FuzzPromptModel(f *testing.F) {
	f.Add("intro\n## You\n/x @a:b:c\n```\n## Agent\n")
	f.Add("## You\r## Agent\r\n~~~\r\n~~~\r/")
	f.Add("@a:b:c\n`@a:b:c`")
	s := idleServer(f, protocol.PositionEncodingKindUTF16)
	f.Fuzz(func(t *testing.T, text string) {
		m := s.promptModel(document{text: text})
		at := m.blocks[0].whole().start
		for i, b := range m.blocks {
			if b.whole().start != at || b.start < at || b.end < b.start || (b.role == "") != (b.heading == textSpan{}) || b.role == "" && len(m.blocks) > 1 {
				t.Fatalf("%q: block %d is %+v behind %d", text, i, b, at)
			}
			at = b.end
			checkInside(t, text, b)
		}
		if at != len(text) {
			t.Fatalf("%q: the blocks end at %d", text, at)
		}
	})
}

func checkInside(t *testing.T, text string, b promptBlock) {
	t.Helper()
	inside := func(list []textSpan) {
		t.Helper()
		from := b.start
		for _, sp := range list {
			if sp.start < from || sp.end < sp.start || sp.end > b.end {
				t.Fatalf("%q: %+v is not in %+v", text, list, b)
			}
			from = sp.end
		}
	}
	inside(b.fences)
	var lines, mentions []textSpan
	for _, l := range b.slash {
		lines = append(lines, l.line)
		if !strings.HasPrefix(l.word.of(text), "/") || l.word.start != l.line.start || l.word.end > l.line.end || strings.ContainsAny(l.line.of(text), "\r\n") {
			t.Fatalf("%q: %+v", text, l)
		}
	}
	for _, m := range b.mentions {
		mentions = append(mentions, textSpan{m.Start, m.End})
		if text[m.Start] != '@' {
			t.Fatalf("%q: %+v", text, m)
		}
	}
	inside(lines)
	inside(mentions)
	if b.role == "agent" && len(lines)+len(mentions) > 0 {
		t.Fatalf("%q: an answer has %+v", text, b)
	}
}

// FuzzPromptRoundTrip: turns that are written come back as they were.
func FuzzPromptRoundTrip(f *testing.F) {
	f.Add(uint64(1), "hello\n@fs:file://a", "\n")
	f.Add(uint64(2), "```\n## You\n", "\r\n")
	f.Add(uint64(3), "~~~~\n~~~\n## Agent\n", "\r")
	f.Fuzz(func(t *testing.T, seed uint64, body, ending string) {
		if ending != "\n" && ending != "\r\n" && ending != "\r" {
			return
		}
		random := rand.New(rand.NewPCG(seed, 0))
		var text strings.Builder
		var want []turn
		for range random.IntN(8) + 1 {
			role, heading := "you", "## You"
			if random.IntN(2) == 0 {
				role, heading = "agent", "## Agent"
			}
			if len(want) > 0 {
				want[len(want)-1].end = text.Len()
			}
			text.WriteString(heading + strings.Repeat(" ", random.IntN(2)) + ending)
			start := text.Len()
			var e escaper // makes of any text one that stays in its turn
			lines := strings.FieldsFunc(body, func(r rune) bool { return r == '\n' || r == '\r' })
			random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			part := e.escape(strings.Join(lines[:random.IntN(len(lines)+1)], "\n")) + e.end() + "\n"
			text.WriteString(strings.ReplaceAll(part, "\n", ending))
			want = append(want, turn{role, start, text.Len()})
		}
		var got []turn
		for _, b := range turns(text.String()) {
			got = append(got, b.turn)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q:\ngot  %+v\nwant %+v", text.String(), got, want)
		}
	})
}

func TestRangesOf(t *testing.T) {
	text := "a😀b\r\nπ@x\r\n\n😀😀\rend"
	for _, encoding := range []protocol.PositionEncodingKind{protocol.PositionEncodingKindUTF8, protocol.PositionEncodingKindUTF16} {
		s := idleServer(t, encoding)
		var offsets []int
		for i := range text {
			offsets = append(offsets, i)
		}
		offsets = append(offsets, len(text))
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(offsets), func(i, j int) { offsets[i], offsets[j] = offsets[j], offsets[i] })
		for i, got := range positions(text, offsets, encoding) {
			if want := s.docs.position(text, offsets[i]); got != want {
				t.Errorf("%s: %d is at %v, want %v", encoding, offsets[i], got, want)
			}
		}
		nested := s.rangesOf(text, []textSpan{{8, 12}, {0, len(text)}, {1, 5}})
		for i, sp := range []textSpan{{8, 12}, {0, len(text)}, {1, 5}} {
			if want := (protocol.Range{Start: s.docs.position(text, sp.start), End: s.docs.position(text, sp.end)}); nested[i] != want || s.rangeOf(text, sp) != want {
				t.Errorf("%s: %v: %v, want %v", encoding, sp, nested[i], want)
			}
		}
	}
}

// promptOfSize is a prompt buffer of a long conversation.
func promptOfSize(n int) string {
	one := "## You\n/plan now\nwhat is in @workspace:file://src/main.go and `@workspace:file://b`?\n\n## Agent\n\n" +
		strings.Repeat("An answer of some length, with words.\n", 30) + "```go\nfunc main() {}\n```\n\n"
	return strings.Repeat(one, n/len(one)+1)[:n]
}

func BenchmarkPromptModel(b *testing.B) {
	s := idleServer(b, protocol.PositionEncodingKindUTF16)
	for _, text := range []struct{ name, text string }{
		{"1MB", promptOfSize(1 << 20)},
		{"4MB", promptOfSize(4 << 20)},
		{"1MB-headings", strings.Repeat("## You\n@a:b:c\n", 1<<20/14)},
		{"1MB-line", strings.Repeat("@workspace:file://x 😀 ", 1<<20/23)},
	} {
		b.Run(text.name, func(b *testing.B) {
			b.SetBytes(int64(len(text.text)))
			for b.Loop() {
				m := s.promptModel(document{text: text.text})
				var spans []textSpan
				for _, block := range m.blocks {
					for _, mention := range block.mentions {
						spans = append(spans, textSpan{mention.Start, mention.End})
					}
				}
				s.rangesOf(text.text, spans)
			}
		})
	}
}
