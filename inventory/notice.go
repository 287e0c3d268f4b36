package inventory

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// NoticeJob is the kind of the jobs that notify endpoints of a subscription, one for each
// endpoint that does not know the newest version.
const NoticeJob = "notice"

// NotificationTarget is an endpoint of a provider that may have to be notified of
// subscriptions.
type NotificationTarget struct {
	Namespace string // folded
	Region    string
	Address   string // of the endpoint, as the region map writes it
	// Required: only subscriptions that registered for the provider are sent to it.
	Required bool
}

func (a NotificationTarget) subject() string { return a.Namespace + " " + a.Region + " " + a.Address }

// parseTarget parses the result of subject.
func parseTarget(subject string) (a NotificationTarget, ok bool) {
	parts := strings.SplitN(subject, " ", 3)
	if len(parts) != 3 {
		return a, false
	}
	return NotificationTarget{Namespace: parts[0], Region: parts[1], Address: parts[2]}, true
}

// everyNamespace stands for all providers.
const everyNamespace = ""

// commonNamespace returns the one namespace of all targets, or everyNamespace.
func commonNamespace(all []NotificationTarget) string {
	for _, a := range all {
		if a.Namespace != all[0].Namespace {
			return everyNamespace
		}
	}
	if len(all) == 0 {
		return everyNamespace
	}
	return all[0].Namespace
}

// Notice is the payload of a job that notifies an endpoint.
type Notice struct {
	Namespace string `json:"namespace"`
	Region    string `json:"region"`
	Address   string `json:"address"`
	// Ends is when the latest attempt without a recorded end is over: until then it may
	// still reach the endpoint.
	Ends     time.Time      `json:"ends,omitzero"`
	Progress NoticeProgress `json:"progress"`
}

// NoticeProgress is the progress of a notice, for operators.
type NoticeProgress struct {
	Namespace string `json:"namespace"`
	Region    string `json:"region"`
	State     string `json:"state,omitempty"`  // last sent
	Answer    string `json:"answer,omitempty"` // outcome of the last attempt
	Tries     int    `json:"tries,omitempty"`  // consecutive failures
}

// String returns the payload as it is stored.
func (n Notice) String() string {
	return jobrow.PayloadOf(n)
}

// ReadNotice reads the payload of a job that notifies an endpoint.
func ReadNotice(j jobrow.Job) (n Notice, err error) {
	err = j.Read(&n)
	return n, err
}

const (
	selectTargets = `SELECT endpoints FROM notified_endpoints WHERE subscription = ?`
	putTargets    = `INSERT INTO notified_endpoints (subscription, endpoints) VALUES (?, ?)
		ON CONFLICT (subscription) DO UPDATE SET endpoints = excluded.endpoints`
	// The current holder may have just decided to wait, so its lease is revoked.
	revokeLease = `UPDATE jobs SET due = ?, owner = '', until = 0, token = token + 1
		WHERE subscription = ? AND id = ? AND shard >= 0`
	openNotices = `SELECT subject FROM jobs WHERE subscription = ? AND kind = ? AND shard >= 0`
)

// targetList lists the endpoints that were notified of a subscription.
type targetList []NotificationTarget

