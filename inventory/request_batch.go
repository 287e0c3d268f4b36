package inventory

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// RequestBatchJob is the kind of the job that carries the requests of a batch
// which was too long to be answered at once. It belongs to no subscription.
const RequestBatchJob = "batch"

// ErrTooManyBatches refuses another batch of a caller who has many under way.
var ErrTooManyBatches = errors.New("inventory: the caller has too many batches under way")

// RequestBatch is what is recorded of a batch.
type RequestBatch struct {
	// Content is all that is needed to carry it; none once the batch has ended.
	Content []byte
	// Parts are those of which something is recorded, by their number.
	Parts map[int]RequestPart
}

// RequestPart is how far one request of a batch has come. It may have been sent
// from Begun on; there is an answer, of Size bytes, from Ended on. Requests that
// change nothing have no Begun before they have an answer.
type RequestPart struct {
	Begun, Ended time.Time
	Answered     bool
	Size         int64
}

const (
	insertRequestBatch = `INSERT INTO request_batches (subscription, job, caller, content, ended, until) VALUES (?, ?, ?, ?, 0, ?)
		ON CONFLICT (subscription, job) DO NOTHING`
	countOpenBatches   = `SELECT COUNT(*) FROM request_batches WHERE subscription = ? AND caller = ? AND ended = 0`
	selectRequestBatch = `SELECT content FROM request_batches WHERE subscription = ? AND job = ?`
	hasRequestBatch    = `SELECT ended FROM request_batches WHERE subscription = ? AND job = ?`
	endRequestBatch    = `UPDATE request_batches SET content = ?, ended = ?, until = ? WHERE subscription = ? AND job = ?`
	endedBatches       = `SELECT subscription, job FROM request_batches WHERE until <= ? ORDER BY until LIMIT ?`
	deleteRequestBatch = `DELETE FROM request_batches WHERE subscription = ? AND job = ? AND until <= ?`

	partColumns = `subscription, job, part, begun, ended, size, answer`
	beginPart   = `INSERT INTO request_parts (` + partColumns + `) VALUES (?, ?, ?, ?, 0, 0, ?)
		ON CONFLICT (subscription, job, part) DO NOTHING`
	// The first answer stands.
	endPart = `INSERT INTO request_parts (` + partColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, job, part) DO UPDATE
		SET ended = excluded.ended, size = excluded.size, answer = excluded.answer WHERE request_parts.ended = 0`
	listParts   = `SELECT part, begun, ended, size FROM request_parts WHERE subscription = ? AND job = ?`
	selectPart  = `SELECT answer FROM request_parts WHERE subscription = ? AND job = ? AND part = ? AND ended > 0`
	deleteParts = `DELETE FROM request_parts WHERE subscription = ? AND job = ?`
)

// contentPlace is the number under which a batch's content is sealed.
const contentPlace = -1

// BeginRequestBatch records a batch, the job that carries it, and the operation
// of whoever sent it, by whose time it is forgotten; durably. It refuses by
// ErrTooManyBatches where the caller has most batches under way already.
func (s *Store) BeginRequestBatch(ctx context.Context, content []byte, o Operation, most int) error {
	job := Job{ID: newID(), Kind: RequestBatchJob, Incarnation: newID(), Payload: "{}"}
	sealed, err := s.sealed(ctx, sealPlace(job.ID, contentPlace), content)
	if err != nil {
		return err
	}
	caller := o.TenantID + " " + o.ObjectID
	return s.writer.do(ctx, flushed, aboutSubscription(""), func(t *tx) error {
		var open int
		if err := t.one(countOpenBatches, "", caller)(&open); err != nil {
			return err
		}
		if open >= most {
			return ErrTooManyBatches
		}
		if _, err := t.exec(insertRequestBatch, "", job.ID[:], caller, sealed, micros(o.Until)); err != nil {
			return err
		}
		due := job
		due.Due = t.now
		if _, err := t.exec(addJob, due.insertion(t.now)...); err != nil {
			return err
		}
		operation := o
		operation.Subscription, operation.Follow = "", job.ID
		return operation.put(t)
	})
}

// RequestBatch returns what is recorded of the batch of a job, or ErrNotFound.
func (s *Store) RequestBatch(ctx context.Context, job [16]byte) (b RequestBatch, err error) {
	from := s.read(ctx)
	err = from.one(selectRequestBatch, "", job[:])(&b.Content)
	if errors.Is(err, sql.ErrNoRows) {
		return b, ErrNotFound
	}
	if err != nil {
		return b, err
	}
	if len(b.Content) > 0 {
		if b.Content, err = s.unsealed(ctx, sealPlace(job, contentPlace), b.Content); err != nil {
			return b, err
		}
	}
	b.Parts = map[int]RequestPart{}
	return b, from.each(func(scan scanner) error {
		var (
			number             int
			p                  RequestPart
			begun, ended, size int64
		)
		if err := scan(&number, &begun, &ended, &size); err != nil {
			return err
		}
		p.Begun, p.Ended, p.Answered, p.Size = moment(begun), moment(ended), ended > 0, size
		b.Parts[number] = p
		return nil
	}, listParts, "", job[:])
}

// BeginRequestPart records, durably, that a request of a batch may have been
// sent from now on. Only one caller ever gets true, and no other may send it.
// ErrDeposed when the caller no longer holds the job.
func (s *Store) BeginRequestPart(ctx context.Context, j Job, number int) (first bool, err error) {
	return commit(ctx, s, flushed, aboutSubscription(""), func(t *tx) (bool, error) {
		var token int64
		err := t.one(heldToken, j.Subscription, j.ID[:], j.Incarnation[:])(&token)
		if errors.Is(err, sql.ErrNoRows) || err == nil && token != j.Token {
			return false, ErrDeposed
		}
		if err != nil {
			return false, err
		}
		n, err := t.exec(beginPart, "", j.ID[:], number, micros(t.now), []byte{})
		return n == 1, err
	})
}

// EndRequestPart records, durably, how a request of a batch was answered. The
// first answer stands, whoever brings it: also one who was replaced meanwhile.
// Of a batch that is over nothing is recorded any more.
func (s *Store) EndRequestPart(ctx context.Context, job [16]byte, number int, answer []byte) error {
	sealed, err := s.sealed(ctx, sealPlace(job, number), answer)
	if err != nil {
		return err
	}
	return s.writer.do(ctx, flushed, aboutSubscription(""), func(t *tx) error {
		var ended int64
		err := t.one(hasRequestBatch, "", job[:])(&ended)
		if errors.Is(err, sql.ErrNoRows) || err == nil && ended > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		now := micros(t.now)
		return t.later(endPart, "", job[:], number, now, now, len(answer), sealed)
	})
}

// RequestAnswer returns how a request of a batch was answered, or ErrNotFound.
func (s *Store) RequestAnswer(ctx context.Context, job [16]byte, number int) ([]byte, error) {
	var sealed []byte
	err := s.read(ctx).one(selectPart, "", job[:], number)(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return s.unsealed(ctx, sealPlace(job, number), sealed)
}

// EndRequestBatch ends a batch and its job, durably; its content goes, and its
// answers are kept until Options.JobRecords has passed. ErrDeposed when the
// caller no longer holds the job.
func (s *Store) EndRequestBatch(ctx context.Context, j Job, state JobState, payload string) error {
	return s.writer.do(ctx, flushed, aboutSubscription(""), func(t *tx) error {
		forget := micros(t.now.Add(s.options.JobRecords))
		if err := j.update(t, endJob, state, payload, payload, endedShard, forget, micros(t.now)); err != nil {
			return err
		}
		_, err := t.exec(endRequestBatch, []byte{}, micros(t.now), forget, "", j.ID[:])
		return err
	})
}

// ForgetRequestBatches deletes at most limit batches whose time has passed, with
// their answers, and returns how many it deleted.
func (s *Store) ForgetRequestBatches(ctx context.Context, limit int) (int, error) {
	now := micros(s.dialect.now())
	type place struct {
		subscription string
		job          []byte
	}
	ended, err := collect(s.read(ctx), func(scan scanner) (p place, err error) {
		err = scan(&p.subscription, &p.job)
		return p, err
	}, endedBatches, now, atMost(limit))
	if err != nil {
		return 0, err
	}
	return inPieces(ctx, s, ended, func(t *tx, piece []place) (int, error) {
		deleted := 0
		for _, p := range piece {
			n, err := t.exec(deleteRequestBatch, p.subscription, p.job, now)
			if err != nil {
				return 0, err
			}
			if n == 0 {
				continue // it ended since, and is kept for longer
			}
			deleted++
			if err := t.later(deleteParts, p.subscription, p.job); err != nil {
				return 0, err
			}
		}
		return deleted, nil
	})
}
