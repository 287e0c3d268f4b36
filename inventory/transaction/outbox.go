package transaction

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"portico/arm"
	"portico/events"
	"portico/internal/failpoint"
	"portico/inventory/engine"
	"portico/inventory/index"
)

// recordEvents inserts a transaction's events behind its locks, at a time later than all
// waiting events of the subscription, even those of a replica whose clock is ahead. Two
// transactions that change one resource lock it, so the later one sees the row of the
// earlier one, unless that has been numbered by then.
const recordEvents = `INSERT INTO unnumbered_events (subscription, at, id, count, recorded) VALUES (?, ` + eventTime + `, ?, ?, ?)
	ON CONFLICT (subscription, at, id) DO NOTHING`

const eventTime = `COALESCE((SELECT at + 1 FROM unnumbered_events WHERE subscription = ? AND at >= ? ORDER BY at DESC LIMIT 1), ?)`

// mostRecorded is how many events share a row.
const mostRecorded = 64

// outbox holds the events that a transaction has recorded but not written yet.
type outbox []*recorded

// recorded are events of one subscription, in their order.
type recorded struct {
	subscription string
	id           [16]byte // of the first one
	n            int
	text         []byte
}

// Record records an event of a change that the transaction makes. sub and key are
// folded.
func (t *Tx) Record(sub, key string, payload events.Payload) error {
	return t.RecordBy(events.CauseOf(t.Context), sub, key, payload)
}

// RecordBy is [Tx.Record] for another cause than that of the transaction.
func (t *Tx) RecordBy(cause events.Cause, sub, key string, payload events.Payload) error {
	e, err := t.database.SealEvent(t.Context, cause, key, payload)
	if err != nil {
		return fmt.Errorf("encrypt an event: %w", err)
	}
	return t.RecordSealed(sub, key, e)
}

// RecordOwn records a change of a resource of Portico's own. A removed one has no entity
// tag.
func (t *Tx) RecordOwn(sub string, payload events.Payload) error {
	return t.RecordOwnBy(events.CauseOf(t.Context), sub, payload)
}

// RecordOwnBy is [Tx.RecordOwn] for another cause than that of the transaction.
func (t *Tx) RecordOwnBy(cause events.Cause, sub string, payload events.Payload) error {
	payload.Origin, payload.Began = events.Decided, t.Now.Truncate(time.Millisecond)
	if payload.Status == events.Succeeded && strings.HasSuffix(payload.Action, index.DeleteVerb) {
		payload.ETag = ""
	}
	return t.RecordBy(cause, sub, arm.Fold(payload.Resource), payload)
}

// SealedEvent is an event as it is stored.
type SealedEvent struct {
	ID   [16]byte
	text []byte // encrypted
}

// SealEvent encrypts a payload into an event. All events come through here, so that none holds
// a secret of the request that ctx is of.
func (d *Database) SealEvent(ctx context.Context, cause events.Cause, key string, payload events.Payload) (SealedEvent, error) {
	payload.Cause, payload.Error = cause, events.Bounded(events.Masked(ctx, payload.Error))
	text, err := json.Marshal(&payload)
	if err != nil {
		return SealedEvent{}, fmt.Errorf("inventory: an event of %s: %w", key, err)
	}
	e := SealedEvent{ID: engine.NewID()}
	e.text, err = d.Cipher.Encrypt(ctx, e.ID[:], text)
	return e, err
}

// RecordSealed is [Tx.Record] for an event that was sealed before.
func (t *Tx) RecordSealed(sub, key string, e SealedEvent) error {
	t.MarkChanged()
	r := t.outbox.of(sub)
	if r == nil {
		r = &recorded{subscription: sub, id: e.ID}
		t.outbox = append(t.outbox, r)
	}
	r.add(e.ID, key, e.text)
	if t.Isolated() && !t.Proves() || r.n >= mostRecorded {
		return t.WriteOutbox() // a refusal must undo it, or it is enough
	}
	return nil
}

func (o outbox) of(sub string) *recorded {
	for _, r := range o {
		if r.subscription == sub {
			return r
		}
	}
	return nil
}

// WriteOutbox writes the recorded events. At the end of a transaction it writes one
// row, however many members have changed something.
func (t *Tx) WriteOutbox() error {
	if len(t.outbox) == 0 {
		return nil
	}
	failpoint.Pass(failpoint.EventRecordBefore)
	for _, r := range t.outbox {
		now := engine.Micros(t.Now)
		if err := t.ChangeOne(recordEvents, r.subscription, r.subscription, now, now, r.id[:], r.n, r.text); err != nil {
			return err
		}
	}
	t.outbox = nil
	failpoint.Pass(failpoint.EventRecordAfter)
	return nil
}

// add appends an event: its id, its key, and its encrypted payload.
func (r *recorded) add(id [16]byte, key string, payload []byte) {
	r.n++
	r.text = append(r.text, id[:]...)
	r.text = append(binary.AppendUvarint(r.text, uint64(len(key))), key...)
	r.text = append(binary.AppendUvarint(r.text, uint64(len(payload))), payload...)
}

var errRecorded = errors.New("inventory: what was recorded of events cannot be read")

// Recorded is an event that was recorded.
type Recorded struct {
	ID      [16]byte
	Key     string
	Payload []byte // encrypted
}

// SplitRecorded returns the events of a row, in their order.
func SplitRecorded(text []byte, n int) ([]Recorded, error) {
	all := make([]Recorded, 0, n)
	for len(text) > 0 {
		e := Recorded{}
		if len(text) < len(e.ID) {
			return nil, errRecorded
		}
		key, behind, ok := cutPiece(text[copy(e.ID[:], text):])
		if !ok {
			return nil, errRecorded
		}
		if e.Payload, text, ok = cutPiece(behind); !ok {
			return nil, errRecorded
		}
		e.Key = string(key)
		all = append(all, e)
	}
	return all, nil
}

// cutPiece cuts off a piece that begins with its length.
func cutPiece(text []byte) (piece, rest []byte, ok bool) {
	length, n := binary.Uvarint(text)
	if n <= 0 || length > uint64(len(text)-n) {
		return nil, nil, false
	}
	end := n + int(length)
	return text[n:end], text[end:], true
}
