package jobrow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/tracing/spans"
)

// The column shard separates open jobs, which are claimed when they are due, from ended
// ones, which are forgotten when they are due.
const (
	openShard  = 0
	endedShard = -1
)

const (
	stored = `subscription, id, kind, subject, region, incarnation, state, due, owner, token, until, attempts, payload, created, changed, trace`
	// Columns are the columns that Scan reads: the stored ones, and the newest step.
	Columns = stored + `, substr(history, 1, 1500)`

	// A new job replaces an ended one of the same ID.
	insertJob = `INSERT INTO jobs (` + stored + `, shard, history) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, id) DO `
	addJob = insertJob + replaceJob + ` WHERE jobs.shard < 0`
	// replaceJob revokes the lease of the job's holder.
	replaceJob = `UPDATE SET kind = excluded.kind, subject = excluded.subject, region = excluded.region, incarnation = excluded.incarnation,
		state = excluded.state, due = excluded.due, owner = excluded.owner, token = jobs.token + 1, until = excluded.until,
		attempts = excluded.attempts, payload = excluded.payload, created = excluded.created, changed = excluded.changed,
		trace = excluded.trace, shard = excluded.shard, history = excluded.history`
	putJob     = insertJob + replaceJob
	selectJob  = `SELECT ` + Columns + ` FROM jobs WHERE subscription = ? AND id = ?`
	openJobsOf = `SELECT ` + Columns + ` FROM jobs WHERE subscription = ? AND kind = ? AND shard >= 0 ORDER BY id LIMIT ?`
	// listJobs lists open jobs by their creation, and then ended ones by their end. It has no
	// index, as each would cost every write of a job; only operators list.
	listJobs  = `SELECT ` + Columns + ` FROM jobs WHERE (` + listOrder + `) > (?, ?, ?, ?)`
	listOrder = `-shard, CASE WHEN shard >= 0 THEN created ELSE -changed END, subscription, id`
	// runJobSooner does not change a job that a replica holds, nor an ended one, which is
	// forgotten at its due time.
	runJobSooner = `UPDATE jobs SET due = ? WHERE subscription = ? AND id = ? AND shard >= 0 AND owner = '' AND due > ?`
	// triggerJob does not change a job that a replica holds.
	triggerJob       = `UPDATE jobs SET due = ?, attempts = 0 WHERE subscription = ? AND id = ? AND shard >= 0 AND owner = ''`
	forgetEndedJobAt = `UPDATE jobs SET due = ? WHERE subscription = ? AND id = ? AND shard = ?`
	deleteJob        = `DELETE FROM jobs WHERE subscription = ? AND id = ?`
	// revokeJob revokes the lease of the job's holder.
	revokeJob = `UPDATE jobs SET state = ?, due = ?, owner = '', until = 0, attempts = 0, token = token + 1, changed = ?, ` + addStep + `
		WHERE subscription = ? AND id = ?`
)

// Scan reads a row of Columns.
func Scan(scan engine.Scanner) (Job, error) {
	var (
		j                            Job
		id, incarnation              []byte
		due, until, created, changed int64
	)
	err := scan(&j.Subscription, &id, &j.Kind, &j.Subject, &j.Region, &incarnation, &j.State, &due, &j.Owner, &j.Token, &until,
		&j.Attempts, &j.Payload, &created, &changed, &j.Trace, &j.newest)
	copy(j.ID[:], id)
	copy(j.Incarnation[:], incarnation)
	j.Due, j.Until, j.Created, j.Changed = engine.TimeOf(due), engine.TimeOf(until), engine.TimeOf(created), engine.TimeOf(changed)
	return j, err
}

// insertArgs returns the arguments of the statements that begin with insertJob.
func (j Job) insertArgs(t *engine.Tx) []any {
	now := engine.Micros(t.Now)
	return []any{
		j.Subscription, j.ID[:], j.Kind, j.Subject, j.Region, j.Incarnation[:], Waiting, engine.Micros(j.Due),
		"", 0, 0, 0, j.Payload, now, now, spans.FromContext(t.Context).Parent(), openShard, "",
	}
}

// Add creates a job, unless there is an open one of the same ID.
func (j Job) Add(t *engine.Tx) (added bool, err error) {
	n, err := t.Exec(addJob, j.insertArgs(t)...)
	return n > 0, err
}

