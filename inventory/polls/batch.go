package polls

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// BatchJob is the kind of the job that runs the requests of a batch in the background. It
// belongs to no subscription.
const BatchJob = "batch"

// ErrTooManyBatches refuses another batch of a caller who has too many unfinished ones.
var ErrTooManyBatches = errors.New("inventory: the caller has too many batches under way")

// Batches stores batches of requests, each with the job that runs it. Requests and answers
// are encrypted. A request that changes something is recorded as started before it is sent,
// so that the next holder of the job never sends it again. Until a batch is deleted, its
// bytes count against two quotas, its caller's and the total.
type Batches struct{ database *transaction.Database }

// NewBatches returns the batches of a database.
func NewBatches(d *transaction.Database) *Batches { return &Batches{database: d} }

// Batch is the record of a batch.
type Batch struct {
	Until time.Time // when the record expires
	// Content is everything that is needed to run the batch; empty once it has ended.
	Content []byte
	// Parts are the recorded requests by their number.
	Parts map[int]Part
}

// Part is the progress of one request of a batch. From Started on it may have been
// sent; from Ended on it has an answer of Size bytes. For a request that changes nothing,
// Started is recorded only together with the answer.
type Part struct {
	Started, Ended time.Time
	Answered       bool
	Size           int64
}

// BatchLimits bounds the stored batches; 0 means no bound.
type BatchLimits struct {
	Open        int // batches of one caller that have not ended
	Stored      int // bytes of one caller's batches
	TotalStored int // bytes of all batches
	Answer      int // bytes that must be free for an answer
}

// withoutAnswer returns a limit minus the bytes that must be free for an answer.
func (l BatchLimits) withoutAnswer(limit int) int {
	if limit <= 0 {
		return 0
	}
	return max(1, limit-l.Answer)
}

func batchCaller(tenant, object string) string { return tenant + " " + object }

