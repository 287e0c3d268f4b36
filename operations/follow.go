package operations

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/access"
	"portico/failpoint"
	"portico/inventory"
	"portico/locate"
	"portico/upstream"
)

// Following is the kind of work that follows an accepted write to its end, by
// polling the URL that its answer named, at the provider's own pace, or by
// asking for the resource where it named none. The inventory makes its job with
// the acceptance; a newer acceptance takes its place.
type Following struct {
	Asker locate.Prober
	// Floor is the least time between two polls; Asker.Timeout and Patience are
	// as in Verification.
	Floor, Patience time.Duration
	// LostAfter is for how long polls have to know of no such operation until it
	// counts as lost.
	LostAfter time.Duration
	// After Limit an operation is only looked after every Recheck.
	Limit, Recheck  time.Duration
	VersionFallback time.Duration // as in Verification
	Region          string        // of the front door, for the ids of its calls

	overLimit prometheus.Gauge
}

// NewFollowing completes a Following with its metric.
func NewFollowing(f Following, metrics prometheus.Registerer) *Following {
	f.overLimit = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "portico_follows_over_limit",
		Help: "Accepted writes whose operation has been followed for longer than index.followLimit.",
	})
	metrics.MustRegister(f.overLimit)
	return &f
}

// Measure counts the operations that take too long.
func (f *Following) Measure(ctx context.Context) error {
	counts, err := f.Asker.Store.CountJobs(ctx, inventory.FollowJob, f.Limit, f.Limit)
	if err == nil {
		f.overLimit.Set(float64(counts.Old))
	}
	return err
}

// Run polls once.
func (f *Following) Run(ctx context.Context, h *Held) (Verdict, error) {
	follow, err := inventory.ReadFollow(h.Job)
	if err != nil {
		return Verdict{End: inventory.JobFailed}, err
	}
	row, err := f.Asker.Store.Resource(ctx, h.Job.Subscription, h.Job.Subject)
	followed := row.FollowPut
	if follow.Kind == inventory.Delete {
		followed = row.FollowDelete
	}
	switch {
	case errors.Is(err, inventory.ErrNotFound), err == nil && !followed:
		return Verdict{End: inventory.JobDone}, nil
	case err != nil:
		return Verdict{}, err
	}
	var verdict Verdict
	if follow.Path == "" {
		verdict, err = f.look(ctx, h, &follow, row)
		verdict.Payload = follow.String()
	} else {
		verdict, err = f.poll(ctx, h, follow, row)
	}
	if over := f.age(h) > f.Limit; over && verdict.End == inventory.JobWaiting && !errors.Is(err, inventory.ErrDeposed) && ctx.Err() == nil {
		verdict.Again = f.Recheck
		return verdict, nil
	}
	return verdict, err
}

// age is how long the operation has been followed.
func (f *Following) age(h *Held) time.Duration { return f.Asker.Store.Time().Sub(h.Job.Created) }

// pace is the pause until the next poll.
func (f *Following) pace(h *Held, asked time.Duration) time.Duration {
	return pace(f.age(h), asked, f.Floor)
}

// pace is the pause until something is looked at again that is being worked on:
// what its provider asked for, or a tenth of the time that it has taken so far.
func pace(age, asked, floor time.Duration) time.Duration {
	if asked == 0 {
		asked = min(age/10, time.Minute)
	}
	return max(floor, min(asked, longestAsked))
}

func (f *Following) poll(ctx context.Context, h *Held, follow inventory.Follow, row inventory.Resource) (Verdict, error) {
	_, endpoint, err := f.Asker.Target(row)
	if err != nil {
		return Verdict{}, err
	}
	header := rowHeader(ctx, f.Asker, h, f.Region, row)
	access.Principal{TenantID: follow.TenantID, ObjectID: follow.ObjectID}.Stamp(header)
	answer, err := patient(f.Asker, h, f.Patience).Read(ctx, header, endpoint, follow.Path, follow.Query)
	if err != nil {
		return Verdict{}, err
	}
	asked, slowed := upstream.RetryAfter(answer.Header, time.Now())
	missing := follow.Progress
	follow.Progress.Missing, follow.Progress.MissingSince = 0, time.Time{}
	switch result := judgePoll(follow.Status, answer.Status, answer.Body); {
	case result == pollFinished:
		f.tellFailure(ctx, follow, answer, row)
		return f.end(ctx, h)
	case result == pollMissing, result == pollRefused:
		f.tellFailure(ctx, follow, answer, row)
		follow.Progress = missing
		return f.missing(ctx, h, follow, row)
	case answer.Status == http.StatusOK:
		follow.Progress.Status = word(PollState(answer.Body))
	case answer.Status == http.StatusAccepted:
		if next, own := PollTarget(answer.Header.Get("Location"), f.Asker.Public, endpoint); own && !follow.Status {
			follow.Path, follow.Query = next.EscapedPath(), next.RawQuery
		}
	case slowed && asked > 0: // the provider knows best
	default:
		return Verdict{}, locate.NewStatusError(answer.Status, answer.Header)
	}
	return Verdict{Again: f.pace(h, asked), Payload: follow.String()}, nil
}

