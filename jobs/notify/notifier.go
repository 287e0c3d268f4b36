// Package notify notifies providers of the changes of subscriptions (subscription
// lifecycle), so that each endpoint learns the newest version last. It also completes
// registrations and the erasure of deleted subscriptions.
package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/limits"
	"portico/regions"
	"portico/upstream"
	"portico/upstream/answers"
)

// SubscriptionNotifier notifies the endpoints of providers of the changes of a
// subscription (subscription lifecycle, Creating or Updating a Subscription). There is
// one job for each endpoint that does not know the newest version.
//
// Whichever process dies on the way, an endpoint learns the newest version last. Each
// attempt reads the version first, and the job ends only if there is no newer one when
// the endpoint has confirmed it. Each attempt is recorded before its first byte leaves,
// which is possible only for a short time after that. So a recorded attempt without an
// answer can reach the endpoint only up to a known time: the job goes on until then,
// and notifies the endpoint once more after it.
type SubscriptionNotifier struct {
	Map      *regions.Map
	Store    *inventory.Store
	Upstream *upstream.Client
	Public   *url.URL // the front door's, as providers know it
	Region   string   // of the front door, for the ids of its calls
	// SendWithin bounds the time until an attempt is sent, CallLimit the time until it is
	// answered, and LateWriteWindow the time in which it may still take effect.
	SendWithin, CallLimit, LateWriteWindow time.Duration
	// Absence is how long the job waits for an endpoint that the map lacks, because
	// another replica may have a newer map.
	Absence time.Duration
	Floor   time.Duration // the least pause before the next attempt

	slots *limits.Endpoints
	scan  jobs.SubscriptionScan // for endpoints that joined the map
}

// Start implements [jobs.Lasting].
func (k *SubscriptionNotifier) Start(prometheus.Registerer) {
	k.slots = limits.NewEndpoints(noticesPerEndpoint, noticesPerEndpoint)
}

// Succeed implements [jobs.Lasting].
func (k *SubscriptionNotifier) Succeed(before jobs.Kind) {
	k.slots = before.(*SubscriptionNotifier).slots
}

// Describe implements [jobs.Kind].
func (k *SubscriptionNotifier) Describe() jobs.Description {
	return jobs.Description{
		AfterRestore: jobs.Removed, Reason: "noticePending", Message: "An endpoint has not been notified of the subscription's state.",
		HoldsAt: k.holdsAt, Show: show, GiveUp: k.giveUp,
	}
}

// mostNotices bounds how many notices of a subscription are shown.
const mostNotices = 100

// holdsAt finds the notices of a subscription that endpoints have not received.
func (k *SubscriptionNotifier) holdsAt(ctx context.Context, path *arm.Path) (all []jobs.Hold, err error) {
	on := "/subscriptions/" + path.Subscription()
	if !arm.EqualFold(path.String(), on) {
		return nil, nil // notices hold up only requests for the subscription itself
	}
	notices, err := k.Store.Jobs.ListKind(ctx, path.Subscription(), inventory.NoticeJob, mostNotices)
	for _, j := range notices {
		all = append(all, jobs.Hold{Job: j, On: on})
	}
	return all, err
}

func show(j jobrow.Job) (s jobs.ProgressReport) {
	if n, err := inventory.ReadNotice(j); err == nil {
		s.Region, s.Message = n.Region, fmt.Sprintf("The endpoint of %s in %s has not been notified of the subscription's state.", n.Namespace, n.Region)
		s.Outcome = n.Progress.Answer
	}
	return s
}

func (k *SubscriptionNotifier) giveUp(ctx context.Context, j jobrow.Job) (jobs.GivenUp, error) {
	done := jobs.GivenUp{
		Outcome: "The endpoint is not notified of this. It is when the subscription changes, or a gateway takes its configuration over; of a deletion " +
			"until it has confirmed that.",
		Next: inventory.EraseJob,
	}
	return done, k.Store.Notices.GiveUp(ctx, j)
}

