package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// editWorld is a world with a.txt open in the editor.
func editWorld(t testing.TB, u setup, text string) (w *world, path, uri string) {
	t.Helper()
	u.llm = agenttest.NewLLM(t)
	w = newWorld(t, u)
	w.write("a.txt", text)
	path = filepath.Join(w.root, "a.txt")
	uri = lsptest.FileURI(path)
	w.Open(uri, "plaintext", text)
	w.runs() // it has arrived
	return w, path, uri
}

func (w *world) edit(ctx context.Context, e agent.Edit) (agent.Edited, error) {
	return editor{w.server}.Edit(ctx, e)
}

// edits are the text edits of the applyEdit requests so far.
func (w *world) edits() (list []lsptest.TextEdit) {
	for _, r := range w.Requests("workspace/applyEdit") {
		var p struct {
			Edit struct {
				Changes         map[string][]lsptest.TextEdit
				DocumentChanges []struct{ Edits []lsptest.TextEdit }
			}
		}
		if err := json.Unmarshal(r.Params, &p); err != nil {
			w.t.Fatal(err)
		}
		for _, c := range p.Edit.DocumentChanges {
			list = append(list, c.Edits...)
		}
		for _, c := range p.Edit.Changes {
			list = append(list, c...)
		}
	}
	return list
}

// zed-industries/zed#42895: an edit touches what differs and nothing else, at
// places that are right beyond ASCII (charmbracelet/crush#2325) and never
// overlap (charmbracelet/crush#2322).
func TestEditChangesOnlyWhatDiffers(t *testing.T) {
	unversioned := lsptest.Capabilities()
	unversioned["workspace"].(obj)["workspaceEdit"] = obj{}
	utf8 := lsptest.Capabilities()
	utf8["general"].(obj)["positionEncodings"] = []string{"utf-8", "utf-16"}
	numbered := func(ending string, change map[int]string) string {
		var b strings.Builder
		for i := range 40 {
			line := strings.Repeat("𝄞é", i%3) + "line"
			if other, ok := change[i]; ok {
				line += other
			}
			b.WriteString(line + ending)
		}
		return b.String()
	}
	for _, c := range []struct {
		name          string
		before, after string
		caps          any
		most          int // bytes of new text
	}{
		{"three places", numbered("\n", nil), numbered("\n", map[int]string{2: " two", 20: " 𝄞", 39: "!"}), nil, 20},
		{"CRLF", numbered("\r\n", nil), numbered("\r\n", map[int]string{2: " two\r\nand", 20: " 𝄞"}), nil, 20},
		{"utf-8", numbered("\n", nil), numbered("\n", map[int]string{4: " 𝄞", 5: "𝄞"}), utf8, 30},
		{"without documentChanges", numbered("\n", nil), numbered("\n", map[int]string{4: " 𝄞", 7: "x"}), unversioned, 12},
		{"a line goes", "one\ntwo\nthree\n", "one\nthree\n", nil, 0},
		{"all goes", "one\ntwo\n", "", nil, 0},
		{"out of nothing", "", "one\ntwo\n", nil, 8},
		{"no last newline", "one\ntwo", "one\ntwo\nthree", nil, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, path, uri := editWorld(t, setup{init: lsptest.Init{Capabilities: c.caps}}, c.before)
			done, err := w.edit(t.Context(), agent.Edit{Path: path, Before: c.before, After: c.after, Asked: true})
			if err != nil || w.Text(uri) != c.after || done.Text != c.after || done.URI != uri || done.Saved {
				t.Fatalf("%+v, %v: the document is %q", done, err, w.Text(uri))
			}
			n := 0
			for _, e := range w.edits() {
				n += len(e.NewText)
			}
			if n > c.most {
				t.Errorf("%d bytes were sent: %+v", n, w.edits())
			}
			if disk, _ := os.ReadFile(path); string(disk) != c.before {
				t.Errorf("the file was written behind the editor's back: %q", disk)
			}
		})
	}
}

