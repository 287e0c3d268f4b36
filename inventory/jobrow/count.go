package jobrow

import (
	"context"
	"time"

	"portico/inventory/engine"
)

const (
	countJobs = `SELECT COUNT(*) FROM jobs WHERE shard = ? AND kind = ?`
	countDue  = `SELECT COUNT(*), COALESCE(MIN(due), 0) FROM jobs WHERE shard = ? AND kind = ? AND due <= ?`
	countLong = `SELECT COALESCE(SUM(CASE WHEN created <= ? THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN attempts > ? THEN 1 ELSE 0 END), 0)
		FROM jobs WHERE shard = ? AND kind = ?`
	oldJobs   = `SELECT subscription, id FROM jobs WHERE shard = ? AND kind = ? AND due <= ? ORDER BY due LIMIT ?`
	forgetJob = `DELETE FROM jobs WHERE subscription = ? AND id = ? AND shard = ? AND due <= ?`
)

// Counts is how much work of a kind there is.
type Counts struct {
	All     int
	Due     int           // not those that somebody works on
	Overdue int           // due for longer than was asked for
	Oldest  time.Duration // how long the first of them has been due
	Old     int           // made longer ago than was asked for
	PutOff  int           // attempted more than ManyAttempts times in vain
}

// ManyAttempts is how often work may fail in a row before it counts as put off.
const ManyAttempts = 20

// CountJobs counts the jobs of a kind that have not ended: those that have been
// due for longer than overdue, and those that were made longer ago than old.
func (r *Rows) CountJobs(ctx context.Context, kind string, overdue, old time.Duration) (Counts, error) {
	var counts Counts
	from, now := r.engine.Read(ctx), r.engine.Now()
	first := int64(0)
	for shard := range shards {
		var all, ready, late, aged, vain int
		var due int64
		if err := from.One(countJobs, shard, kind)(&all); err != nil {
			return Counts{}, err
		}
		if all == 0 {
			continue
		}
		if err := from.One(countDue, shard, kind, engine.Micros(now))(&ready, &due); err != nil {
			return Counts{}, err
		}
		if ready > 0 {
			if err := from.One(countDue, shard, kind, engine.Micros(now.Add(-overdue)))(&late, &due); err != nil {
				return Counts{}, err
			}
		}
		if err := from.One(countLong, engine.Micros(now.Add(-old)), ManyAttempts, shard, kind)(&aged, &vain); err != nil {
			return Counts{}, err
		}
		if late > 0 && (first == 0 || due < first) {
			first = due
		}
		counts.All, counts.Due = counts.All+all, counts.Due+ready
		counts.Overdue, counts.Old = counts.Overdue+late, counts.Old+aged
		counts.PutOff += vain
	}
	if first != 0 {
		counts.Oldest = now.Sub(engine.Moment(first))
	}
	return counts, nil
}

// jobKey names a job.
type jobKey struct {
	subscription string
	id           []byte
}

// ForgetJobs deletes at most limit jobs that ended longer ago than
// they are kept for, and returns how many it deleted.
func (r *Rows) ForgetJobs(ctx context.Context, limit int) (int, error) {
	from, now := r.engine.Read(ctx), engine.Micros(r.engine.Now())
	kinds, err := jobKinds(from, endedShard)
	if err != nil {
		return 0, err
	}
	var old []jobKey
	for _, kind := range kinds {
		found, err := engine.Collect(from, func(scan engine.Scanner) (k jobKey, err error) {
			err = scan(&k.subscription, &k.id)
			return k, err
		}, oldJobs, endedShard, kind, now, engine.AtMost(limit))
		if err != nil {
			return 0, err
		}
		old = append(old, found...)
	}
	old = old[:min(len(old), max(limit, 0))]
	return engine.InPieces(ctx, r.engine, old, func(u engine.Unit, piece []jobKey) (int, error) {
		t, deleted := u.Base(), 0
		for _, k := range piece {
			n, err := t.Exec(forgetJob, k.subscription, k.id, endedShard, now)
			if err != nil {
				return 0, err
			}
			deleted += int(n)
		}
		return deleted, nil
	})
}