const (
	// noticesPerEndpoint is the number of notices that one replica sends to an endpoint at a time.
	// It is less than the number of jobs at a time, so that one hanging endpoint cannot
	// hold them all.
	noticesPerEndpoint = 4
	// versionsPerAttempt bounds the versions that one attempt sends.
	versionsPerAttempt = 8
	// returnedAtOnce bounds the subscriptions of one round of notifying returned
	// endpoints.
	returnedAtOnce = 500
	// longestPause bounds the pause before an endpoint is notified again, unless it
	// asked for one.
	longestPause = 5 * time.Minute
)

// apiVersion is the api-version of all notices.
const apiVersion = "2.0"

// Targets returns the endpoints of all providers, which have to know of subscriptions.
func Targets(providers ...*regions.Provider) (all []inventory.NotificationTarget) {
	for _, p := range providers {
		for _, e := range p.Endpoints() {
			all = append(all, inventory.NotificationTarget{
				Namespace: p.Key, Region: e.Region, Address: e.String(), Required: p.Registration == regions.Required,
			})
		}
	}
	return all
}

// Run notifies the endpoint until it knows the newest version.
func (k *SubscriptionNotifier) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	n, err := inventory.ReadNotice(claim.Job)
	if err != nil {
		return jobs.Result{End: jobrow.Failed}, err
	}
	provider, endpoint := k.target(n)
	if endpoint == nil {
		return k.endpointGone(ctx, claim, n)
	}
	slots := k.slots.At(endpoint.Region, endpoint.String())
	if !slots.TryAcquire("") {
		return jobs.Result{Again: timing.Jitter(8 * k.Floor)}, nil
	}
	defer slots.Release("")
	for range versionsPerAttempt {
		again, err := k.notify(ctx, claim, &n, provider, endpoint)
		switch {
		case errors.Is(err, inventory.ErrChanged):
			continue // there is a newer version
		case err != nil:
			return jobs.Result{}, err
		case again > 0:
			return jobs.Result{Again: again, Payload: n.String()}, nil
		}
		return jobs.Result{Recorded: true}, nil
	}
	return jobs.Result{Again: k.Floor, Payload: n.String()}, nil
}

func (k *SubscriptionNotifier) target(n inventory.Notice) (*regions.Provider, *regions.Endpoint) {
	provider := k.Map.Provider(n.Namespace)
	if provider == nil {
		return nil, nil
	}
	for _, e := range provider.Endpoints() {
		if e.Region == n.Region && e.String() == n.Address {
			return provider, e
		}
	}
	return provider, nil
}

func (k *SubscriptionNotifier) endpointGone(ctx context.Context, claim *jobs.Claim, n inventory.Notice) (jobs.Result, error) {
	n.Progress.Answer = "the region map has no such endpoint"
	if k.Store.Now().Sub(claim.Job.Created) < k.Absence {
		return jobs.Result{Again: max(k.Floor, time.Second) * 10, Payload: n.String()}, nil
	}
	if err := k.Store.Notices.Drop(ctx, claim.Job, n); err != nil {
		return jobs.Result{}, fmt.Errorf("drop the notice of an endpoint that has gone: %w", err)
	}
	return jobs.Result{Recorded: true}, nil
}

// notify makes one attempt. The job has ended if it returns neither an error nor a
// pause.
func (k *SubscriptionNotifier) notify(
	ctx context.Context, claim *jobs.Claim, n *inventory.Notice, p *regions.Provider, to *regions.Endpoint,
) (again time.Duration, err error) {
	snapshot, err := k.Store.Notices.Snapshot(ctx, claim.Job.Subscription, n.Namespace)
	if err != nil {
		return 0, fmt.Errorf("read what an endpoint is notified of: %w", err)
	}
	// An attempt that was not answered may arrive until its time is over, and hide this
	// one.
	started, now, earlierEnds := time.Now(), k.Store.Now(), n.Ends
	if !earlierEnds.After(now) {
		earlierEnds = time.Time{}
	}
	n.Progress.State = noticeState(snapshot, p.Registration == regions.Required)
	n.Ends = now.Add(k.SendWithin + k.CallLimit + k.LateWriteWindow)
	failpoint.Pass(failpoint.NoticeBeginBefore)
	if err := claim.Save(ctx, n.String()); err != nil {
		return 0, fmt.Errorf("record the intent to notify: %w", err)
	}
	failpoint.Pass(failpoint.NoticeBeginAfter)
	answer := k.send(ctx, claim, snapshot, n.Progress.State, p, to, started)
	n.Progress.Answer = answer.text
	if answer.over {
		n.Ends = earlierEnds
	}
	if !answer.confirmed {
		n.Progress.Tries++
		return k.pause(answer, n.Progress.Tries), nil
	}
	n.Progress.Tries = 0
	if !earlierEnds.IsZero() {
		return max(0, earlierEnds.Sub(k.Store.Now())) + k.Floor, nil // and then once more
	}
	failpoint.Pass(failpoint.NoticeEndBefore)
	err = k.Store.Notices.End(ctx, claim.Job, snapshot.Subscription.Version, n.String())
	failpoint.Pass(failpoint.NoticeEndAfter)
	return 0, err
}

