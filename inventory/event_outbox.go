package inventory

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"portico/events"
	"portico/internal/failpoint"
	"portico/inventory/engine"
)

// recordEvents puts behind the locks of a transaction what it has recorded: at a time
// later than all that is waiting of the subscription, also where that comes from a
// replica whose clock is ahead. Two transactions that change one resource lock it, so the
// later one sees the row of the earlier one, unless that has been numbered by then.
const recordEvents = `INSERT INTO unnumbered_events (subscription, at, id, n, recorded) VALUES (?, ` + eventTime + `, ?, ?, ?)
	ON CONFLICT (subscription, at, id) DO NOTHING`

const eventTime = `COALESCE((SELECT at + 1 FROM unnumbered_events WHERE subscription = ? AND at >= ? ORDER BY at DESC LIMIT 1), ?)`

// mostRecorded is how many events share a row.
const mostRecorded = 64

// outbox is what a transaction has recorded and not written yet.
type outbox []*recorded

// recorded are events of one subscription, in their order.
type recorded struct {
	subscription string
	id           [16]byte // of the first one
	n            int
	text         []byte
}

// record records an event of what the transaction changes. sub and key are folded.
func (t *tx) record(sub, key string, told events.Told) error {
	return t.recordBy(events.CauseOf(t.Context), sub, key, told)
}

// recordBy is record for another cause than that of the transaction.
func (t *tx) recordBy(cause events.Cause, sub, key string, told events.Told) error {
	e, err := t.store.sealEvent(t.Context, cause, key, told)
	if err != nil {
		return err
	}
	return t.put(sub, key, e)
}

// sealedEvent is an event as it is stored.
type sealedEvent struct {
	id   [16]byte
	text []byte // encrypted
}

// usualTold is how long most of the texts are that are encrypted.
const usualTold = 1 << 10

func (s *Store) sealEvent(ctx context.Context, cause events.Cause, key string, told events.Told) (sealedEvent, error) {
	told.Cause, told.Error = cause, events.Bounded(told.Error)
	text, err := told.AppendJSON(make([]byte, 0, usualTold))
	if err != nil {
		return sealedEvent{}, fmt.Errorf("inventory: an event of %s: %w", key, err)
	}
	e := sealedEvent{id: engine.NewID()}
	e.text, err = s.cipher.Encrypt(ctx, e.id[:], text)
	return e, err
}

// put puts an event into the outbox.
func (t *tx) put(sub, key string, e sealedEvent) error {
	t.MarkChanged()
	r := t.outbox.of(sub)
	if r == nil {
		r = &recorded{subscription: sub, id: e.id}
		t.outbox = append(t.outbox, r)
	}
	r.add(e.id, key, e.text)
	if t.Isolated() && !t.Proves() || r.n >= mostRecorded {
		return t.writeOutbox() // a refusal must undo it, or it is enough
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

// writeOutbox writes what has been recorded. At the end of a transaction it is one row,
// however many members have changed something.
func (t *tx) writeOutbox() error {
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

// add appends an event: its id, its key, and what is told of it.
func (r *recorded) add(id [16]byte, key string, told []byte) {
	r.n++
	r.text = append(r.text, id[:]...)
	r.text = append(binary.AppendUvarint(r.text, uint64(len(key))), key...)
	r.text = append(binary.AppendUvarint(r.text, uint64(len(told))), told...)
}

var errRecorded = errors.New("inventory: what was recorded of events cannot be read")

// split returns the events of a row.
func (r *recorded) split(at int64) ([]eventRow, error) {
	all, rest := make([]eventRow, 0, r.n), r.text
	for len(rest) > 0 {
		e := eventRow{subscription: r.subscription, at: at}
		if len(rest) < len(e.id) {
			return nil, errRecorded
		}
		rest = rest[copy(e.id[:], rest):]
		key, behind, ok := cutPiece(rest)
		if !ok {
			return nil, errRecorded
		}
		if e.told, rest, ok = cutPiece(behind); !ok {
			return nil, errRecorded
		}
		e.key = string(key)
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
