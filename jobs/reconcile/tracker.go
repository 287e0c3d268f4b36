package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/access"
	"portico/arm"
	"portico/internal/failpoint"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/probe"
	"portico/upstream/answers"
)

// OperationTracker follows an accepted write to its end. It polls the URL that the
// answer named, at the provider's own pace, or probes the resource if the answer named
// none. The inventory creates its job with the acceptance; a newer acceptance replaces
// the job.
type OperationTracker struct {
	Prober probe.Prober
	// Floor is the least time between two polls; Prober.Timeout and Patience are
	// as in Verifier.
	Floor, Patience time.Duration
	// LostAfter is how long polls have to find no such operation until it counts as lost.
	LostAfter time.Duration
	// After Limit an operation is polled only every Recheck.
	Limit, Recheck  time.Duration
	VersionFallback time.Duration // as in Verifier
	Region          string        // of the front door, for the ids of its calls

	overLimit prometheus.Gauge
}

// Start implements [jobs.Lasting].
func (t *OperationTracker) Start(metrics prometheus.Registerer) {
	t.overLimit = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "portico_follows_over_limit",
		Help: "Accepted writes whose operation has been followed for longer than index.followLimit.",
	})
	metrics.MustRegister(t.overLimit)
}

// Succeed implements [jobs.Lasting].
func (t *OperationTracker) Succeed(before jobs.Kind) {
	t.overLimit = before.(*OperationTracker).overLimit
}

// Measure counts the operations that take too long.
func (t *OperationTracker) Measure(ctx context.Context, open int) error {
	if open == 0 {
		t.overLimit.Set(0)
		return nil
	}
	counts, err := t.Prober.Store.Jobs.CountKind(ctx, inventory.FollowJob, t.Limit, t.Limit)
	if err == nil {
		t.overLimit.Set(float64(counts.Old))
	}
	return err
}

// Describe implements [jobs.Kind].
func (t *OperationTracker) Describe() jobs.Description {
	return jobs.Description{
		Subject: jobs.ResourceSubject, Reason: "operationFollowed", Refusals: []arm.Code{arm.Conflict},
		Message: "The provider accepted the write; its operation is followed to its end.",
		Limit:   t.Limit, LimitSetting: "index.followLimit",
		Problems: jobs.Problems{TooLong: "followsTooLong", Summary: "Providers accepted %s long ago and have not ended them.", One: "write", Many: "writes"},
		Remedy:   unstick, Show: t.show, GiveUp: t.giveUp,
	}
}

func (t *OperationTracker) show(j jobrow.Job) (s jobs.ProgressReport) {
	if follow, err := inventory.ReadFollow(j); err == nil {
		s.Write, s.Outcome = follow.Kind.String(), lastAnswer(follow.Progress)
	}
	if !t.Prober.Store.Now().Before(j.Created.Add(t.Limit)) {
		s.Message = fmt.Sprintf("The provider accepted the write and has not ended it within index.followLimit; it is asked again each %s.", t.Recheck)
	}
	return s
}

// lastAnswer returns the provider's last answer about an operation, "" before the first
// poll.
func lastAnswer(p inventory.FollowProgress) string {
	switch {
	case p.Missing == 1:
		return "The provider knows no such operation."
	case p.Missing > 1:
		return fmt.Sprintf("The provider knows no such operation, %d times in a row.", p.Missing)
	case p.Status == "" && !p.RefusedSince.IsZero():
		return "The provider refuses the api-version."
	}
	return p.Status
}

func (t *OperationTracker) giveUp(ctx context.Context, j jobrow.Job) (done jobs.GivenUp, err error) {
	follow, err := inventory.ReadFollow(j)
	if err != nil {
		return done, err
	}
	row, err := t.Prober.Store.Resource(ctx, j.Subscription, j.Subject)
	if err != nil {
		return done, fmt.Errorf("read the row of an operation that is given up: %w", err)
	}
	var window time.Duration // 0: the index's default
	if typ := t.Prober.Map.Type(row.Type); typ != nil {
		window = typ.LateWriteWindow
	}
	done = jobs.GivenUp{Outcome: "The operation is no longer followed. The provider is asked for the resource.", Next: inventory.VerifyJob}
	return done, t.Prober.Store.Follows.GiveUp(ctx, j.Subscription, j.Subject, follow.Kind, t.Limit, window)
}

// Run polls once.
func (t *OperationTracker) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	follow, err := inventory.ReadFollow(claim.Job)
	if err != nil {
		return jobs.Result{End: jobrow.Failed}, err
	}
	row, err := t.Prober.Store.Resource(ctx, claim.Job.Subscription, claim.Job.Subject)
	switch {
	case errors.Is(err, inventory.ErrNotFound), err == nil && !row.Follows(follow.Kind):
		return jobs.Result{End: jobrow.Done}, nil
	case err != nil:
		return jobs.Result{}, fmt.Errorf("read the row of an operation: %w", err)
	}
	var result jobs.Result
	if follow.Path == "" {
		result, err = t.probe(ctx, claim, &follow, row)
		result.Payload = follow.String()
	} else {
		result, err = t.poll(ctx, claim, follow, row)
	}
	over := t.age(claim) > t.Limit && !t.Prober.Store.Drains.Is(row.Region)
	if over && result.End == jobrow.Waiting && !errors.Is(err, jobrow.ErrLeaseLost) && ctx.Err() == nil {
		result.Again = t.Recheck
		return result, nil
	}
	return result, err
}

