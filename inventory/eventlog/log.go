// Package eventlog stores the events that transactions have recorded: it numbers them, lists
// them, and deletes old and excess ones. It also stores the events that sinks have not
// accepted, and operators' orders for these.
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
	database  *transaction.Database
	maxAge    time.Duration
	maxEvents int
	feed      int64
}

// New returns the event log of a database. age bounds the age of kept events, and most their
// number in all subscriptions; 0 means no bound.
func New(ctx context.Context, d *transaction.Database, age time.Duration, most int) (*Log, error) {
	l := &Log{database: d, maxAge: age, maxEvents: most}
	return l, d.Read(ctx).One(selectFeed, "")(&l.feed)
}

// Feed identifies the sequence of numbers. A restored database has another feed, because it
// assigns numbers again that were in use.
func (l *Log) Feed() int64 { return l.feed }

// Restored returns when the database was last restored from a copy, which may lack later
// events, and the zero time if it never was. Each restoration begins another feed.
func (l *Log) Restored() time.Time {
	if l.feed == 0 {
		return time.Time{}
	}
	return engine.TimeOf(l.feed)
}

func (l *Log) decrypt(ctx context.Context, r eventRow) (events.Event, error) {
	e := events.Event{ID: r.id, Number: r.number, At: engine.TimeOf(r.at), Subscription: r.subscription, Key: r.key}
	text, err := l.database.Cipher.Decrypt(ctx, r.id[:], r.payload)
	if errors.Is(err, encryption.ErrDecrypt) {
		return e, nil // the key is lost: only the existence of the change is known
	}
	if err == nil {
		err = json.Unmarshal(text, &e.Payload)
	}
	return e, err
}

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
// their numbers. If a number is missing, its event has been deleted.
func (l *Log) KeptAfter(ctx context.Context, number int64, limit int) ([]events.Event, error) {
	return l.collect(ctx, eventsAfter, number, engine.LimitArg(limit))
}

// After lists events, like KeptAfter, for readers that must not miss any: it returns
// *ForgottenError if events after the number have been deleted.
func (l *Log) After(ctx context.Context, number int64, limit int) ([]events.Event, error) {
	found, err := l.KeptAfter(ctx, number, limit)
	if err != nil {
		return nil, err
	}
	// Read after the events, to notice events that are deleted meanwhile.
	numbers, err := readEventNumbers(l.database.Read(ctx), selectEventNumbers)
	if err != nil {
		return nil, err
	}
	if number+1 < numbers.first {
		return nil, &ForgottenError{First: numbers.first}
	}
	return found, nil
}

// Numbers returns the highest number in use, and first: no event has been deleted from that
// number on.
func (l *Log) Numbers(ctx context.Context) (first, last int64, err error) {
	numbers, err := readEventNumbers(l.database.Read(ctx), selectEventNumbers)
	return numbers.first, numbers.last, err
}

// OfSubscription lists numbered events of a subscription before a number, the newest first;
// before 0 means from the newest.
func (l *Log) OfSubscription(ctx context.Context, sub string, before int64, limit int) ([]events.Event, error) {
	return l.collect(ctx, subscriptionEvents, arm.Fold(sub), beforeOrLast(before), engine.LimitArg(limit))
}

// OfResource lists events of one resource, like OfSubscription.
func (l *Log) OfResource(ctx context.Context, sub, key string, before int64, limit int) ([]events.Event, error) {
	return l.collect(ctx, resourceEvents, arm.Fold(sub), arm.Fold(key), beforeOrLast(before), engine.LimitArg(limit))
}

func beforeOrLast(number int64) int64 {
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
		if found[i], err = l.decrypt(ctx, r); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// ForgottenError reports that requested events are no longer kept.
type ForgottenError struct {
	// First is a number; all events from it on are kept.
	First int64
}

func (e *ForgottenError) Error() string {
	return fmt.Sprintf("inventory: events are kept from the number %d", e.First)
}

// Record records the event of a request that changed nothing in the store, because it was
// refused or only forwarded to a provider. sub is a subscription or a tenant's partition.
func (l *Log) Record(ctx context.Context, sub string, payload events.Payload) error {
	sub = arm.Fold(sub)
	return l.database.Write(ctx, engine.Unflushed, transaction.RecordLocks(sub), func(t *transaction.Tx) error {
		return t.Record(sub, arm.Fold(payload.Resource), payload)
	})
}

// Event returns the event with a number, or engine.ErrNotFound if it is no longer kept.
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