func (k *SubscriptionNotifier) pause(a attempt, tries int) time.Duration {
	if a.after > 0 {
		return max(k.Floor, a.after)
	}
	return timing.Jitter(timing.Backoff(2*k.Floor, longestPause, tries))
}

// attempt is the outcome of one attempt.
type attempt struct {
	confirmed bool          // the endpoint has accepted it
	over      bool          // it cannot take effect any more
	after     time.Duration // the pause that the endpoint asked for; 0: none
	text      string        // for operators
}

// send makes one call. A 202 means that the endpoint is not done: Portico does not
// follow its Location, but notifies the endpoint again (subscription lifecycle,
// Response).
func (k *SubscriptionNotifier) send(
	ctx context.Context, claim *jobs.Claim, snapshot inventory.SubscriptionSnapshot, state string, p *regions.Provider, to *regions.Endpoint, started time.Time,
) attempt {
	path, query := "/subscriptions/"+snapshot.Subscription.ID, "api-version="+apiVersion
	header := claim.Header(k.Region)
	header.Set("Referer", answers.Referer(k.Public, path, query))
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Accept", "application/json")
	content := noticeBody(snapshot, state, p.Namespace)
	got, err := k.Upstream.Send(ctx, upstream.Call{
		Endpoint: to, Method: http.MethodPut, Path: path, Query: query, Header: header, Content: content,
		Since: started, SendWithin: k.SendWithin, EndWithin: k.CallLimit, Job: claim.Job.Name(),
	})
	if got.Status == 0 {
		return attempt{over: upstream.Unsent(err), text: "no answer"}
	}
	means, after := answers.Verdict(got.Status, got.Header, true)
	a := attempt{after: after, text: strconv.Itoa(got.Status) + " " + http.StatusText(got.Status)}
	switch means {
	case answers.Done:
		a.over = !answers.StatusUntrusted(err)
		a.confirmed = a.over
	case answers.Later, answers.Unreachable: // except after a 429, the call may still take effect
		a.over = got.Status == http.StatusTooManyRequests
	case answers.Accepted, answers.Absent, answers.Refused:
		a.over = true
	}
	return a
}

// Schedule adds the jobs for endpoints that have come back to the region map; and,
// once under each configuration, the jobs for endpoints that have joined it.
func (k *SubscriptionNotifier) Schedule(ctx context.Context) error {
	all := Targets(k.Map.Providers()...)
	_, err := k.Store.Notices.NotifyReturned(ctx, all, returnedAtOnce)
	if k.scan.Ended() {
		return err
	}
	return errors.Join(err, k.scan.VisitSome(ctx, k.Store, func(sub inventory.Subscription) error {
		switch {
		case sub.Erased:
			return nil
		case sub.State == inventory.Deleted:
			return k.Store.Notices.NotifyNewTargets(ctx, sub.ID, optional(all))
		}
		return k.Store.Notices.NotifyNewTargets(ctx, sub.ID, all)
	}))
}

// optional makes registration optional for all endpoints, so that they are notified
// whether or not the subscription is registered.
func optional(all []inventory.NotificationTarget) []inventory.NotificationTarget {
	all = slices.Clone(all)
	for i := range all {
		all[i].Required = false
	}
	return all
}