// age returns how long the operation has been followed.
func (t *OperationTracker) age(claim *jobs.Claim) time.Duration {
	return t.Prober.Store.Now().Sub(claim.Job.Created)
}

func (t *OperationTracker) poll(ctx context.Context, claim *jobs.Claim, follow inventory.Follow, row inventory.Resource) (jobs.Result, error) {
	_, endpoint, err := t.Prober.Target(row)
	if err != nil {
		return jobs.Result{}, err
	}
	header := t.header(ctx, claim, follow, row)
	access.Principal{TenantID: follow.TenantID, ObjectID: follow.ObjectID}.Stamp(header)
	answer, err := withPatience(t.Prober, claim, t.Patience).Read(ctx, header, endpoint, follow.Path, follow.Query)
	if err != nil {
		return jobs.Result{}, fmt.Errorf("poll an operation in %s: %w", row.Region, err)
	}
	wanted, slowed := timing.RetryAfter(answer.Header, time.Now())
	missing := follow.Progress
	follow.Progress.Missing, follow.Progress.MissingSince = 0, time.Time{}
	progress, failure := answers.ReadPoll(follow.Status, answer.Status, answer.Body)
	t.recordFailure(ctx, follow, failure, row)
	why := answers.Error(answer.Status, failure)
	switch progress {
	case index.PollFinished:
		return t.end(ctx, claim, why)
	case index.PollMissing, index.PollRefused:
		follow.Progress = missing
		return t.onMissing(ctx, claim, follow, row, why)
	case index.PollFailed, index.PollUnclear, index.PollRunning:
	}
	switch {
	case progress == index.PollUnclear:
		follow.Progress.Status = "The provider's answer says nothing of the operation."
	case progress == index.PollRunning && answer.Status != http.StatusAccepted:
		follow.Progress.Status = answers.StateWord(answer.Body)
	case progress == index.PollRunning:
		follow.Progress.Status = cmp.Or(answers.StateWord(answer.Body), http.StatusText(answer.Status))
		if next, own := answers.OwnLink(answer.Header.Get("Location"), t.Prober.Public, endpoint); own && !follow.Status {
			follow.Path, follow.Query = next.EscapedPath(), next.RawQuery
		}
	case slowed && wanted > 0: // the provider sets the pace
	default:
		return jobs.Result{}, fmt.Errorf("poll an operation in %s: %w", row.Region, probe.NewStatusError(answer.Status, answer.Header))
	}
	return jobs.Result{Again: pace(t.age(claim), wanted, t.Floor), Payload: follow.String()}, nil
}

// pollsUntilLost is the number of consecutive polls that have to find no operation
// until it counts as lost.
const pollsUntilLost = 3

// onMissing handles a poll that found no such operation, or was refused: a Location may
// be answered as the write itself would have been. Some replicas of a provider may not
// know a new operation yet, so only time makes it lost. Meanwhile the resource itself
// may show the outcome.
func (t *OperationTracker) onMissing(
	ctx context.Context, claim *jobs.Claim, follow inventory.Follow, row inventory.Resource, why *arm.Error,
) (jobs.Result, error) {
	probed, err := withPatience(t.Prober, claim, t.Patience).Probe(ctx, t.header(ctx, claim, follow, row), row)
	switch {
	case err == nil && ends(follow, probed):
		return jobs.Result{End: jobrow.Done, Recorded: true}, nil
	case err == nil && failed(row, probed):
		return t.end(ctx, claim, why)
	}
	now := t.Prober.Store.Now()
	p := &follow.Progress
	if p.Missing++; p.Missing == 1 {
		p.MissingSince = now
	}
	if p.Missing >= pollsUntilLost && now.Sub(p.MissingSince) >= t.LostAfter {
		return t.loseOperation(ctx, claim, row)
	}
	return jobs.Result{Again: max(t.Floor, t.LostAfter/(2*pollsUntilLost)), Payload: follow.String()}, nil
}

// ends reports whether a GET that has settled the row has also ended the follow. It
// does not end the follow of a PATCH, since the resource need not show that.
func ends(follow inventory.Follow, probed probe.ProbeResult) bool {
	return probed.Settled && (follow.Kind != index.Patch || !probed.Found)
}

// failed reports whether a resource shows that the tracked operation has failed or was
// canceled. A failure that the index knew before does not count.
func failed(row inventory.Resource, probed probe.ProbeResult) bool {
	return probed.Found && index.Terminal(probed.ProvisioningState) && !index.Successful(probed.ProvisioningState) &&
		index.Terminal(row.ProvisioningState) && !strings.EqualFold(row.ProvisioningState, probed.ProvisioningState)
}

