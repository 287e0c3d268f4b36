package inventory

import (
	"context"
	"errors"
	"time"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// ErrShared refuses what must be done before any gateway works with the database.
var ErrShared = errors.New("inventory: a gateway works with the database, or did within the last 15 seconds")

// Disarmed is what of a restored database is not gone on with.
type Disarmed struct {
	// Jobs are those of clients, such as deletions of groups, that were under way. The
	// next gateway ends them as if an operator had canceled each.
	Jobs int64 `json:"jobs"`
	// Subscriptions were Deleted and not yet erased. They are Disabled now.
	Subscriptions int64 `json:"subscriptions"`
}

// NotResumed names the kinds of jobs that a restored database does not go on with.
type NotResumed struct {
	Cancelled []string // as if an operator had cancelled each job
	Removed   []string
}

const (
	cancelKind = `UPDATE jobs SET state = ?, due = ?, owner = '', until = 0, attempts = 0, token = token + 1, changed = ?
		WHERE shard >= 0 AND state = ? AND kind = ?`
	dropKind          = `DELETE FROM jobs WHERE shard >= 0 AND kind = ?`
	beingDeleted      = `SELECT subscription FROM subscriptions WHERE state = ? AND erased = 0 ORDER BY subscription`
	disable           = `UPDATE subscriptions SET state = ?, version = version + 1, changed = ? WHERE subscription = ?`
	forgetAllNotified = `DELETE FROM announcements`
	forgetCoverage    = `DELETE FROM coverage`
	allCovered        = `SELECT subscription FROM subscriptions WHERE covered <> 0 ORDER BY subscription`
	uncoverAll        = `UPDATE subscriptions SET covered = 0 WHERE covered <> 0`
	renewRows         = `UPDATE resources SET generation = ?`
	endFences         = `DELETE FROM fences WHERE until <= ?`
	watchNoFences     = `UPDATE fences SET kind = ? WHERE kind = ?`
	beginFeed         = `UPDATE event_numbers SET feed = ? WHERE subscription = ?`
)

// Disarm ends in a database that was restored what would do harm, because the world has
// gone on since the backup: nobody knows how it ended what clients had under way, and
// going on with it would delete or move what was made since. Endpoints are notified of
// all subscriptions once more, readers of the feed are told that it has ended, and no
// absence counts as seen. ErrShared where a gateway is at work.
func (s *Store) Disarm(ctx context.Context, kinds NotResumed) (Disarmed, error) {
	return commit(ctx, s, engine.Flushed, engine.LockSet{Alone: true}, func(t *tx) (d Disarmed, err error) {
		now := engine.Micros(t.Now)
		replicas, err := jobrow.Replicas(t.Base())
		if err != nil {
			return d, err
		}
		if replicas > 0 {
			return d, ErrShared
		}
		for _, kind := range kinds.Cancelled {
			n, err := t.Exec(cancelKind, jobrow.Cancelling, now, now, jobrow.Waiting, kind)
			if err != nil {
				return d, err
			}
			d.Jobs += n
		}
		deleted, err := engine.Collect(t, engine.ScanOne[string], beingDeleted, Deleted)
		if err != nil {
			return d, err
		}
		for _, sub := range deleted {
			t.ChangesScope(sub)
			if err := t.ChangeOne(disable, Disabled, now, sub); err != nil {
				return d, err
			}
		}
		d.Subscriptions = int64(len(deleted))
		for _, kind := range kinds.Removed {
			if _, err := t.Exec(dropKind, kind); err != nil {
				return d, err
			}
		}
		if _, err := t.Exec(forgetAllNotified); err != nil {
			return d, err
		}
		return d, errors.Join(t.disarmFences(now), t.denyNothing(), t.ChangeOne(beginFeed, now, ""))
	})
}

// disarmFences has nothing deleted that stands under a fence: by now it may have been
// created after the fence. A fence keeps others from being created until its time, as that
// of a DELETE does, which nobody asks about.
func (t *tx) disarmFences(now int64) error {
	_, err := t.Exec(endFences, now)
	_, unchanged := t.Exec(watchNoFences, index.Delete, index.Put)
	return errors.Join(err, unchanged)
}

// denyNothing ends all absence that the store claims: it has seen nothing of what was
// written after the copy was made (R17). What was asked before proves nothing of a row.
func (t *tx) denyNothing() error {
	covered, err := engine.Collect(t, engine.ScanOne[string], allCovered)
	if err != nil {
		return err
	}
	for _, sub := range covered {
		t.ChangesScope(sub)
	}
	generation := engine.NewID() // compared with its own row's alone
	_, err = t.Exec(uncoverAll)
	_, noCoverage := t.Exec(forgetCoverage)
	_, noGeneration := t.Exec(renewRows, generation[:])
	return errors.Join(err, noCoverage, noGeneration)
}

// restoreTime bounds nothing but the time limits that a store must have to be opened.
const restoreTime = time.Minute

// OpenRestored opens a database that no gateway works with, to disarm it.
func OpenRestored(ctx context.Context, driver, dsn string) (*Store, error) {
	// Nothing is encrypted meanwhile: any key keeps one from being made beside a file that
	// is about to get another name.
	return Open(ctx, Options{
		Driver: driver, DSN: dsn, Connections: 2, SendWithin: restoreTime, CallLimit: restoreTime, EncryptionKeys: [][32]byte{{}},
	})
}