// pollsUntilLost is how many polls in a row have to be answered so until the
// operation counts as lost.
const pollsUntilLost = 3

// missing takes a poll that knows of no such operation, or refuses to tell, as where
// a Location is answered as the write itself would have been. Providers that keep copies
// of what they know say so for a while of a new one, so that only time makes the
// operation lost. Meanwhile the resource itself may say what became of it.
func (f *Following) missing(ctx context.Context, h *Held, follow inventory.Follow, row inventory.Resource) (Verdict, error) {
	sight, err := patient(f.Asker, h, f.Patience).Probe(ctx, rowHeader(ctx, f.Asker, h, f.Region, row), row)
	switch {
	case err == nil && sight.Settled:
		return Verdict{End: inventory.JobDone, Recorded: true}, nil
	case err == nil && failed(row, sight):
		return f.end(ctx, h)
	}
	now := f.Asker.Store.Time()
	p := &follow.Progress
	if p.Missing++; p.Missing == 1 {
		p.MissingSince = now
	}
	if p.Missing >= pollsUntilLost && now.Sub(p.MissingSince) >= f.LostAfter {
		return f.lose(ctx, h, row)
	}
	return Verdict{Again: max(f.Floor, f.LostAfter/(2*pollsUntilLost)), Payload: follow.String()}, nil
}

// failed reports whether a resource shows that what is followed has failed: a failure
// of which the index knows from before tells nothing of it.
func failed(row inventory.Resource, sight locate.ProbeResult) bool {
	return sight.Found && strings.EqualFold(sight.ProvisioningState, "Failed") &&
		inventory.Terminal(row.ProvisioningState) && !strings.EqualFold(row.ProvisioningState, "Failed")
}

// Finished asks, once, for the operation that a row is followed for, and reports
// whether it has come to a terminal state. Where there is nothing to poll, or nothing
// but a refusal, a resource that was to be deleted may show that. header carries the
// ids of the call.
func Finished(ctx context.Context, p locate.Prober, header http.Header, follow inventory.Follow, row inventory.Resource) (bool, error) {
	if follow.Path != "" {
		_, endpoint, err := p.Target(row)
		if err != nil {
			return false, err
		}
		poll := header.Clone()
		access.Principal{TenantID: follow.TenantID, ObjectID: follow.ObjectID}.Stamp(poll)
		answer, err := p.Read(ctx, poll, endpoint, follow.Path, follow.Query)
		if err != nil {
			return false, err
		}
		if result := judgePoll(follow.Status, answer.Status, answer.Body); result != pollMissing && result != pollRefused {
			return result == pollFinished, nil
		}
	}
	if follow.Kind != inventory.Delete {
		return false, nil
	}
	sight, err := p.Probe(ctx, header, row)
	return err == nil && failed(row, sight), err
}

// look follows by asking for the resource: what a GET proves ends the follow by
// itself, and a failure is the end of the operation. What may mean that it ended, or
// that it does not show, loses it: for a while nothing counts that it could overturn.
// That a create which is not done shows nothing yet means neither, until its time
// is up.
func (f *Following) look(ctx context.Context, h *Held, follow *inventory.Follow, row inventory.Resource) (Verdict, error) {
	asker, refused := patient(f.Asker, h, f.Patience), refusals{follow.Progress.RefusedSince}
	sight, err := refused.look(ctx, asker, rowHeader(ctx, f.Asker, h, f.Region, row), row, f.VersionFallback)
	follow.Progress.RefusedSince = refused.Since
	switch {
	case err != nil:
		return later(err, f.Floor)
	case sight.Settled:
		return Verdict{End: inventory.JobDone, Recorded: true}, nil
	case failed(row, sight):
		return f.end(ctx, h)
	case sight.Found && sight.ProvisioningState != "" && inventory.Terminal(sight.ProvisioningState),
		!sight.Found && (row.Phase != inventory.Pending || f.age(h) > f.Limit):
		return f.lose(ctx, h, row)
	}
	return Verdict{Again: f.pace(h, sight.RetryAfter)}, nil
}

// end has the row verified, if this is still the one who follows it.
func (f *Following) end(ctx context.Context, h *Held) (Verdict, error) {
	failpoint.Pass(failpoint.FollowEndBefore)
	if err := f.Asker.Store.EndFollowBy(ctx, h.Job); err != nil {
		return Verdict{}, err
	}
	failpoint.Pass(failpoint.FollowEndAfter)
	return Verdict{End: inventory.JobDone, Recorded: true}, nil
}

// lose has the row verified where nobody can say what became of the operation.
func (f *Following) lose(ctx context.Context, h *Held, row inventory.Resource) (Verdict, error) {
	q, _, err := f.Asker.Target(row)
	if err != nil {
		return Verdict{}, err
	}
	if err := f.Asker.Store.LoseFollowBy(ctx, h.Job, q.Type.LateWriteWindow); err != nil {
		return Verdict{}, err
	}
	return Verdict{End: inventory.JobDone, Recorded: true}, nil
}

// word is a provider's text if it is one word, which is all that a state can be.
func word(state string) string {
	if len(state) > 40 {
		return ""
	}
	for _, c := range state {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return ""
		}
	}
	return state
}
