package jobrow

import (
	"context"
	"fmt"
	"time"

	"portico/inventory/engine"
)

const (
	countJobs = `SELECT kind, COUNT(*), SUM(CASE WHEN due <= ? THEN 1 ELSE 0 END), SUM(CASE WHEN due <= ? THEN 1 ELSE 0 END),
		SUM(CASE WHEN created <= ? AND NOT ` + inDrained + ` THEN 1 ELSE 0 END), SUM(CASE WHEN attempts > ? AND NOT ` + inDrained + ` THEN 1 ELSE 0 END),
		MIN(due) FROM jobs WHERE shard >= 0`
	inDrained = `region IN (SELECT place FROM drains WHERE until > ?)`
	oldJobs   = `SELECT subscription, id FROM jobs WHERE shard = ? AND kind = ? AND due <= ? ORDER BY due LIMIT ?`
	forgetJob = `DELETE FROM jobs WHERE subscription = ? AND id = ? AND shard = ? AND due <= ?`
)

// Counts holds the numbers of jobs of a kind that have not ended.
type Counts struct {
	All     int
	Due     int           // due and not held by a replica
	Overdue int           // due for longer than the given time
	Oldest  time.Duration // how long the first overdue job has been due
	// Outside of drained regions:
	Old    int // created longer ago than the given time
	PutOff int // failed more than ManyAttempts times in a row
}

// ManyAttempts is how often a job may fail in a row before Counts.PutOff counts it.
const ManyAttempts = 20

// Count counts the jobs of each kind that have not ended. Jobs that have been due for
// longer than overdue count as overdue, jobs created longer ago than old as old. A kind
// without jobs is absent.
func (r *Jobs) Count(ctx context.Context, overdue, old time.Duration) (map[string]Counts, error) {
	now := r.engine.Now()
	counts := map[string]Counts{}
	err := r.engine.Read(ctx).Each(func(scan engine.Scanner) error {
		kind, c, err := scanCounts(scan, now)
		counts[kind] = c
		return err
	}, countJobs+` GROUP BY kind`, countArgs(now, overdue, old)...)
	return counts, err
}

// CountKind counts the jobs of one kind, like Count.
func (r *Jobs) CountKind(ctx context.Context, kind string, overdue, old time.Duration) (counts Counts, err error) {
	now := r.engine.Now()
	err = r.engine.Read(ctx).Each(func(scan engine.Scanner) error {
		_, counts, err = scanCounts(scan, now)
		return err
	}, countJobs+` AND kind = ? GROUP BY kind`, append(countArgs(now, overdue, old), kind)...)
	return counts, err
}

func countArgs(at time.Time, overdue, old time.Duration) []any {
	now := engine.Micros(at)
	return []any{now, engine.Micros(at.Add(-overdue)), engine.Micros(at.Add(-old)), now, ManyAttempts, now}
}

func scanCounts(scan engine.Scanner, now time.Time) (kind string, c Counts, err error) {
	var first int64
	err = scan(&kind, &c.All, &c.Due, &c.Overdue, &c.Old, &c.PutOff, &first)
	if c.Overdue > 0 {
		c.Oldest = now.Sub(engine.TimeOf(first))
	}
	return kind, c, err
}

type jobKey struct {
	subscription string
	id           []byte
}

// Forget deletes at most limit ended jobs whose retention is over, and returns how many.
func (r *Jobs) Forget(ctx context.Context, limit int) (int, error) {
	from, now := r.engine.Read(ctx), engine.Micros(r.engine.Now())
	kinds, err := jobKinds(from, endedShard)
	if err != nil {
		return 0, err
	}
	var old []jobKey
	for _, kind := range kinds {
		found, err := engine.Collect(from, scanKey, oldJobs, endedShard, kind, now, engine.LimitArg(limit))
		if err != nil {
			return 0, fmt.Errorf("read the old jobs of %s: %w", kind, err)
		}
		old = append(old, found...)
	}
	old = old[:min(len(old), max(limit, 0))]
	return engine.InPieces(ctx, r.engine, old, func(u engine.Unit, piece []jobKey) (int, error) {
		t, deleted := u.Base(), 0
		for _, k := range piece {
			n, err := t.Exec(forgetJob, k.subscription, k.id, endedShard, now)
			if err != nil {
				return 0, fmt.Errorf("forget a job: %w", err)
			}
			deleted += int(n)
		}
		return deleted, nil
	})
}

func scanKey(scan engine.Scanner) (k jobKey, err error) {
	err = scan(&k.subscription, &k.id)
	return k, err
}