// Finished polls the operation of a row once, and reports whether it has reached a
// terminal state. If there is nothing to poll, or the poll is refused, the absence of a
// resource under deletion may show that. why is the provider's error for an operation
// that failed. header carries the ids of the call.
func Finished(
	ctx context.Context, p probe.Prober, header http.Header, follow inventory.Follow, row inventory.Resource,
) (finished bool, why *arm.Error, err error) {
	if follow.Path != "" {
		_, endpoint, err := p.Target(row)
		if err != nil {
			return false, nil, err
		}
		poll := header.Clone()
		access.Principal{TenantID: follow.TenantID, ObjectID: follow.ObjectID}.Stamp(poll)
		answer, err := p.Read(ctx, poll, endpoint, follow.Path, follow.Query)
		if err != nil {
			return false, nil, err
		}
		progress, failure := answers.ReadPoll(follow.Status, answer.Status, answer.Body)
		if progress != index.PollMissing && progress != index.PollRefused {
			return progress == index.PollFinished, answers.Error(answer.Status, failure), nil
		}
	}
	if follow.Kind != index.Delete {
		return false, nil, nil
	}
	probed, err := p.Probe(ctx, header, row)
	return err == nil && failed(row, probed), nil, err
}

// probe tracks the operation by GETs of the resource. A GET that is proof ends the job
// by itself, and a failure is the end of the operation. An answer that may mean its
// end, or that shows nothing of it, loses the operation: for a while no answer counts
// as proof that the operation could overturn. A create that shows nothing yet goes on
// until its time is up.
func (t *OperationTracker) probe(ctx context.Context, claim *jobs.Claim, follow *inventory.Follow, row inventory.Resource) (jobs.Result, error) {
	refusals := versionRefusals{follow.Progress.RefusedSince}
	probed, err := refusals.probe(ctx, withPatience(t.Prober, claim, t.Patience), t.header(ctx, claim, *follow, row), row, t.VersionFallback)
	follow.Progress.RefusedSince = refusals.Since
	switch {
	case err != nil:
		return later(fmt.Errorf("probe the resource of an operation in %s: %w", row.Region, err), t.Floor)
	case ends(*follow, probed):
		return jobs.Result{End: jobrow.Done, Recorded: true}, nil
	case failed(row, probed), follow.Kind == index.Patch && probed.Settled && !index.Terminal(row.ProvisioningState):
		return t.end(ctx, claim, nil)
	case probed.Found && (probed.ProvisioningState != "" || follow.Kind == index.Patch) && index.Terminal(probed.ProvisioningState),
		!probed.Found && (row.Phase != index.Pending || t.age(claim) > t.Limit):
		return t.loseOperation(ctx, claim, row)
	}
	return jobs.Result{Again: pace(t.age(claim), probed.RetryAfter, t.Floor)}, nil
}

// end flags the row for verification, unless a newer acceptance has replaced the job.
// why is the provider's error for an operation that failed.
func (t *OperationTracker) end(ctx context.Context, claim *jobs.Claim, why *arm.Error) (jobs.Result, error) {
	failpoint.Pass(failpoint.FollowEndBefore)
	if err := t.Prober.Store.Follows.EndByJob(ctx, claim.Job, why); err != nil {
		return jobs.Result{}, fmt.Errorf("record the end of an operation: %w", err)
	}
	failpoint.Pass(failpoint.FollowEndAfter)
	return jobs.Result{End: jobrow.Done, Recorded: true}, nil
}

// loseOperation flags the row for verification when the outcome of the operation can no longer
// be learnt.
func (t *OperationTracker) loseOperation(ctx context.Context, claim *jobs.Claim, row inventory.Resource) (jobs.Result, error) {
	q, _, err := t.Prober.Target(row)
	if err != nil {
		return jobs.Result{}, err
	}
	if err := t.Prober.Store.Follows.LoseByJob(ctx, claim.Job, q.Type.LateWriteWindow); err != nil {
		return jobs.Result{}, fmt.Errorf("record that an operation is lost: %w", err)
	}
	return jobs.Result{End: jobrow.Done, Recorded: true}, nil
}

// recordFailure keeps the provider's error for an accepted delete that failed, for the status
// of the group's deletion.
func (t *OperationTracker) recordFailure(ctx context.Context, follow inventory.Follow, failure string, row inventory.Resource) {
	if failure != "" && follow.Kind == index.Delete {
		_ = t.Prober.Store.Deletions.RecordMemberError(ctx, row.Subscription, row.Group, row.Key, failure)
	}
}

func (t *OperationTracker) header(ctx context.Context, claim *jobs.Claim, follow inventory.Follow, row inventory.Resource) http.Header {
	return headerFor(ctx, t.Prober.Store, claim, t.Region, row, t.Prober.Store.CauseOfWrite(ctx, row, follow.Kind))
}