// zed-industries/zed#59959: a text that went on is not overwritten.
func TestEditOfAnotherText(t *testing.T) {
	w, path, uri := editWorld(t, setup{}, "one\n")
	if _, err := w.edit(t.Context(), agent.Edit{Path: path, Before: "old\n", After: "new\n"}); !errors.Is(err, agent.ErrStale) {
		t.Errorf("another text: %v", err)
	}
	if _, err := w.edit(t.Context(), agent.Edit{Path: path + "x", Before: "old\n", After: "new\n"}); !errors.Is(err, agent.ErrNotOpen) {
		t.Errorf("another file: %v", err)
	}
	if n := len(w.Requests("workspace/applyEdit")); n > 0 || w.Text(uri) != "one\n" {
		t.Errorf("%d edits, %q", n, w.Text(uri))
	}
	// The user types just before the edit arrives; then undoes it, or not.
	for _, c := range []struct {
		back bool
		want error
		text string
	}{{true, nil, "two\n"}, {false, agent.ErrStale, "xone\n"}} {
		w, path, uri := editWorld(t, setup{}, "one\n")
		stock, tries := w.Stock("workspace/applyEdit"), 0
		w.On("workspace/applyEdit", func(params json.RawMessage) (any, error) {
			if tries++; tries == 1 {
				w.Edit(uri, lsptest.TextEdit{NewText: "xone\n"})
				if c.back {
					w.Edit(uri, lsptest.TextEdit{NewText: "one\n"})
				}
			}
			return stock(params)
		})
		_, err := w.edit(t.Context(), agent.Edit{Path: path, Before: "one\n", After: "two\n"})
		if !errors.Is(err, c.want) || w.Text(uri) != c.text {
			t.Errorf("back %v: %v, %q", c.back, err, w.Text(uri))
		}
	}
}

