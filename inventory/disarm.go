package inventory

import (
	"context"
	"errors"
	"time"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// ErrShared refuses a step because a gateway is using the database.
var ErrShared = errors.New("inventory: a gateway works with the database, or did within the last 15 seconds")

// Disarmed is the work that Disarm ended in a restored database.
type Disarmed struct {
	// Jobs counts the clients' jobs that were under way, such as deletions of groups. The
	// next gateway ends them as if an operator had canceled each.
	Jobs int64 `json:"jobs"`
	// Subscriptions counts those that were Deleted but not erased. They are Disabled now.
	Subscriptions int64 `json:"subscriptions"`
}

// NotResumed has the kinds of jobs that are not resumed after a restore.
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
	forgetAllNotified = `DELETE FROM notified_endpoints`
	forgetCoverage    = `DELETE FROM coverage`
	allCovered        = `SELECT subscription FROM subscriptions WHERE covered <> 0 ORDER BY subscription`
	uncoverAll        = `UPDATE subscriptions SET covered = 0 WHERE covered <> 0`
	renewRows         = `UPDATE resources SET generation = ?`
	endFences         = `DELETE FROM fences WHERE until <= ?`
	watchNoFences     = `UPDATE fences SET kind = ? WHERE kind = ?`
	beginFeed         = `UPDATE event_numbers SET feed = ? WHERE subscription = ?`
)

// Disarm ends the work in a restored database that would do harm. The providers have
// moved on since the backup: the outcome of clients' jobs is unknown, and resuming them
// could delete or move resources that were created since. Disarm also notifies endpoints
// of all subscriptions once more, ends the feed for its readers, and removes all coverage.
// The error is ErrShared if a gateway is using the database.
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
		return d, errors.Join(t.disarmFences(now), t.endAbsenceClaims(), t.ChangeOne(beginFeed, now, ""))
	})
}

// disarmFences makes sure that nothing is deleted under a fence, because the resource may
// have been created after the backup. Until its time such a fence only keeps new resources
// from being created, like the fence of a DELETE, and no job verifies it.
func (t *tx) disarmFences(now int64) error {
	_, err := t.Exec(endFences, now)
	_, unchanged := t.Exec(watchNoFences, index.Delete, index.Put)
	return errors.Join(err, unchanged)
}

// endAbsenceClaims removes all coverage, because the store has not seen the writes after
// the copy was made (R17). New generations of the rows make GETs that began before count
// for nothing.
func (t *tx) endAbsenceClaims() error {
	covered, err := engine.Collect(t, engine.ScanOne[string], allCovered)
	if err != nil {
		return err
	}
	for _, sub := range covered {
		t.ChangesScope(sub)
	}
	generation := engine.NewID() // only compared with the generation of the same row
	_, err = t.Exec(uncoverAll)
	_, noCoverage := t.Exec(forgetCoverage)
	_, noGeneration := t.Exec(renewRows, generation[:])
	return errors.Join(err, noCoverage, noGeneration)
}

// restoreTime is the value of all time limits that Open requires; Disarm uses none of
// them.
const restoreTime = time.Minute

// OpenRestored opens a database that no gateway uses, to disarm it.
func OpenRestored(ctx context.Context, driver, dsn string) (*Store, error) {
	// Nothing is encrypted, but without a key Open would create a key file next to a
	// database file that is about to be renamed.
	return Open(ctx, Options{
		Driver: driver, DSN: dsn, Connections: 2, SendWithin: restoreTime, CallLimit: restoreTime, EncryptionKeys: [][32]byte{{}},
	})
}