// chargeBatch adds bytes, which may be negative, to the usage of a caller and to the total.
func chargeBatch(t *transaction.Tx, caller string, bytes int64, own, all int) error {
	for _, c := range [...]struct {
		group string
		limit int
	}{{caller, own}, {"", all}} {
		u := transaction.UsageOf("", c.group, transaction.BatchBytes)
		var err error
		if bytes < 0 {
			err = t.LowerUsage(u, -bytes)
		} else {
			err = t.RaiseUsage(u, bytes, c.limit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	insertRequestBatch = `INSERT INTO request_batches (subscription, job, caller, content, bytes, token, ended, until) VALUES (?, ?, ?, ?, ?, ?, 0, ?)
		ON CONFLICT (subscription, job) DO NOTHING`
	countOpenBatches   = `SELECT COUNT(*) FROM request_batches WHERE subscription = ? AND caller = ? AND ended = 0`
	selectRequestBatch = `SELECT content, until FROM request_batches WHERE subscription = ? AND job = ?`
	// bytes is the number that the batch's caller is charged for.
	lockRequestBatch   = `SELECT caller, token, bytes, LENGTH(content), ended, until FROM request_batches WHERE subscription = ? AND job = ?` + engine.ForUpdate
	growRequestBatch   = `UPDATE request_batches SET bytes = bytes + ? WHERE subscription = ? AND job = ?`
	endRequestBatch    = `UPDATE request_batches SET content = ?, bytes = bytes - ?, ended = ?, until = ? WHERE subscription = ? AND job = ?`
	shortenBatch       = `UPDATE request_batches SET until = ? WHERE subscription = ? AND job = ?`
	shortenOperation   = `UPDATE operations SET until = ? WHERE subscription = ? AND token = ?`
	expiredBatches     = `SELECT subscription, job, bytes FROM request_batches WHERE until <= ? ORDER BY until LIMIT ?`
	deleteRequestBatch = `DELETE FROM request_batches WHERE subscription = ? AND job = ? AND until <= ?`

	partColumns = `subscription, job, part, started, ended, size, answer`
	beginPart   = `INSERT INTO request_parts (` + partColumns + `) VALUES (?, ?, ?, ?, 0, 0, ?)
		ON CONFLICT (subscription, job, part) DO NOTHING`
	// The first answer stays.
	endPart = `INSERT INTO request_parts (` + partColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, job, part) DO UPDATE
		SET ended = excluded.ended, size = excluded.size, answer = excluded.answer WHERE request_parts.ended = 0`
	listParts   = `SELECT part, started, ended, size FROM request_parts WHERE subscription = ? AND job = ?`
	selectPart  = `SELECT answer FROM request_parts WHERE subscription = ? AND job = ? AND part = ? AND ended > 0`
	deleteParts = `DELETE FROM request_parts WHERE subscription = ? AND job = ?`
)

// partContext returns the place that encryption binds an answer to, or the batch's
// content.
func partContext(job [16]byte, part int) []byte {
	return binary.BigEndian.AppendUint64(job[:], uint64(int64(part)))
}

// contentPart denotes the batch's content in place of a part's number.
const contentPart = -1

// Begin durably records a batch, the job that runs it, and the caller's operation. The batch
// expires with the operation. The error is ErrTooManyBatches, or *transaction.QuotaError if
// there is no room for the content and one answer.
func (b *Batches) Begin(ctx context.Context, content []byte, o Operation, limits BatchLimits) (jobrow.Job, error) {
	job := jobrow.Job{ID: engine.NewID(), Kind: BatchJob, Incarnation: engine.NewID(), Payload: "{}"}
	encrypted, err := b.database.Cipher.Encrypt(ctx, partContext(job.ID, contentPart), content)
	if err != nil {
		return job, fmt.Errorf("encrypt the content of a batch: %w", err)
	}
	caller := batchCaller(o.TenantID, o.ObjectID)
	return job, b.database.Write(ctx, engine.Flushed, transaction.RecordLocks(""), func(t *transaction.Tx) error {
		var open int
		if err := t.One(countOpenBatches, "", caller)(&open); err != nil {
			return fmt.Errorf("count the batches of a caller: %w", err)
		}
		if limits.Open > 0 && open >= limits.Open {
			return ErrTooManyBatches
		}
		if err := chargeBatch(t, caller, int64(len(encrypted)), limits.withoutAnswer(limits.Stored), limits.withoutAnswer(limits.TotalStored)); err != nil {
			return err
		}
		if _, err := t.Exec(insertRequestBatch, "", job.ID[:], caller, encrypted, len(encrypted), o.Token, engine.Micros(o.Until)); err != nil {
			return fmt.Errorf("insert a batch: %w", err)
		}
		due := job
		due.Due = t.Now
		if _, err := due.Add(t.Tx); err != nil {
			return err
		}
		operation := o
		operation.Subscription, operation.Follow = "", job.ID
		return operation.Put(t)
	})
}

// Batch returns the batch of a job, or ErrNotFound.
func (b *Batches) Batch(ctx context.Context, job [16]byte) (found Batch, err error) {
	from := b.database.Read(ctx)
	var until int64
	err = from.One(selectRequestBatch, "", job[:])(&found.Content, &until)
	found.Until = engine.TimeOf(until)
	if err != nil {
		return found, engine.OrNotFound(err)
	}
	if len(found.Content) > 0 {
		if found.Content, err = b.database.Cipher.Decrypt(ctx, partContext(job, contentPart), found.Content); err != nil {
			return found, fmt.Errorf("decrypt the content of a batch: %w", err)
		}
	}
	found.Parts = map[int]Part{}
	return found, from.Each(func(scan engine.Scanner) error {
		var (
			number               int
			p                    Part
			started, ended, size int64
		)
		if err := scan(&number, &started, &ended, &size); err != nil {
			return err
		}
		p.Started, p.Ended, p.Answered, p.Size = engine.TimeOf(started), engine.TimeOf(ended), ended > 0, size
		found.Parts[number] = p
		return nil
	}, listParts, "", job[:])
}

// BeginPart durably records that a request of a batch may have been sent from now on.
// It returns true only once for each request, and only that caller may send the request.
// The error is jobrow.ErrLeaseLost if the caller no longer holds the job.
func (b *Batches) BeginPart(ctx context.Context, j jobrow.Job, number int) (first bool, err error) {
	return transaction.Commit(ctx, b.database, engine.Flushed, transaction.RecordLocks(""), func(t *transaction.Tx) (bool, error) {
		if err := j.CheckLease(t.Tx); err != nil {
			return false, err
		}
		n, err := t.Exec(beginPart, "", j.ID[:], number, engine.Micros(t.Now), []byte{})
		return n == 1, err
	})
}

// EndPart durably records the answer to a request of a batch, unless the batch has ended.
// The first answer stays, even if its caller has lost the job's lease meanwhile.
func (b *Batches) EndPart(ctx context.Context, job [16]byte, number int, answer []byte) error {
	encrypted, err := b.database.Cipher.Encrypt(ctx, partContext(job, number), answer)
	if err != nil {
		return fmt.Errorf("encrypt an answer of a batch: %w", err)
	}
	return b.database.Write(ctx, engine.Flushed, transaction.RecordLocks(""), func(t *transaction.Tx) error {
		batch, err := loadBatch(t, "", job[:])
		if errors.Is(err, sql.ErrNoRows) || err == nil && batch.ended > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		now := engine.Micros(t.Now)
		n, err := t.Exec(endPart, "", job[:], number, now, now, len(answer), encrypted)
		if err != nil || n == 0 {
			return err
		}
		if err := t.Later(growRequestBatch, len(encrypted), "", job[:]); err != nil {
			return err
		}
		return chargeBatch(t, batch.caller, int64(len(encrypted)), 0, 0)
	})
}

// storedBatch holds the columns of a batch that a transaction needs.
type storedBatch struct {
	caller, token         string
	bytes, content, ended int64
	until                 int64
}

func loadBatch(t *transaction.Tx, sub string, job []byte) (b storedBatch, err error) {
	err = t.One(lockRequestBatch, sub, job)(&b.caller, &b.token, &b.bytes, &b.content, &b.ended, &b.until)
	return b, err
}

// Room returns how many bytes may still be stored for a caller's batches, and
// for all batches.
func (b *Batches) Room(ctx context.Context, tenant, object string, limits BatchLimits) (own, all int64, err error) {
	from := b.database.Read(ctx)
	room := func(group string, limit int) (int64, error) {
		n, err := transaction.UsageOf("", group, transaction.BatchBytes).Read(from)
		return engine.LimitArg(limit) - int64(n), err
	}
	if own, err = room(batchCaller(tenant, object), limits.Stored); err == nil {
		all, err = room("", limits.TotalStored)
	}
	return own, all, err
}

// Answer returns the answer to a request of a batch, or ErrNotFound.
func (b *Batches) Answer(ctx context.Context, job [16]byte, number int) ([]byte, error) {
	var encrypted []byte
	err := b.database.Read(ctx).One(selectPart, "", job[:], number)(&encrypted)
	if err != nil {
		return nil, engine.OrNotFound(err)
	}
	return b.database.Cipher.Decrypt(ctx, partContext(job, number), encrypted)
}

// End durably ends a batch and its job. It deletes the content, and keeps the answers,
// the job and the operation for the given time. The error is jobrow.ErrLeaseLost if the
// caller no longer holds the job.
func (b *Batches) End(ctx context.Context, j jobrow.Job, state jobrow.State, payload string, kept time.Duration) error {
	return b.database.Write(ctx, engine.Flushed, transaction.RecordLocks(""), func(t *transaction.Tx) error {
		forget := t.Now.Add(kept)
		if err := j.End(t.Tx, state, payload, forget); err != nil {
			return err
		}
		batch, err := loadBatch(t, "", j.ID[:])
		if errors.Is(err, sql.ErrNoRows) {
			return nil // it expired before it was run
		}
		if err != nil {
			return err
		}
		if _, err := t.Exec(endRequestBatch, []byte{}, batch.content, engine.Micros(t.Now), engine.Micros(forget), "", j.ID[:]); err != nil {
			return fmt.Errorf("end a batch: %w", err)
		}
		if err := t.Later(shortenOperation, engine.Micros(forget), "", batch.token); err != nil {
			return err
		}
		return chargeBatch(t, batch.caller, -batch.content, 0, 0)
	})
}

// Shorten makes an ended batch expire earlier; a later time changes nothing. If this write
// is lost, the batch only stays longer.
func (b *Batches) Shorten(ctx context.Context, job [16]byte, until time.Time) error {
	return b.database.Write(ctx, engine.Unflushed, transaction.RecordLocks(""), func(t *transaction.Tx) error {
		batch, err := loadBatch(t, "", job[:])
		if errors.Is(err, sql.ErrNoRows) || err == nil && (batch.ended == 0 || batch.until <= engine.Micros(until)) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.Later(shortenBatch, engine.Micros(until), "", job[:]); err != nil {
			return err
		}
		if err := t.Later(shortenOperation, engine.Micros(until), "", batch.token); err != nil {
			return err
		}
		return jobrow.ForgetAt(t.Tx, "", job, until)
	})
}

// forgetBytes bounds the bytes of batches that one transaction deletes, except for a
// single larger batch.
const forgetBytes = 64 << 20

type expiredBatch struct {
	subscription string
	job          []byte
	bytes        int64
}

// Forget deletes at most limit expired batches, with their answers, and returns how many.
func (b *Batches) Forget(ctx context.Context, limit int) (deleted int, err error) {
	now := engine.Micros(b.database.Now())
	ended, err := engine.Collect(b.database.Read(ctx), func(scan engine.Scanner) (b expiredBatch, err error) {
		err = scan(&b.subscription, &b.job, &b.bytes)
		return b, err
	}, expiredBatches, now, engine.LimitArg(limit))
	if err != nil {
		return 0, fmt.Errorf("read ended batches: %w", err)
	}
	for first := 0; first < len(ended); {
		last, bytes := first+1, ended[first].bytes
		for last < len(ended) && bytes+ended[last].bytes <= forgetBytes {
			bytes += ended[last].bytes
			last++
		}
		n, err := transaction.InPieces(ctx, b.database, ended[first:last],
			func(t *transaction.Tx, piece []expiredBatch) (int, error) { return forgetBatches(t, piece, now) })
		if deleted += n; err != nil {
			return deleted, err
		}
		first = last
	}
	return deleted, nil
}

func forgetBatches(t *transaction.Tx, piece []expiredBatch, now int64) (deleted int, err error) {
	for _, b := range piece {
		batch, err := loadBatch(t, b.subscription, b.job)
		if errors.Is(err, sql.ErrNoRows) || err == nil && batch.until > now {
			continue // another replica was faster, or the batch has ended since and is kept longer
		}
		if err != nil {
			return 0, err
		}
		if _, err := t.Exec(deleteRequestBatch, b.subscription, b.job, now); err != nil {
			return 0, fmt.Errorf("delete a batch: %w", err)
		}
		if err := t.Later(deleteParts, b.subscription, b.job); err != nil {
			return 0, err
		}
		if err := chargeBatch(t, batch.caller, -batch.bytes, 0, 0); err != nil {
			return 0, err
		}
		deleted++
	}
	return deleted, nil
}
