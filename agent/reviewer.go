package agent

import (
	"context"
	"errors"
	"fmt"
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
		name: fmt.Sprintf("reviewer %d", n), system: "reviewer.md", offers: looks, whyNot: "a reviewer only looks",
		own: []*tool{submitReviewTool(v.take)}, remind: func(string) string { return remindReview },
	})
	return v
}

// take takes a review, which ends the look.
func (v *reviewer) take(r review) {
	v.box.take(r)
	v.stopBy(ending{reason: "reviewed", text: "The review is given."})
}

// remindReview is said once to a reviewer that ends a look without a review.
const remindReview = "You have not called submit_review, so there is no review yet. Call it now: what you write in your answer counts for nothing."

// errNoReview is why there is no review, where a reviewer does not give one.
var errNoReview = errors.New("the review could not be read: the reviewer did not call submit_review, though it was reminded")

// look has the reviewer look at a case. An error is ctx's cause, a
// [*ProviderError], or says why there is no review; that is never an approval.
func (v *reviewer) look(ctx context.Context, words string) (review, error) {
	v.box.empty()
	_, e, err := v.say(ctx, words)
	switch got := v.box.is(); {
	case err != nil:
		return review{}, err
	case got.given:
		return got, nil
	case e.why != "":
		return review{}, errors.New("the review was stopped: " + e.why)
	}
	return review{}, errNoReview
}
