package jobrow

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"portico/internal/failpoint"
	"portico/inventory/engine"
)

const (
	dueJobs = `SELECT ` + Columns + ` FROM jobs WHERE shard = ? AND kind = ? AND due <= ? ORDER BY due LIMIT ?`
	// The holder may have renewed its lease since the job was seen to be due.
	claimJob = `UPDATE jobs SET owner = ?, token = token + 1, until = ?, due = ?, attempts = attempts + 1, changed = ?, ` + addStep + `
		WHERE subscription = ? AND id = ? AND incarnation = ? AND token = ? AND due <= ? RETURNING ` + Columns

	whereHeld = ` WHERE subscription = ? AND id = ? AND incarnation = ? AND token = ? AND shard >= 0`
	heldToken = `SELECT token FROM jobs WHERE subscription = ? AND id = ? AND incarnation = ? AND shard >= 0`
	renewJob  = `UPDATE jobs SET until = ?, due = ?` + whereHeld
	saveJob   = `UPDATE jobs SET payload = ?, changed = ?` + whereHeld
	deferJob  = `UPDATE jobs SET due = ?, payload = CASE WHEN ? = '' THEN payload ELSE ? END, attempts = ?, owner = '', until = 0, changed = ?, ` +
		addStep + whereHeld
	endJob = `UPDATE jobs SET state = ?, payload = CASE WHEN ? = '' THEN payload ELSE ? END, owner = '', until = 0, shard = ?, due = ?, ` +
		`token = token + 1, changed = ?, ` + addStep + whereHeld
	jobKind = `SELECT kind FROM jobs WHERE shard = ? AND kind > ? ORDER BY kind LIMIT 1`
)

// Claim claims at most limit due jobs of the given kinds (none: any kind) that no
// replica holds, the longest due first. The caller holds each until its lease ends; then
// the job is due again, in case the holder died. The claim is durable when Claim
// returns, so that an attempt is counted before it begins.
//
// The caller has to time the lease from before the call, so that the holder considers
// the lease over before anyone else does.
func (r *Jobs) Claim(ctx context.Context, owner string, lease time.Duration, limit int, kinds ...string) ([]Job, error) {
	due, err := r.dueJobs(ctx, limit, kinds)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	return r.claim(ctx, due, owner, lease)
}

// claim claims the due jobs, except any that another replica has claimed since they were
// read.
func (r *Jobs) claim(ctx context.Context, due []Job, owner string, lease time.Duration) ([]Job, error) {
	if err := failpoint.Hit(failpoint.JobClaimBefore); err != nil {
		return nil, err
	}
	mine, err := r.claimEach(ctx, due, owner, lease)
	if err == nil {
		err = failpoint.Hit(failpoint.JobClaimAfter)
	}
	if err != nil {
		return nil, err
	}
	return mine, nil
}

func (r *Jobs) claimEach(ctx context.Context, due []Job, owner string, lease time.Duration) ([]Job, error) {
	// One order for all claims, so that they cannot deadlock.
	slices.SortFunc(due, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Subscription, b.Subscription), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return engine.Commit(ctx, r.engine, engine.Flushed, engine.LockSet{}, func(u engine.Unit) ([]Job, error) {
		t, mine := u.Base(), make([]Job, 0, len(due))
		until, now := engine.Micros(t.Now.Add(lease)), engine.Micros(t.Now)
		for _, j := range due {
			claimed, err := Scan(t.Returning().One(claimJob, slices.Concat([]any{owner, until, until, now}, j.stepOf(outcomeExpired).after(j.newest, t.Now),
				[]any{j.Subscription, j.ID[:], j.Incarnation[:], j.Token, now})...))
			if errors.Is(err, sql.ErrNoRows) {
				continue // another replica was faster
			}
			if err != nil {
				return nil, err
			}
			mine = append(mine, claimed)
		}
		return mine, nil
	})
}

// ListOpen returns at most limit jobs of a kind that have not ended, in the order of their
// due times.
func (r *Jobs) ListOpen(ctx context.Context, kind string, limit int) ([]Job, error) {
	return r.jobsBefore(ctx, math.MaxInt64, limit, []string{kind})
}

// dueJobs returns due jobs without claiming them.
func (r *Jobs) dueJobs(ctx context.Context, limit int, kinds []string) ([]Job, error) {
	return r.jobsBefore(ctx, engine.Micros(r.engine.Now()), limit, kinds)
}

func (r *Jobs) jobsBefore(ctx context.Context, moment int64, limit int, kinds []string) ([]Job, error) {
	if limit <= 0 {
		return nil, nil
	}
	from := r.engine.Read(ctx)
	var due []Job
	if len(kinds) == 0 {
		var err error
		if kinds, err = jobKinds(from, openShard); err != nil {
			return nil, err
		}
	}
	for _, kind := range kinds {
		found, err := engine.Collect(from, Scan, dueJobs, openShard, kind, moment, limit)
		if err != nil {
			return nil, fmt.Errorf("read the due jobs of %s: %w", kind, err)
		}
		due = append(due, found...)
	}
	slices.SortStableFunc(due, func(a, b Job) int { return a.Due.Compare(b.Due) })
	return due[:min(limit, len(due))], nil
}

