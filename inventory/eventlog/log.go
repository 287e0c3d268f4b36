// Package eventlog keeps the events that transactions have recorded: it numbers them, lists
// them, and forgets those that are too old or too many. It also keeps the events that sinks
// have not taken, and operators' orders for them.
package eventlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"portico/arm"
	"portico/events"
	"portico/inventory/encryption"
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// Log is the event log of a database.
type Log struct {
	database *transaction.Database
	age      time.Duration
	most     int
	feed     int64
}

// New returns the events of a database. age is how long they are kept, and most how many
// of all subscriptions; 0 for no bound.
func New(ctx context.Context, d *transaction.Database, age time.Duration, most int) (*Log, error) {
	l := &Log{database: d, age: age, most: most}
	return l, d.Read(ctx).One(selectFeed, "")(&l.feed)
}

// Feed says which row of numbers events have: after a restore it is another one, because
// numbers are given again.
func (l *Log) Feed() int64 { return l.feed }

// Restored is when the database was last restored from a copy, and may lack later events;
// the zero time: never. Each restoration begins another feed.
func (l *Log) Restored() time.Time {
	if l.feed == 0 {
		return time.Time{}
	}
	return engine.Moment(l.feed)
}

// read decrypts an event.
func (l *Log) read(ctx context.Context, r eventRow) (events.Event, error) {
	e := events.Event{ID: r.id, Number: r.number, At: engine.Moment(r.at), Subscription: r.subscription, Key: r.key}
	text, err := l.database.Cipher.Decrypt(ctx, r.id[:], r.payload)
	if errors.Is(err, encryption.ErrDecrypt) {
		return e, nil // the key is gone: all that is known is that there was a change
	}
	if err == nil {
		err = json.Unmarshal(text, &e.Payload)
	}
	return e, err
}

// eventRow is an event as it is stored.
type eventRow struct {
	subscription, key string
	number, at        int64
	id                [16]byte
	payload           []byte
}

const eventColumns = `subscription, number, id, at, key, payload`

func scanEvent(scan engine.Scanner) (r eventRow, err error) {
	var id []byte
	err = scan(&r.subscription, &r.number, &id, &r.at, &r.key, &r.payload)
	copy(r.id[:], id)
	return r, err
}

const (
	eventsAfter        = `SELECT ` + eventColumns + ` FROM events WHERE place > ? ORDER BY place LIMIT ?`
	subscriptionEvents = `SELECT ` + eventColumns + ` FROM events WHERE subscription = ? AND number < ? ORDER BY number DESC LIMIT ?`
	resourceEvents     = `SELECT ` + eventColumns + ` FROM events WHERE subscription = ? AND key = ? AND number < ? ORDER BY number DESC LIMIT ?`
)

// KeptAfter lists the kept events of all subscriptions after a number, in the order of
// their numbers. An event whose number is missing between two is forgotten.
func (l *Log) KeptAfter(ctx context.Context, number int64, limit int) ([]events.Event, error) {
	return l.collect(ctx, eventsAfter, number, engine.AtMost(limit))
}

// After is KeptAfter for readers that must not miss any: it returns *ForgottenError if
// events after the number are no longer kept.
func (l *Log) After(ctx context.Context, number int64, limit int) ([]events.Event, error) {
	found, err := l.KeptAfter(ctx, number, limit)
	if err != nil {
		return nil, err
	}
	// Read after the events, so that forgetting some meanwhile is noticed.
	numbers, err := readEventNumbers(l.database.Read(ctx), selectEventNumbers)
	if err != nil {
		return nil, err
	}
	if number+1 < numbers.first {
		return nil, &ForgottenError{First: numbers.first}
	}
	return found, nil
}

// Numbers returns the number of the first event after which none is forgotten, and that
// of the last numbered event.
func (l *Log) Numbers(ctx context.Context) (first, last int64, err error) {
	numbers, err := readEventNumbers(l.database.Read(ctx), selectEventNumbers)
	return numbers.first, numbers.last, err
}

// OfSubscription lists numbered events of a subscription, the newest first, from the
// one before a number; 0 for the newest.
func (l *Log) OfSubscription(ctx context.Context, sub string, before int64, limit int) ([]events.Event, error) {
	return l.collect(ctx, subscriptionEvents, arm.Fold(sub), orLast(before), engine.AtMost(limit))
}

// OfResource is OfSubscription of one resource.
func (l *Log) OfResource(ctx context.Context, sub, key string, before int64, limit int) ([]events.Event, error) {
	return l.collect(ctx, resourceEvents, arm.Fold(sub), arm.Fold(key), orLast(before), engine.AtMost(limit))
}

func orLast(number int64) int64 {
	if number == 0 {
		return math.MaxInt64
	}
	return number
}

func (l *Log) collect(ctx context.Context, statement string, args ...any) ([]events.Event, error) {
	rows, err := engine.Collect(l.database.Read(ctx), scanEvent, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	found := make([]events.Event, len(rows))
	for i, r := range rows {
		if found[i], err = l.read(ctx, r); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// ForgottenError says that events were asked for that are no longer kept.
type ForgottenError struct {
	// First is the number of the first one behind which all are kept.
	First int64
}

func (e *ForgottenError) Error() string {
	return fmt.Sprintf("inventory: events are kept from the number %d", e.First)
}

// Record records the event of a request that changed nothing in the store: one that was
// refused, or only passed on to a provider. sub is a subscription, or the text that stands
// for a tenant.
func (l *Log) Record(ctx context.Context, sub string, payload events.Payload) error {
	sub = arm.Fold(sub)
	return l.database.Write(ctx, engine.Unflushed, transaction.RecordLocks(sub), func(t *transaction.Tx) error {
		return t.Record(sub, arm.Fold(payload.Resource), payload)
	})
}

// Event returns the event of a number, or engine.ErrNotFound if it is no longer kept.
func (l *Log) Event(ctx context.Context, number int64) (events.Event, error) {
	found, err := l.KeptAfter(ctx, number-1, 1)
	if err != nil {
		return events.Event{}, err
	}
	if len(found) == 0 || found[0].Number != number {
		return events.Event{}, engine.ErrNotFound
	}
	return found[0], nil
}
