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

// recordEvents inserts a transaction's events under its locks. Their time is later than the
// time of any waiting event of the subscription, also if another replica's clock is ahead.
// Two transactions that change one resource lock it, so the later one sees the row of the
// earlier one, unless its events have been numbered by then.
const recordEvents = `INSERT INTO unnumbered_events (subscription, at, id, count, recorded) VALUES (?, ` + eventTime + `, ?, ?, ?)
	ON CONFLICT (subscription, at, id) DO NOTHING`

const eventTime = `COALESCE((SELECT at + 1 FROM unnumbered_events WHERE subscription = ? AND at >= ? ORDER BY at DESC LIMIT 1), ?)`

// maxRecorded bounds the events in a row.
const maxRecorded = 64

// outbox holds the events that a transaction has recorded but not written yet.
type outbox []*outboxRow

// outboxRow holds events of one subscription, in order.
type outboxRow struct {
	subscription string
	id           [16]byte // of the first one
	n            int
	text         []byte
}

// Record records an event of a change that the transaction makes. Its cause is the
// transaction's. sub and key are folded.
func (t *Tx) Record(sub, key string, payload events.Payload) error {
	return t.RecordBy(events.CauseOf(t.Context), sub, key, payload)
}

// RecordBy records an event, like [Tx.Record], with the given cause.
func (t *Tx) RecordBy(cause events.Cause, sub, key string, payload events.Payload) error {
	e, err := t.database.SealEvent(t.Context, cause, key, payload)
	if err != nil {
		return fmt.Errorf("encrypt an event: %w", err)
	}
	return t.RecordSealed(sub, key, e)
}

// RecordOwn records a change of one of Portico's own resources. The event of a removal has
// no entity tag.
func (t *Tx) RecordOwn(sub string, payload events.Payload) error {
	return t.RecordOwnBy(events.CauseOf(t.Context), sub, payload)
}

// RecordOwnBy records a change, like [Tx.RecordOwn], with the given cause.
func (t *Tx) RecordOwnBy(cause events.Cause, sub string, payload events.Payload) error {
	payload.Origin, payload.Began = events.Decided, t.Now.Truncate(time.Millisecond)
	if payload.Status == events.Succeeded && strings.HasSuffix(payload.Action, index.DeleteVerb) {
		payload.ETag = ""
	}
	return t.RecordBy(cause, sub, arm.Fold(payload.Resource), payload)
}

// SealedEvent is an encrypted event.
type SealedEvent struct {
	ID   [16]byte
	text []byte // encrypted
}

// SealEvent encrypts a payload into an event. It masks the secrets of the request that ctx
// belongs to, so every event must be made by it.
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

// RecordSealed records an event, like [Tx.Record], that was encrypted before.
func (t *Tx) RecordSealed(sub, key string, e SealedEvent) error {
	t.MarkChanged()
	r := t.outbox.rowOf(sub)
	if r == nil {
		r = &outboxRow{subscription: sub, id: e.ID}
		t.outbox = append(t.outbox, r)
	}
	r.add(e.ID, key, e.text)
	if t.Isolated() && !t.Proves() || r.n >= maxRecorded {
		return t.WriteOutbox() // a refusal must undo the event, or the row is full
	}
	return nil
}

func (o outbox) rowOf(sub string) *outboxRow {
	for _, r := range o {
		if r.subscription == sub {
			return r
		}
	}
	return nil
}

// WriteOutbox writes the recorded events. At the end of a transaction it writes one
// row for each subscription, however many members have changed something.
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
func (r *outboxRow) add(id [16]byte, key string, payload []byte) {
	r.n++
	r.text = append(r.text, id[:]...)
	r.text = append(binary.AppendUvarint(r.text, uint64(len(key))), key...)
	r.text = append(binary.AppendUvarint(r.text, uint64(len(payload))), payload...)
}

var errRecorded = errors.New("inventory: what was recorded of events cannot be read")

// Recorded is an event that was recorded but is not numbered yet.
type Recorded struct {
	ID      [16]byte
	Key     string
	Payload []byte // encrypted
}

// SplitRecorded returns the n events of a row, in order.
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

// cutPiece cuts off a piece that is preceded by its length.
func cutPiece(text []byte) (piece, rest []byte, ok bool) {
	length, n := binary.Uvarint(text)
	if n <= 0 || length > uint64(len(text)-n) {
		return nil, nil, false
	}
	end := n + int(length)
	return text[n:end], text[end:], true
}
