package jobrow

import (
	"context"
	"fmt"
	"time"

	"portico/inventory/engine"
)

const (
	countJobs = `SELECT kind, COUNT(*), SUM(CASE WHEN due <= ? THEN 1 ELSE 0 END), SUM(CASE WHEN due <= ? THEN 1 ELSE 0 END),
		SUM(CASE WHEN created <= ? THEN 1 ELSE 0 END), SUM(CASE WHEN attempts > ? THEN 1 ELSE 0 END), MIN(due) FROM jobs WHERE shard >= 0`
	oldJobs   = `SELECT subscription, id FROM jobs WHERE shard = ? AND kind = ? AND due <= ? ORDER BY due LIMIT ?`
	forgetJob = `DELETE FROM jobs WHERE subscription = ? AND id = ? AND shard = ? AND due <= ?`
)

// Counts are the numbers of jobs of a kind.
type Counts struct {
	All     int
	Due     int           // without those that a replica holds
	Overdue int           // due for longer than was asked for
	Oldest  time.Duration // how long the first of them has been due
	Old     int           // made longer ago than was asked for
	PutOff  int           // attempted more than ManyAttempts times in vain
}

// ManyAttempts is how often a job may fail in a row before it counts as put off.
const ManyAttempts = 20

// CountJobs counts the jobs of each kind that have not ended: those that have been
// due for longer than overdue, and those that were made longer ago than old. A kind
// without any is absent.
func (r *Rows) CountJobs(ctx context.Context, overdue, old time.Duration) (map[string]Counts, error) {
	now := r.engine.Now()
	counts := map[string]Counts{}
	err := r.engine.Read(ctx).Each(func(scan engine.Scanner) error {
		kind, c, err := scanCounts(scan, now)
		counts[kind] = c
		return err
	}, countJobs+` GROUP BY kind`, countArgs(now, overdue, old)...)
	return counts, err
}

// CountJobsOf is CountJobs for one kind.
func (r *Rows) CountJobsOf(ctx context.Context, kind string, overdue, old time.Duration) (counts Counts, err error) {
	now := r.engine.Now()
	err = r.engine.Read(ctx).Each(func(scan engine.Scanner) error {
		_, counts, err = scanCounts(scan, now)
		return err
	}, countJobs+` AND kind = ? GROUP BY kind`, append(countArgs(now, overdue, old), kind)...)
	return counts, err
}

func countArgs(now time.Time, overdue, old time.Duration) []any {
	return []any{engine.Micros(now), engine.Micros(now.Add(-overdue)), engine.Micros(now.Add(-old)), ManyAttempts}
}

func scanCounts(scan engine.Scanner, now time.Time) (kind string, c Counts, err error) {
	var first int64
	err = scan(&kind, &c.All, &c.Due, &c.Overdue, &c.Old, &c.PutOff, &first)
	if c.Overdue > 0 {
		c.Oldest = now.Sub(engine.Moment(first))
	}
	return kind, c, err
}

// jobKey names a job.
type jobKey struct {
	subscription string
	id           []byte
}

// ForgetJobs deletes at most limit ended jobs whose retention is over, and returns how
// many it deleted.
func (r *Rows) ForgetJobs(ctx context.Context, limit int) (int, error) {
	from, now := r.engine.Read(ctx), engine.Micros(r.engine.Now())
	kinds, err := jobKinds(from, endedShard)
	if err != nil {
		return 0, err
	}
	var old []jobKey
	for _, kind := range kinds {
		found, err := engine.Collect(from, scanKey, oldJobs, endedShard, kind, now, engine.AtMost(limit))
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
