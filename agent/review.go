package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

const submitReviewName = "submit_review"

const submitReviewSchema = `{"properties":{` +
	`"notes":{"description":"To revise: what is wrong or missing, where, and how one can tell that it is mended. To approve: what you looked at.","minLength":1,"type":"string"},` +
	`"verdict":{"description":"approve: the step is done. revise: it is not.","enum":["approve","revise"],"type":"string"}` +
	`},"required":["notes","verdict"],"type":"object"}`

// maxNotes is how much of a review's notes is passed on, in bytes.
const maxNotes = 8 << 10

// review is what a reviewer says of a step's result. Its zero value is none,
// which is no approval.
type review struct {
	given    bool
	approved bool
	notes    string // what is to be changed, or what was looked at; [maxNotes] at most
}

// submitReviewTool gives each review that can be read to take.
func submitReviewTool(take func(review)) *tool {
	return &tool{
		name: submitReviewName, anywhere: true, description: prompt("submit_review.md"), schema: json.RawMessage(submitReviewSchema),
		run: func(_ context.Context, _ env, args json.RawMessage) (output, error) {
			r, err := readReview(args)
			if err != nil {
				return output{}, err
			}
			take(r)
			return output{text: "The review is taken. There is nothing more to do."}, nil
		},
	}
}

// Words that say one thing, as models write them. A verdict is one of them as a
// whole: “approve, if the test passes” is none.
//
//nolint:gochecknoglobals // constant tables
var (
	approvals = []string{"approve", "approved", "accept", "accepted", "ok", "okay", "pass", "passed", "lgtm"}
	refusals  = []string{
		"revise", "revision", "needs revision", "reject", "rejected", "refuse", "refused", "decline", "declined", "deny", "denied",
		"fail", "failed", "no", "not ok", "not approved", "disapprove", "disapproved",
		"request changes", "changes requested", "needs changes", "needs work",
	}
)

// readReview reads the arguments of submit_review. What is not plain is an
// error that says what to write, never an approval.
func readReview(args json.RawMessage) (review, error) {
	var in struct {
		Verdict json.RawMessage `json:"verdict"`
		Notes   json.RawMessage `json:"notes"`
	}
	if err := into(args, &in); err != nil {
		return review{}, err
	}
	r := review{given: true, notes: truncate(visible(readNotes(in.Notes)), maxNotes)}
	switch word := verdictWord(in.Verdict); {
	case slices.Contains(approvals, word):
		r.approved = true
		return r, nil
	case !slices.Contains(refusals, word):
		return review{}, fmt.Errorf(`the verdict %s is neither "approve" nor "revise": write one of the two words, and the rest in notes`, quote(cmp.Or(word, string(in.Verdict))))
	case strings.TrimSpace(r.notes) == "":
		return review{}, errors.New("the argument notes is empty: the worker reads there what it has to change")
	}
	return r, nil
}

// verdictWord is a verdict in the one way to write it. A reviewer that writes
// true or false means it.
func verdictWord(raw json.RawMessage) string {
	var word string
	switch {
	case string(raw) == "true":
		return "approve"
	case string(raw) == "false":
		return "revise"
	case json.Unmarshal(raw, &word) != nil:
		return ""
	}
	word = strings.Trim(strings.TrimSpace(word), "\"'`*.!")
	return strings.Join(strings.FieldsFunc(strings.ToLower(word), func(r rune) bool { return strings.ContainsRune(" \t\r\n_-", r) }), " ")
}

// readNotes takes notes as a text or as a list of texts; what else they are
// stays JSON.
func readNotes(raw json.RawMessage) string {
	var text string
	var list []string
	switch {
	case len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &list) == nil:
		return strings.Join(list, "\n")
	}
	return string(raw)
}

// reviewBox takes the reviews of one look at a result. Where an answer holds
// several, one that refuses counts. Safe for concurrent use.
type reviewBox struct {
	mu  sync.Mutex
	got review
}

func (b *reviewBox) take(r review) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.got.given || b.got.approved {
		b.got = r
	}
}

// is gives what was taken.
func (b *reviewBox) is() review {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.got
}

// empty makes room for the next look.
func (b *reviewBox) empty() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = review{}
}
