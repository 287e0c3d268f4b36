package inventory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
)

// JobState is where a piece of durable work stands. The numbers are stored.
type JobState uint8

// The states of a job. The last three are ends.
const (
	// JobWaiting: also while it is being worked on, by Owner until Until.
	JobWaiting JobState = iota
	// JobCancelling: its next attempt has to undo or end it.
	JobCancelling
	JobDone
	JobFailed
	JobCancelled
)

var jobStates = [...]string{"Waiting", "Cancelling", "Done", "Failed", "Cancelled"}

func (s JobState) String() string { return index.NameOf(jobStates[:], int(s)) }

// Ended reports whether nothing more will be done.
func (s JobState) Ended() bool { return s >= JobDone }

// Job is a piece of work that outlives the process that began it. Any replica
// may take it, one at a time: whoever claimed it last holds it, by its token.
type Job struct {
	Subscription string // folded; "" for work that concerns all
	ID           [16]byte
	Kind         string // "verify", "follow", "sweep", …
	Subject      string // what it works on: a resource's key, a subscription, …
	// Region is the one whose answers the work depends on; empty: no single one.
	Region string
	// Incarnation is random and new with every job, also with one that is made
	// again under the ID of an earlier one.
	Incarnation [16]byte
	State       JobState
	Due         time.Time // not to be begun before; when it was claimed: the end of the lease
	Owner       string    // who holds it
	Token       int64     // raised by every claim; every update names it
	Until       time.Time // end of the lease
	// Attempts counts the claims since work on it last went well, which is for
	// its holder to tell DeferJob.
	Attempts int64
	// Payload is JSON of the kind's own. Its member progress is shown to
	// operators, nothing else of it.
	Payload string
	Created time.Time
	Changed time.Time // by a claim, progress, or an end
}

var (
	// ErrDeposed refuses an update by whoever no longer holds the job: another
	// has claimed it, it was cancelled, made anew, or has ended.
	ErrDeposed = errors.New("inventory: the job is held by another")

	// ErrJobEnded refuses to cancel a job that has ended.
	ErrJobEnded = errors.New("inventory: the job has ended")
)

// JobID is the ID of the one job of a kind on a subject.
func JobID(kind, subject string) (id [16]byte) {
	sum := sha256.Sum256([]byte(kind + "\x00" + subject))
	copy(id[:], sum[:])
	return id
}

// Name is how a job is called outside: its subscription, or "-", and its ID. It
// may be asked for while the job's payload is saved.
func (j *Job) Name() string {
	sub := j.Subscription
	if sub == "" {
		sub = "-"
	}
	return sub + "." + hex.EncodeToString(j.ID[:])
}