func loadTargets(from engine.Source, sub string) (targetList, error) {
	var text string
	if err := engine.OrNotFound(from.One(selectTargets, sub)(&text)); errors.Is(err, ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var all targetList
	for line := range strings.Lines(text) {
		if one, ok := parseTarget(strings.TrimSuffix(line, "\n")); ok {
			all = append(all, one)
		}
	}
	return all, nil
}

func (a targetList) put(t *tx, sub string) error {
	var text strings.Builder
	for _, one := range a {
		text.WriteString(one.subject() + "\n")
	}
	return t.Later(putTargets, sub, text.String())
}

func (a targetList) has(one NotificationTarget) bool {
	return slices.ContainsFunc(a, func(known NotificationTarget) bool { return known.subject() == one.subject() })
}

// notify creates the jobs that notify endpoints of a new version of a subscription: the
// given endpoints that must know it, and the endpoints that were notified before. The
// caller has locked the subscription's row. If namespace is not empty, only its endpoints
// are notified.
//
// These must know (subscription lifecycle): every endpoint of a provider that needs no
// registration; of any other provider, the endpoints in the regions of the subscription's
// registration, and the endpoints of the namespace whose registration changes. A deletion
// is sent to every endpoint: one that does not know the subscription has nothing to do.
func (t *tx) notify(sub Subscription, targets []NotificationTarget, namespace string) error {
	known, err := loadTargets(t, sub.ID)
	if err != nil {
		return err
	}
	registrations, err := engine.Collect(t, scanRegistration, listRegistrations, sub.ID)
	if err != nil {
		return err
	}
	mustKnow := func(a NotificationTarget) bool {
		return !a.Required || sub.State == Deleted || slices.ContainsFunc(registrations, func(r Registration) bool {
			return r.Namespace == a.Namespace && r.Covers(a.Region) && (r.State.Permits() || r.State == Unregistering)
		})
	}
	var due, fresh targetList
	for _, a := range targets {
		if !mustKnow(a) || namespace != everyNamespace && a.Namespace != namespace {
			continue
		}
		due = append(due, a)
		if !known.has(a) {
			fresh = append(fresh, a)
		}
	}
	for _, a := range known { // they may be in another replica's map only
		if (namespace == everyNamespace || a.Namespace == namespace) && !targetList(targets).has(a) {
			due = append(due, a)
		}
	}
	if len(fresh) > 0 {
		if err := append(known, fresh...).put(t, sub.ID); err != nil {
			return err
		}
	}
	return t.addNotices(sub.ID, due)
}

// addNotices creates the jobs that notify endpoints, and makes existing ones due.
func (t *tx) addNotices(sub string, targets targetList) error {
	jobs := make([]jobrow.Job, 0, len(targets))
	for _, a := range targets {
		payload := Notice{
			Namespace: a.Namespace, Region: a.Region, Address: a.Address,
			Progress: NoticeProgress{Namespace: a.Namespace, Region: a.Region},
		}
		jobs = append(jobs, jobrow.Job{
			Subscription: sub, ID: jobrow.ID(NoticeJob, a.subject()), Kind: NoticeJob, Subject: a.subject(),
			Region: a.Region, Due: t.Now, Payload: payload.String(),
		})
	}
	// This is the order in which claims lock them.
	slices.SortFunc(jobs, func(a, b jobrow.Job) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	for _, job := range jobs {
		if err := t.addOrRunSooner(job); err != nil {
			return err
		}
	}
	return nil
}

// addOrRunSooner creates a job, or makes the existing one due unless a replica holds
// it. The holder looks for a newer version before it ends the job.
func (t *tx) addOrRunSooner(j jobrow.Job) error {
	j.Incarnation = engine.NewID()
	added, err := j.Add(t.Base())
	if err != nil || added {
		return err
	}
	return jobrow.RunSooner(t.Base(), j.Subscription, j.ID, j.Due)
}

// Notices has the methods for notices of subscriptions' changes to providers' endpoints.
// Each notice is a job.
type Notices struct{ store *Store }

// SubscriptionSnapshot holds the records that a notification is made of.
type SubscriptionSnapshot struct {
	Subscription Subscription
	Registration Registration
}

// Snapshot returns the present state for a namespace. The version is never newer than the
// registration.
func (notices *Notices) Snapshot(ctx context.Context, sub, namespace string) (a SubscriptionSnapshot, err error) {
	if a.Subscription, err = notices.store.Subscription(ctx, sub); err != nil {
		return a, err
	}
	a.Registration, err = notices.store.Registration(ctx, sub, namespace)
	return a, err
}

// End ends the job of a notice that delivered a version to its endpoint. The error is
// ErrChanged if there is a newer version, and jobrow.ErrLeaseLost if the caller no longer
// holds the job.
func (notices *Notices) End(ctx context.Context, j jobrow.Job, version int64, payload string) error {
	return notices.end(ctx, j, payload, func(_ *tx, sub Subscription) (jobrow.State, error) {
		if sub.Version != version {
			return 0, ErrChanged
		}
		return jobrow.Done, nil
	})
}

// Drop ends the job of a notice to an endpoint that the region map lacks.
// [Notices.NotifyReturned] notifies the endpoint when the map has the region again.
func (notices *Notices) Drop(ctx context.Context, j jobrow.Job, n Notice) error {
	return notices.drop(ctx, j, n, true)
}

// drop ends the job and forgets the endpoint. If absent is set, or the subscription is
// Deleted, it records that the endpoint has to be notified once the map has it.
func (notices *Notices) drop(ctx context.Context, j jobrow.Job, n Notice, absent bool) error {
	gone := NotificationTarget{Namespace: n.Namespace, Region: n.Region, Address: n.Address}
	return notices.end(ctx, j, n.String(), func(t *tx, sub Subscription) (jobrow.State, error) {
		known, err := loadTargets(t, sub.ID)
		if err != nil {
			return 0, err
		}
		left := slices.DeleteFunc(known, targetList{gone}.has)
		if err := left.put(t, sub.ID); err != nil {
			return 0, err
		}
		if absent || sub.State == Deleted {
			return jobrow.Failed, t.putAbsent(sub.ID, gone)
		}
		return jobrow.Failed, nil
	})
}

// end ends a notice's job after it has locked the subscription's row: a change of the
// subscription finds the job either open or ended, and creates a new one if it has ended.
func (notices *Notices) end(ctx context.Context, j jobrow.Job, payload string, judge func(*tx, Subscription) (jobrow.State, error)) error {
	return notices.store.write(ctx, engine.Flushed, transaction.SubscriptionLocks(j.Subscription), func(t *tx) error {
		sub, err := loadSubscription(t, lockSubscription, j.Subscription)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		state, err := judge(t, sub)
		if err != nil {
			return err
		}
		if err := j.End(t.Base(), state, payload, t.Now.Add(notices.store.options.JobRecords)); err != nil {
			return err
		}
		return t.resumeErasure(sub)
	})
}

// resumeErasure makes the erasing of a Deleted subscription due once all endpoints
// have confirmed.
func (t *tx) resumeErasure(sub Subscription) error {
	if sub.State != Deleted {
		return nil
	}
	left, err := countNotices(t, sub.ID, everyNamespace)
	if err != nil || left > 0 {
		return err
	}
	return t.Later(revokeLease, engine.Micros(t.Now), sub.ID, EraseJobID[:])
}

// CountOpen counts the endpoints of a namespace (empty: of all) that may not know
// the newest version of a subscription.
func (notices *Notices) CountOpen(ctx context.Context, sub, namespace string) (int, error) {
	return countNotices(notices.store.engine.Read(ctx), arm.Fold(sub), arm.Fold(namespace))
}

func countNotices(from engine.Source, sub, namespace string) (int, error) {
	subjects, err := engine.Collect(from, engine.ScanOne[string], openNotices, sub, NoticeJob)
	n := 0
	for _, subject := range subjects {
		if namespace == "" || strings.HasPrefix(subject, namespace+" ") {
			n++
		}
	}
	return n, err
}

// NotifyNewTargets notifies the endpoints that must know a subscription but were never
// notified, because they joined the region map later.
func (notices *Notices) NotifyNewTargets(ctx context.Context, sub string, targets []NotificationTarget) error {
	known, err := loadTargets(notices.store.engine.Read(ctx), arm.Fold(sub))
	if err != nil || !known.misses(targets) {
		return err
	}
	return notices.store.write(ctx, engine.Flushed, transaction.SubscriptionLocks(sub), func(t *tx) error {
		current, err := loadSubscription(t, lockSubscription, sub)
		if err != nil || current.Erased {
			return engine.OrNotFound(err)
		}
		known, err := loadTargets(t, current.ID)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(slices.Clone(targets), func(a NotificationTarget) bool { return a.Required || known.has(a) })
		if len(fresh) == 0 {
			return nil
		}
		if err := append(known, fresh...).put(t, current.ID); err != nil {
			return err
		}
		return t.addNotices(current.ID, fresh)
	})
}

// misses reports whether the list lacks an endpoint that must know the subscription
// even if it did not register.
func (a targetList) misses(targets []NotificationTarget) bool {
	return slices.ContainsFunc(targets, func(one NotificationTarget) bool { return !one.Required && !a.has(one) })
}

// GiveUp ends a notice's job, and forgets the endpoint. The endpoint is notified when the
// subscription changes or a configuration is loaded ([Notices.NotifyNewTargets]), and of a
// deletion as after [Notices.Drop]. The error is *ObstacleError while the endpoint is being
// notified, and ErrNotFound if the job has ended.
func (notices *Notices) GiveUp(ctx context.Context, j jobrow.Job) error {
	switch {
	case j.State.Ended():
		return ErrNotFound
	case j.Owner != "" && j.Until.After(notices.store.engine.Now()):
		return &ObstacleError{CallUnderWay, j.Until}
	}
	n, err := ReadNotice(j)
	if err != nil {
		return err
	}
	n.Progress.Answer = "an operator gave up"
	return notices.drop(ctx, j, n, false)
}
