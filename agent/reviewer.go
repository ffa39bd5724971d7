package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// reviewer looks at what comes of one step. Its conversation goes on from one
// look to the next.
type reviewer struct {
	*thread
	box reviewBox
}

// newReviewer begins the conversation of the reviewer of the n-th step.
func (r *run) newReviewer(n int) *reviewer {
	v := &reviewer{}
	v.thread = r.newThread(part{
		name: fmt.Sprintf("reviewer %d", n), system: "reviewer.md", offers: (*tool).onlyLooks,
		own:  []*tool{submitReviewTool(v.box.take)},
		over: func() bool { return v.box.is().given },
	})
	return v
}

// remindReview is said once to a reviewer that ends without a review.
const remindReview = "You have not called submit_review, so there is no review yet. Call it now: what you write in your answer counts for nothing."

// Why there is no review.
var errNoReview = errors.New("the review could not be read: the reviewer did not call submit_review, though it was reminded")

// look has the reviewer look at a case. An error is ctx's cause, a
// [*ProviderError], or says why there is no review; that is never an approval.
func (v *reviewer) look(ctx context.Context, words string) (review, error) {
	v.box.empty()
	for _, prompt := range []string{words, remindReview} {
		_, e, err := v.say(ctx, prompt)
		switch got := v.box.is(); {
		case err != nil:
			return review{}, err
		case got.given:
			return got, nil
		case e.why != "":
			return review{}, errors.New("the review was stopped: " + e.why)
		}
	}
	return review{}, errNoReview
}

// looking are the built-in tools that only look.
//
//nolint:gochecknoglobals // a constant table
var looking = []string{"read_file", "list_dir", "search_code", readResultName, findToolsName}

// onlyLooks reports whether a tool changes nothing: of the servers' those that
// are trusted to be read-only.
func (t *tool) onlyLooks() bool {
	return t.virtual || t.server != "" && t.readOnly || t.server == "" && slices.Contains(looking, t.name)
}