func TestEditThatTheEditorDoesNotTake(t *testing.T) {
	t.Parallel()
	none := lsptest.Capabilities()
	none["workspace"].(obj)["applyEdit"] = false
	ok := obj{"applied": true}
	for _, c := range []struct {
		name    string
		init    lsptest.Init
		answer  func(w *world, uri string) (any, error)
		unknown bool
		says    string
	}{
		{"refused", lsptest.Init{}, func(*world, string) (any, error) {
			return obj{"applied": false, "failureReason": "read-only\u202e"}, nil
		}, false, "refused the edit: read-only"},
		{"an error", lsptest.Init{}, func(*world, string) (any, error) { return nil, errors.New("no such method") }, false, "no such method"},
		{"no capability", lsptest.Init{Capabilities: none}, nil, false, "cannot apply edits"},
		{"silent", lsptest.Init{}, func(*world, string) (any, error) { return nil, lsptest.ErrSilent }, true, "did not confirm"},
		{"a lie", lsptest.Init{}, func(*world, string) (any, error) { return ok, nil }, true, "did not confirm"},
		{"something else", lsptest.Init{}, func(w *world, uri string) (any, error) {
			w.Edit(uri, lsptest.TextEdit{NewText: "three\n"})
			return ok, nil
		}, true, "did not confirm"},
		{"closed", lsptest.Init{}, func(w *world, uri string) (any, error) { w.CloseDocument(uri); return ok, nil }, true, "closed"},
		{"dropped by Neovim", lsptest.Init{Client: "Neovim"}, func(w *world, uri string) (any, error) {
			w.Edit(uri, lsptest.TextEdit{NewText: "one\nmore\n"})
			return ok, nil
		}, false, agent.ErrStale.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, path, uri := editWorld(t, setup{init: c.init}, "one\n")
			w.On("workspace/applyEdit", func(json.RawMessage) (any, error) { return c.answer(w, uri) })
			_, err := w.edit(t.Context(), agent.Edit{Path: path, Before: "one\n", After: "two\n"})
			if err == nil || errors.Is(err, agent.ErrUnconfirmed) != c.unknown || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestEditWhileTheUserTypes(t *testing.T) {
	const before, after = "one\ntwo\nthree\nfour\n", "one\n2\nthree\nfour\n"
	at := func(line, character int) *lsptest.Range {
		p := lsptest.Position{Line: line, Character: character}
		return &lsptest.Range{Start: p, End: p}
	}
	for _, c := range []struct {
		name, want string
		typed      lsptest.TextEdit
	}{
		{"below", "one\n2\nthree\nfo!ur\n", lsptest.TextEdit{Range: at(3, 2), NewText: "!"}},
		{"above", "!one\n2\nthree\nfour\n", lsptest.TextEdit{Range: at(0, 0), NewText: "!"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, path, uri := editWorld(t, setup{}, before)
			stock := w.Stock("workspace/applyEdit")
			w.On("workspace/applyEdit", func(params json.RawMessage) (any, error) {
				answer, err := stock(params)
				w.Edit(uri, c.typed)
				return answer, err
			})
			done, err := w.edit(t.Context(), agent.Edit{Path: path, Before: before, After: after})
			if err != nil || w.Text(uri) != c.want || done.Text != after {
				t.Errorf("%+v, %v: %q", done, err, w.Text(uri))
			}
		})
	}
}

// What was sent is seen through, cancelled or not; before, nothing is sent.
func TestEditAndCancel(t *testing.T) {
	w, path, uri := editWorld(t, setup{}, "one\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	stock := w.Stock("workspace/applyEdit")
	w.On("workspace/applyEdit", func(params json.RawMessage) (any, error) {
		cancel(agent.ErrCancelled)
		return stock(params)
	})
	if done, err := w.edit(ctx, agent.Edit{Path: path, Before: "one\n", After: "two\n", Asked: true}); err != nil || done.Text != "two\n" {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := w.edit(ctx, agent.Edit{Path: path, Before: "two\n", After: "three\n", Asked: true}); !errors.Is(err, agent.ErrCancelled) || w.Text(uri) != "two\n" {
		t.Errorf("%v, %q", err, w.Text(uri))
	}
}

// anomalyco/opencode#23423: a link to a file is the file, open or not.
func TestEditOfAFileThatIsOpenByALink(t *testing.T) {
	w, _, _ := editWorld(t, setup{files: map[string]string{"real/b.txt": "one\n"}}, "")
	if err := os.Symlink("real", filepath.Join(w.root, "linked")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	uri := lsptest.FileURI(filepath.Join(w.root, "linked", "b.txt"))
	w.Open(uri, "plaintext", "unsaved\n")
	w.runs()
	real, err := filepath.EvalSymlinks(filepath.Join(w.root, "real"))
	if err != nil {
		t.Fatal(err)
	}
	done, err := w.edit(t.Context(), agent.Edit{Path: filepath.Join(real, "b.txt"), Before: "unsaved\n", After: "edited\n"})
	if err != nil || done.URI != uri || w.Text(uri) != "edited\n" {
		t.Errorf("%+v, %v: %q", done, err, w.Text(uri))
	}
}

func TestEditAsksWhereNobodyDid(t *testing.T) {
	annotating := func() obj {
		caps := lsptest.Capabilities()
		caps["workspace"].(obj)["workspaceEdit"].(obj)["changeAnnotationSupport"] = obj{"groupsOnLabel": true}
		return caps
	}
	for _, c := range []struct {
		name string
		init lsptest.Init
		ask  bool
		want bool
	}{
		{"nobody asked", lsptest.Init{Capabilities: annotating()}, false, true},
		{"a person was asked", lsptest.Init{Capabilities: annotating()}, true, false},
		{"no annotations", lsptest.Init{}, false, false},
		{"Neovim", lsptest.Init{Capabilities: annotating(), Client: "Neovim"}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, path, _ := editWorld(t, setup{init: c.init}, "one\n")
			if _, err := w.edit(t.Context(), agent.Edit{Path: path, Before: "one\n", After: "two\n", Label: "edit_file a.txt", Asked: c.ask}); err != nil {
				t.Fatal(err)
			}
			params := string(w.Requests("workspace/applyEdit")[0].Params)
			if strings.Contains(params, `"needsConfirmation":true`) != c.want || strings.Contains(params, `"annotationId"`) != c.want || strings.Contains(params, `"description":"agentls asks`) != c.want {
				t.Errorf("%s", params)
			}
		})
	}
}

// Nothing of an edit that was not taken over is believed, and nothing that was
// taken over is missed.
func FuzzFollows(f *testing.F) {
	f.Add("one\ntwo\n", "one\n2\n", 3, "x")
	f.Add("abbc", "abc", 4, "X")
	f.Add("", "a", 0, "a")
	f.Fuzz(func(t *testing.T, before, after string, at int, typed string) {
		if before == after || typed == "" {
			return
		}
		at = max(0, min(at, len(before)))
		now := before[:at] + typed + before[at:]
		if start, end, _ := stretch(after, before); start < end && strings.Contains(now, after[start:end]) {
			return // it was typed by hand
		}
		if now != after && follows(after, before, now) {
			t.Errorf("%q → %q is believed of %q", before, after, now)
		}
	})
}

func FuzzMinimalEdits(f *testing.F) {
	f.Add("one\ntwo\n", "one\n2\n", false)
	f.Add("a\r\nb\r\n", "a\nb\r\n", true)
	f.Add("𝄞é\n𝄞", "𝄞e\u0301\r𝄟", false)
	f.Fuzz(func(t *testing.T, before, after string, utf8 bool) {
		before, after = strings.ToValidUTF8(before, "?"), strings.ToValidUTF8(after, "?")
		d := newDocuments(nil)
		if utf8 {
			d.encoding = protocol.PositionEncodingKindUTF8
		}
		edits := d.minimalEdits(before, after)
		got, end := "", 0
		for i, e := range edits {
			from, to := d.offset(before, e.Range.Start), d.offset(before, e.Range.End)
			if from < end || i > 0 && from == end && edits[i-1].Range.End != e.Range.Start || to < from {
				t.Fatalf("%q → %q: %+v", before, after, edits)
			}
			got += before[end:from] + e.NewText
			end = to
		}
		if got += before[end:]; got != after {
			t.Errorf("%q → %q gives %q: %+v", before, after, got, edits)
		}
		if before == after && len(edits) > 0 {
			t.Errorf("%q: edits of nothing: %+v", before, edits)
		}
	})
}

// An editor may be deaf for a while: the edit is there once it has heard of it.
func TestEditOfASlowEditor(t *testing.T) {
	t.Parallel()
	w, path, uri := editWorld(t, setup{}, "one\n")
	stock := w.Stock("workspace/applyEdit")
	w.On("workspace/applyEdit", func(params json.RawMessage) (any, error) {
		time.Sleep(confirmWithin + confirmWithin/2) // what the editor does
		return stock(params)
	})
	if _, err := w.edit(t.Context(), agent.Edit{Path: path, Before: "one\n", After: "two\n", Asked: true}); err != nil || w.Text(uri) != "two\n" {
		t.Errorf("%v, %q", err, w.Text(uri))
	}
}

// A hung editor holds up an edit whose run is cancelled for two seconds.
func TestEditOfAHungEditor(t *testing.T) {
	t.Parallel()
	w, path, _ := editWorld(t, setup{}, "one\n")
	w.On("workspace/applyEdit", func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(confirmWithin/4, cancel) // by then it was sent
	start := time.Now()
	_, err := w.edit(ctx, agent.Edit{Path: path, Before: "one\n", After: "two\n"})
	if took := time.Since(start); !errors.Is(err, agent.ErrUnconfirmed) || took > answerWithin {
		t.Errorf("%v after %v", err, took)
	}
	w.Await("the edit is called off", func() bool { return len(w.Notifications("$/cancelRequest")) == 1 })
}