// jobKinds lists the kinds of jobs in a shard, by one index look-up for each.
func jobKinds(from engine.Source, shard int) (kinds []string, err error) {
	for kind := ""; ; kinds = append(kinds, kind) {
		err := from.One(jobKind, shard, kind)(&kind)
		if errors.Is(err, sql.ErrNoRows) {
			return kinds, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Save records progress, or returns ErrLeaseLost.
func (j *Job) Save(t *engine.Tx, payload string) error {
	return j.updateHeld(t, saveJob, payload, engine.Micros(t.Now))
}

// End ends a job, or returns ErrLeaseLost. The record is kept until forget. An empty
// payload keeps the one that was saved last.
func (j *Job) End(t *engine.Tx, state State, payload string, forget time.Time) error {
	return j.updateHeld(t, endJob, append([]any{state, payload, payload, endedShard, engine.Micros(forget), engine.Micros(t.Now)},
		j.stepOf(strings.ToLower(state.String())).after("", t.Now)...)...)
}

// CheckLease returns ErrLeaseLost unless the caller holds the job.
func (j *Job) CheckLease(t *engine.Tx) error {
	var held bool
	if err := t.LookUp(j.LookUpLease(&held)); err != nil || held {
		return err
	}
	return ErrLeaseLost
}

// LookUpLease returns the query of [Job.CheckLease], for callers that combine it with others
// in one round trip. It sets held.
func (j *Job) LookUpLease(held *bool) engine.Lookup {
	return engine.LookupOf(heldToken, func(token int64) { *held = token == j.Token }, engine.ScanOne[int64], j.Subscription, j.ID[:], j.Incarnation[:])
}

// updateHeld runs a statement that ends with whereHeld.
func (j *Job) updateHeld(t *engine.Tx, statement string, args ...any) error {
	n, err := t.Exec(statement, append(args, j.Subscription, j.ID[:], j.Incarnation[:], j.Token)...)
	if err == nil && n == 0 {
		return ErrLeaseLost
	}
	return err
}

// Renew extends the holder's lease, from now on, or returns ErrLeaseLost if the token has
// changed. The caller times the lease as for a claim. A renewal is not durable: if it is
// lost, another replica may claim the job earlier.
func (r *Jobs) Renew(ctx context.Context, j *Job, lease time.Duration) error {
	held := *j
	until, err := engine.Commit(ctx, r.engine, engine.Unflushed, Locks(held.Subscription, held.Subject), func(u engine.Unit) (time.Time, error) {
		t := u.Base()
		until := t.Now.Add(lease)
		return until, held.updateHeld(t, renewJob, engine.Micros(until), engine.Micros(until))
	})
	if err == nil {
		j.Until, j.Due = until, until
	}
	return err
}

// Save durably records progress, or returns ErrLeaseLost.
func (r *Jobs) Save(ctx context.Context, j *Job, payload string) error {
	held := *j
	err := r.write(ctx, engine.Flushed, Locks(held.Subscription, held.Subject), func(t *engine.Tx) error {
		return held.Save(t, payload)
	})
	if err == nil {
		j.Payload = payload
	}
	return err
}

// Defer releases a job until due and records its Attempts and Step, or returns
// ErrLeaseLost. An empty payload keeps the one that was saved last, even by a call that
// failed for the caller. With an unchanged payload the write is not durable: if it is lost,
// the lease expires.
func (r *Jobs) Defer(ctx context.Context, j Job, due time.Time, payload string) error {
	return r.write(ctx, engine.Durability(payload != "" && payload != j.Payload), Locks(j.Subscription, j.Subject), func(t *engine.Tx) error {
		return j.updateHeld(t, deferJob, append([]any{engine.Micros(due), payload, payload, j.Attempts, engine.Micros(t.Now)},
			j.stepOf("").after(j.newest, t.Now)...)...)
	})
}

// End durably ends a job, or returns ErrLeaseLost. It treats an empty payload as
// Defer does. The job's record is kept for the retention time of [New].
func (r *Jobs) End(ctx context.Context, j Job, state State, payload string) error {
	return r.write(ctx, engine.Flushed, Locks(j.Subscription, j.Subject), func(t *engine.Tx) error {
		return j.End(t, state, payload, t.Now.Add(r.retention))
	})
}

// firstDue is a column of a query for several kinds at once. Each column costs one index
// look-up, however many jobs there are.
const firstDue = `(SELECT MIN(due) FROM jobs WHERE shard = ? AND kind = ?)`

// DueKinds returns those kinds that have a due job which no replica holds. It costs one
// round trip, and claims nothing.
func (r *Jobs) DueKinds(ctx context.Context, kinds []string) (due []string, err error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	columns, args := make([]string, len(kinds)), make([]any, 0, 2*len(kinds))
	first, into := make([]*int64, len(kinds)), make([]any, len(kinds))
	for i, kind := range kinds {
		columns[i], args, into[i] = firstDue, append(args, openShard, kind), &first[i]
	}
	now := engine.Micros(r.engine.Now())
	if err := r.engine.Read(ctx).One("SELECT "+strings.Join(columns, ", "), args...)(into...); err != nil {
		return nil, fmt.Errorf("read which kinds are due: %w", err)
	}
	for i, kind := range kinds {
		if first[i] != nil && *first[i] <= now {
			due = append(due, kind)
		}
	}
	return due, nil
}
