package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"portico/arm"
	"portico/events"
	"portico/inventory/encryption"
	"portico/inventory/engine"
	"portico/inventory/scopes"
)

// readEvent returns what was recorded.
func (s *Store) readEvent(ctx context.Context, r eventRow) (events.Event, error) {
	e := events.Event{ID: r.id, Number: r.number, At: engine.Moment(r.at), Subscription: r.subscription, Key: r.key}
	text, err := s.database.Cipher.Decrypt(ctx, r.id[:], r.told)
	if errors.Is(err, encryption.ErrDecrypt) {
		return e, nil // with a key that is gone: what is left is that there was a change
	}
	if err == nil {
		err = json.Unmarshal(text, &e.Told)
	}
	return e, err
}

// eventRow is an event as it is stored.
type eventRow struct {
	subscription, key string
	number, at        int64
	id                [16]byte
	told              []byte
}

const eventColumns = `subscription, number, id, at, key, told`

func scanEvent(scan engine.Scanner) (r eventRow, err error) {
	var id []byte
	err = scan(&r.subscription, &r.number, &id, &r.at, &r.key, &r.told)
	copy(r.id[:], id)
	return r, err
}

const (
	eventsAfter        = `SELECT ` + eventColumns + ` FROM events WHERE place > ? ORDER BY place LIMIT ?`
	subscriptionEvents = `SELECT ` + eventColumns + ` FROM events WHERE subscription = ? AND number < ? ORDER BY number DESC LIMIT ?`
	resourceEvents     = `SELECT ` + eventColumns + ` FROM events WHERE subscription = ? AND key = ? AND number < ? ORDER BY number DESC LIMIT ?`
)

// KeptEventsAfter lists numbered events of all subscriptions, in the order of their numbers,
// behind a number: those that are kept. A number that is missing between two is forgotten.
func (s *Store) KeptEventsAfter(ctx context.Context, number int64, limit int) ([]events.Event, error) {
	return s.collectEvents(ctx, eventsAfter, number, engine.AtMost(limit))
}

// EventsAfter is KeptEventsAfter for who must not miss any: *EventsForgottenError where some
// behind the number are no longer kept.
func (s *Store) EventsAfter(ctx context.Context, number int64, limit int) ([]events.Event, error) {
	found, err := s.KeptEventsAfter(ctx, number, limit)
	if err != nil {
		return nil, err
	}
	// After the events: what was forgotten meanwhile is noticed.
	numbers, err := readEventNumbers(s.read(ctx), selectEventNumbers)
	if err != nil {
		return nil, err
	}
	if number+1 < numbers.first {
		return nil, &EventsForgottenError{First: numbers.first}
	}
	return found, nil
}

// EventNumbers returns the number of the first event behind which none is forgotten, and
// that of the last one that has been numbered.
func (s *Store) EventNumbers(ctx context.Context) (first, last int64, err error) {
	numbers, err := readEventNumbers(s.read(ctx), selectEventNumbers)
	return numbers.first, numbers.last, err
}

// SubscriptionEvents lists numbered events of a subscription, the newest first, from the
// one before a number; 0 for the newest.
func (s *Store) SubscriptionEvents(ctx context.Context, sub string, before int64, limit int) ([]events.Event, error) {
	return s.collectEvents(ctx, subscriptionEvents, arm.Fold(sub), orLast(before), engine.AtMost(limit))
}

// ResourceEvents is SubscriptionEvents of one resource.
func (s *Store) ResourceEvents(ctx context.Context, sub, key string, before int64, limit int) ([]events.Event, error) {
	return s.collectEvents(ctx, resourceEvents, arm.Fold(sub), arm.Fold(key), orLast(before), engine.AtMost(limit))
}

// Concerns reports whether an event is one of a subscription: its own, or one of a custom
// role of its tenant that is assignable in it.
func (s *Store) Concerns(ctx context.Context, e *events.Event, sub string) (bool, error) {
	if e.Subscription == arm.Fold(sub) {
		return true, nil
	}
	if len(e.AssignableIn(sub)) == 0 {
		return false, nil
	}
	found, _, err := s.Scopes.Subscription(ctx, sub, s.Now())
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && e.Subscription == scopes.OfTenant(found.TenantID), err
}

func orLast(number int64) int64 {
	if number == 0 {
		return math.MaxInt64
	}
	return number
}

func (s *Store) collectEvents(ctx context.Context, statement string, args ...any) ([]events.Event, error) {
	rows, err := engine.Collect(s.read(ctx), scanEvent, statement, args...)
	if err != nil {
		return nil, err
	}
	found := make([]events.Event, len(rows))
	for i, r := range rows {
		if found[i], err = s.readEvent(ctx, r); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// EventsForgottenError says that events were asked for that are no longer kept.
type EventsForgottenError struct {
	// First is the number of the first one behind which all are kept.
	First int64
}

func (e *EventsForgottenError) Error() string {
	return fmt.Sprintf("inventory: events are kept from the number %d", e.First)
}