// Put creates a job. If it replaces one of the same ID, that job's holder loses the lease.
func (j Job) Put(t *engine.Tx) error { return t.Later(putJob, j.insertArgs(t)...) }

// RunSooner makes a job due no later than due, unless a replica holds it.
func RunSooner(t *engine.Tx, sub string, id [16]byte, due time.Time) error {
	at := engine.Micros(due)
	return t.Later(runJobSooner, at, sub, id[:], at)
}

// ForgetAt sets when an ended job is forgotten.
func ForgetAt(t *engine.Tx, sub string, id [16]byte, at time.Time) error {
	return t.Later(forgetEndedJobAt, engine.Micros(at), sub, id[:], endedShard)
}

// Delete removes a job.
func Delete(t *engine.Tx, sub string, id [16]byte) error { return t.Later(deleteJob, sub, id[:]) }

// Load returns a job, or engine.ErrNotFound. sub is folded.
func Load(from engine.Source, sub string, id [16]byte) (Job, error) {
	return load(from, selectJob, sub, id)
}

// Lock returns a job, like Load, and locks its row.
func Lock(t *engine.Tx, sub string, id [16]byte) (Job, error) {
	return load(t, selectJob+engine.ForUpdate, sub, id)
}

func load(from engine.Source, statement, sub string, id [16]byte) (Job, error) {
	j, err := Scan(from.One(statement, sub, id[:]))
	return j, engine.OrNotFound(err)
}

// Jobs stores jobs.
type Jobs struct {
	engine *engine.Engine
	// retention is how long the records of ended jobs are kept.
	retention time.Duration
	// shared: several replicas may work with the database.
	shared bool
}

// New returns the jobs of a database. records is how long ended jobs are kept; shared means
// that several replicas may use the database.
func New(e *engine.Engine, records time.Duration, shared bool) *Jobs {
	return &Jobs{engine: e, retention: records, shared: shared}
}

// ownLocks returns the lock set of a write that changes only records of its own.
func ownLocks(sub string) engine.LockSet {
	return engine.LockSet{Partition: sub, ChangesOwnOnly: true}
}

func (r *Jobs) write(ctx context.Context, d engine.Durability, locks engine.LockSet, run func(*engine.Tx) error) error {
	return r.engine.Do(ctx, &engine.Write{
		Locks: locks, Durability: d,
		Run: func(u engine.Unit) error { return run(u.Base()) },
	})
}

// Locks returns the lock set of a write that locks a job. It has the place of the job's
// subject in the order of locks; the subject's key contains its group.
func Locks(sub, subject string) engine.LockSet {
	key := arm.Fold(subject)
	_, group := arm.GroupOf(key)
	return engine.LockSet{Partition: arm.Fold(sub), Place: [2]string{group, key}, ChangesOwnOnly: true}
}

// Add durably creates a job, unless there is an open one of the same ID. added reports
// whether it did. A random ID or Incarnation replaces a zero one, the present a zero Due;
// the store sets State, Owner, Token, Until, Attempts and the other times.
func (r *Jobs) Add(ctx context.Context, j Job) (added bool, err error) {
	j.Subscription = arm.Fold(j.Subscription)
	if j.ID == [16]byte{} {
		j.ID = engine.NewID()
	}
	if j.Incarnation == [16]byte{} {
		j.Incarnation = engine.NewID()
	}
	return engine.Commit(ctx, r.engine, engine.Flushed, Locks(j.Subscription, j.Subject), func(u engine.Unit) (bool, error) {
		fresh, t := j, u.Base()
		if fresh.Due.IsZero() {
			fresh.Due = t.Now
		}
		return fresh.Add(t)
	})
}

// Get returns a job, or engine.ErrNotFound.
func (r *Jobs) Get(ctx context.Context, sub string, id [16]byte) (Job, error) {
	return Load(r.engine.Read(ctx), arm.Fold(sub), id)
}

// Query selects jobs: the open ones, the oldest first, and then the ended ones, the newest
// first. A job that ends between two pages is listed once more; none is left out.
type Query struct {
	Kind  string // empty: every kind
	State string // a key of [Filters]; empty: every state
	After string // the Place of the last job of the previous page; empty for the first page
	Limit int    // 0: all
}

