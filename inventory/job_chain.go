package inventory

import "errors"

// longestChain is how many operations are followed one after the other. They
// pile up only where a provider accepts updates faster than polls find them over.
const longestChain = 8

// earlier returns what is followed on behalf of a kind of write already, nil for
// nothing. Answers come in any order, so the operation of the newest may be over
// while an earlier one runs: the follow of a create that is not shown yet may
// end only when all of them have, or else a GET's 404 would be believed.
func (h *held) earlier(t *tx, kind WriteKind) (*Follow, error) {
	job, err := loadJob(t, lockJob, h.subscription, followID(kind, h.key))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	follow, err := ReadFollow(job)
	if err != nil {
		return nil, err
	}
	last := &follow
	for range longestChain - 2 {
		if last.Earlier == nil {
			break
		}
		last = last.Earlier
	}
	last.Earlier = nil
	return &follow, nil
}

// endFollow ends what a job follows: it goes on with what was followed before,
// and where that was all, the row is flagged.
func (h *held) endFollow(t *tx, j Job) error {
	follow, err := ReadFollow(j)
	if err != nil {
		return err
	}
	if next := follow.Earlier; next != nil && h.row != nil {
		job := Job{
			Subscription: j.Subscription, ID: j.ID, Kind: FollowJob, Subject: j.Subject, Region: j.Region,
			Incarnation: newID(), Due: t.now, Payload: next.String(),
		}
		return t.later(putJob, job.insertion(t.now)...)
	}
	after, did := h.settle(t, ended{kind: follow.Kind})
	return h.store(t, after, did)
}