// PayloadOf is what a kind keeps in a job as that stores it. All of it has a JSON
// form.
func PayloadOf(kept any) string {
	text, err := json.Marshal(kept)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// Read reads the payload into what its kind keeps there.
func (j Job) Read(into any) error {
	if err := json.Unmarshal([]byte(j.Payload), into); err != nil {
		return fmt.Errorf("inventory: the payload of %s: %w", j.Name(), err)
	}
	return nil
}

// ParseJobName reads what Job.Name made.
func ParseJobName(name string) (sub string, id [16]byte, err error) {
	sub, text, found := strings.Cut(name, ".")
	raw, err := hex.DecodeString(text)
	if !found || err != nil || len(raw) != len(id) || sub == "" {
		return "", id, fmt.Errorf("inventory: %q is no name of a job", name)
	}
	copy(id[:], raw)
	if sub == "-" {
		sub = ""
	}
	return arm.Fold(sub), id, nil
}

// Claims look for what is due shard by shard, so that an engine of several
// machines can spread them. What has ended lies in a shard of its own, due when
// it is to be forgotten.
const (
	jobShards  = 4
	endedShard = -1
)

func shardOf(id [16]byte) int64 { return int64(id[0] % jobShards) }

const (
	jobColumns = `subscription, id, kind, subject, region, incarnation, state, due, owner, token, until, attempts, payload, created, changed`

	// An ended job gives way to a new one of its ID.
	insertJob = `INSERT INTO jobs (` + jobColumns + `, shard) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, id) DO `
	addJob = insertJob + replaceJob + ` WHERE jobs.shard < 0`
	// replaceJob takes the job from its holder.
	replaceJob = `UPDATE SET kind = excluded.kind, subject = excluded.subject, region = excluded.region, incarnation = excluded.incarnation,
		state = excluded.state, due = excluded.due, owner = excluded.owner, token = jobs.token + 1, until = excluded.until,
		attempts = excluded.attempts, payload = excluded.payload, created = excluded.created, changed = excluded.changed,
		shard = excluded.shard`
	selectJob = `SELECT ` + jobColumns + ` FROM jobs WHERE subscription = ? AND id = ?`
	lockJob   = selectJob + engine.ForUpdate
	listJobs  = `SELECT ` + jobColumns + ` FROM jobs WHERE (subscription, id) > (?, ?)`
	cancelJob = `UPDATE jobs SET state = ?, due = ?, owner = '', until = 0, attempts = 0, token = token + 1, changed = ?
		WHERE subscription = ? AND id = ?`
)

func scanJob(scan engine.Scanner) (Job, error) {
	var (
		j                            Job
		id, incarnation              []byte
		due, until, created, changed int64
	)
	err := scan(&j.Subscription, &id, &j.Kind, &j.Subject, &j.Region, &incarnation, &j.State, &due, &j.Owner, &j.Token, &until,
		&j.Attempts, &j.Payload, &created, &changed)
	copy(j.ID[:], id)
	copy(j.Incarnation[:], incarnation)
	j.Due, j.Until, j.Created, j.Changed = engine.Moment(due), engine.Moment(until), engine.Moment(created), engine.Moment(changed)
	return j, err
}

// insertion is the arguments of the statements that begin with insertJob, for a
// job that nobody holds yet.
func (j Job) insertion(now time.Time) []any {
	return []any{
		j.Subscription, j.ID[:], j.Kind, j.Subject, j.Region, j.Incarnation[:], JobWaiting, engine.Micros(j.Due),
		"", 0, 0, 0, j.Payload, engine.Micros(now), engine.Micros(now), shardOf(j.ID),
	}
}

// AddJob makes a job, unless there is one of its ID that has not ended; it
// tells which, and is durable. A zero ID is replaced by a random one, a zero
// Due by the present, and so is a zero Incarnation by a new one; State, Owner,
// Token, Until, Attempts and the times are the store's.
func (s *Store) AddJob(ctx context.Context, j Job) (added bool, err error) {
	j.Subscription = arm.Fold(j.Subscription)
	if j.ID == [16]byte{} {
		j.ID = newID()
	}
	if j.Incarnation == [16]byte{} {
		j.Incarnation = newID()
	}
	return commit(ctx, s, engine.Flushed, jobLocks(j.Subscription, j.Subject), func(t *tx) (bool, error) {
		fresh := j
		if fresh.Due.IsZero() {
			fresh.Due = t.Now
		}
		n, err := t.Exec(addJob, fresh.insertion(t.Now)...)
		return n > 0, err
	})
}

// Job returns one job, or ErrNotFound.
func (s *Store) Job(ctx context.Context, sub string, id [16]byte) (Job, error) {
	return loadJob(s.read(ctx), selectJob, arm.Fold(sub), id)
}

func loadJob(from engine.Source, statement, sub string, id [16]byte) (Job, error) {
	j, err := scanJob(from.One(statement, sub, id[:]))
	if errors.Is(err, sql.ErrNoRows) {
		return Job{}, ErrNotFound
	}
	return j, err
}

// JobQuery selects jobs for operators, in the order of subscription and ID.
type JobQuery struct {
	Kind string // empty: every kind
	// The job before the first one wanted; neither: from the beginning.
	AfterSubscription string
	AfterID           [16]byte
	Limit             int // 0: all
}

// Jobs lists jobs, those that have ended too.
func (s *Store) Jobs(ctx context.Context, q JobQuery) ([]Job, error) {
	statement, args := listJobs, []any{arm.Fold(q.AfterSubscription), q.AfterID[:]}
	if q.Kind != "" {
		statement, args = statement+` AND kind = ?`, append(args, q.Kind)
	}
	return engine.Collect(s.read(ctx), scanJob, statement+` ORDER BY subscription, id LIMIT ?`, append(args, atMost(q.Limit))...)
}

// CancelJob has a job end early: it becomes JobCancelling and due, and whoever
// works on it is deposed. What that means is for its kind. ErrNotFound when
// there is no such job, ErrJobEnded when it is over; cancelling twice is once.
func (s *Store) CancelJob(ctx context.Context, sub string, id [16]byte) error {
	return s.write(ctx, engine.Flushed, recordLocks(sub), func(t *tx) error {
		j, err := loadJob(t, lockJob, arm.Fold(sub), id)
		switch {
		case err != nil || j.State == JobCancelling:
			return err
		case j.State.Ended():
			return ErrJobEnded
		}
		_, err = t.Exec(cancelJob, JobCancelling, engine.Micros(t.Now), engine.Micros(t.Now), j.Subscription, j.ID[:])
		return err
	})
}