// Filters are the states that a Query can select, each with its condition.
var Filters = map[string]string{
	"open": `shard >= 0`, "running": `owner <> ''`, "waiting": `shard >= 0 AND owner = '' AND state = 0`, "cancelling": `state = 1`,
	"ended": `shard < 0`, "done": `state = 2`, "failed": `state = 3`, "cancelled": `state = 4`,
}

// ErrNoPlace refuses a Query whose After is no Place.
var ErrNoPlace = errors.New("inventory: no place in the list of jobs")

// Place returns the job's place in lists. An open job keeps it until its end.
func (j *Job) Place() string {
	if j.State.Ended() {
		return fmt.Sprintf("1 %d %s", -engine.Micros(j.Changed), j.Name())
	}
	return fmt.Sprintf("0 %d %s", engine.Micros(j.Created), j.Name())
}

// List lists jobs.
func (r *Jobs) List(ctx context.Context, q Query) ([]Job, error) {
	var ended, at int64 = -1, 0
	sub, id := "", [16]byte{}
	if q.After != "" {
		name := ""
		_, err := fmt.Sscan(q.After, &ended, &at, &name)
		if err == nil {
			sub, id, err = ParseName(name)
		}
		if err != nil {
			return nil, ErrNoPlace
		}
	}
	statement, args := listJobs, []any{ended, at, sub, id[:]}
	if q.Kind != "" {
		statement, args = statement+` AND kind = ?`, append(args, q.Kind)
	}
	if q.State != "" {
		statement += ` AND ` + Filters[q.State]
	}
	return engine.Collect(r.engine.Read(ctx), Scan, statement+` ORDER BY `+listOrder+` LIMIT ?`, append(args, engine.LimitArg(q.Limit))...)
}

// ListKind lists at most limit open jobs of a kind in a subscription, in the order of their
// IDs.
func (r *Jobs) ListKind(ctx context.Context, sub, kind string, limit int) ([]Job, error) {
	return engine.Collect(r.engine.Read(ctx), Scan, openJobsOf, arm.Fold(sub), kind, engine.LimitArg(limit))
}

// Trigger makes a job due at once and resets its attempts. If a replica holds the job,
// it returns true and changes nothing. The error is ErrNotFound if the job does not exist,
// and ErrEnded if it has ended.
func (r *Jobs) Trigger(ctx context.Context, sub string, id [16]byte) (held bool, err error) {
	sub = arm.Fold(sub)
	return engine.Commit(ctx, r.engine, engine.Flushed, engine.LockSet{Partition: sub, ChangesOwnOnly: true}, func(u engine.Unit) (bool, error) {
		t := u.Base()
		j, err := Lock(t, sub, id)
		switch {
		case err != nil:
			return false, err
		case j.State.Ended():
			return false, ErrEnded
		case j.Owner != "":
			return true, nil
		}
		return false, t.Later(triggerJob, engine.Micros(t.Now), sub, id[:])
	})
}

// Cancel makes a job Cancelling and due, and revokes its holder's lease. canceled is false
// if the job was Cancelling before. The error is ErrNotFound if the job does not exist, and
// ErrEnded if it has ended.
func Cancel(t *engine.Tx, sub string, id [16]byte) (j Job, canceled bool, err error) {
	j, err = Lock(t, sub, id)
	switch {
	case err != nil || j.State == Cancelling:
		return j, false, err
	case j.State.Ended():
		return j, false, ErrEnded
	}
	err = j.revoke(t, Cancelling, HistoryEntry{Outcome: outcomeCancelled})
	return j, true, err
}

// Revoke makes a job due and revokes its holder's lease, because an operator has changed
// the object of its work. did describes the change in a sentence. The caller must have
// locked the job.
func (j *Job) Revoke(t *engine.Tx, did string) error {
	return j.revoke(t, j.State, HistoryEntry{Outcome: outcomeChanged, Did: did})
}

func (j *Job) revoke(t *engine.Tx, state State, why HistoryEntry) error {
	now := engine.Micros(t.Now)
	return t.Later(revokeJob, slices.Concat([]any{state, now, now}, why.after("", t.Now), []any{j.Subscription, j.ID[:]})...)
}
