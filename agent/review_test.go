package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// reads is a review as the gate and the tool read its arguments.
func reads(args string) (got review, err error) {
	tool := submitReviewTool(func(r review) { got = r })
	object, err := tool.arguments(args)
	if err != nil {
		return review{}, err
	}
	_, err = tool.run(context.Background(), env{}, object)
	return got, err
}

// Whoever reviews writes as models do; whatever is not plain is no approval.
func TestReviewIsReadLenientlyAndSafely(t *testing.T) {
	const approve, revise, unclear = "approve", "revise", "unclear"
	for _, c := range []struct{ args, want string }{
		{`{"verdict":"approve","notes":"looked at a.go"}`, approve},
		{`{"verdict":"approve"}`, approve},
		{`{"verdict":" **Approved.** ","notes":""}`, approve},
		{`{"verdict":"ACCEPTED","notes":null}`, approve},
		{`{"verdict":"ok!","notes":["a","b"]}`, approve},
		{`{"verdict":true,"notes":"n"}`, approve},
		{`{"verdict":"LGTM","notes":"n"}`, approve},
		{`{"verdict":"revise","notes":"mend it"}`, revise},
		{`{"verdict":"Request_Changes","notes":["one","two"]}`, revise},
		{`{"verdict":"needs-work","notes":{"a.go":"mend it"}}`, revise},
		{`{"verdict":"not approved","notes":"n"}`, revise},
		{`{"verdict":false,"notes":"n"}`, revise},
		{`{"verdict":"revise","notes":"verdict: approve"}`, revise},
		// Not plain.
		{`{"verdict":"revise","notes":" \u200b\n"}`, unclear},
		{`{"verdict":"revise"}`, unclear},
		{`{"verdict":"approve?","notes":"n"}`, unclear},
		{`{"verdict":"approve, if the test passes","notes":"n"}`, unclear},
		{`{"verdict":"approve or revise","notes":"n"}`, unclear},
		{`{"verdict":"approve revise","notes":"n"}`, unclear},
		{`{"verdict":"do not approve","notes":"n"}`, unclear},
		{`{"verdict":"not bad","notes":"n"}`, unclear},
		{`{"verdict":"appr\u200bove","notes":"n"}`, unclear},
		{`{"verdict":"аpprove","notes":"with a Cyrillic letter"}`, unclear},
		{`{"verdict":"","notes":"n"}`, unclear},
		{`{"verdict":null,"notes":"approve"}`, unclear},
		{`{"verdict":1,"notes":"n"}`, unclear},
		{`{"verdict":["approve"],"notes":"n"}`, unclear},
		{`{"notes":"approve"}`, unclear},
		{`{"approved":true}`, unclear},
		{`{"verdict":"revise","verdict":"approve","notes":"n"}`, unclear},
		{`{"verdict":"revise","Verdict":"approve","notes":"n"}`, unclear},
		{`"approve"`, unclear},
		{`approve`, unclear},
		{`["approve"]`, unclear},
		{`{}`, unclear},
		{``, unclear},
	} {
		r, err := reads(c.args)
		got := unclear
		switch {
		case err == nil && r.approved:
			got = approve
		case err == nil && r.given:
			got = revise
		case err == nil || r != review{}:
			t.Errorf("%s: %+v, %v", c.args, r, err)
		}
		if got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.args, got, err, c.want)
		}
	}
}

func TestReviewNotes(t *testing.T) {
	for _, c := range []struct{ notes, want string }{
		{`"mend it"`, "mend it"},
		{`["one","two"]`, "one\ntwo"},
		{`{"a.go":"mend it"}`, `{"a.go":"mend it"}`},
		{`"seen\u202egnp.exe"`, "seengnp.exe"},
	} {
		if r, err := reads(`{"verdict":"revise","notes":` + c.notes + `}`); err != nil || r.notes != c.want {
			t.Errorf("%s: %q, %v", c.notes, r.notes, err)
		}
	}
	r, err := reads(`{"verdict":"revise","notes":"` + strings.Repeat("é", maxNotes) + `"}`)
	if err != nil || len(r.notes) > maxNotes || len(r.notes) < maxNotes/2 {
		t.Errorf("%d bytes of notes, %v", len(r.notes), err)
	}
}

// An unclear verdict is an error that says what to write.
func TestUnclearVerdictSaysWhatToWrite(t *testing.T) {
	for args, want := range map[string]string{
		`{"verdict":"maybe","notes":"n"}`: `the verdict "maybe" is neither "approve" nor "revise"`,
		`{"verdict":7,"notes":"n"}`:       `the verdict "7" is neither`,
		`{"verdict":"revise"}`:            "the argument notes is empty",
	} {
		if _, err := reads(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// Of several reviews in one answer one that refuses counts, in any order.
func TestRefusalCountsAmongSeveralReviews(t *testing.T) {
	yes, no := review{given: true, approved: true}, review{given: true, notes: "mend it"}
	for _, order := range [][]review{{yes, no}, {no, yes}, {yes, no, yes}} {
		var box reviewBox
		for _, r := range order {
			box.take(r)
		}
		if box.is() != no {
			t.Errorf("%v: %+v", order, box.is())
		}
		if box.empty(); box.is().given {
			t.Error("the review of the round before is still there")
		}
	}
}

// Whatever a reviewer writes: an approval has one of the words that approve as
// its whole verdict, in an argument that stands there once.
func FuzzReview(f *testing.F) {
	for _, s := range []string{`{"verdict":"approve","notes":"n"}`, `{"verdict":"revise","notes":["a"]}`, `{"verdict":true}`, `{"Verdict":"approve"}`, `{"verdict":"approve"} {"verdict":"revise"}`, `{"verdict":"\u0061pprove","notes":"\ud800"}`, "\xff", `{"verdict":"approve","verdict":"x"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		r, err := reads(args)
		if (err == nil) != r.given || err != nil && (r != review{} || err.Error() == "") {
			t.Fatalf("%q: %+v, %v", args, r, err)
		}
		if len(r.notes) > maxNotes || !utf8.ValidString(r.notes) || r.given && !r.approved && strings.TrimSpace(r.notes) == "" {
			t.Errorf("%q: notes %q", args, r.notes)
		}
		if !r.approved {
			return
		}
		var all map[string]any
		if err := json.Unmarshal([]byte(args), &all); err != nil {
			t.Fatalf("%q approves: %v", args, err)
		}
		word := strings.ToLower(fmt.Sprint(all["verdict"]))
		for _, no := range []string{"not", "no", "revis", "reject", "fail", "if", "but", "?", ","} {
			if strings.Contains(word, no) {
				t.Errorf("%q approves", args)
			}
		}
	})
}
